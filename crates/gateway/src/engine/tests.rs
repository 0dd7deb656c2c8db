//! What the engine promises, against a real store.

mod catalog;
mod confirmation;
mod execution;
mod finding;
mod keys;
