//! Writing: our own configuration, and our entry in other clients' files.

pub mod own;
mod yaml;
