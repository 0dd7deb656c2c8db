//! Scopes: what a tool needs, what a caller was granted, and when the one covers the other.
//!
//! A [`Scope`] is literal (`payments:write`); a [`Grant`] may use `*` for one whole part
//! (`github:*`, `*:read`) or alone for everything. There are no partial wildcards (`git*`), a `*`
//! never spans a `:`, and no scope implies another. The area `toolcrib` is reserved for acts on
//! Toolcrib itself: only a grant that names it covers it, so that a caller who may run every tool
//! still cannot settle its own confirmations.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::limits::{SCOPE_BYTES_MAX, SCOPE_PARTS_MAX};

/// The area of scopes that govern Toolcrib itself; wildcards in its place do not cover it.
pub const RESERVED_AREA: &str = "toolcrib";

/// One literal scope that a tool needs, such as `payments:write`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope(Box<str>);

/// One scope that a caller holds; its parts are literal or `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Grant(Box<str>);

/// Why a text is not a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// Empty, too long, too many parts, or with a character that scopes do not have.
    #[error(
        "`{0}` is not a scope: write parts of letters, digits and `._-/%` joined by `:`, such as `payments:write`"
    )]
    Malformed(String),
    /// A `*` beside other characters of the same part.
    #[error("`{0}` uses `*` inside a part: a `*` must stand for a whole part, such as `github:*`")]
    PartialWildcard(String),
    /// A `*` where a tool says what it needs.
    #[error("`{0}` uses `*`: what a tool needs must be written out, such as `github:write`")]
    WildcardNeed(String),
}

fn check(text: &str) -> Result<(), ScopeError> {
    let shown = || text.chars().take(SCOPE_BYTES_MAX).collect::<String>();
    if text.len() > SCOPE_BYTES_MAX || text.split(':').count() > SCOPE_PARTS_MAX {
        return Err(ScopeError::Malformed(shown()));
    }
    for part in text.split(':') {
        let literal = |b: u8| b.is_ascii_alphanumeric() || b"._-/%".contains(&b);
        if part.is_empty() || !part.bytes().all(|b| literal(b) || b == b'*') {
            return Err(ScopeError::Malformed(shown()));
        }
        if part.contains('*') && part != "*" {
            return Err(ScopeError::PartialWildcard(shown()));
        }
    }
    Ok(())
}

impl Scope {
    /// Reads a literal scope; letters become lower case.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        check(text)?;
        if text.contains('*') {
            return Err(ScopeError::WildcardNeed(text.to_owned()));
        }
        Ok(Self(text.to_ascii_lowercase().into()))
    }

    /// The scope `area:action`, for any area name: letters become lower case, and bytes that scopes
    /// do not have are written `%xx`, so that no two names share a scope unless they differ in case.
    pub fn of(area: &str, action: &str) -> Self {
        let mut text = String::with_capacity(area.len() + action.len() + 1);
        for byte in area.bytes() {
            if byte.is_ascii_alphanumeric() || b"._-/".contains(&byte) {
                text.push(char::from(byte.to_ascii_lowercase()));
            } else {
                let _ = write!(text, "%{byte:02x}");
            }
        }
        text.push(':');
        text.push_str(action);
        Self(text.into())
    }

    /// The scope as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Grant {
    /// Reads a grant; letters become lower case.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        check(text)?;
        Ok(Self(text.to_ascii_lowercase().into()))
    }

    /// The grant as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this grant gives `scope`: equal part by part, where `*` stands for exactly one part
    /// and a lone `*` for any scope; the reserved area must be named.
    pub fn covers(&self, scope: &Scope) -> bool {
        let mut held = self.0.split(':');
        let mut needed = scope.0.split(':');
        let area = needed.clone().next();
        if area == Some(RESERVED_AREA) && held.clone().next() != Some(RESERVED_AREA) {
            return false;
        }
        if &*self.0 == "*" {
            return true;
        }
        loop {
            match (held.next(), needed.next()) {
                (None, None) => return true,
                (Some(h), Some(n)) if h == "*" || h == n => {}
                _ => return false,
            }
        }
    }
}

/// The grants that a caller holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ScopeSet(BTreeSet<Grant>);

impl ScopeSet {
    /// No scope at all: nothing that needs one can be run.
    pub fn none() -> Self {
        Self::default()
    }

    /// The grant `*`: every scope outside the reserved area.
    pub fn all() -> Self {
        Self(BTreeSet::from([Grant("*".into())]))
    }

    /// Reads grants as tokens and keys carry them; what is not a scope grants nothing and is
    /// left out.
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self(texts.into_iter().flat_map(Grant::parse).collect())
    }

    /// The first grant, in alphabetical order, that covers `scope`.
    pub fn covering(&self, scope: &Scope) -> Option<&Grant> {
        self.0.iter().find(|grant| grant.covers(scope))
    }

    /// Whether some grant covers `scope`.
    pub fn covers(&self, scope: &Scope) -> bool {
        self.covering(scope).is_some()
    }

    /// The grants in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter()
    }

    /// Takes a grant away; says whether it was held.
    pub fn remove(&mut self, grant: &Grant) -> bool {
        self.0.remove(grant)
    }
}

impl FromIterator<Grant> for ScopeSet {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}

macro_rules! text_type {
    ($type:ident, $name:literal, $pattern:literal, $doc:literal) => {
        impl TryFrom<String> for $type {
            type Error = ScopeError;

            fn try_from(text: String) -> Result<Self, ScopeError> {
                Self::parse(&text)
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.0.into()
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $doc, "pattern": $pattern, "maxLength": SCOPE_BYTES_MAX })
            }
        }
    };
}

text_type!(
    Scope,
    "Scope",
    "^[A-Za-z0-9._/%-]+(:[A-Za-z0-9._/%-]+)*$",
    "A scope that a tool needs, written out, such as `payments:write`."
);
text_type!(
    Grant,
    "Grant",
    "^([A-Za-z0-9._/%-]+|\\*)(:([A-Za-z0-9._/%-]+|\\*))*$",
    "A scope that a caller holds: `payments:write`, `github:*`, `*:read`, or `*` for everything."
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn grants_cover_exactly_what_they_say() {
        let table = [
            ("payments:write", "payments:write", true),
            ("Payments:Write", "payments:write", true),
            ("payments:write", "payments:read", false),
            ("payments:write", "payments", false),
            ("payments:write", "payments:write:all", false),
            ("payments", "payments:write", false),
            ("github:*", "github:read", true),
            ("github:*", "github", false),
            ("github:*", "github:repo:read", false),
            ("github:*", "github-legacy:read", false),
            ("*:read", "github:read", true),
            ("*:read", "github:write", false),
            ("*:read", "github:repo:read", false),
            ("*:*", "github:read", true),
            ("*:*", "openid", false),
            ("*", "github:repo:read", true),
            ("*", "openid", true),
            ("*", "toolcrib:approve", false),
            ("*:*", "toolcrib:approve", false),
            ("*:approve", "toolcrib:approve", false),
            ("toolcrib:*", "toolcrib:approve", true),
            ("toolcrib:approve", "toolcrib:approve", true),
            ("toolcrib:approve", "toolcrib:keys", false),
        ];
        for (grant, scope, expected) in table {
            let covers = Grant::parse(grant)
                .unwrap()
                .covers(&Scope::parse(scope).unwrap());
            assert_eq!(covers, expected, "{grant} covers {scope}");
        }
    }

    #[test]
    fn wildcard_abuse_is_not_a_scope() {
        for text in [
            "",
            ":",
            "a:",
            ":a",
            "git*:read",
            "**",
            "*:*read",
            "a b",
            "a:b\n",
            "?:read",
            "{a,b}:read",
            "\u{ff0a}",
            "a:b:c:d:e:f:g",
        ] {
            assert!(Grant::parse(text).is_err(), "{text:?}");
        }
        assert!(Grant::parse(&"a".repeat(SCOPE_BYTES_MAX + 1)).is_err());
        assert_eq!(
            Scope::parse("a:*"),
            Err(ScopeError::WildcardNeed("a:*".into()))
        );
        let set = ScopeSet::from_texts(["git*:read", "openid", "a:read"]);
        let held: Vec<_> = set.iter().map(Grant::as_str).collect();
        assert_eq!(held, ["a:read", "openid"]);
    }

    #[test]
    fn scopes_of_odd_server_names_stay_apart() {
        assert_eq!(Scope::of("GitHub", "read").as_str(), "github:read");
        assert_eq!(Scope::of("a b", "read").as_str(), "a%20b:read");
        assert_eq!(Scope::of("a:b", "read").as_str(), "a%3ab:read");
        assert_eq!(Scope::of("*", "read").as_str(), "%2a:read");
        assert_ne!(
            Scope::of("g\u{456}thub", "read"),
            Scope::of("github", "read")
        );
        let named = Scope::of("a b", "read");
        assert!(Grant::parse("a%20b:*").unwrap().covers(&named));
    }

    #[test]
    fn scopes_travel_as_text() {
        let set: ScopeSet = serde_json::from_str(r#"["github:*","*:read"]"#).unwrap();
        assert_eq!(
            serde_json::to_string(&set).unwrap(),
            r#"["*:read","github:*"]"#
        );
        let error = serde_json::from_str::<ScopeSet>(r#"["git*"]"#).unwrap_err();
        assert!(error.to_string().contains("whole part"), "{error}");
    }

    fn part() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["a", "b", "read", "write", "toolcrib", "*"])
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(part(), 1..4).prop_map(|parts| parts.join(":"))
    }

    proptest! {
        #[test]
        fn taking_a_grant_away_never_covers_more(
            grants in prop::collection::vec(text(), 0..6),
            gone in 0usize..6,
            scope in text().prop_filter("literal", |s| !s.contains('*')),
        ) {
            let held = ScopeSet::from_texts(grants.iter().map(String::as_str));
            let mut fewer = held.clone();
            if let Some(grant) = grants.get(gone) {
                fewer.remove(&Grant::parse(grant).unwrap());
            }
            let scope = Scope::parse(&scope).unwrap();
            prop_assert!(held.covers(&scope) || !fewer.covers(&scope));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = Grant::parse(&text);
            let _ = Scope::parse(&text);
            let made = Scope::of(&text, "read");
            prop_assert!(ScopeSet::all().covers(&made) || made.as_str().starts_with("toolcrib:"));
        }
    }
}
