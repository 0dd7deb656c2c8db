//! How much harm a tool can do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What running a tool can do, from harmless to final. The order is the order of harm.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Reads.
    Low,
    /// Ordinary writes.
    Medium,
    /// Moves money, changes permissions, messages people, acts on many; or nothing is known.
    High,
    /// Deletes or ends something for good.
    Destructive,
}

impl Risk {
    /// All levels, rising.
    pub const ALL: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Destructive];

    /// The level as callers see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Destructive => "destructive",
        }
    }
}

impl std::fmt::Display for Risk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
