//! What came of one reload, as it is logged, shown and sent.

use serde::{Deserialize, Serialize};

use super::Brief;
use crate::finding::Finding;

/// Why a reload was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The first load of the process.
    Start,
    /// A file changed.
    File,
    /// The process was sent `SIGHUP`.
    Signal,
    /// Someone asked over the control socket.
    Request,
    /// Files became known that were not watched while they were read.
    Recheck,
}

impl Cause {
    /// The cause in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::File => "file",
            Self::Signal => "signal",
            Self::Request => "request",
            Self::Recheck => "recheck",
        }
    }
}

/// Why a configuration was not put in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// One sentence.
    pub message: String,
    /// What is wrong, finding by finding.
    #[serde(default)]
    pub diagnostics: Vec<Finding>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The new configuration is in place.
    Applied {
        /// What it changed.
        difference: Brief,
    },
    /// It loads and says what the running one says.
    Unchanged,
    /// It does not load; the running one stays.
    Refused {
        /// Why.
        error: Refusal,
    },
}

/// One reload from request to outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Why it was tried; where several asked at once, the first.
    pub cause: Cause,
    /// The generation that is in place now.
    pub generation: u64,
    /// How long loading, comparing and replacing took.
    pub took_ms: u64,
    /// Settings of the configuration in place that hold only once the process is started again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_for_restart: Vec<String>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Report {
    /// Whether the files as they are now are what runs.
    pub fn is_current(&self) -> bool {
        !matches!(self.outcome, Outcome::Refused { .. })
    }

    /// Which settings wait for a restart, in one sentence; none where none does.
    pub fn restart(&self) -> Option<String> {
        let (last, rest) = self.waiting_for_restart.split_last()?;
        Some(match rest {
            [] => format!("{last} waits for a restart"),
            rest => format!("{} and {last} wait for a restart", rest.join(", ")),
        })
    }

    /// Tells the log.
    pub fn log(&self) {
        if let Some(sentence) = self.restart() {
            tracing::warn!("{sentence}");
        }
        let cause = self.cause.word();
        let (generation, took_ms) = (self.generation, self.took_ms);
        match &self.outcome {
            Outcome::Applied { difference } => {
                tracing::info!(generation, took_ms, cause, %difference, "configuration reloaded");
            }
            Outcome::Unchanged if self.cause == Cause::Recheck => {
                tracing::debug!(generation, took_ms, cause, "configuration unchanged");
            }
            Outcome::Unchanged => {
                tracing::info!(generation, took_ms, cause, "configuration unchanged");
            }
            Outcome::Refused { error } => {
                for finding in error.diagnostics.iter().filter(|d| d.is_error()) {
                    tracing::error!(
                        file = finding.file.as_deref(),
                        line = finding.line,
                        column = finding.column,
                        "{}",
                        finding.message
                    );
                }
                tracing::error!(
                    generation,
                    cause,
                    reason = %error,
                    "the configuration was not reloaded; the running one stays in place"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_flat_object_and_reads_back() {
        let report = Report {
            cause: Cause::File,
            generation: 3,
            took_ms: 12,
            waiting_for_restart: Vec::new(),
            outcome: Outcome::Applied {
                difference: Brief::default(),
            },
        };
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["outcome"], "applied");
        assert_eq!(json["tookMs"], 12);
        assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
        assert!(report.is_current());
    }

    #[test]
    fn what_waits_for_a_restart_is_said_in_one_sentence() {
        let check = |waiting: &[&str], expected: Option<&str>| {
            let report = Report {
                cause: Cause::File,
                generation: 2,
                took_ms: 1,
                waiting_for_restart: waiting.iter().map(|name| (*name).to_owned()).collect(),
                outcome: Outcome::Unchanged,
            };
            assert_eq!(report.restart().as_deref(), expected);
            let json = serde_json::to_value(&report).unwrap();
            assert_eq!(json.get("waitingForRestart").is_some(), expected.is_some());
            assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
        };
        check(&[], None);
        check(&["http.listen"], Some("http.listen waits for a restart"));
        check(&["a", "b", "c"], Some("a, b and c wait for a restart"));
    }

    #[test]
    fn a_refusal_says_why_and_is_not_current() {
        let report = Report {
            cause: Cause::Request,
            generation: 1,
            took_ms: 1,
            waiting_for_restart: Vec::new(),
            outcome: Outcome::Refused {
                error: Refusal {
                    message: "toolcrib.yaml does not load".into(),
                    diagnostics: vec![Finding::error("bad")],
                },
            },
        };
        assert!(!report.is_current());
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["error"]["diagnostics"][0]["message"], "bad");
        assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
    }

    #[test]
    fn every_cause_is_spelt_in_the_log_as_in_json() {
        for cause in [
            Cause::Start,
            Cause::File,
            Cause::Signal,
            Cause::Request,
            Cause::Recheck,
        ] {
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.word());
        }
    }
}
