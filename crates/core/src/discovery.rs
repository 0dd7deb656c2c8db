//! What an agent sees of the catalog: five small tools, and answers that stay within their budgets.
//!
//! Everything here is text made from plain facts, so that what it costs can be measured without a
//! server. Answers are JSON without indentation, and without fields that would be empty.

pub mod details;
pub mod prose;
