//! The command line: what can be asked, and how the answer and the exit code come about.
//!
//! Every command is a file of its own under this one. It gets a [`Context`] and gives a
//! [`Failure`] where it fails; nothing here ends the process.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use toolcrib_config::load;
use toolcrib_config::model::settings::{Log, LogLevel};
use toolcrib_config::places::Places;
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_core::Code;

use crate::control::{Counts, Place};
use crate::failure::{Failure, exit};
use crate::fault;
use crate::known::{self, Known};
use crate::loader::Loader;
use crate::telemetry;
use crate::ui::{Color, Ui};

pub mod adapter;
pub mod approvals;
pub mod audit;
pub mod cache;
pub mod completions;
pub mod config;
mod counter;
pub mod demo;
pub mod doctor;
pub mod execute;
pub mod export;
pub mod export_rtfs;
pub mod import;
pub mod infer;
pub mod inspect;
pub mod introspect;
pub mod keys;
pub mod list;
pub mod login;
mod memory;
pub mod policy;
pub mod reference;
pub mod registry;
pub mod registry_file;
pub mod rtfs;
pub mod rules;
mod running;
pub mod search;
pub mod serve;
pub mod setup;
mod shown;
pub mod stats;
mod status;
mod target;
pub mod tools;
pub mod trust;
mod usage;
mod watching;
mod welcome;
pub mod workshop;

/// All MCP servers and REST APIs behind five small tools.
#[derive(Debug, Parser)]
#[command(name = "toolcrib", version, propagate_version = true)]
#[command(after_help = "\
Without a command it shows on a terminal what is configured and what comes next, and is an MCP \
server on a pipe.")]
pub struct Cli {
    /// What holds for every command.
    #[command(flatten)]
    pub options: Options,
    /// The command; where there is none, who started the program decides what comes.
    #[command(subcommand)]
    pub command: Option<Command>,
}

const CONFIG_HELP: &str =
    "Use this configuration file instead of searching for one [env: TOOLCRIB_CONFIG]";
const VERBOSE_HELP: &str =
    "Log more; twice for everything. `TOOLCRIB_LOG` takes a filter such as `debug` instead";

/// What holds for every command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Options {
    /// Use this configuration file instead of searching for one [env: `TOOLCRIB_CONFIG`]
    #[arg(long, global = true, value_name = "PATH", help = CONFIG_HELP)]
    pub config: Option<PathBuf>,
    /// Print JSON on standard output and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub color: Color,
    /// Log more; twice for everything. `TOOLCRIB_LOG` takes a filter such as `debug` instead
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help = VERBOSE_HELP)]
    pub verbose: u8,
    /// How the log on standard error is written, whatever the configuration says
    #[arg(long, global = true, value_enum, value_name = "FORMAT")]
    pub log_format: Option<telemetry::Format>,
}

/// The commands; each stands at the top level and below `mcp`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A command at the top level.
    #[command(flatten)]
    Direct(Direct),
    /// The same commands under the name that the documents use
    #[command(subcommand)]
    Mcp(Direct),
}

/// The commands.
#[expect(
    missing_docs,
    reason = "a comment on a variant would take the place of what the command says about itself in its help"
)]
#[derive(Debug, Subcommand)]
pub enum Direct {
    Config(config::Config),
    Import(import::Import),
    Export(export::Export),
    Setup(setup::Setup),
    Trust(trust::Trust),
    Rules(rules::Rules),
    List(list::List),
    Search(search::Search),
    Tools(tools::Tools),
    Inspect(inspect::Inspect),
    Execute(execute::Execute),
    Serve(serve::Serve),
    /// Show the running processes
    #[command(after_help = "\
Examples:
  toolcrib status          what runs, on which configuration, with how many servers
  toolcrib status --json   for programs

Exit codes: 0 what runs is shown, also where nothing does, 1 wrong arguments.")]
    Status,
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    #[command(hide = true)]
    Reference(reference::Reference),
    Stats(stats::Stats),
    Registry(registry::Registry),
    RegistryFile(registry_file::RegistryFile),
    Cache(cache::Cache),
    Approvals(approvals::Approvals),
    Approve(approvals::Approve),
    Audit(audit::Audit),
    Keys(keys::Keys),
    Policy(policy::Policy),
    Login(login::Login),
    Logout(login::Logout),
    Infer(infer::Infer),
    Introspect(introspect::Introspect),
    ExportRtfs(export_rtfs::ExportRtfs),
    Types(rtfs::Types),
    Rtfs(rtfs::Rtfs),
    #[command(hide = true)]
    Workshop(workshop::Workshop),
    Adapter(adapter::Adapter),
    Demo(demo::Demo),
}

/// What a command works with.
pub struct Context {
    /// Where it writes.
    pub ui: Ui,
    /// What was asked for on the command line.
    pub options: Options,
    /// Where it runs.
    pub surroundings: Surroundings,
}

impl Context {
    /// The configuration file that `--config` or `TOOLCRIB_CONFIG` names, made absolute.
    pub fn explicit_config(&self) -> Option<PathBuf> {
        let named = self
            .options
            .config
            .clone()
            .or_else(|| self.surroundings.var("TOOLCRIB_CONFIG").map(PathBuf::from))?;
        let path = self.surroundings.cwd.join(named);
        // The same file under one name, however it was written; what it links to is not its name.
        match (path.parent().map(Path::canonicalize), path.file_name()) {
            (Some(Ok(parent)), Some(name)) => Some(parent.join(name)),
            _ => Some(path),
        }
    }

    /// What reads the configuration.
    pub fn loader(&self) -> Loader {
        Loader::new(self.surroundings.clone(), self.explicit_config())
    }

    /// The tools that are known without asking any server.
    pub fn known_tools(&self, config: &load::Config) -> Vec<Known> {
        known::tools(config, &self.surroundings, now_ms())
    }

    /// The same tools with what is said about them.
    pub fn known_definitions(&self, config: &load::Config) -> Vec<toolcrib_core::Tool> {
        known::definitions(config, &self.surroundings, now_ms())
    }

    /// How many servers and tools a configuration has, as far as files say.
    pub fn known_counts(&self, config: &load::Config) -> Counts {
        known::counts(config, &self.surroundings, now_ms())
    }

    /// Where control sockets are.
    pub fn control_place(&self) -> Place {
        let data = Places::of(&self.surroundings).data;
        Place::of(
            &|name| self.surroundings.var(name),
            Some(&data),
            &std::env::temp_dir(),
        )
    }

    /// Starts the log of a process that serves as `usual` says where nothing else does, and that of a command.
    fn start_log(&mut self, usual: Option<&Log>) {
        let wished = self.surroundings.var("TOOLCRIB_LOG");
        let command = usual.is_none();
        let usual = usual.cloned().unwrap_or_default();
        let complaint = telemetry::start(&telemetry::Settings {
            format: self.options.log_format.unwrap_or(usual.format.into()),
            filter: wished.or_else(|| command.then(|| COMMAND_LOG.to_owned())),
            verbose: self.options.verbose,
            usual: if command { LogLevel::Warn } else { usual.level },
            brief: command,
            color: self.ui.colors_errors(),
        });
        if let Some(complaint) = complaint {
            self.ui.note(complaint);
        }
    }
}

/// Runs the program and gives its exit code.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(fault::guard(|| run(arguments)).unwrap_or(exit::FAULT))
}

fn run(arguments: Vec<OsString>) -> u8 {
    if completions::answered(&arguments) {
        return exit::OK;
    }
    let json = usage::asks_for_json(&arguments);
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage::explain(&error, json),
    };
    let command = match cli.command {
        Some(Command::Direct(command) | Command::Mcp(command)) => command,
        None if std::io::stdin().is_terminal() => return within(cli.options, welcome::run),
        // A client that starts the program with nothing but a pipe wants to speak MCP.
        None => Direct::Serve(serve::Serve::on_a_pipe()),
    };
    within(cli.options, |context| dispatch(command, context))
}

/// Runs something in a context of its own and gives the exit code.
fn within(options: Options, work: impl FnOnce(&mut Context) -> Result<(), Failure>) -> u8 {
    let mut ui = Ui::standard(options.color, options.json);
    let surroundings = match here() {
        Ok(surroundings) => surroundings,
        Err(failure) => return conclude(&mut ui, Err(failure)),
    };
    let mut context = Context {
        ui,
        options,
        surroundings,
    };
    let outcome = work(&mut context);
    conclude(&mut context.ui, outcome)
}

/// What commands log: what a connection went through, and why a server or a call failed, is told by the command
/// that needed it.
const COMMAND_LOG: &str = "warn,toolcrib_upstream=error,toolcrib::engine::asking=error,\
                           toolcrib::engine::connections::adapters=error,toolcrib::engine::execute::run=error,\
                           toolcrib::desk::registry=error";

fn dispatch(command: Direct, context: &mut Context) -> Result<(), Failure> {
    // A process that serves logs as its configuration says, once that is read.
    if !matches!(command, Direct::Serve(_)) {
        context.start_log(None);
    }
    carry_out(command, context)
}

fn carry_out(command: Direct, context: &mut Context) -> Result<(), Failure> {
    match command {
        Direct::Config(command) => command.run(context),
        Direct::Import(command) => command.run(context),
        Direct::Export(command) => command.run(context),
        Direct::Setup(command) => command.run(context),
        Direct::Trust(command) => command.run(context),
        Direct::Rules(command) => command.run(context),
        Direct::List(command) => command.run(context),
        Direct::Search(command) => command.run(context),
        Direct::Tools(command) => command.run(context),
        Direct::Inspect(command) => command.run(context),
        Direct::Execute(command) => command.run(context),
        Direct::Adapter(command) => command.run(context),
        Direct::Demo(command) => command.run(context),
        Direct::Serve(command) => command.run(context),
        Direct::Status => status::run(context),
        Direct::Doctor(command) => command.run(context),
        Direct::Stats(command) => command.run(context),
        Direct::Completions(command) => command.run(context),
        Direct::Reference(command) => command.run(context),
        Direct::Workshop(command) => command.run(context),
        Direct::Registry(command) => command.run(context),
        Direct::RegistryFile(command) => command.run(context),
        Direct::Cache(command) => command.run(context),
        Direct::Approvals(command) => command.run(context),
        Direct::Approve(command) => command.run(context),
        Direct::Audit(command) => command.run(context),
        Direct::Keys(command) => command.run(context),
        Direct::Policy(command) => command.run(context),
        Direct::Login(command) => command.run(context),
        Direct::Logout(command) => command.run(context),
        Direct::Infer(command) => command.run(context),
        Direct::Introspect(command) => command.run(context),
        Direct::ExportRtfs(command) => command.run(context),
        Direct::Types(command) => command.run(context),
        Direct::Rtfs(command) => command.run(context),
    }
}

/// Shows a failure, writes out what is left, and gives the exit code.
fn conclude(ui: &mut Ui, outcome: Result<(), Failure>) -> u8 {
    let code = match outcome {
        Ok(()) => exit::OK,
        Err(failure) => {
            ui.failure(&failure);
            failure.exit
        }
    };
    match ui.finish() {
        Ok(()) => code,
        Err(error) => {
            ui.failure(&Failure::new(
                Code::ToolExecutionError,
                format!("the output cannot be written: {error}"),
            ));
            exit::FAILED
        }
    }
}

/// Whether a person can be asked.
fn is_interactive(context: &Context) -> bool {
    !context.ui.is_json() && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// A question to which there was no answer.
fn unanswered(error: &std::io::Error) -> Failure {
    Failure::usage(format!("the question was not answered: {error}"))
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Where this process runs.
fn here() -> Result<Surroundings, Failure> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let home =
        home.ok_or_else(|| Failure::configuration("there is no home directory; set HOME to one"))?;
    let cwd = std::env::current_dir().map_err(|error| {
        Failure::configuration(format!(
            "the working directory cannot be used: {error}; change to another one"
        ))
    })?;
    let variable = |name: &str| std::env::var(name).ok();
    Ok(Surroundings::new(Os::current(), home, cwd, variable))
}
