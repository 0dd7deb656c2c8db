//! Text to configuration: readers, importers of client formats, validation, export.
//!
//! Every format is read into the same tree of [`node::Node`]s with the place of each value, so that
//! every error, whatever the format, can point at the offending text. The tree is checked against
//! the schema that is generated from [`model`], and only then becomes a [`load::Config`].
//! This crate reads and writes files where it is told to; it knows nothing of the network.

pub mod check;
pub mod diagnostic;
pub mod difference;
pub mod environment;
pub mod export;
pub mod file;
pub mod import;
pub mod load;
pub mod merge;
pub mod model;
pub mod node;
pub mod output;
pub mod placeholder;
pub mod places;
pub mod reader;
pub mod reference;
pub mod registered;
pub mod schema;
pub mod surroundings;
pub mod text;
pub mod trust;
pub mod validate;

pub use diagnostic::{Diagnostic, Severity};
pub use difference::Difference;
pub use load::{Config, Request, load};
pub use node::{Entry, Node, Value};
pub use surroundings::{Os, Surroundings};
pub use text::{Source, Span};
