//! What proves to a server who we are, and what happens when it is refused.

use std::fmt;

use futures::future::BoxFuture;
use http::HeaderName;
use toolcrib_core::canon::Hash;
use toolcrib_core::secret::Secret;

use super::Failure;

/// Headers whose values are secrets.
pub type SecretHeaders = Vec<(HeaderName, Secret)>;

/// Gives the credentials for one server, and hears of it when they are refused.
pub trait Authorisation: Send + Sync + fmt::Debug {
    /// The headers that go with the next request.
    fn headers(&self) -> BoxFuture<'_, Result<SecretHeaders, Failure>>;

    /// The server refused the request. `Ok`: other credentials are at hand, and the request goes out
    /// again, though not often. `Err`: what a person must do, as the end of a sentence.
    fn refused<'a>(&'a self, refusal: &'a Refusal) -> BoxFuture<'a, Result<(), String>>;

    /// Stands for what it was made from, so that other credentials are told from the same ones. `None`:
    /// that is not known.
    fn made_from(&self) -> Option<Hash> {
        None
    }
}

/// How a server refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// 401 or 403.
    pub status: u16,
    /// What it said in `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// What was sent in `Authorization`.
    pub sent: Option<Secret>,
    /// How often the same request was refused before.
    pub before: u32,
}

impl Refusal {
    /// One parameter of the challenge.
    pub fn parameter(&self, name: &str) -> Option<String> {
        parameter(self.challenge.as_deref()?, name)
    }

    /// The scopes that the server misses, where it says so.
    pub fn missing_scopes(&self) -> Option<String> {
        let insufficient = self.parameter("error").as_deref() == Some("insufficient_scope");
        insufficient.then(|| self.parameter("scope").unwrap_or_default())
    }
}

/// Reads `name=value` or `name="value"` of a challenge.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    while let Some(equals) = rest.find('=') {
        let key = rest[..equals].trim_end();
        let begin = key.rfind([' ', ',', '\t']).map_or(0, |at| at + 1);
        let found = key[begin..].eq_ignore_ascii_case(name);
        let value = rest[equals + 1..].trim_start();
        let (text, after) = if let Some(quoted) = value.strip_prefix('"') {
            unquote(quoted)
        } else {
            let end = value.find([',', ' ', '\t']).unwrap_or(value.len());
            (value[..end].to_owned(), &value[end..])
        };
        if found {
            return Some(text);
        }
        rest = after;
    }
    None
}

fn unquote(quoted: &str) -> (String, &str) {
    let mut text = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (text, &quoted[at + 1..]),
            '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
            other => text.push(other),
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_challenge_are_read() {
        let check = |challenge: &str, name: &str, value: Option<&str>| {
            let refusal = Refusal {
                challenge: Some(challenge.to_owned()),
                ..Refusal::default()
            };
            assert_eq!(refusal.parameter(name).as_deref(), value, "{challenge}");
        };
        let full = r#"Bearer realm="a, b=c", error="insufficient_scope", scope="x y", resource_metadata="https://h/p?q=1""#;
        check(full, "realm", Some("a, b=c"));
        check(full, "ERROR", Some("insufficient_scope"));
        check(full, "scope", Some("x y"));
        check(full, "resource_metadata", Some("https://h/p?q=1"));
        check(full, "b", None);
        check("Bearer", "scope", None);
        check(
            r#"Bearer error=invalid_token,scope="a\"b"#,
            "error",
            Some("invalid_token"),
        );
        check(r#"Bearer scope="a\"b"#, "scope", Some("a\"b"));
    }

    #[test]
    fn missing_scopes_are_told_from_other_refusals() {
        let refusal = |challenge: &str| Refusal {
            challenge: Some(challenge.to_owned()),
            ..Refusal::default()
        };
        let missing = refusal(r#"Bearer error="insufficient_scope", scope="files:write""#);
        assert_eq!(missing.missing_scopes().as_deref(), Some("files:write"));
        assert_eq!(refusal(r#"Bearer scope="x""#).missing_scopes(), None);
        assert_eq!(Refusal::default().missing_scopes(), None);
    }
}
