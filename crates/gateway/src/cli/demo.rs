//! `toolcrib demo`: what it is like, played through on a home directory of its own: an agent at the
//! counter, or how the configuration comes to be.

mod agent;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anstream::ColorChoice;
use clap::{Args, Parser, ValueEnum};
use serde_json::{Value, json};
use toolcrib_config::places::Places;
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_core::Code;

use super::{Cli, Command, Context, carry_out, running};
use crate::failure::Failure;
use crate::signals::{Asked, Signals};
use crate::ui::{Line, Tone, Ui};

/// Play the first minute on a home directory of its own; nothing of yours is touched
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib demo         an agent at the counter
  toolcrib demo setup   how the servers of five clients become one configuration
  toolcrib demo --json  every step with its answer, tokens and time, for programs

Exit codes: 0 it was played to its end, 1 wrong arguments, 2 there is no place to play it.")]
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
        about: "Write it down as one configuration. Secrets that stand in the environment stay there.",
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
        let mut tale = Tale::begin(context.ui.is_json());
        // What is told in JSON is told at the end; until then nobody is shown anything.
        let own = tale
            .json
            .then(|| std::mem::replace(&mut context.ui, silent()));
        if !tale.json {
            // What its commands complain about is part of the story.
            context.ui.complain_beside();
        }
        let played = self.play(context, &mut tale);
        if let Some(own) = own {
            context.ui = own;
        }
        if tale.is_interrupted() {
            return Err(Failure::new(Code::Cancelled, "the demo was interrupted"));
        }
        played?;
        if tale.json {
            context
                .ui
                .json(&json!({ "steps": tale.steps, "tokens": tale.tokens }));
        }
        Ok(())
    }

    fn play(&self, context: &mut Context, tale: &mut Tale) -> Result<(), Failure> {
        let stage = tempfile::Builder::new()
            .prefix("toolcrib-demo-")
            .tempdir()
            .map_err(|error| broken("made", &error))?;
        let place = Place::below(stage.path(), self.story);
        std::fs::create_dir(&place.cwd).map_err(|error| broken("made", &error))?;
        let played = match self.story {
            Story::Agent => agent_story(context, &place, tale),
            Story::Setup => setup_story(context, &place, tale),
        };
        if self.keep {
            let path = stage.keep();
            tale.steps.push(json!({ "kept": path }));
            context.ui.gap();
            context
                .ui
                .line(format!("The stage is kept in {}", path.display()));
        }
        played
    }
}

/// Where somebody lives and works on the stage.
struct Place {
    /// Whose customs hold: of the setup story those of its files, else those of the processes that are started.
    os: Os,
    home: PathBuf,
    cwd: PathBuf,
    /// The one configuration file, where it is not searched for.
    config: Option<PathBuf>,
}

impl Place {
    fn below(stage: &Path, story: Story) -> Self {
        let home = stage.join("home");
        match story {
            Story::Agent => Self::alone(Os::current(), home),
            Story::Setup => Self {
                os: Os::Linux,
                home,
                cwd: stage.join("project"),
                config: None,
            },
        }
    }

    /// A home in which nothing is searched for.
    fn alone(os: Os, home: PathBuf) -> Self {
        let mut place = Self {
            os,
            cwd: home.clone(),
            home,
            config: None,
        };
        place.config = Some(place.own().config.join("toolcrib.json"));
        place
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings::new(self.os, &self.home, &self.cwd, |name| {
            (name == "GITHUB_TOKEN").then(|| "from-the-environment".to_owned())
        })
    }

    /// The directories of our own files.
    fn own(&self) -> Places {
        Places::of(&self.surroundings())
    }

    /// What tells a process of its own that it lives here.
    fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let home = |below: &str| self.home.join(below);
        let named: &[(&str, &str)] = match self.os {
            Os::Linux | Os::MacOs => &[("HOME", ""), ("TMPDIR", "")],
            Os::Windows => &[
                ("HOME", ""),
                ("USERPROFILE", ""),
                ("APPDATA", "AppData/Roaming"),
                ("LOCALAPPDATA", "AppData/Local"),
                ("TEMP", ""),
                ("TMP", ""),
            ],
        };
        named
            .iter()
            .map(|(name, below)| (*name, home(below)))
            .collect()
    }
}

/// What was told so far, and whether anybody wants the rest.
struct Tale {
    /// Whether it is told in JSON, at its end.
    json: bool,
    steps: Vec<Value>,
    tokens: Value,
    interrupted: Arc<AtomicBool>,
}

impl Tale {
    /// Takes over the signals that ask to end, so that the stage is cleared away.
    fn begin(json: bool) -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        if let Ok(runtime) = running::runtime() {
            let entered = runtime.enter();
            let signals = Signals::take();
            drop(entered);
            let flag = Arc::clone(&interrupted);
            if let Ok(mut signals) = signals {
                std::thread::spawn(move || {
                    while matches!(runtime.block_on(signals.next()), Asked::Reload) {}
                    flag.store(true, Ordering::SeqCst);
                });
            }
        }
        Self {
            json,
            steps: Vec::new(),
            tokens: Value::Null,
            interrupted,
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Ends the story where somebody asked for that.
    fn go_on(&self) -> Result<(), Failure> {
        if self.is_interrupted() {
            return Err(Failure::new(Code::Cancelled, "the demo was interrupted"));
        }
        Ok(())
    }
}

/// A screen that nobody sees.
fn silent() -> Ui {
    let nowhere = || -> Box<dyn std::io::Write + Send> { Box::new(std::io::sink()) };
    Ui::new(
        (nowhere(), ColorChoice::Never),
        (nowhere(), ColorChoice::Never),
        false,
        None,
    )
}

/// An agent's session, and then the log of it.
fn agent_story(context: &mut Context, place: &Place, tale: &mut Tale) -> Result<(), Failure> {
    agent::play(context, place, tale)?;
    context.ui.gap();
    let about = "Every call of a tool left one record, chained to the one before: if one is changed or taken out, `audit verify` says so.";
    context
        .ui
        .line(Line::new().tone(Tone::Strong, format_args!("── {about}")));
    on_stage(context, place, |context| {
        say(context, tale, about, &["audit", "tail"])?;
        say(context, tale, about, &["audit", "verify"])
    })?;
    context.ui.gap();
    context.ui.line("Next: `toolcrib import` shows the servers that your own clients have, `toolcrib demo setup` how they become one configuration.");
    flush(context)
}

fn setup_story(context: &mut Context, place: &Place, tale: &mut Tale) -> Result<(), Failure> {
    for (name, text) in HOME {
        put(&place.home.join(name), text)?;
    }
    on_stage(context, place, |context| play(context, &place.home, tale))
}

/// Runs something as if the user lived on the stage. A file that was named with `--config` is not part of it.
fn on_stage(
    context: &mut Context,
    place: &Place,
    work: impl FnOnce(&mut Context) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let surroundings = std::mem::replace(&mut context.surroundings, place.surroundings());
    let config = std::mem::replace(&mut context.options.config, place.config.clone());
    let played = work(context);
    context.surroundings = surroundings;
    context.options.config = config;
    played
}

fn play(context: &mut Context, home: &Path, tale: &mut Tale) -> Result<(), Failure> {
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
        say(context, tale, step.about, step.command)?;
    }
    Ok(())
}

/// Shows a command and runs it. One that fails is part of the story: what it says is to be seen.
fn say(context: &mut Context, tale: &mut Tale, about: &str, words: &[&str]) -> Result<(), Failure> {
    tale.go_on()?;
    let line = format_args!("$ toolcrib {}", shell(words)).to_string();
    context.ui.line(Line::new().whole_tone(Tone::Dim, line));
    context.ui.gap();
    flush(context)?;
    let shown = shell(words);
    let words = std::iter::once("toolcrib").chain(words.iter().copied());
    let cli = Cli::try_parse_from(words).map_err(|error| Failure::usage(error.to_string()))?;
    let Some(Command::Direct(command) | Command::Mcp(command)) = cli.command else {
        return Err(Failure::usage("a step of the demo names no command"));
    };
    if tale.json {
        let told = told(context, command);
        let line = format!("toolcrib {shown}");
        tale.steps
            .push(json!({ "about": about, "command": line, "answer": told }));
        return Ok(());
    }
    if let Err(failure) = carry_out(command, context) {
        context.ui.failure(&failure);
    }
    flush(context)
}

/// What a command says in JSON: one value, or of lines a list of them.
fn told(context: &mut Context, command: super::Direct) -> Value {
    let heard = Heard::default();
    let out: Box<dyn std::io::Write + Send> = Box::new(heard.clone());
    let sink: Box<dyn std::io::Write + Send> = Box::new(std::io::sink());
    let ui = Ui::new(
        (out, ColorChoice::Never),
        (sink, ColorChoice::Never),
        true,
        None,
    );
    let own = std::mem::replace(&mut context.ui, ui);
    if let Err(failure) = carry_out(command, context) {
        context.ui.failure(&failure);
    }
    // What cannot be written into memory is not told.
    let _ = context.ui.finish();
    context.ui = own;
    let text = heard.text();
    serde_json::from_str(&text).unwrap_or_else(|_| {
        let lines = text.lines();
        let values = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        values.collect()
    })
}

/// A stream that is read back.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl std::io::Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
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
    Failure::configuration(format!(
        "the stage of the demo cannot be {what}: {error}; check the directory for temporary files"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_on_the_stage_finds_nothing_of_the_user_on_any_system() {
        for os in [Os::Linux, Os::MacOs, Os::Windows] {
            let home = PathBuf::from("/stage/home");
            let place = Place::alone(os, home.clone());
            let variables = place.variables();
            let told = Surroundings::new(os, &home, &home, move |name| {
                let (_, path) = variables.iter().find(|(named, _)| *named == name)?;
                Some(path.to_str()?.to_owned())
            });
            let own = place.own();
            assert_eq!(Places::of(&told), own, "{os:?}");
            for path in [&own.config, &own.data, &own.cache] {
                assert!(path.starts_with(&home), "{os:?}: {}", path.display());
            }
            let config = place.config.unwrap();
            assert_eq!(config.parent(), Some(&*own.config), "{os:?}");
        }
    }
}
