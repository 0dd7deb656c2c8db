//! What the engine promises, against a real store.

mod adapter;
mod catalog;
mod child;
mod confirmation;
mod doors;
mod execution;
mod finding;
mod keys;
mod limits;
mod packed;
mod pages;
mod repeated;
