//! `toolcrib completions`: what a shell needs to complete commands, options, and the names of servers,
//! tools and clients.
//!
//! The script calls this program back with the words so far; names come from the configuration and
//! the lists that were kept, and nothing is connected.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use clap_complete::{ArgValueCompleter, CompleteEnv, CompletionCandidate};
use toolcrib_config::import::CLIENTS;
use toolcrib_config::load::Config;

use super::{Cli, Context, here, now_ms};
use crate::failure::Failure;
use crate::known;
use crate::loader::Loader;

/// What tells this program that a shell asks, and which.
const VARIABLE: &str = "TOOLCRIB_COMPLETE";

/// Where the shells say which word is completed.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";

/// The script for bash, which breaks words at `:`: they are joined again before the program is asked, and of what it
/// offers only what stands behind the break goes back.
const BASH: &str = include_str!("completions/toolcrib.bash");

/// The shells that are answered. Zsh, fish and elvish quote what they are offered, the script for bash does it itself.
const SHELLS: Shells<'static> = Shells(&[&Bash, &Elvish, &Fish, &PlainPowershell, &Zsh]);

/// PowerShell, which puts what it is offered on the line as it is. A name that a server or a file has would be read as
/// code there, so that only what is one plain word is offered.
struct PlainPowershell;

impl EnvCompleter for PlainPowershell {
    fn name(&self) -> &'static str {
        Powershell.name()
    }

    fn is(&self, name: &str) -> bool {
        Powershell.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> std::io::Result<()> {
        Powershell.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        cmd: &mut clap::Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> std::io::Result<()> {
        let mut offered = Vec::new();
        Powershell.write_complete(cmd, args, current_dir, &mut offered)?;
        for line in String::from_utf8_lossy(&offered).lines() {
            if is_plain(line.split('\t').next().unwrap_or_default()) {
                writeln!(buf, "{line}")?;
            }
        }
        Ok(())
    }
}

/// Whether PowerShell reads it as one word that stands for itself.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "_-./\\:=+~%@".contains(c);
    word.chars().all(plain) && !word.starts_with('@')
}

/// Write what a shell needs to complete commands, servers and tools
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib completions bash >> ~/.bashrc
  toolcrib completions zsh > \"${fpath[1]}/_toolcrib\"
  toolcrib completions fish > ~/.config/fish/completions/toolcrib.fish
  toolcrib completions powershell >> $PROFILE
  toolcrib completions elvish >> ~/.elvish/rc.elv

Exit codes: 0 it is written, 1 wrong arguments.")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// A shell that can be helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Elvish,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Powershell => "powershell",
            Self::Elvish => "elvish",
        }
    }

    /// What the shell has to run so that it asks this program.
    fn script(self, program: &str) -> Result<String, Failure> {
        if self == Self::Bash {
            let quoted = format!("'{}'", program.replace('\'', r"'\''"));
            return Ok(BASH
                .replace("@PROGRAM@", &quoted)
                .replace("@VARIABLE@", VARIABLE));
        }
        let mut script = Vec::new();
        let written = SHELLS.completer(self.name()).map(|shell| {
            shell.write_registration(VARIABLE, "toolcrib", "toolcrib", program, &mut script)
        });
        if let Some(Err(error)) = written {
            return Err(Failure::configuration(error.to_string()));
        }
        Ok(String::from_utf8_lossy(&script).into_owned())
    }
}

impl Completions {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::configuration(format!("the path of this program is not known: {error}"))
        })?;
        let program = program.display().to_string();
        let script = self.shell.script(&program)?;
        if context.ui.is_json() {
            let shell = self.shell.name();
            context
                .ui
                .json(&serde_json::json!({ "shell": shell, "script": script }));
        } else {
            context.ui.verbatim(&script);
        }
        Ok(())
    }
}

/// Answers a shell that asks; whether one did.
pub(super) fn answered(arguments: &[OsString]) -> bool {
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(Cli::command)
        .shells(SHELLS)
        .var(VARIABLE)
        .bin("toolcrib")
        .try_complete(arguments.to_vec(), here.as_deref());
    // A shell that asks wrongly gets no answer; words in its place would be taken for one.
    asked.unwrap_or(true)
}

/// Completes the name of a server.
pub(super) fn server() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| {
        let servers = configured()
            .map(|config| servers(&config))
            .unwrap_or_default();
        fitting(servers, begun)
    })
}

/// Completes the name of a tool; where the word before is a server, of its tools.
pub(super) fn tool() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| {
        let words: Vec<OsString> = std::env::args_os().collect();
        let index = std::env::var(INDEX)
            .ok()
            .and_then(|index| index.parse().ok());
        let before = word_before(&words, index);
        let tools = tools().into_iter();
        let of_server = tools.filter(|(server, _)| before.as_deref().is_none_or(|b| b == server));
        fitting(of_server.map(|(_, tool)| tool), begun)
    })
}

/// Completes the id of a tool, `SERVER:TOOL`.
pub(super) fn tool_id() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| {
        let ids = tools().into_iter();
        fitting(ids.map(|(server, tool)| format!("{server}:{tool}")), begun)
    })
}

/// Completes the name of a server, or behind it the id of one of its tools.
pub(super) fn server_or_id() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| {
        if begun.to_string_lossy().contains(':') {
            let ids = tools().into_iter();
            return fitting(ids.map(|(server, tool)| format!("{server}:{tool}")), begun);
        }
        let servers = configured().map(|config| servers(&config));
        fitting(servers.unwrap_or_default(), begun)
    })
}

/// Completes the name of a client.
pub(super) fn client() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| {
        fitting(CLIENTS.iter().map(|client| client.id.to_owned()), begun)
    })
}

fn fitting(names: impl IntoIterator<Item = String>, begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let names = names.into_iter().filter(|name| name.starts_with(&*begun));
    names.map(CompletionCandidate::new).collect()
}

/// The configuration; a shell is told nothing where it does not load.
fn configured() -> Option<Config> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let named = words.iter().position(|word| word == "--config");
    let named = named.and_then(|at| words.get(at + 1)).map(PathBuf::from);
    let named = named.or_else(|| std::env::var_os("TOOLCRIB_CONFIG").map(PathBuf::from));
    let surroundings = here().ok()?;
    let named = named.map(|path| surroundings.cwd.join(path));
    Loader::new(surroundings, named).config().ok()
}

fn servers(config: &Config) -> Vec<String> {
    let servers = config.servers.iter().map(|server| server.name.clone());
    servers
        .chain(config.settings.adapters.keys().cloned())
        .collect()
}

/// Every tool that is known, with its server.
fn tools() -> Vec<(String, String)> {
    let (Some(config), Ok(surroundings)) = (configured(), here()) else {
        return Vec::new();
    };
    let known = known::tools(&config, &surroundings, now_ms()).into_iter();
    known.map(|known| (known.server, known.tool)).collect()
}

/// The word before the one that is completed. The words of the shell stand behind `--`.
fn word_before(words: &[OsString], index: Option<usize>) -> Option<String> {
    let start = words.iter().position(|word| word == "--")? + 1;
    let line = words.get(start..)?;
    let index = index.unwrap_or(line.len().saturating_sub(1));
    let before = line.get(index.checked_sub(1)?)?;
    before.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_before_is_the_server() {
        let words = |text: &str| -> Vec<OsString> { text.split(' ').map(OsString::from).collect() };
        let check = |text: &str, index, expect: Option<&str>| {
            assert_eq!(
                word_before(&words(text), index).as_deref(),
                expect,
                "{text}"
            );
        };
        check("p -- toolcrib inspect github cr", Some(3), Some("github"));
        check("p -- toolcrib inspect github cr", None, Some("github"));
        check("p -- toolcrib", Some(0), None);
        check("p toolcrib", None, None);
        check("p -- a b", Some(9), None);
    }

    #[test]
    fn powershell_is_offered_plain_words_only() {
        for word in [
            "create_issue",
            "github:x",
            ".\\a\\b",
            "--to=x",
            "über",
            "a@1.2",
        ] {
            assert!(is_plain(word), "{word}");
        }
        for word in [
            "x$(id)",
            "a b",
            "a;b",
            "a|b",
            "a'b",
            "a\u{2019}b",
            "a`b",
            "@a",
            "#a",
            "a&b",
            "a\u{202e}b",
        ] {
            assert!(!is_plain(word), "{word}");
        }
    }

    #[test]
    fn only_what_begins_so_is_offered() {
        let names = ["github".to_owned(), "gitlab".to_owned(), "files".to_owned()];
        let offered = fitting(names, OsStr::new("git"));
        let offered: Vec<_> = offered.iter().map(|c| c.get_value().to_owned()).collect();
        assert_eq!(offered, ["github", "gitlab"]);
    }
}
