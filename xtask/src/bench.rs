//! The registry of benches, and where their figures go.
//!
//! `bench/results.json` holds what a program may read, `docs/benchmarks.md` the same for people. Figures of a bench are
//! replaced when it runs again; those of the others stay, each with the machine it was taken on.

mod adapters;
mod catalog;
mod config;
mod door;
mod policy;
mod recorder;
mod results;
mod rules;
mod search;
mod store;
mod tokens;
mod upstream;

use anyhow::{Result, bail};

use crate::args::Args;
use crate::machine::Machine;
use crate::{rivals, ui};

pub(crate) use door::Door;
use recorder::Recorder;
pub(crate) use results::{MARKDOWN, figure, grouped, markdown};
use results::{Results, Taken};
pub(crate) use upstream::Server;

/// One bench: a group of figures that are taken together.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Recorder) -> Result<()>,
}

/// The bench that installs and measures others: asked for by name, never with the rest.
const PEERS: &str = "peers";

/// Every bench. A new one is a module of this one and a line here.
const BENCHES: &[Bench] = &[
    Bench {
        name: "catalog",
        about: "ids and summaries of tools",
        run: catalog::run,
    },
    Bench {
        name: "config",
        about: "reload of a large configuration",
        run: config::run,
    },
    Bench {
        name: "rules",
        about: "rules over tools",
        run: rules::run,
    },
    Bench {
        name: "search",
        about: "building, changing and searching the index",
        run: search::run,
    },
    Bench {
        name: "policy",
        about: "what policy and validation add to a call",
        run: policy::run,
    },
    Bench {
        name: "door",
        about: "the program as an agent has it: start, requests, memory, tokens",
        run: door::run,
    },
    Bench {
        name: "store",
        about: "journal, key and record of executions on disk",
        run: store::run,
    },
    Bench {
        name: "adapters",
        about: "real API descriptions until they are tools",
        run: adapters::run,
    },
    Bench {
        name: "tokens",
        about: "what each kind of answer costs a model, over the tools of real servers",
        run: tokens::run,
    },
    Bench {
        name: "upstream",
        about: "a call through the program beside the same call without it",
        run: upstream::run,
    },
];

/// `cargo xtask bench`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let list = args.flag("--list");
    let mut names = Vec::new();
    while let Some(name) = args.positional() {
        names.push(name);
    }
    args.finish()?;
    if list {
        for bench in BENCHES {
            ui::line(&format!("{:<10} {}", bench.name, bench.about));
        }
        ui::line(&format!(
            "{PEERS:<10} other programs of the kind; by name only"
        ));
        return Ok(());
    }
    if names == [PEERS] {
        return rivals::run();
    }
    let chosen = chosen(&names)?;
    if adapters::is_alone() {
        return adapters::alone();
    }
    if let Some(mut recorder) = Recorder::counting() {
        return chosen
            .iter()
            .try_for_each(|bench| (bench.run)(&mut recorder));
    }
    let mut results = Results::load()?;
    let mut over = Vec::new();
    for bench in chosen {
        ui::title(bench.name);
        let machine = Machine::now();
        let mut recorder = Recorder::new(bench.name);
        (bench.run)(&mut recorder)?;
        let taken = Taken::new(bench.about, machine, recorder.into_figures());
        for figure in &taken.figures {
            ui::line(&figure.to_string());
            if figure.is_over() {
                over.push(format!("{}/{}", bench.name, figure.name));
            }
        }
        results.put(bench.name, taken);
    }
    if cfg!(debug_assertions) {
        ui::warn("these figures are of a debug build and not written; use `cargo xtask bench`");
    } else {
        results.save()?;
        // It says some of these figures too.
        rivals::put_table()?;
    }
    if !over.is_empty() {
        bail!("over the bound: {}", over.join(", "));
    }
    Ok(())
}

/// Whether there is a bench of this name.
pub(crate) fn has(name: &str) -> bool {
    name == PEERS || BENCHES.iter().any(|bench| bench.name == name)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Bench>> {
    if let Some(unknown) = names
        .iter()
        .find(|name| !BENCHES.iter().any(|bench| bench.name == *name))
    {
        bail!("there is no bench `{unknown}`; `cargo xtask bench --list` shows them");
    }
    Ok(BENCHES
        .iter()
        .filter(|bench| names.is_empty() || names.iter().any(|name| name == bench.name))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benches_are_chosen_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), BENCHES.len());
        assert_eq!(chosen(&["catalog".into()]).unwrap().len(), 1);
        assert!(chosen(&["cataloque".into()]).is_err());
    }
}
