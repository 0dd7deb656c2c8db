//! What an agent sees of the catalog: five small tools, and answers that stay within their budgets.
//!
//! Everything here is text made from plain facts, so that what it costs can be measured without a
//! server. Answers are JSON without indentation, and without fields that would be empty.

pub mod definitions;
pub mod details;
pub mod listing;
pub mod prose;
pub mod search;

/// A probability with two digits, as answers show it.
fn rounded(number: f32) -> f64 {
    (f64::from(number) * 100.0).round() / 100.0
}
