//! The requirement table: what was asked for, how far it is, and what shows it.
//!
//! `docs/requirements.toml` is the one place where states are kept; `docs/requirements.md` is generated from it. A row
//! that claims to be done names tests or commands, and they must exist.

mod evidence;
mod table;

#[cfg(test)]
pub(crate) use evidence::Tests as KnownTests;
pub(crate) use table::Table;

use anyhow::{Context, Result, bail};

use crate::args::Args;
use crate::{ui, workspace};

use evidence::Tests;

/// `cargo xtask requirements`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    match args.positional().as_deref() {
        None | Some("check") => {
            args.finish()?;
            let note = check()?;
            ui::line(&note);
        }
        Some("summary") => {
            args.finish()?;
            ui::line(&Table::load()?.summary());
        }
        Some("set") => {
            let file = args
                .positional()
                .context("`requirements set` needs a file with lines `R052 | done | test`")?;
            args.finish()?;
            set(&file)?;
        }
        Some(other) => bail!("`{other}` is none of check, set, summary"),
    }
    Ok(())
}

/// Fails when a requirement is missing or twice, or when a row names a test that is not there.
pub(crate) fn check() -> Result<String> {
    let table = Table::load()?;
    let mut wrong = table.problems();
    wrong.extend(evidence::problems(&table, &Tests::of_workspace()));
    for text in &wrong {
        ui::error(text);
    }
    if !wrong.is_empty() {
        bail!("{} problems in docs/requirements.toml", wrong.len());
    }
    Ok(table.summary())
}

/// Applies lines to the table and writes both files.
fn set(file: &str) -> Result<()> {
    let lines = if file == "-" {
        std::io::read_to_string(std::io::stdin())?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?
    };
    let mut table = Table::load()?;
    let applied = table.apply(&lines)?;
    let wrong: Vec<String> = [
        table.problems(),
        evidence::problems(&table, &Tests::of_workspace()),
    ]
    .concat();
    for text in &wrong {
        ui::warn(text);
    }
    table.save()?;
    std::fs::write(
        workspace::root().join("docs/requirements.md"),
        table.to_markdown(),
    )?;
    ui::line(&format!("{applied} rows set; {}", table.summary()));
    Ok(())
}
