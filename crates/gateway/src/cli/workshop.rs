//! `toolcrib workshop`: the servers that the demo and the examples use.

use std::io::{stdin, stdout};

use clap::Args;

use super::Context;
use crate::failure::Failure;
use crate::workshop::{NAMES, serve};

/// Be one of the small MCP servers that the demo uses, on standard input and output
#[derive(Debug, Args)]
pub struct Workshop {
    /// Which one
    #[arg(value_parser = NAMES)]
    name: String,
}

impl Workshop {
    /// Runs the command.
    pub fn run(self, _context: &mut Context) -> Result<(), Failure> {
        serve(&self.name, stdin().lock(), stdout().lock())
            .map(drop)
            .map_err(|error| Failure::usage(format!("standard input and output broke: {error}")))
    }
}
