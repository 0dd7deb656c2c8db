//! What an agent sees of the catalog under the profile `gateway`: an intent becomes an action that is
//! ready to be executed.
//!
//! Everything here is made from plain facts, so that it can be tested without a server: the five
//! definitions, the values that stand in a wish, the questions for what is missing, and the shapes
//! and sentences of the answers.

pub mod category;
pub mod definitions;
pub mod intent;
pub mod listing;
pub mod money;
pub mod parameters;
pub mod reference;
pub mod registry;
pub mod steps;
pub mod values;

/// A probability with two digits, as answers show it.
fn rounded(number: f32) -> f64 {
    (f64::from(number) * 100.0).round() / 100.0
}
