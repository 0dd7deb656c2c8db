//! `toolcrib demo`: the first minute, played through with the real commands on a home directory of
//! its own.

use std::path::Path;

use clap::{Args, Parser};
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_core::Code;

use super::{Cli, Command, Context, carry_out};
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// Play the first minute on a home directory of its own; nothing of yours is touched
#[derive(Debug, Args)]
pub struct Demo {
    /// Keep the directory and say where it is
    #[arg(long)]
    keep: bool,
}

/// The files of the stage: path below the home directory, and text.
const HOME: &[(&str, &str)] = &[
    (
        ".config/Claude/claude_desktop_config.json",
        include_str!("demo/claude_desktop_config.json"),
    ),
    (".cursor/mcp.json", include_str!("demo/cursor.json")),
    (
        ".config/Code/User/mcp.json",
        include_str!("demo/vscode.json"),
    ),
    (".codex/config.toml", include_str!("demo/codex.toml")),
    (".lmstudio/mcp.json", include_str!("demo/broken.json")),
];

/// What stands in the user's own file before the last steps.
const RULES: &str = include_str!("demo/toolcrib.yaml");

/// One thing to show: what it is about, what changes on the stage first, and the command.
struct Step {
    about: &'static str,
    write: Option<(&'static str, &'static str)>,
    command: &'static [&'static str],
}

const STEPS: &[Step] = &[
    Step {
        about: "This machine has five MCP clients. What have they got, and does it fit together?",
        write: None,
        command: &["import"],
    },
    Step {
        about: "Write it down as one configuration. Secrets stay where they are, in the environment.",
        write: None,
        command: &["import", "--write"],
    },
    Step {
        about: "A person adds rules by hand, and makes four mistakes. All four are found, in one run.",
        write: Some((
            ".config/toolcrib/toolcrib.yaml",
            include_str!("demo/mistakes.yaml"),
        )),
        command: &["config", "validate"],
    },
    Step {
        about: "Corrected, with three tools declared so that they are known without starting anything.",
        write: Some((".config/toolcrib/toolcrib.yaml", RULES)),
        command: &["config", "show"],
    },
    Step {
        about: "Why can the agent not delete issues?",
        write: None,
        command: &["rules", "explain", "github:delete_issue"],
    },
    Step {
        about: "And which tool does it find for a plain wish?",
        write: None,
        command: &["search", "could you please open a ticket about this bug"],
    },
];

impl Demo {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        if context.ui.is_json() {
            return Err(Failure::usage(
                "the demo tells a story and has no JSON form; leave out --json",
            ));
        }
        let stage = tempfile::Builder::new()
            .prefix("toolcrib-demo-")
            .tempdir()
            .map_err(|error| broken("made", &error))?;
        let home = stage.path().join("home");
        let project = stage.path().join("project");
        std::fs::create_dir(&project).map_err(|error| broken("made", &error))?;
        for (name, text) in HOME {
            put(&home.join(name), text)?;
        }
        let own = std::mem::replace(
            &mut context.surroundings,
            Surroundings::new(Os::Linux, &home, &project, |name| {
                (name == "GITHUB_TOKEN").then(|| "from-the-environment".to_owned())
            }),
        );
        let played = play(context, &home);
        context.surroundings = own;
        if self.keep {
            let path = stage.keep();
            context.ui.gap();
            context
                .ui
                .line(format!("The stage is kept in {}", path.display()));
        }
        played
    }
}

fn play(context: &mut Context, home: &Path) -> Result<(), Failure> {
    for (index, step) in STEPS.iter().enumerate() {
        if let Some((name, text)) = step.write {
            put(&home.join(name), text)?;
        }
        if index > 0 {
            context.ui.gap();
        }
        let number = index + 1;
        context
            .ui
            .line(Line::new().tone(Tone::Strong, format_args!("── {number}. {}", step.about)));
        context.ui.line(Line::new().tone(
            Tone::Dim,
            format_args!("$ toolcrib {}", shell(step.command)),
        ));
        context.ui.gap();
        flush(context)?;
        let words = std::iter::once("toolcrib").chain(step.command.iter().copied());
        let cli = Cli::try_parse_from(words).map_err(|error| Failure::usage(error.to_string()))?;
        let (Command::Direct(command) | Command::Mcp(command)) = cli.command;
        // A step that fails is part of the story: what it says is what is to be seen.
        if let Err(failure) = carry_out(command, context) {
            context.ui.failure(&failure);
        }
        flush(context)?;
    }
    Ok(())
}

/// Writes out what is shown so far, so that findings on standard error stand below their command.
fn flush(context: &mut Context) -> Result<(), Failure> {
    context.ui.finish().map_err(|error| {
        Failure::new(
            Code::ToolExecutionError,
            format!("the output cannot be written: {error}"),
        )
    })
}

/// The words of a command as one would type them.
fn shell(words: &[&str]) -> String {
    let quoted = words.iter().map(|word| {
        if word.contains(' ') {
            format!("\"{word}\"")
        } else {
            (*word).to_owned()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let directory = path.parent().unwrap_or(path);
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| broken("written", &error))
}

fn broken(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(
        Code::ConfigurationError,
        format!(
            "the stage of the demo cannot be {what}: {error}; check the directory for temporary files"
        ),
    )
}
