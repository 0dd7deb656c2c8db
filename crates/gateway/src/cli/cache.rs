//! `toolcrib cache`: the lists that are kept on disk, shown, cleared and filled.

mod warm;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use toolcrib_core::{Code, nearest};
use toolcrib_store::cache::{Kept, Kind, ListCache};

use super::{Context, now_ms};
use crate::failure::Failure;
use crate::known;
use crate::ui::Table;

pub(super) use warm::{connections, observed};

/// Show, fill and clear the lists of tools that are kept on disk
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib cache show
  toolcrib cache warm
  toolcrib cache clear github")]
pub struct Cache {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what is kept, and how old it is
    #[command(after_help = "\
Examples:
  toolcrib cache show

Exit codes: 0 what is kept is shown, 1 wrong arguments, 2 it cannot be read, or the configuration \
does not load.")]
    Show,
    /// Ask servers for their tools and keep them, so that a search needs no connection
    #[command(after_help = "\
Examples:
  toolcrib cache warm
  toolcrib cache warm github --fresh

Exit codes: 0 every list is kept, 1 wrong arguments, 2 there is no such server, nothing can be kept, \
or the configuration does not load, 3 a server cannot be asked.")]
    Warm {
        /// The servers; all that are switched on unless given
        #[arg(value_name = "SERVER", add = super::completions::server())]
        servers: Vec<String>,
        /// Ask them even if what is kept is fresh
        #[arg(long)]
        fresh: bool,
    },
    /// Forget the tools of a server, or everything
    #[command(after_help = "\
Examples:
  toolcrib cache clear
  toolcrib cache clear github

Exit codes: 0 it is cleared, 1 wrong arguments, 2 there is no such server, nothing can be removed, \
or the configuration does not load.")]
    Clear {
        /// The server; everything unless given
        #[arg(add = super::completions::server())]
        server: Option<String>,
    },
}

impl Cache {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let config = context.loader().config()?;
        let lists = known::kept_lists(&config, &context.surroundings);
        match self.command {
            Command::Show => show(context, &lists),
            Command::Warm { servers, fresh } => {
                // Nobody is asked where nothing can be kept.
                lists.inventory(now_ms()).map_err(unusable)?;
                warm::run(context, config, &servers, fresh)
            }
            Command::Clear { server } => clear(context, &lists, server.as_deref()),
        }
    }
}

fn unusable(error: impl std::fmt::Display) -> Failure {
    let error = error.to_string();
    let error = error.trim_end_matches('.');
    Failure::configuration(format!(
        "{error}; see that the directory can be read and written, or name another in cache.directory"
    ))
}

fn show(context: &mut Context, lists: &ListCache) -> Result<(), Failure> {
    let now = now_ms();
    let kept = lists.inventory(now).map_err(unusable)?;
    let directory = lists.directory().to_owned();
    if context.ui.is_json() {
        let lists: Vec<Value> = kept.iter().map(as_json).collect();
        context
            .ui
            .json(&json!({ "directory": directory, "lists": lists }));
        return Ok(());
    }
    let place = context.surroundings.display(&directory);
    if kept.is_empty() {
        context.ui.line(format!("Nothing is kept in {place}."));
        return Ok(());
    }
    context.ui.line(format!("Kept in {place}:"));
    context.ui.gap();
    let mut table = Table::new(["LIST", "NAME", "ITEMS", "KB", "AGE", "STATE"]);
    for one in &kept {
        table.row([
            one.kind.prefix().to_owned(),
            one.name.clone(),
            one.items.to_string(),
            one.bytes.div_ceil(1_000).to_string(),
            age(now.saturating_sub(one.stored_ms)),
            if one.stale { "stale" } else { "fresh" }.to_owned(),
        ]);
    }
    context.ui.table(&table);
    Ok(())
}

fn as_json(kept: &Kept) -> Value {
    let stored = jiff::Timestamp::from_millisecond(kept.stored_ms).ok();
    json!({
        "list": kept.kind.prefix(),
        "name": kept.name,
        "items": kept.items,
        "bytes": kept.bytes,
        "stored": stored.map(|time| time.to_string()),
        "stale": kept.stale,
    })
}

/// An age as people say it: `3 min`, `5 h`, `2 d`.
fn age(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..2_880 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

fn clear(context: &mut Context, lists: &ListCache, server: Option<&str>) -> Result<(), Failure> {
    let removed = match server {
        None => lists.clear().map_err(unusable)?,
        Some(server) => {
            let known = lists.inventory(now_ms()).map_err(unusable)?;
            if !lists.clear_server(server).map_err(unusable)? {
                return Err(nothing_of(server, &known));
            }
            1
        }
    };
    if context.ui.is_json() {
        context.ui.json(&json!({ "removed": removed }));
    } else {
        context.ui.line(match removed {
            0 => "Nothing was kept.".to_owned(),
            1 => "1 list was forgotten.".to_owned(),
            n => format!("{n} lists were forgotten."),
        });
    }
    Ok(())
}

fn nothing_of(server: &str, kept: &[Kept]) -> Failure {
    let names: Vec<&str> = kept
        .iter()
        .filter(|one| one.kind == Kind::Tools)
        .map(|one| one.name.as_str())
        .collect();
    let rest = match nearest::nearest(server, names, 1).first() {
        Some(name) => format!("did you mean {name}?"),
        None => "`toolcrib cache show` lists what is kept".to_owned(),
    };
    Failure::not_found(
        Code::ServerNotFound,
        format!("no tools of {server} are kept; {rest}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_people_say_them() {
        let check = |ms, expect: &str| assert_eq!(age(ms), expect);
        check(-5, "now");
        check(59_999, "now");
        check(60_000, "1 min");
        check(3_600_000, "1 h");
        check(47 * 3_600_000, "47 h");
        check(48 * 3_600_000, "2 d");
    }
}
