//! The `server` field of a rule.

use crate::pattern::{Outcome, Pattern, PatternError};

/// Which servers a rule is about: all, one by its exact name, or those that a pattern matches.
///
/// A name without `*`, `?`, `[` and `{` is that server and no other, letter case included. With one
/// of them, or as `/…/` or with a leading `!`, it is a pattern like any other.
#[derive(Clone, Debug, Default)]
pub struct ServerFilter {
    text: Option<String>,
    pattern: Option<Pattern>,
}

impl ServerFilter {
    /// All servers.
    pub fn any() -> Self {
        Self::default()
    }

    /// The servers that a rule's `server` field means.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let regex = text.starts_with('/') && text.len() > 1 && text[1..].contains('/');
        let special = regex || text.starts_with('!') || text.contains(['*', '?', '[', '{']);
        Ok(Self {
            pattern: special.then(|| Pattern::new(text)).transpose()?,
            text: Some(text.to_owned()),
        })
    }

    /// The one server that is named outright, if one is.
    pub fn exact(&self) -> Option<&str> {
        match self.pattern {
            None => self.text.as_deref(),
            Some(_) => None,
        }
    }

    /// Whether a server is meant.
    pub fn test(&self, server: &str) -> Outcome {
        let Some(text) = &self.text else {
            return Outcome::Yes;
        };
        if text == server {
            return Outcome::Yes;
        }
        match &self.pattern {
            None => Outcome::No,
            Some(pattern) => match pattern.test(None, server) {
                Outcome::Yes if pattern.is_negated() => Outcome::No,
                Outcome::No if pattern.is_negated() => Outcome::Yes,
                other => other,
            },
        }
    }

    /// Whether every server that `other` means is certain to be meant by this one.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (&self.text, &other.text) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wide), Some(narrow)) => {
                let exact = other.exact();
                wide == narrow || exact.is_some_and(|name| self.test(name) == Outcome::Yes)
            }
        }
    }
}
