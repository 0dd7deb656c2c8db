//! Arguments that are written as JSON: on the command line, in a file, or on standard input.

use std::io::Read;
use std::path::Path;

use serde_json::value::RawValue;
use toolcrib_core::limits::ARGUMENTS_BYTES_MAX;

use crate::failure::{Failure, unread};

/// Arguments that were written as JSON, `@FILE` or `-`.
pub(super) fn of_json(written: &str, cwd: &Path) -> Result<Box<RawValue>, Failure> {
    let text = match written.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(cwd.join(file)).map_err(|error| {
            let why = unread(&error);
            Failure::usage(format!("the arguments cannot be read from {file}: {why}"))
        })?,
        None if written == "-" => standard_input()?,
        None => written.to_owned(),
    };
    RawValue::from_string(text.trim().to_owned()).map_err(|error| {
        Failure::usage(format!(
            "the arguments are not JSON: {error}; quote them for the shell, as in --args '{{\"a\":1}}'"
        ))
    })
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let bound = u64::try_from(ARGUMENTS_BYTES_MAX).unwrap_or(u64::MAX);
    let read = std::io::stdin().take(bound + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_from_the_command_line_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.json"), " {\"a\": 1.0}\n").unwrap();
        assert_eq!(
            of_json("{\"z\":1,\"a\":2}", folder.path()).unwrap().get(),
            "{\"z\":1,\"a\":2}"
        );
        assert_eq!(
            of_json("@a.json", folder.path()).unwrap().get(),
            "{\"a\": 1.0}"
        );
        let error = of_json("@gone.json", folder.path()).unwrap_err();
        assert!(error.message.contains("gone.json"), "{error}");
        let error = of_json("{title: x}", folder.path()).unwrap_err();
        assert!(error.message.contains("quote them"), "{error}");
        assert_eq!(error.exit, 1);
    }
}
