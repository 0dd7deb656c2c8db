//! Tasks of the project: `cargo xtask COMMAND`.
//!
//! Everything that a check, a build or a release of Toolcrib does beyond `cargo` itself stands here, so that
//! it runs the same on a laptop and in CI and needs nothing but a Rust toolchain.

#[cfg(feature = "product")]
mod adapters;
mod advisories;
mod args;
#[cfg(feature = "product")]
mod bench;
mod ci;
mod conformance;
mod coverage;
mod deny;
#[cfg(feature = "product")]
mod docs;
mod fuzz;
mod leftovers;
mod letter;
mod licences;
mod load;
mod lockfile;
mod machine;
mod metadata;
mod mocks;
mod nightly;
mod package;
mod peers;
mod process;
mod product;
mod requirements;
#[cfg(feature = "product")]
mod rivals;
mod schemathesis;
mod served;
mod servers;
#[cfg(feature = "product")]
mod session;
mod source;
mod spdx;
mod testing;
#[cfg(feature = "product")]
mod trained;
mod ui;
mod workspace;

#[cfg(feature = "product")]
mod capabilities;
#[cfg(feature = "product")]
mod cases;
#[cfg(feature = "product")]
mod eval;
#[cfg(feature = "product")]
mod flows;
#[cfg(feature = "product")]
mod hot;
#[cfg(test)]
mod house;
#[cfg(feature = "product")]
mod labels;
#[cfg(feature = "product")]
mod tokens;

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use args::Args;

/// One task: what it is called, what it takes, what it does.
struct Command {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(&mut Args) -> Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "ci",
        usage: "[--only STEP]… [--skip STEP]… [--list]",
        about: "run everything that must hold before a change is merged",
        run: ci::run,
    },
    Command {
        name: "test",
        usage: "[--coverage] [-p CRATE]… [-- ARGS]",
        about: "run the tests of the workspace and print how many there were",
        run: testing::run,
    },
    Command {
        name: "coverage",
        usage: "[-p CRATE]…",
        about: "run the tests and hold line coverage per crate to its floor",
        run: coverage::run,
    },
    Command {
        name: "eval",
        usage: "[NAME] [ARGS]",
        about: "run the evaluations over shared data and hold them to their floors",
        run: product::eval,
    },
    Command {
        name: "bench",
        usage: "[NAME]… [--list]",
        about: "run the benches and write bench/results.json and docs/benchmarks.md",
        run: product::bench,
    },
    Command {
        name: "hot",
        usage: "",
        about: "write down which functions a session runs, for the linker to put next to each other",
        run: product::hot,
    },
    Command {
        name: "docs",
        usage: "[--check]",
        about: "write the generated documents, or fail where one is stale",
        run: product::docs,
    },
    Command {
        name: "requirements",
        usage: "[check | set FILE | summary]",
        about: "check the requirement table, or apply lines of the form `R052 | done | test`",
        run: requirements::run,
    },
    Command {
        name: "conformance",
        usage: "[--only flat|lazy|client]… [--revision REVISION]… [--optimised]",
        about: "run the official MCP conformance suite against the program and its client",
        run: conformance::run,
    },
    Command {
        name: "schemathesis",
        usage: "[--examples N] [--optimised]",
        about: "hold the REST API against its own OpenAPI document, with requests that schemathesis makes up",
        run: schemathesis::run,
    },
    Command {
        name: "mocks",
        usage: "[--all] [--only ADAPTER]… [--by prism|testkit] [--optimised] [--built]",
        about: "let prism and our own mock judge, by real API descriptions, requests made from generated examples",
        run: mocks::run,
    },
    Command {
        name: "servers",
        usage: "[--all] [--optimised]",
        about: "compare what real servers list with what discovery finds; all of them for docs/servers.md",
        run: servers::run,
    },
    Command {
        name: "flows",
        usage: "[--optimised]",
        about: "let the official inspector and the Python and TypeScript clients work through the program",
        run: product::flows,
    },
    Command {
        name: "load",
        usage: "[--seconds N] [--optimised]",
        about: "let 1,000 clients at the HTTP door, half of them slow or broken, and print the figures",
        run: load::run,
    },
    Command {
        name: "package",
        usage: "[npm | wheel | try | full] [--platform P] [--binary FILE] [--out DIR] [--optimised]",
        about: "pack for npm and PyPI, and start what was packed as npx, uvx, pip and the shell installer do",
        run: package::run,
    },
    Command {
        name: "trained",
        usage: "[--out FILE]",
        about: "build the program as it is packaged: compiled by what its sessions did",
        run: product::trained,
    },
    Command {
        name: "licences",
        usage: "",
        about: "hold licences, bans and sources of dependencies to deny.toml",
        run: licences::run,
    },
    Command {
        name: "advisories",
        usage: "[--missing] [--from DIR]",
        about: "hold Cargo.lock to the committed advisories, or renew them from a checkout",
        run: advisories::run,
    },
    Command {
        name: "fuzz",
        usage: "[--seconds N]",
        about: "run every fuzz target on its corpus and on random input, N seconds in all",
        run: fuzz::run,
    },
    Command {
        name: "nightly",
        usage: "[--seconds N] [--only JOB]…",
        about: "run what takes long and write docs/nightly.md",
        run: nightly::run,
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    if coverage::wrapper::is_wrapper(&program) {
        return coverage::wrapper::run(std::env::args_os().skip(1).collect());
    }
    match dispatch(Args::new(arguments.collect())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ui::error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(mut args: Args) -> Result<()> {
    let Some(name) = args.positional() else {
        ui::line(&help());
        return args.finish();
    };
    if name == "help" {
        ui::line(&help());
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        anyhow::bail!("there is no task `{name}`; `cargo xtask --help` lists them");
    };
    if args.asks_for_help() {
        ui::line(&format!(
            "cargo xtask {} {}\n\n{}",
            command.name, command.usage, command.about
        ));
        return Ok(());
    }
    (command.run)(&mut args)
}

fn help() -> String {
    let mut text =
        String::from("Tasks of the project.\n\nUsage: cargo xtask COMMAND [OPTIONS]\n\n");
    for command in COMMANDS {
        let _ = writeln!(text, "  {:<13} {}", command.name, command.about);
    }
    text.push_str("\n`cargo xtask COMMAND --help` shows what a command takes.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_once_and_in_the_help() {
        let help = help();
        for command in COMMANDS {
            assert_eq!(
                COMMANDS
                    .iter()
                    .filter(|other| other.name == command.name)
                    .count(),
                1
            );
            assert!(
                help.contains(command.about),
                "{} is not in the help",
                command.name
            );
        }
    }

    #[test]
    fn an_unknown_command_says_where_to_look() {
        let error = dispatch(Args::new(vec!["tset".into()]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("--help"), "{error}");
    }
}
