//! Refusals that have their reason: the committed table, and what was seen held against it.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Judge;
use crate::workspace;

/// A reason for which a mock refuses requests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// The mock.
    by: Judge,
    /// The description.
    file: String,
    /// The tools whose requests are refused for it.
    tools: BTreeSet<String>,
    /// What the mock says, or a part of it that tells this reason from others.
    says: String,
    /// Why that is no fault of the request.
    why: String,
}

/// The reasons that are known.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    #[serde(default)]
    reason: Vec<Reason>,
}

/// A request that was not accepted.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) tool: String,
    pub(super) asked: String,
    pub(super) against: Vec<String>,
}

impl Known {
    /// Reads the committed table.
    pub(super) fn read() -> Result<Self> {
        let path = workspace::root().join("testkit/refused.toml");
        let text = std::fs::read_to_string(&path).context("the table of known refusals is gone")?;
        toml::from_str(&text).context("the table of known refusals cannot be read")
    }

    /// What the table and the refusals of a description do not agree about, one line each.
    pub(super) fn disagreements(&self, by: Judge, file: &str, refusals: &[Refusal]) -> Vec<String> {
        let mut lines = Vec::new();
        for refusal in refusals {
            let unexplained: Vec<&str> = refusal
                .against
                .iter()
                .filter(|said| !self.is_explained(by, file, &refusal.tool, said))
                .map(String::as_str)
                .collect();
            if !unexplained.is_empty() {
                lines.push(format!(
                    "{}:{} ({}) is refused by {}: {}",
                    file,
                    refusal.tool,
                    refusal.asked,
                    by.as_str(),
                    unexplained.join("; ")
                ));
            }
        }
        for reason in self.of(by, file) {
            let used = |tool: &&String| {
                let of_tool = refusals.iter().filter(|refusal| refusal.tool == **tool);
                let mut said = of_tool.flat_map(|refusal| &refusal.against);
                !said.any(|said| said.contains(&reason.says))
            };
            for tool in reason.tools.iter().filter(used) {
                let says = &reason.says;
                lines.push(format!(
                    "{file}:{tool} is not refused with `{says}` any more; take it out of the table"
                ));
            }
        }
        lines
    }

    fn of<'a>(&'a self, by: Judge, file: &'a str) -> impl Iterator<Item = &'a Reason> {
        let all = self.reason.iter();
        all.filter(move |reason| reason.by == by && reason.file == file)
    }

    fn is_explained(&self, by: Judge, file: &str, tool: &str, said: &str) -> bool {
        let mut of_tool = self
            .of(by, file)
            .filter(|reason| reason.tools.contains(tool));
        of_tool.any(|reason| said.contains(&reason.says))
    }

    /// Why requests of a description are refused, and how many tools each reason concerns.
    pub(super) fn told(&self, by: Judge, file: &str) -> Vec<String> {
        let of_file = self.of(by, file);
        let told = of_file.map(|reason| {
            let count = reason.tools.len();
            format!("  {count} with `{}`: {}", reason.says, reason.why)
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        toml::from_str(
            "[[reason]]\nby = 'prism'\nfile = 'box'\ntools = ['put-avatar', 'upload']\nsays = 'boundary'\nwhy = 'it reads no multipart'\n",
        )
        .unwrap()
    }

    fn refusal(tool: &str, against: &[&str]) -> Refusal {
        Refusal {
            tool: tool.to_owned(),
            asked: "PUT /x".to_owned(),
            against: against.iter().map(|said| (*said).to_owned()).collect(),
        }
    }

    #[test]
    fn every_word_against_a_request_needs_its_reason() {
        let explained = [
            refusal("put-avatar", &["no boundary"]),
            refusal("upload", &["no boundary"]),
        ];
        assert!(
            known()
                .disagreements(Judge::Prism, "box", &explained)
                .is_empty()
        );
        let mut more = explained.to_vec();
        more.push(refusal("list", &["no boundary"]));
        more[0].against.push("must be integer".to_owned());
        let lines = known().disagreements(Judge::Prism, "box", &more);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].ends_with("refused by prism: must be integer"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_reason_that_does_not_hold_any_more_is_found() {
        let lines =
            known().disagreements(Judge::Prism, "box", &[refusal("upload", &["no boundary"])]);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("box:put-avatar is not refused"));
        assert!(known().disagreements(Judge::Prism, "ngrok", &[]).is_empty());
        assert!(known().disagreements(Judge::Testkit, "box", &[]).is_empty());
    }

    #[test]
    fn the_committed_table_can_be_read_and_says_why() {
        for reason in Known::read().unwrap().reason {
            assert!(
                reason.why.len() > 40 && !reason.tools.is_empty(),
                "{reason:?}"
            );
            assert!(!reason.says.is_empty(), "{reason:?}");
        }
    }
}
