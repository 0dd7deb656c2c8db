//! `cargo xtask bench tokens`: what each kind of answer costs a model, beside what was promised.

use anyhow::Result;

use super::recorder::Recorder;
use super::results::OF_TEN_THOUSAND_TOKENS;
use crate::tokens;

/// Names for a reader, by the names that `cargo xtask eval tokens` has.
const NAMES: [(&str, &str, &str); 14] = [
    ("definitions", "the five definitions", "tokens"),
    ("search_median", "search_tools, median", "tokens"),
    ("search_max", "search_tools, at most", "tokens"),
    ("details_median", "get_tool_details, median", "tokens"),
    ("details_max", "get_tool_details, at most", "tokens"),
    (
        "list_median",
        "a page of list_tools or list_mcp_servers, median",
        "tokens",
    ),
    (
        "list_max",
        "a page of list_tools or list_mcp_servers, at most",
        "tokens",
    ),
    ("signature_median", "a signature in a hit, median", "tokens"),
    ("signature_max", "a signature in a hit, at most", "tokens"),
    ("per_message", "definitions, a search and details", "tokens"),
    (
        "per_message_of_everything_per_10000",
        "definitions, a search and details against every definition at once",
        OF_TEN_THOUSAND_TOKENS,
    ),
    (
        "single_tool_flow_median",
        "find, look at and run one tool, median",
        "tokens",
    ),
    (
        "two_tool_flow_median",
        "the same for two tools, median",
        "tokens",
    ),
    (
        "left_of_everything_per_10000",
        "two tools against every definition at once",
        OF_TEN_THOUSAND_TOKENS,
    ),
];

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    for figure in tokens::figures()? {
        let named = NAMES.iter().find(|(name, ..)| *name == figure.name);
        if let Some((_, name, unit)) = named {
            recorder
                .value(name, figure.value as u64, unit)
                .at_most(figure.budget as u64);
        }
    }
    Ok(())
}
