//! Filters over results: checked before the call, applied to what it gave.

use serde_json::value::RawValue;
use toolcrib_core::Code;
use toolcrib_core::content::Content;

use crate::engine::definition::raw;
use crate::engine::error::{Error, Result};
use crate::legible;
use crate::select::{self, Unfit};

/// Refuses a filter that could not be applied, before anything is called for it.
pub(super) async fn check(filter: &str) -> Result<()> {
    let unfit = match select::check(filter).await {
        Ok(()) => return Ok(()),
        Err(unfit) => unfit,
    };
    if let Unfit::NotRun(error) = &unfit {
        tracing::error!(%error, "a filter could not be run");
        return Err(Error::new(Code::Overloaded, unfit.to_string()).suggest("Leave out `select`"));
    }
    Err(
        Error::new(Code::ValidationError, format!("`select`: {unfit}."))
            .suggest("Correct the jq filter, or leave out `select`"),
    )
}

/// What became of a result.
pub(super) struct Selected {
    pub(super) result: Box<RawValue>,
    /// Why it is the whole, where it is.
    pub(super) unfiltered: Option<String>,
}

/// What the filter makes of a result. The call has been made: where the filter fails, the whole
/// result is given and says so.
pub(super) async fn apply(filter: &str, result: &RawValue) -> Selected {
    let mut content = Content::read(legible::value(result));
    match select::apply(filter, &content.result).await {
        Ok(selected) => {
            content.result = selected;
            Selected {
                result: raw(&content.write()),
                unfiltered: None,
            }
        }
        Err(unfit) => {
            tracing::info!(%unfit, "the filter of a call failed");
            let note = format!("`select` was not applied: {unfit}. This is the whole result.");
            Selected {
                result: result.to_owned(),
                unfiltered: Some(note),
            }
        }
    }
}
