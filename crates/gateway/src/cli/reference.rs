//! `toolcrib reference`: the manual, written from the commands themselves, for packages and the book.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use serde_json::json;

use super::{Cli, Context};
use crate::failure::Failure;

/// Write the manual pages, or the chapter of the book about the command line
#[derive(Debug, Args)]
pub struct Reference {
    /// Write the manual pages into this directory instead of the chapter to standard output
    #[arg(long, value_name = "DIRECTORY")]
    man: Option<PathBuf>,
}

impl Reference {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Some(directory) = self.man else {
            if context.ui.is_json() {
                context.ui.json(&json!({ "chapter": chapter() }));
            } else {
                context.ui.verbatim(&chapter());
            }
            return Ok(());
        };
        let failed = |error: std::io::Error| {
            let place = context.surroundings.display(&directory);
            Failure::configuration(format!("{place} cannot be written: {error}"))
        };
        std::fs::create_dir_all(&directory).map_err(failed)?;
        let mut names = Vec::new();
        for (name, page) in pages().map_err(failed)? {
            std::fs::write(directory.join(Path::new(&name)), page).map_err(failed)?;
            names.push(name);
        }
        if context.ui.is_json() {
            context
                .ui
                .json(&json!({ "directory": directory, "pages": names }));
        }
        Ok(())
    }
}

/// The commands that people see, each with its whole name. What stands under `mcp` is the same again.
fn commands() -> Vec<(String, Command)> {
    let mut root = Cli::command().term_width(WIDTH);
    root.build();
    let mut all = Vec::new();
    walk(&root, "toolcrib", &mut all);
    all
}

/// Columns of what is generated, whatever the terminal.
const WIDTH: usize = 100;

fn walk(command: &Command, name: &str, all: &mut Vec<(String, Command)>) {
    all.push((name.to_owned(), command.clone()));
    let inner = command.get_subcommands();
    let shown = inner.filter(|inner| {
        !inner.is_hide_set() && inner.get_name() != "help" && inner.get_name() != "mcp"
    });
    for inner in shown {
        walk(inner, &format!("{name} {}", inner.get_name()), all);
    }
}

/// The chapter about the command line: every `--help`.
pub fn chapter() -> String {
    let mut text = String::from(
        "# The command line\n\nEvery command also stands under `mcp` (`toolcrib mcp search …`), takes `--json`, and ends with an exit \
         code: 0 success,\n1 wrong arguments, 2 configuration error or not found, 3 failed, 4 switched off, 101 a fault of Toolcrib \
         itself.\nOn a terminal tables fit its width and colours are used unless `NO_COLOR` is set; in a pipe it is plain text.\n\nThis page is written by `toolcrib \
         reference` from the commands themselves.\n",
    );
    for (name, mut command) in commands() {
        let help = command.render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let help = if name == "toolcrib" { help } else { own(help) };
        let _ = write!(
            text,
            "\n## `{name}`\n\n```text\n{}\n```\n",
            help.join("\n").trim_end()
        );
    }
    text
}

/// The lines without the options that every command has.
fn own(help: Vec<&str>) -> Vec<&str> {
    let mut global = false;
    let mut lines: Vec<&str> = Vec::with_capacity(help.len());
    for line in help {
        if line == "Global options:" {
            global = true;
        } else if !line.is_empty() && !line.starts_with(' ') {
            global = false;
        }
        if !global {
            lines.push(line);
        }
    }
    lines
}

/// The manual pages: one for each command, as `toolcrib-config-show.1`.
pub fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = Vec::new();
    for (name, command) in commands() {
        let name = name.replace(' ', "-");
        // Without a version and a date the page changes only when the command does.
        let command = command.version(None::<&str>);
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .title(name.to_uppercase())
            .date("")
            .source("toolcrib")
            .manual("Toolcrib Manual")
            .render(&mut page)?;
        pages.push((format!("{name}.1"), page));
    }
    Ok(pages)
}
