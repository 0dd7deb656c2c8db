//! Values that must not be shown, and how to recognise one that stands in plain sight.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

mod masking;
mod pieces;
mod reference;

pub use masking::mask;
pub use reference::only_refers;

use pieces::pieces;

/// What stands in place of a secret wherever one would be shown.
pub const MASK: &str = "***";

/// A value that has no `Serialize` and whose `Debug` and `Display` show [`MASK`].
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes a value out of sight.
    pub fn new(value: impl Into<String>) -> Self {
        Self(SecretString::from(value.into()))
    }

    /// The value itself, for the socket, the child process or the file that needs it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        // Hashes are compared so that the time taken says nothing about the value.
        blake3::hash(self.expose().as_bytes()) == blake3::hash(other.expose().as_bytes())
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Words in a variable, header, option or parameter name that say its value is a secret.
const SECRET_WORDS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "apikey",
    "authorization",
    "credential",
    "credentials",
    "bearer",
    "pat",
    "cookie",
];

/// Pairs of words that say so only together: a `key` alone may be a primary key.
const SECRET_PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("service", "key"),
    ("auth", "key"),
    ("client", "key"),
    ("subscription", "key"),
];

/// Beginnings of tokens that services hand out.
const SECRET_PREFIXES: &[&str] = &[
    "tck_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "pk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "ntn_",
    "secret_",
    "lin_api_",
    "shpat_",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "SG.",
    "eyJ",
    "whsec_",
    "figd_",
    "pat-",
    "tvly-",
    "fc-",
    "pplx-",
    "gsk_",
    "r8_",
    "-----BEGIN",
];

/// Shortest value that can be taken for a token by its look alone.
const TOKEN_CHARS_MIN: usize = 16;

/// Whether a variable, header, option or parameter of this name holds a secret.
///
/// Words are compared whole: `TOKENIZER_PATH` and `monkey` are not secrets, `GITHUB_TOKEN` and
/// `X-Api-Key` are.
pub fn name_is_secret(name: &str) -> bool {
    if !has_the_letters(name) {
        return false;
    }
    let mut previous = Word::default();
    words(name).any(|word| {
        let word = Word::of(word);
        let single = SECRET_WORDS.iter().any(|known| word.is(known)) || word.ends_with_token;
        let pair = SECRET_PAIRS
            .iter()
            .any(|(first, second)| word.is(second) && previous.is(first));
        previous = word;
        single || pair
    })
}

/// Whether the last word of a name, or the last two, say that it holds a secret: `--api-key` does,
/// `--api-key-file` names a file.
pub fn name_ends_secret(name: &str) -> bool {
    let (mut before, mut last) = ("", "");
    for word in words(name) {
        (before, last) = (last, word);
    }
    let together = || name_is_secret(&format!("{before}-{last}")) && !name_is_secret(before);
    name_is_secret(last) || together()
}

/// Whether a text gives a secret beside its name, such as `--token=abc` or `Authorization: Bearer abc`, or holds a
/// password in an address.
pub fn gives_secret(text: &str) -> bool {
    let mut named = false;
    let mut given = false;
    for (piece, separates) in pieces(text) {
        if separates {
            // A colon alone may stand in a path, as in `/run/token:ro`.
            let assigns =
                piece.contains('=') || piece.contains(':') && piece.contains([' ', '"', '\'']);
            given = named && (assigns || given && piece.trim().is_empty());
        } else if given && !matches!(piece, "Bearer" | "Basic") {
            return true;
        } else if !given {
            named = name_ends_secret(piece);
        }
    }
    let (_, address) = text.split_once("://").unwrap_or_default();
    let host = address.split(['/', '?', '#']).next().unwrap_or_default();
    let user = host.rsplit_once('@').map_or("", |(user, _)| user);
    user.split_once(':')
        .is_some_and(|(_, password)| !password.is_empty())
}

/// Whether all letters of some known word, or pair of words, occur in the name: they seldom do, and this is asked of
/// every word of every log line.
fn has_the_letters(name: &str) -> bool {
    const SINGLE: [u32; SECRET_WORDS.len()] = {
        let mut sets = [0; SECRET_WORDS.len()];
        let mut at = 0;
        while at < sets.len() {
            sets[at] = letters(SECRET_WORDS[at]);
            at += 1;
        }
        sets
    };
    const PAIRED: [u32; SECRET_PAIRS.len()] = {
        let mut sets = [0; SECRET_PAIRS.len()];
        let mut at = 0;
        while at < sets.len() {
            sets[at] = letters(SECRET_PAIRS[at].0) | letters(SECRET_PAIRS[at].1);
            at += 1;
        }
        sets
    };
    let own = letters(name);
    SINGLE
        .iter()
        .chain(&PAIRED)
        .any(|known| own & known == *known)
}

/// The letters of a text as a set of bits, small and capital ones alike. What is not ASCII may become any letter.
const fn letters(text: &str) -> u32 {
    let text = text.as_bytes();
    let mut set = 0;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        if byte.is_ascii_alphabetic() {
            set |= 1 << (byte & 0x1f);
        } else if !byte.is_ascii() {
            return u32::MAX;
        }
        at += 1;
    }
    set
}

/// Whether a value has the look of a token that some service handed out.
pub fn value_is_secret(value: &str) -> bool {
    // Bytes are counted first: they are never fewer than characters.
    if value.len() < TOKEN_CHARS_MIN {
        return false;
    }
    let value = value
        .strip_prefix("Bearer ")
        .or_else(|| value.strip_prefix("Basic "))
        .unwrap_or(value)
        .trim();
    SECRET_PREFIXES.iter().any(|p| value.starts_with(p))
        && value.chars().count() >= TOKEN_CHARS_MIN
        && (!value.contains(char::is_whitespace) || value.starts_with("-----BEGIN"))
}

/// The words of an identifier in any spelling, as they are written.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let mut previous_lower = false;
        let end = rest.find(|c: char| {
            let ends = !c.is_alphanumeric() || (c.is_uppercase() && previous_lower);
            previous_lower = c.is_lowercase() || c.is_numeric();
            ends
        });
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// A word in small letters, as far as it can be one that is known here; on the stack, because every word of
/// every log line becomes one.
#[derive(Default)]
struct Word {
    letters: [u8; Self::BYTES_MAX],
    /// How many there are; none for a word that is longer than all that are known.
    len: usize,
    ends_with_token: bool,
}

impl Word {
    const BYTES_MAX: usize = 16;
    const TOKEN: &str = "token";

    fn of(word: &str) -> Self {
        if !word.is_ascii() {
            return Self::of_lowered(&word.to_lowercase());
        }
        let mut own = Self::default();
        if let Some(letters) = own.letters.get_mut(..word.len()) {
            letters.copy_from_slice(word.as_bytes());
            letters.make_ascii_lowercase();
            own.len = word.len();
        }
        let end = word.len().checked_sub(Self::TOKEN.len());
        own.ends_with_token = end
            .is_some_and(|end| word.as_bytes()[end..].eq_ignore_ascii_case(Self::TOKEN.as_bytes()));
        own
    }

    fn of_lowered(word: &str) -> Self {
        let mut own = Self {
            ends_with_token: word.ends_with(Self::TOKEN),
            ..Self::default()
        };
        if let Some(letters) = own.letters.get_mut(..word.len()) {
            letters.copy_from_slice(word.as_bytes());
            own.len = word.len();
        }
        own
    }

    fn is(&self, known: &str) -> bool {
        self.len == known.len() && self.letters[..self.len] == *known.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_beside_its_name_is_known() {
        for (text, expected) in [
            ("--token=abc", true),
            ("API_KEY=abc", true),
            ("--apiKey=abc", true),
            ("Authorization: Bearer abc", true),
            ("https://example.com/?api_key=abc&x=1", true),
            ("postgres://ada:hush@db/shop", true),
            ("{\"token\": \"abc\"}", true),
            ("--token=", false),
            ("--token", false),
            ("--token-file=/run/token", false),
            ("--api-key-env=SHOP_KEY", false),
            ("--tokenizer=fast", false),
            ("postgres://ada@db/shop", false),
            ("https://token.example.com:8443/mcp", false),
            ("token:", false),
            ("Authorization: Bearer ", false),
            ("/run/token:/run/token:ro", false),
            ("", false),
        ] {
            assert_eq!(gives_secret(text), expected, "{text}");
        }
    }

    #[test]
    fn a_secret_shows_nothing_of_itself() {
        let secret = Secret::new("hunter2hunter2");
        assert_eq!(format!("{secret:?} {secret}"), "*** ***");
        assert_eq!(secret.expose(), "hunter2hunter2");
        assert_eq!(secret, secret.clone());
        assert_ne!(secret, Secret::new("other"));
    }

    #[test]
    fn names_of_secrets_are_known_by_whole_words() {
        for name in [
            "GITHUB_TOKEN",
            "X-Api-Key",
            "apiKey",
            "OPENAI_API_KEY",
            "--api-key",
            "Authorization",
            "db_password",
            "AWS_SECRET_ACCESS_KEY",
            "accessToken",
            "authtoken",
        ] {
            assert!(name_is_secret(name), "{name}");
        }
        for name in [
            "TOKENIZER_PATH",
            "monkey",
            "PATH",
            "key",
            "primary_key",
            "HOME",
            "patience",
            "sort-key",
        ] {
            assert!(!name_is_secret(name), "{name}");
        }
    }

    #[test]
    fn every_known_word_fits_where_words_are_compared() {
        let pairs = SECRET_PAIRS.iter().flat_map(|(a, b)| [a, b]);
        for word in SECRET_WORDS.iter().chain(pairs) {
            assert!(word.len() <= Word::BYTES_MAX, "{word}");
        }
    }

    #[test]
    fn values_are_known_by_their_look() {
        for value in [
            "ghp_0123456789abcdefghij",
            "sk-0123456789abcdef01",
            "tck_0123456789abcdef01",
            "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x",
            "-----BEGIN PRIVATE KEY----- abc",
        ] {
            assert!(value_is_secret(value), "{value}");
        }
        for value in [
            "sk-short",
            "a plain sentence of some length",
            "/usr/local/share/something",
            "${GITHUB_TOKEN}",
        ] {
            assert!(!value_is_secret(value), "{value}");
        }
    }

    /// The words of a name as they were first written down: lower-cased, one `String` each.
    fn plain_words(name: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut previous_lower = false;
        for c in name.chars() {
            if !c.is_alphanumeric() || (c.is_uppercase() && previous_lower) {
                words.push(String::new());
            }
            if c.is_alphanumeric() {
                words.last_mut().unwrap().extend(c.to_lowercase());
            }
            previous_lower = c.is_lowercase() || c.is_numeric();
        }
        words.retain(|word| !word.is_empty());
        words
    }

    fn plainly_secret(name: &str) -> bool {
        let words = plain_words(name);
        words
            .iter()
            .any(|word| SECRET_WORDS.contains(&word.as_str()) || word.ends_with("token"))
            || words.windows(2).any(|pair| {
                SECRET_PAIRS.contains(&(
                    SECRET_PAIRS
                        .iter()
                        .map(|(first, _)| *first)
                        .find(|first| *first == pair[0])
                        .unwrap_or_default(),
                    "key",
                )) && pair[1] == "key"
            })
    }

    proptest::proptest! {
        #[test]
        fn names_are_judged_as_their_plain_words_are(
            name in "(api|Key|TOKEN|token|pat|Secret|ser|vice|[A-Za-z0-9_.é\u{130}\u{212a}-]){0,6}"
        ) {
            proptest::prop_assert_eq!(name_is_secret(&name), plainly_secret(&name), "{}", name);
        }
    }
}
