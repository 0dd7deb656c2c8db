//! Stand-in servers, fault injection and other test support.

pub mod api;
pub mod bundle;
pub mod conformance;
pub mod issuer;
pub mod mock;
pub mod registry;
pub mod remote;
pub mod tokens;
pub mod web;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

/// The path of one of this crate's programs, built if need be with the profile of the running test.
///
/// Cargo hands a test the programs of its own package only; the nested build makes sure that the ones
/// of this package are there and not stale.
///
/// # Panics
/// When it cannot be built.
pub fn program(name: &str) -> PathBuf {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = BUILDING.lock();
    let test = std::env::current_exe().expect("a running test has a path");
    // `target/PROFILE/deps/test-0123456789abcdef`
    let profile = test
        .ancestors()
        .nth(2)
        .expect("a test runs below its target directory");
    let target = profile.parent().expect("a profile has a target directory");
    let directory = profile.file_name().and_then(|name| name.to_str());
    let profile_name = match directory {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--offline",
            "--package",
            "toolcrib-testkit",
            "--bin",
            name,
        ])
        .args(["--profile", profile_name, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "`{name}` cannot be built");
    profile
        .join(name)
        .with_extension(std::env::consts::EXE_EXTENSION)
}
