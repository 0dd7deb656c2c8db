//! Tasks of the project: `cargo xtask ci|eval|bench|docs|nightly`.

fn main() {}
