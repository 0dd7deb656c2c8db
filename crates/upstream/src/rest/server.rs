//! Addresses of an API: templates with variables that the configuration fills, never a caller.

use indexmap::IndexMap;
use serde_json::Value;
use url::Url;

use super::library::{Spot, brief};

/// An address template with the values of its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Such as `https://{region}.example.com/v1`; may be relative to the description's own address.
    pub template: String,
    /// Each variable with its default and the values that it may have; no values: any.
    pub variables: IndexMap<String, Variable>,
}

/// A variable of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// The value unless configured.
    pub default: String,
    /// The values that it may have; empty: any.
    pub options: Vec<String>,
}

impl Address {
    pub(super) fn fixed(template: impl Into<String>) -> Self {
        Self {
            template: template.into(),
            variables: IndexMap::new(),
        }
    }

    /// The addresses that a part of an OpenAPI 3 description lists.
    pub(super) fn list(part: Spot<'_>) -> Vec<Self> {
        let read = |server: Spot<'_>| {
            let variables = server.entries("variables").map(|(name, variable)| {
                let text = |value: &Value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let default = variable.value.get("default").map(text).unwrap_or_default();
                let options = variable.list("enum").map(|option| text(option.value));
                let options = options.collect();
                (name.to_owned(), Variable { default, options })
            });
            Some(Self {
                template: server.text("url")?.to_owned(),
                variables: variables.collect(),
            })
        };
        part.list("servers").filter_map(read).collect()
    }

    /// The address with its variables filled in. A value cannot change what the template fixes: it
    /// holds no character that would end the part of the address it stands in.
    pub(super) fn filled(&self, given: &IndexMap<String, String>) -> Result<String, String> {
        let mut out = String::with_capacity(self.template.len());
        let mut rest = self.template.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            let known = self.variables.get(name);
            let value = given
                .get(name)
                .or_else(|| known.map(|known| &known.default));
            let Some(value) = value.filter(|value| !value.is_empty()) else {
                return Err(format!(
                    "the variable `{}` of the address {} has no value; set it in serverVariables",
                    brief(name),
                    brief(&self.template)
                ));
            };
            let options = known.map_or(&[][..], |known| &known.options);
            if !options.is_empty() && !options.contains(value) {
                return Err(format!(
                    "the variable `{}` of the address must be one of {}",
                    brief(name),
                    options.join(", ")
                ));
            }
            if value.contains(['/', '?', '#', '@', '\\', '%', '{']) && !is_path(value, before) {
                return Err(format!(
                    "the value of the variable `{}` cannot stand in an address",
                    brief(name)
                ));
            }
            out.push_str(before);
            out.push_str(value);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Whether a variable stands after the host, where a `/` ends nothing.
fn is_path(value: &str, before: &str) -> bool {
    let after_host = before
        .split_once("://")
        .is_some_and(|(_, rest)| rest.contains('/'));
    (after_host || before.starts_with('/'))
        && !value.contains(['?', '#', '@', '\\', '%', '{'])
        && !value.split('/').any(|part| part == "..")
}

/// The base address of requests: absolute, HTTP, with a host, without user, query and fragment.
pub(super) fn base(text: &str, origin: Option<&Url>) -> Result<Url, String> {
    let shown = brief(text);
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(_) => origin
            .and_then(|origin| origin.join(text).ok())
            .ok_or_else(|| format!("`{shown}` is not a whole address; set baseUrl"))?,
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("`{shown}` is no address of a web API; set baseUrl"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!(
            "the address of {} holds a user name; write it under auth",
            url.host_str().unwrap_or_default()
        ));
    }
    let mut url = url;
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(template: &str, default: &str, options: &[&str]) -> Address {
        let variable = Variable {
            default: default.to_owned(),
            options: options.iter().map(ToString::to_string).collect(),
        };
        Address {
            template: template.to_owned(),
            variables: [("v".to_owned(), variable)].into_iter().collect(),
        }
    }

    #[test]
    fn variables_come_from_configuration_or_default() {
        let table = [
            (
                "https://{v}.x.com",
                "eu",
                &[][..],
                None,
                Ok("https://eu.x.com"),
            ),
            (
                "https://{v}.x.com",
                "eu",
                &["eu", "us"],
                Some("us"),
                Ok("https://us.x.com"),
            ),
            (
                "https://{v}.x.com",
                "eu",
                &["eu", "us"],
                Some("evil"),
                Err("one of"),
            ),
            ("https://{v}.x.com", "", &[], None, Err("no value")),
            (
                "https://{v}.x.com",
                "",
                &[],
                Some("evil.com/"),
                Err("cannot stand"),
            ),
            (
                "https://{v}.x.com",
                "",
                &[],
                Some("a@b"),
                Err("cannot stand"),
            ),
            (
                "https://x.com/{v}",
                "",
                &[],
                Some("a/b"),
                Ok("https://x.com/a/b"),
            ),
            (
                "https://x.com/{v}",
                "",
                &[],
                Some("../b"),
                Err("cannot stand"),
            ),
            ("https://x.com/{w}", "", &[], None, Err("no value")),
            ("https://x.com/{", "", &[], None, Ok("https://x.com/{")),
        ];
        for (template, default, options, given, expected) in table {
            let given = given.map(|value| ("v".to_owned(), value.to_owned()));
            let filled = address(template, default, options).filled(&given.into_iter().collect());
            match expected {
                Ok(text) => assert_eq!(filled.as_deref(), Ok(text)),
                Err(part) => assert!(filled.unwrap_err().contains(part), "{template} {part}"),
            }
        }
    }

    #[test]
    fn a_base_is_a_plain_web_address() {
        let origin = Url::parse("https://api.x.com/docs/openapi.json").unwrap();
        let table = [
            ("https://x.com/v1?a=1#b", Ok("https://x.com/v1")),
            ("/v2", Ok("https://api.x.com/v2")),
            (
                "https://bücher.example",
                Ok("https://xn--bcher-kva.example/"),
            ),
            ("ftp://x.com", Err("no address")),
            ("https://u:p@x.com", Err("under auth")),
        ];
        for (text, expected) in table {
            let base = base(text, Some(&origin));
            match expected {
                Ok(url) => assert_eq!(base.unwrap().as_str(), url),
                Err(part) => assert!(base.unwrap_err().contains(part), "{text}"),
            }
        }
        assert!(base("/v2", None).unwrap_err().contains("baseUrl"));
    }
}
