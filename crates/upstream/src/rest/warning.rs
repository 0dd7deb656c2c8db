//! What was found wrong with an API description and cost less than the whole.

use std::fmt;

use serde::Serialize;
use toolcrib_core::limits::ADAPTER_WARNINGS_MAX;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The operation, such as `POST /v1/charges`, or the part of the file.
    pub at: String,
    /// What is wrong and what it cost.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.text)
    }
}

/// Collects warnings up to a bound and counts the rest; each is kept once.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    at: String,
    kept: Vec<Warning>,
    more: usize,
}

impl Warnings {
    /// From here on, warnings are about this part.
    pub(super) fn about(&mut self, at: impl Into<String>) {
        self.at = at.into();
    }

    pub(super) fn add(&mut self, text: impl Into<String>) {
        let warning = Warning {
            at: self.at.clone(),
            text: text.into(),
        };
        if self.kept.contains(&warning) {
            return;
        }
        if self.kept.len() < ADAPTER_WARNINGS_MAX {
            self.kept.push(warning);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn finish(mut self) -> Vec<Warning> {
        if self.more > 0 {
            self.kept.push(Warning {
                at: "the whole description".to_owned(),
                text: format!("there are {} more warnings like these", self.more),
            });
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_bounded_and_each_is_kept_once() {
        let mut warnings = Warnings::default();
        warnings.about("GET /x");
        warnings.add("same");
        warnings.add("same");
        for number in 0..ADAPTER_WARNINGS_MAX + 5 {
            warnings.add(number.to_string());
        }
        let kept = warnings.finish();
        assert_eq!(kept.len(), ADAPTER_WARNINGS_MAX + 1);
        assert_eq!(kept[0].to_string(), "GET /x: same");
        assert!(kept[ADAPTER_WARNINGS_MAX].text.contains("6 more"));
    }
}
