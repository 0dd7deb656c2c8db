//! `toolcrib serve`: runs in the foreground until asked to end.

use clap::Args;
use toolcrib_config::model::settings::{Names, Profile};

use super::{Context, trust};
use crate::failure::Failure;
use crate::process;

const LISTEN_HELP: &str =
    "Where the HTTP door listens, whatever the configuration says [env: TOOLCRIB_LISTEN]";

const PROFILE_HELP: &str =
    "Which five tools an agent sees, whatever the configuration says [env: TOOLCRIB_PROFILE]";

/// Run in the foreground until asked to end
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib serve           over HTTP
  toolcrib serve --stdio   on a pipe, as clients start it

Exit codes: 0 it was asked to end, 1 wrong arguments, 2 it cannot listen, or the configuration does \
not load, 3 the store cannot be used.")]
pub struct Serve {
    /// Speak MCP on standard input and output, and end when standard input is closed
    #[arg(long)]
    stdio: bool,
    /// Where the HTTP door listens, whatever the configuration says [env: `TOOLCRIB_LISTEN`]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "stdio", help = LISTEN_HELP)]
    listen: Option<String>,
    /// How dots in tool names are spelt, whatever the configuration says
    #[arg(long, value_enum, value_name = "SPELLING")]
    names: Option<Spelling>,
    /// Which five tools an agent sees, whatever the configuration says [env: `TOOLCRIB_PROFILE`]
    #[arg(long, value_enum, value_name = "PROFILE", help = PROFILE_HELP)]
    profile: Option<Five>,
}

/// Which five tools an agent sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Five {
    /// `search_tools` and its like
    Discovery,
    /// `gateway.intent` and its like
    Gateway,
}

impl From<Five> for Profile {
    fn from(five: Five) -> Self {
        match five {
            Five::Discovery => Self::Discovery,
            Five::Gateway => Self::Gateway,
        }
    }
}

/// How dots in tool names are spelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Spelling {
    /// As the client takes them
    Auto,
    /// `gateway.intent`
    Dot,
    /// `gateway-intent`
    Hyphen,
    /// `gateway_intent`
    Underscore,
}

impl From<Spelling> for Names {
    fn from(spelling: Spelling) -> Self {
        match spelling {
            Spelling::Auto => Self::Auto,
            Spelling::Dot => Self::Dot,
            Spelling::Hyphen => Self::Hyphen,
            Spelling::Underscore => Self::Underscore,
        }
    }
}

impl Serve {
    /// What a client gets that names no command: `serve --stdio`.
    pub(super) fn on_a_pipe() -> Self {
        Self {
            stdio: true,
            listen: None,
            names: None,
            profile: None,
        }
    }

    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        if !self.stdio {
            trust::offer(context)?;
        }
        let listen = self
            .listen
            .or_else(|| context.surroundings.var("TOOLCRIB_LISTEN"));
        let listens = !self.stdio && listen.is_none();
        let options = process::Options {
            control: context.control_place(),
            surroundings: context.surroundings.clone(),
            stdio: self.stdio,
            listen,
        };
        let loader = context
            .loader()
            .listens(listens)
            .names(self.names.map(Names::from))
            .profile(self.profile.map(Profile::from));
        let start = process::load(&loader)?;
        context.start_log(Some(&start.config.settings.log));
        process::run(loader, start, options)
    }
}
