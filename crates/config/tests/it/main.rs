//! Black-box tests of the configuration crate, one module per feature.

#![expect(clippy::unwrap_used, reason = "a test whose stage cannot be set fails")]

mod documents;
mod export;
mod export_addition;
mod export_install;
mod export_own;
mod export_takeover;
mod import;
mod import_broken;
mod import_custom;
mod import_home;
mod import_refused;
mod load;
mod load_variables;
mod readers;
mod readers_equal;
mod readers_files;
mod readers_hostile;
mod readers_script;
mod validate;

#[path = "../../../../examples/read_clients.rs"]
mod read_clients;

#[test]
fn the_example_runs() {
    read_clients::main();
}
