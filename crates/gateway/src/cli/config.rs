//! `toolcrib config`: what is configured, whether it is right, and reading it again.

use clap::{Args, Subcommand};

use super::Context;
use crate::failure::Failure;

mod reload;
mod show;
mod sources;
mod validate;

/// Show, check and reload the configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib config show
  toolcrib config validate
  toolcrib config sources
  toolcrib config reload")]
pub struct Config {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Display the current configuration
    #[command(after_help = "\
Examples:
  toolcrib config show
  toolcrib config show --json   for programs

Exit codes: 0 it is shown, 1 wrong arguments, 2 the configuration does not load.")]
    Show,
    /// Check the configuration and report everything that is wrong or doubtful
    #[command(after_help = "\
Examples:
  toolcrib config validate
  toolcrib config validate --config team.yaml

Exit codes: 0 it is valid, 1 wrong arguments, 2 it is not.")]
    Validate,
    /// List where the configuration comes from
    Sources(sources::Sources),
    /// Make running processes read the configuration again
    Reload(reload::Reload),
}

impl Config {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self.command {
            ConfigCommand::Show => show::run(context),
            ConfigCommand::Validate => validate::run(context),
            ConfigCommand::Sources(command) => command.run(context),
            ConfigCommand::Reload(command) => command.run(context),
        }
    }
}
