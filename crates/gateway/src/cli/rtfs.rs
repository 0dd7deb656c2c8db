//! `toolcrib types` and `toolcrib rtfs`: type expressions, to try them out.

use std::io::Read;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use toolcrib_core::limits::RTFS_TEXT_BYTES_MAX;
use toolcrib_core::rtfs::{self, capability, from_schema, text};

use super::Context;
use crate::failure::{Failure, unread};
use crate::ui::Line;

/// Which RTFS text is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// As the documents print it
    #[default]
    Doc,
    /// What the CCOS reader accepts
    Ccos,
}

impl From<Dialect> for rtfs::Dialect {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Doc => Self::Document,
            Dialect::Ccos => Self::Ccos,
        }
    }
}

/// Write the type of a JSON Schema
#[derive(Debug, Args)]
pub struct Types {
    #[command(subcommand)]
    command: TypesCommand,
}

#[derive(Debug, Subcommand)]
enum TypesCommand {
    /// Write the type of a JSON Schema that comes on standard input
    #[command(after_help = "\
Examples:
  echo '{\"type\":\"string\"}' | toolcrib types from-schema

Exit codes: 0 the type is written, 1 wrong arguments, or what comes in is no JSON.")]
    FromSchema {
        /// Which RTFS text is written
        #[arg(long, value_enum, default_value = "doc")]
        dialect: Dialect,
        /// A file, which is not read: schemas are piped
        #[arg(hide = true)]
        file: Option<PathBuf>,
    },
}

impl Types {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let TypesCommand::FromSchema { dialect, file } = self.command;
        if let Some(file) = file {
            let file = file.display();
            return Err(Failure::usage(format!(
                "the schema is read from standard input; write `toolcrib types from-schema < {file}`"
            )));
        }
        let schema: Value = serde_json::from_str(&standard_input()?).map_err(|error| {
            Failure::usage(format!(
                "standard input is not JSON: {error}; pipe a schema into it"
            ))
        })?;
        let written = text::of_type(&from_schema(&schema), dialect.into());
        if context.ui.is_json() {
            context.ui.json(&json!({ "type": written }));
        } else {
            context.ui.line(Line::new().whole(written));
        }
        Ok(())
    }
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let bound = u64::try_from(RTFS_TEXT_BYTES_MAX).unwrap_or(u64::MAX);
    let read = std::io::stdin().take(bound + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    if text.len() > RTFS_TEXT_BYTES_MAX {
        return Err(Failure::usage(format!(
            "standard input holds more than {RTFS_TEXT_BYTES_MAX} bytes; give less at once"
        )));
    }
    Ok(text)
}

/// Check RTFS files
#[derive(Debug, Args)]
pub struct Rtfs {
    #[command(subcommand)]
    command: RtfsCommand,
}

#[derive(Debug, Subcommand)]
enum RtfsCommand {
    /// Say whether files are RTFS, and where not
    #[command(after_help = "\
Examples:
  toolcrib rtfs check capabilities/servers/pending/github/*.rtfs

Exit codes: 0 every file is RTFS, 1 wrong arguments, or a file is not RTFS.")]
    Check {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Which RTFS text is expected
        #[arg(long, value_enum, default_value = "doc")]
        dialect: Dialect,
    },
}

impl Rtfs {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let RtfsCommand::Check { files, dialect } = self.command;
        let (mut wrong, mut unreadable) = (0, 0);
        let mut shown = Vec::new();
        for file in &files {
            let path = context.surroundings.display(file);
            let outcome = std::fs::read_to_string(context.surroundings.cwd.join(file))
                .map_err(|error| {
                    unreadable += 1;
                    unread(&error)
                })
                .and_then(|text| {
                    capability::check(&text, dialect.into()).map_err(|error| error.to_string())
                });
            wrong += usize::from(outcome.is_err());
            let line = Line::new().mark(outcome.is_ok());
            if context.ui.is_json() {
                shown.push(json!({
                    "file": file,
                    "ok": outcome.is_ok(),
                    "forms": outcome.as_ref().ok(),
                    "error": outcome.as_ref().err(),
                }));
            } else {
                context.ui.line(match outcome {
                    Ok(1) => line.text(format_args!(" {path}: 1 form")),
                    Ok(forms) => line.text(format_args!(" {path}: {forms} forms")),
                    Err(error) => line.text(format_args!(" {path}: {error}")),
                });
            }
        }
        if context.ui.is_json() {
            context.ui.json(&json!({ "files": shown }));
            // It says which files are wrong; a second object would not be JSON any more.
            context.ui.mute();
        }
        if wrong == 0 {
            return Ok(());
        }
        Err(Failure::usage(summary(wrong, unreadable, files.len())))
    }
}

/// What is wrong with so many of all files, of which some could not even be read.
fn summary(wrong: usize, unreadable: usize, all: usize) -> String {
    match (wrong, all) {
        (_, 1) if unreadable == 1 => {
            "the file cannot be read; the reason stands beside its name".to_owned()
        }
        (_, 1) => "the file is not RTFS as the reader wants it".to_owned(),
        (1, all) if unreadable == 1 => format!("1 of {all} files cannot be read"),
        (1, all) => format!("1 of {all} files is not RTFS as the reader wants it"),
        (wrong, all) if unreadable == 0 => {
            format!("{wrong} of {all} files are not RTFS as the reader wants it")
        }
        (wrong, all) => {
            format!("{wrong} of {all} files cannot be read, or are not RTFS as the reader wants it")
        }
    }
}
