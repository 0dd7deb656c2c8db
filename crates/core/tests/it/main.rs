//! Black-box tests of the domain, one module for each part.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, helpers included"
)]

mod pattern;
mod policy;

#[path = "../../../../examples/find_tools.rs"]
mod find_tools;

#[test]
fn the_example_runs() {
    find_tools::main();
}
