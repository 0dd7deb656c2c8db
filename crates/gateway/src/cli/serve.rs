//! `toolcrib serve`: runs in the foreground until asked to end.

use clap::Args;
use toolcrib_config::model::settings::Names;

use super::{Context, trust};
use crate::failure::Failure;
use crate::process;

const LISTEN_HELP: &str =
    "Where the HTTP door listens, whatever the configuration says [env: TOOLCRIB_LISTEN]";

/// Run in the foreground until asked to end
#[derive(Debug, Args)]
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
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        if !self.stdio {
            trust::offer(context)?;
        }
        let options = process::Options {
            control: context.control_place(),
            surroundings: context.surroundings.clone(),
            stdio: self.stdio,
            listen: self
                .listen
                .or_else(|| context.surroundings.var("TOOLCRIB_LISTEN")),
        };
        process::run(context.loader().names(self.names.map(Names::from)), options)
    }
}
