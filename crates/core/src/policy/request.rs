//! What is asked: one call, as far as policy looks at it.

use super::approval::Approval;
use super::confirmation::Challenge;
use super::metadata::Metadata;
use crate::canon::Hash;
use crate::catalog::ToolId;
use crate::schema::Violations;

/// The tool that a request was resolved to, with everything that policy holds about it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Which tool.
    pub id: &'a ToolId,
    /// Whether rules let it be found and run.
    pub enabled: bool,
    /// The rule that decided, in words, for explanations.
    pub rule: Option<&'a str>,
    /// Whether its definition has been accepted.
    pub approval: Approval,
    /// Its policy metadata.
    pub metadata: &'a Metadata,
}

/// Whether the arguments fit the tool's schema.
#[derive(Clone, Copy, Debug, Default)]
pub enum Validity<'a> {
    /// They were checked and fit.
    Valid,
    /// They were checked and do not fit.
    Invalid(&'a Violations),
    /// They were not checked; this permits nothing.
    #[default]
    Unchecked,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The hash of the arguments.
    pub params_hash: Hash,
    /// Whether the arguments fit.
    pub validity: Validity<'a>,
    /// The idempotency key that came with it.
    pub idempotency_key: Option<&'a str>,
    /// Whether the caller says that the call is confirmed.
    pub confirmed: bool,
    /// The challenge for this very call, if there is one in the store.
    pub challenge: Option<&'a Challenge>,
    /// Whether only the checks are wanted.
    pub dry_run: bool,
    /// The time-out that the caller asks for.
    pub timeout_ms: Option<u64>,
    /// Whether the call came on the one path that `restCompat` exempts from keys.
    pub key_exempt: bool,
    /// How long the fullest of the buckets still has to wait, if one is empty.
    pub rate_wait_ms: Option<u64>,
}

impl Request<'_> {
    /// A call with these arguments and nothing added to it.
    pub fn plain(params_hash: Hash) -> Self {
        Self {
            params_hash,
            validity: Validity::Unchecked,
            idempotency_key: None,
            confirmed: false,
            challenge: None,
            dry_run: false,
            timeout_ms: None,
            key_exempt: false,
            rate_wait_ms: None,
        }
    }
}
