//! Who may run what, and under which conditions: scopes, risk, confirmation, rate limits.

pub mod bucket;
pub mod risk;
pub mod scope;
pub mod settings;

pub use bucket::Rate;
pub use risk::Risk;
pub use scope::{Grant, Scope, ScopeSet};
pub use settings::{ApprovalMode, Confirmation, Mode, Override, PolicySettings, RateLimits};
