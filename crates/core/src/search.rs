//! Finding the right tool for a plain wish.
//!
//! An [`Index`] is built from the tools of every server, one [`Part`] per server, and never
//! changes; a changed server gives a new index that shares the other parts. A search reads the
//! query into words and values, takes the tools that share words with it, looks at the best of
//! them more closely, and says how sure it is. Nothing here depends on time, chance, threads or
//! the machine: the same catalog and query give the same answer, byte for byte.

mod arithmetic;
mod explain;
mod field;
mod hits;
mod index;
pub mod learn;
mod lexicon;
mod likeness;
mod lookup;
mod meaning;
mod model;
mod part;
mod query;
mod retrieve;
mod scoreboard;
mod signals;
mod signs;
mod spelling;
mod successor;
pub(crate) mod values;
mod vocabulary;
mod wishes;
mod words;

#[cfg(test)]
mod examples;
#[cfg(test)]
mod properties;

pub use field::{FIELDS, Field, Weights};
pub use hits::{Filter, Hit, Hits};
pub use index::Index;
pub use learn::{Learned, Lifts};
pub use meaning::meaning_words;
pub use model::signal_weights;
pub use part::{Part, ServerTools};
pub use signals::{SIGNAL_NAMES, SIGNALS, Signals};

/// Reads the tables that every search uses, so that the first search need not. Takes some milliseconds,
/// once.
pub fn prepare() {
    meaning::Meaning::shared();
    lexicon::Lexicon::shared();
    model::Model::shared();
}
