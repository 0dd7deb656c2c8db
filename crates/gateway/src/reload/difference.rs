//! What a new configuration changes.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use toolcrib_core::limits;

/// What differs between two configurations, so that what did not change can be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Servers that are new, in the order of the new configuration.
    pub added: Vec<String>,
    /// Servers that are gone, in the order of the old configuration.
    pub removed: Vec<String>,
    /// Servers that are defined otherwise than before.
    pub changed: Vec<String>,
    /// Servers that are as they were.
    pub unchanged: Vec<String>,
    /// Settings apart from servers that are not as they were, by their path: `cache.ttl`.
    pub settings: Vec<String>,
}

impl Difference {
    /// Compares two lists of servers, each with its name.
    pub fn of_servers<'a, S: PartialEq + 'a>(
        old: impl IntoIterator<Item = (&'a str, &'a S)>,
        new: impl IntoIterator<Item = (&'a str, &'a S)>,
    ) -> Self {
        let old: Vec<_> = old.into_iter().collect();
        let new: HashMap<_, _> = index(new);
        let before: HashMap<_, _> = index(old.iter().copied());
        let mut difference = Self::default();
        let mut names: Vec<_> = new.iter().map(|(name, (at, _))| (*at, *name)).collect();
        names.sort_unstable();
        for (_, name) in names {
            let list = match before.get(name) {
                None => &mut difference.added,
                Some((_, was)) if *was != new[name].1 => &mut difference.changed,
                Some(_) => &mut difference.unchanged,
            };
            list.push(name.to_owned());
        }
        difference.removed = old
            .iter()
            .filter(|(name, _)| !new.contains_key(name))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        difference
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.settings.is_empty()
    }

    /// The same in bounded size, for people and for the control socket.
    pub fn brief(&self) -> Brief {
        Brief {
            added: Names::of(&self.added),
            removed: Names::of(&self.removed),
            changed: Names::of(&self.changed),
            unchanged: self.unchanged.len(),
            settings: Names::of(&self.settings),
        }
    }
}

fn index<'a, S: 'a>(
    servers: impl IntoIterator<Item = (&'a str, &'a S)>,
) -> HashMap<&'a str, (usize, &'a S)> {
    servers
        .into_iter()
        .enumerate()
        .map(|(at, (name, server))| (name, (at, server)))
        .collect()
}

/// A [`Difference`] in bounded size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// Servers that are new.
    pub added: Names,
    /// Servers that are gone.
    pub removed: Names,
    /// Servers that are defined otherwise.
    pub changed: Names,
    /// How many servers are as they were.
    pub unchanged: usize,
    /// Settings that are not as they were.
    pub settings: Names,
}

impl fmt::Display for Brief {
    /// One line: `servers: 1 added, 0 removed, 2 changed, 5 unchanged; settings changed: cache.ttl`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "servers: {} added, {} removed, {} changed, {} unchanged",
            self.added.count, self.removed.count, self.changed.count, self.unchanged
        )?;
        if self.settings.count > 0 {
            write!(f, "; settings changed: {}", self.settings.names.join(", "))?;
        }
        Ok(())
    }
}

/// How many there are, and the names of the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// How many there are.
    pub count: usize,
    /// At most [`limits::CONTROL_NAMES_MAX`] of them.
    pub names: Vec<String>,
}

impl Names {
    fn of(names: &[String]) -> Self {
        Self {
            count: names.len(),
            names: names
                .iter()
                .take(limits::CONTROL_NAMES_MAX)
                .map(|name| name.chars().take(NAME_CHARS_MAX).collect())
                .collect(),
        }
    }
}

/// Most characters of one name in a [`Brief`].
const NAME_CHARS_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn servers_are_sorted_into_added_removed_changed_and_unchanged() {
        let old = [("a", 1), ("b", 1), ("c", 1)];
        let new = [("d", 1), ("c", 1), ("b", 2)];
        let difference = Difference::of_servers(
            old.iter().map(|(n, s)| (*n, s)),
            new.iter().map(|(n, s)| (*n, s)),
        );
        assert_eq!(
            difference,
            Difference {
                added: names(&["d"]),
                removed: names(&["a"]),
                changed: names(&["b"]),
                unchanged: names(&["c"]),
                settings: vec![],
            }
        );
        assert!(!difference.is_empty());
    }

    #[test]
    fn equal_lists_differ_in_nothing() {
        let list = [("a", 1), ("b", 1)];
        let of = || list.iter().map(|(n, s)| (*n, s));
        let difference = Difference::of_servers(of(), of());
        assert!(difference.is_empty());
        assert_eq!(difference.unchanged, names(&["a", "b"]));
    }

    #[test]
    fn a_change_of_settings_alone_is_a_difference() {
        let difference = Difference {
            settings: names(&["cache.ttl"]),
            ..Difference::default()
        };
        assert!(!difference.is_empty());
        assert_eq!(
            difference.brief().to_string(),
            "servers: 0 added, 0 removed, 0 changed, 0 unchanged; settings changed: cache.ttl"
        );
    }

    #[test]
    fn the_brief_form_counts_what_it_leaves_out() {
        let added: Vec<String> = (0..limits::CONTROL_NAMES_MAX + 7)
            .map(|n| format!("{n}{}", "x".repeat(500)))
            .collect();
        let brief = Difference {
            added,
            ..Difference::default()
        }
        .brief();
        assert_eq!(brief.added.count, limits::CONTROL_NAMES_MAX + 7);
        assert_eq!(brief.added.names.len(), limits::CONTROL_NAMES_MAX);
        assert!(
            serde_json::to_string(&brief).unwrap().len() < limits::CONTROL_MESSAGE_BYTES_MAX / 4
        );
    }
}
