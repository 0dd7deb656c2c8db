//! Token buckets: pure integer arithmetic, the same here and in a Valkey script.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{RATE_BURST_DEFAULT, RATE_REQUESTS_PER_SECOND_DEFAULT};

/// How many requests may pass: `requests` in every `perSeconds`, and up to `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rate {
    /// How many requests each period adds; 0 lets only the burst pass, once.
    pub requests: u32,
    /// The length of the period in seconds; 1 when left out.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub per_seconds: u32,
    /// How many requests may come at once after a pause; as many as `requests` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
}

const fn one() -> u32 {
    1
}

impl Default for Rate {
    /// Ten a second, twenty at once.
    fn default() -> Self {
        Self {
            requests: RATE_REQUESTS_PER_SECOND_DEFAULT,
            per_seconds: 1,
            burst: Some(RATE_BURST_DEFAULT),
        }
    }
}

impl fmt::Display for Rate {
    /// Writes `100 req/min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.per_seconds {
            0 | 1 => write!(f, "{} req/s", self.requests),
            60 => write!(f, "{} req/min", self.requests),
            3600 => write!(f, "{} req/h", self.requests),
            n => write!(f, "{} req/{n} s", self.requests),
        }
    }
}
