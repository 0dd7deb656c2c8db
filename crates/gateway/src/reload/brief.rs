//! What a new configuration changes, in bounded size.

use std::fmt;

use serde::{Deserialize, Serialize};
use toolcrib_config::Difference;
use toolcrib_core::limits;

/// A [`Difference`] for people and for the control socket, whose size does not grow with the
/// configuration.
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
    /// Whether the rules over tools changed.
    pub rules: bool,
    /// Whether any other setting changed.
    pub settings: bool,
}

impl From<&Difference> for Brief {
    fn from(difference: &Difference) -> Self {
        Self {
            added: Names::of(&difference.added),
            removed: Names::of(&difference.removed),
            changed: Names::of(&difference.changed),
            unchanged: difference.unchanged,
            rules: difference.rules,
            settings: difference.settings,
        }
    }
}

impl fmt::Display for Brief {
    /// One line: `servers: 1 added, 0 removed, 2 changed, 5 unchanged; rules changed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "servers: {} added, {} removed, {} changed, {} unchanged",
            self.added.count, self.removed.count, self.changed.count, self.unchanged
        )?;
        if self.rules {
            f.write_str("; rules changed")?;
        }
        if self.settings {
            f.write_str("; settings changed")?;
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

    #[test]
    fn the_line_names_what_changed() {
        let mut difference = Difference {
            added: vec!["a".into()],
            unchanged: 5,
            ..Difference::default()
        };
        let shown = |difference: &Difference| Brief::from(difference).to_string();
        let servers = "servers: 1 added, 0 removed, 0 changed, 5 unchanged";
        assert_eq!(shown(&difference), servers);
        difference.rules = true;
        assert_eq!(shown(&difference), format!("{servers}; rules changed"));
        difference.settings = true;
        assert_eq!(
            shown(&difference),
            format!("{servers}; rules changed; settings changed")
        );
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let added: Vec<String> = (0..limits::CONTROL_NAMES_MAX + 7)
            .map(|n| format!("{n}{}", "x".repeat(500)))
            .collect();
        let brief = Brief::from(&Difference {
            added,
            ..Difference::default()
        });
        assert_eq!(brief.added.count, limits::CONTROL_NAMES_MAX + 7);
        assert_eq!(brief.added.names.len(), limits::CONTROL_NAMES_MAX);
        let json = serde_json::to_string(&brief).unwrap();
        assert!(json.len() < limits::CONTROL_MESSAGE_BYTES_MAX / 4);
    }
}
