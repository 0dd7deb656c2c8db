//! Arguments that are not understood: exit code 1, the sentence on standard error, and in JSON where
//! that was asked for.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use toolcrib_core::nearest;

use crate::failure::{Failure, exit};
use crate::ui::{Color, Ui};

/// Whether `--json` is among the arguments, which clap could not make sense of.
pub(super) fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--json")
}

/// Prints help and version where those were asked for; else says what is wrong with the arguments.
pub(super) fn explain(error: &clap::Error, json: bool) -> u8 {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        // A closed pipe is not worth a word.
        let _ = error.print();
        return exit::OK;
    }
    // Nothing is wrong with what was said, there is more to say.
    if !json && error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return exit::USAGE;
    }
    let mut ui = Ui::standard(Color::Auto, json);
    let failure = Failure::usage(sentence(error, json));
    ui.failure(&failure);
    // There is no one left to tell if this fails.
    let _ = ui.finish();
    failure.exit
}

/// What clap says, without its own `error:`; on one line where it goes into JSON.
fn sentence(error: &clap::Error, one_line: bool) -> String {
    // What clap says of it lists commands that nobody is meant to see.
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand
    ) {
        return "a command is missing; `--help` lists them".into();
    }
    let text = best_first(error, error.render().to_string());
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    if !one_line {
        return text.to_owned();
    }
    let said: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty())
        .collect();
    said.join("; ")
}

/// The text with the commands that may be meant in the order of how near they are; clap has the nearest last.
fn best_first(error: &clap::Error, text: String) -> String {
    let (Some(ContextValue::String(written)), Some(ContextValue::Strings(offered))) = (
        error.get(ContextKind::InvalidSubcommand),
        error.get(ContextKind::SuggestedSubcommand),
    ) else {
        return text;
    };
    let listed = |names: &[&str]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        quoted.join(", ")
    };
    let offered: Vec<&str> = offered.iter().map(String::as_str).collect();
    let mut ordered = nearest::nearest(written, offered.iter().copied(), offered.len());
    ordered.extend(
        offered
            .iter()
            .rev()
            .filter(|name| !ordered.contains(name))
            .copied()
            .collect::<Vec<_>>(),
    );
    text.replace(&listed(&offered), &listed(&ordered))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn json_is_noticed_before_the_end_of_options() {
        let check = |arguments: &[&str], expected: bool| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            assert_eq!(asks_for_json(&arguments), expected, "{arguments:?}");
        };
        check(&["toolcrib", "nonsense", "--json"], true);
        check(&["toolcrib", "nonsense"], false);
        check(&["toolcrib", "--", "--json"], false);
    }

    #[test]
    fn a_similar_command_is_named_in_both_forms() {
        let error = Cli::try_parse_from(["toolcrib", "completion"]).unwrap_err();
        let long = sentence(&error, false);
        assert!(
            long.starts_with("unrecognized subcommand 'completion'"),
            "{long}"
        );
        assert!(long.contains("Usage:"), "{long}");
        let short = sentence(&error, true);
        assert_eq!(
            short,
            "unrecognized subcommand 'completion'; tip: a similar subcommand exists: 'completions'"
        );
    }

    #[test]
    fn of_several_similar_commands_the_nearest_is_named_first() {
        let error = Cli::try_parse_from(["toolcrib", "serach"]).unwrap_err();
        let said = sentence(&error, true);
        assert!(said.contains("exist: 'search', "), "{said}");
    }

    #[test]
    fn a_missing_command_is_said_in_a_sentence() {
        for arguments in [
            &["toolcrib", "config"][..],
            &["toolcrib", "mcp", "--json"],
            &["toolcrib", "mcp", "--config", "x"],
        ] {
            let error = Cli::try_parse_from(arguments).unwrap_err();
            for one_line in [true, false] {
                assert_eq!(
                    sentence(&error, one_line),
                    "a command is missing; `--help` lists them",
                    "{arguments:?}"
                );
            }
        }
    }
}
