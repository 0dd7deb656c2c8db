//! `toolcrib demo`: what it is like, played through on a home directory of its own: an agent at the
//! counter, or how the configuration comes to be.

mod agent;

use std::path::Path;

use clap::{Args, Parser, ValueEnum};
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_core::Code;

use super::{Cli, Command, Context, carry_out};
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// Play the first minute on a home directory of its own; nothing of yours is touched
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib demo         an agent at the counter
  toolcrib demo setup   how the servers of five clients become one configuration")]
pub struct Demo {
    /// Which story
    #[arg(value_enum, default_value = "agent")]
    story: Story,
    /// Keep the directory and say where it is
    #[arg(long)]
    keep: bool,
}

/// What is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Story {
    /// An agent finds, runs and is refused, over the real door
    Agent,
    /// The servers of five clients become one configuration
    Setup,
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
        let played = match self.story {
            Story::Agent => agent_story(context, &home),
            Story::Setup => setup_story(context, &home, &project),
        };
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

/// An agent's session, and then the log of it.
fn agent_story(context: &mut Context, home: &Path) -> Result<(), Failure> {
    agent::play(context, home)?;
    context.ui.gap();
    let about = "── Every request left one record, and one that is changed or taken out is found:";
    context.ui.line(Line::new().tone(Tone::Strong, about));
    on_stage(context, home, home, |context| {
        say(context, &["audit", "tail"])?;
        say(context, &["audit", "verify"])
    })?;
    context.ui.gap();
    context.ui.line("Next: `toolcrib import` shows the servers that your own clients have, `toolcrib demo setup` how they become one configuration.");
    flush(context)
}

fn setup_story(context: &mut Context, home: &Path, project: &Path) -> Result<(), Failure> {
    for (name, text) in HOME {
        put(&home.join(name), text)?;
    }
    on_stage(context, home, project, |context| play(context, home))
}

/// Runs something as if the user lived on the stage.
fn on_stage(
    context: &mut Context,
    home: &Path,
    project: &Path,
    work: impl FnOnce(&mut Context) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let stage = Surroundings::new(Os::Linux, home, project, |name| {
        (name == "GITHUB_TOKEN").then(|| "from-the-environment".to_owned())
    });
    let own = std::mem::replace(&mut context.surroundings, stage);
    let played = work(context);
    context.surroundings = own;
    played
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
        say(context, step.command)?;
    }
    Ok(())
}

/// Shows a command and runs it. One that fails is part of the story: what it says is to be seen.
fn say(context: &mut Context, words: &[&str]) -> Result<(), Failure> {
    let line = format_args!("$ toolcrib {}", shell(words)).to_string();
    context.ui.line(Line::new().tone(Tone::Dim, line));
    context.ui.gap();
    flush(context)?;
    let words = std::iter::once("toolcrib").chain(words.iter().copied());
    let cli = Cli::try_parse_from(words).map_err(|error| Failure::usage(error.to_string()))?;
    let (Command::Direct(command) | Command::Mcp(command)) = cli.command;
    if let Err(failure) = carry_out(command, context) {
        context.ui.failure(&failure);
    }
    flush(context)
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
