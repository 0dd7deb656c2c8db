//! Tasks that need the product's own crates.
//!
//! The driver is built without them. Where it is, these tasks start the same program again, built with the
//! feature `product`: in the debug profile for documents, in the profile `ci` where speed is measured.

use anyhow::Result;

use crate::args::Args;
#[cfg(not(feature = "product"))]
use crate::process;

/// `cargo xtask eval`
pub(crate) fn eval(args: &mut Args) -> Result<()> {
    #[cfg(feature = "product")]
    return crate::cases::run(args.remaining());
    #[cfg(not(feature = "product"))]
    again("eval", Some("ci"), args)
}

/// `cargo xtask bench`
pub(crate) fn bench(args: &mut Args) -> Result<()> {
    #[cfg(feature = "product")]
    return crate::bench::run(args);
    #[cfg(not(feature = "product"))]
    again("bench", Some("ci"), args)
}

/// `cargo xtask docs`
pub(crate) fn docs(args: &mut Args) -> Result<()> {
    #[cfg(feature = "product")]
    return crate::docs::run(args);
    #[cfg(not(feature = "product"))]
    again("docs", None, args)
}

#[cfg(not(feature = "product"))]
fn again(task: &str, profile: Option<&str>, args: &Args) -> Result<()> {
    let mut command = process::cargo();
    command.args(["run", "--quiet", "--locked", "--package", "xtask"]);
    if let Some(profile) = profile {
        command.args(["--profile", profile]);
    }
    command.args(["--", task]).args(args.remaining());
    process::run(&mut command)
}
