//! What the engine promises, against a real store.

mod catalog;
mod child;
mod confirmation;
mod execution;
mod finding;
mod keys;
