//! Tasks that need the product's own crates.
//!
//! The driver is built without them. Where it is, these tasks start the same program again, built with
//! the feature `product`: in the debug profile for documents, in the profile `ci` where speed counts.

use anyhow::Result;

use crate::args::Args;

#[cfg(feature = "product")]
pub(crate) use here::{bench, docs, eval, flows, hot, trained};
#[cfg(not(feature = "product"))]
pub(crate) use there::{bench, docs, eval, flows, hot, trained};

/// The tasks themselves, in a program that has the product's crates.
#[cfg(feature = "product")]
mod here {
    use super::{Args, Result};
    use anyhow::bail;

    /// One evaluation: its name, and what runs it with its own arguments.
    type Evaluation = (&'static str, fn(&[String]) -> Result<()>);

    /// Every evaluation over shared data whose floors hold. A new one is a line here.
    const EVALUATIONS: &[Evaluation] = &[
        ("capabilities", crate::capabilities::run),
        ("cases", crate::cases::run),
        ("labels", crate::labels::run),
        ("search", crate::eval::run),
        ("tokens", crate::tokens::run),
    ];

    /// Evaluations whose goals are not reached yet: run by name only.
    const BY_NAME: &[Evaluation] = &[("adapters", crate::adapters::run)];

    /// `cargo xtask eval`: all evaluations, or the one that is named.
    pub(crate) fn eval(args: &mut Args) -> Result<()> {
        let name = args.positional();
        let chosen = |(of, _): &&Evaluation| name.as_deref().is_none_or(|name| name == *of);
        let mut failed = Vec::new();
        let mut ran = 0;
        let further = if name.is_some() { BY_NAME } else { &[] };
        for (of, run) in EVALUATIONS.iter().chain(further).filter(chosen) {
            crate::ui::title(of);
            ran += 1;
            if let Err(error) = run(args.remaining()) {
                crate::ui::error(&format!("{error:#}"));
                failed.push(*of);
            }
        }
        if ran == 0 {
            let all = EVALUATIONS.iter().chain(BY_NAME);
            let names: Vec<&str> = all.map(|(name, _)| *name).collect();
            bail!(
                "there is no such evaluation; there are: {}",
                names.join(", ")
            );
        }
        if !failed.is_empty() {
            bail!("these evaluations failed: {}", failed.join(", "));
        }
        Ok(())
    }

    /// `cargo xtask bench`
    pub(crate) fn bench(args: &mut Args) -> Result<()> {
        crate::bench::run(args)
    }

    /// `cargo xtask docs`
    pub(crate) fn docs(args: &mut Args) -> Result<()> {
        crate::docs::run(args)
    }

    /// `cargo xtask flows`
    pub(crate) fn flows(args: &mut Args) -> Result<()> {
        crate::flows::run(args)
    }

    /// `cargo xtask hot`
    pub(crate) fn hot(args: &mut Args) -> Result<()> {
        crate::hot::run(args)
    }

    /// `cargo xtask trained`
    pub(crate) fn trained(args: &mut Args) -> Result<()> {
        crate::trained::run(args)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn an_evaluation_that_does_not_exist_is_refused_with_the_names_that_do() {
            let error = eval(&mut Args::new(vec!["case".into()])).unwrap_err();
            assert!(error.to_string().contains("cases"), "{error}");
        }
    }
}

/// The same tasks in a program that must start another one for them.
#[cfg(not(feature = "product"))]
mod there {
    use super::{Args, Result};
    use crate::process;

    pub(crate) fn eval(args: &mut Args) -> Result<()> {
        again("eval", Some("ci"), args)
    }

    pub(crate) fn bench(args: &mut Args) -> Result<()> {
        again("bench", Some("ci"), args)
    }

    pub(crate) fn docs(args: &mut Args) -> Result<()> {
        again("docs", None, args)
    }

    pub(crate) fn flows(args: &mut Args) -> Result<()> {
        again("flows", None, args)
    }

    pub(crate) fn hot(args: &mut Args) -> Result<()> {
        again("hot", Some("ci"), args)
    }

    pub(crate) fn trained(args: &mut Args) -> Result<()> {
        again("trained", Some("ci"), args)
    }

    fn again(task: &str, profile: Option<&str>, args: &Args) -> Result<()> {
        let mut command = process::cargo();
        command.args(["run", "--quiet", "--locked", "--package", "xtask"]);
        if let Some(profile) = profile {
            command.args(["--profile", profile]);
        }
        command.args(["--", task]).args(args.remaining());
        process::run(&mut command)
    }
}
