//! Running other programs, and saying which one failed.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{ui, workspace};

/// The `cargo` that runs this task.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command
}

/// A program found on the path, run from the root.
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(workspace::root());
    command
}

/// A program that comes with Node as a script, such as `npm` and `npx`: on Windows it has an ending that must be said.
pub(crate) fn node_script(name: &str) -> Command {
    if cfg!(windows) {
        program(format!("{name}.cmd"))
    } else {
        program(name)
    }
}

/// Runs to the end with the terminal's own streams; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    ui::line(&format!("$ {}", spelled(command)));
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", spelled(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", spelled(command));
    }
    Ok(())
}

/// Runs to the end and hands back what it printed; stderr goes to the terminal.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", spelled(command)))?;
    if !output.status.success() {
        bail!("`{}` ended with {}", spelled(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed something that is not UTF-8", spelled(command)))
}

/// Runs to the end, prints each line of stdout as it comes and shows it to `each`; says whether it succeeded.
pub(crate) fn watch(command: &mut Command, each: &mut dyn FnMut(&str)) -> Result<bool> {
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    follow(child.stdout.take(), each)?;
    Ok(child.wait()?.success())
}

/// As [`watch`], for a program that says on stderr what matters; its stdout is dropped.
pub(crate) fn watch_stderr(command: &mut Command, each: &mut dyn FnMut(&str)) -> Result<bool> {
    let mut child = spawn(command.stdout(Stdio::null()).stderr(Stdio::piped()))?;
    follow(child.stderr.take(), each)?;
    Ok(child.wait()?.success())
}

fn spawn(command: &mut Command) -> Result<Child> {
    ui::line(&format!("$ {}", spelled(command)));
    command
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start `{}`", spelled(command)))
}

fn follow(stream: Option<impl Read>, each: &mut dyn FnMut(&str)) -> Result<()> {
    let Some(stream) = stream else { return Ok(()) };
    let mut reader = BufReader::new(stream);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        ui::line(text);
        each(text);
        bytes.clear();
    }
    Ok(())
}

/// Runs with every stream shut and says whether it succeeded; `false` also where it cannot be started.
pub(crate) fn quietly(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as a person would type it, with paths below the root shortened.
fn spelled(command: &Command) -> String {
    let mut text = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&workspace::relative(Path::new(argument)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_named_in_the_error() {
        let error = run(program("git").args(["no-such-command-of-git"]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("git no-such-command-of-git"), "{error}");
        assert!(run(&mut program("no-such-program-anywhere")).is_err());
        assert!(!quietly(&mut program("no-such-program-anywhere")));
    }

    #[test]
    fn npm_is_started_here_alone_because_windows_calls_it_otherwise() {
        let told = output(node_script("npm").arg("--version")).unwrap();
        assert!(told.trim().starts_with(char::is_numeric), "{told}");
        let sources = crate::source::files_below(&workspace::root().join("xtask/src"), "rs");
        for path in sources {
            let text = std::fs::read_to_string(&path).unwrap();
            for word in ["npm", "npx"] {
                for start in ["Command::new", "process::program"] {
                    let line = format!("{start}(\"{word}\")");
                    assert!(!text.contains(&line), "{line} in {}", path.display());
                }
            }
        }
    }

    #[test]
    fn watching_sees_every_line() {
        let mut lines = Vec::new();
        let good = watch(program("git").arg("--version"), &mut |line| {
            lines.push(line.to_owned());
        })
        .unwrap();
        assert!(good);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("git version"));
    }
}
