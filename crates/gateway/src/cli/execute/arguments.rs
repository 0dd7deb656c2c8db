//! Arguments that are written as JSON: on the command line, in a file, or on standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::value::RawValue;
use toolcrib_core::limits::ARGUMENTS_BYTES_MAX;

use crate::failure::{Failure, unread};

/// Arguments that were written as JSON, `@FILE` or `-`.
pub(super) fn of_json(written: &str, cwd: &Path) -> Result<Box<RawValue>, Failure> {
    let text = match written.strip_prefix('@') {
        Some(file) => {
            let read = File::open(cwd.join(file)).and_then(bounded);
            read.map_err(|error| {
                let why = unread(&error);
                Failure::usage(format!("the arguments cannot be read from {file}: {why}"))
            })?
        }
        None if written == "-" => bounded(io::stdin())
            .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?,
        None => written.to_owned(),
    };
    if text.len() > ARGUMENTS_BYTES_MAX {
        return Err(Failure::usage(format!(
            "the arguments are larger than {ARGUMENTS_BYTES_MAX} bytes; send less"
        )));
    }
    RawValue::from_string(text.trim().to_owned()).map_err(|error| {
        Failure::usage(format!(
            "the arguments are not JSON: {error}; quote them for the shell, as in --args '{{\"a\":1}}'"
        ))
    })
}

/// What is there, up to one byte more than arguments may have.
fn bounded(from: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(ARGUMENTS_BYTES_MAX).unwrap_or(u64::MAX);
    from.take(bound.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > ARGUMENTS_BYTES_MAX {
        // The last letter may be cut, which is not what is wrong with it.
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
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

    #[test]
    fn a_file_without_an_end_is_read_to_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: String| std::fs::write(folder.path().join("a.json"), text).unwrap();
        let whole = format!("\"{}\"", "a".repeat(ARGUMENTS_BYTES_MAX - 2));
        write(whole.clone());
        assert_eq!(of_json("@a.json", folder.path()).unwrap().get(), whole);
        // The bound is in the middle of the last letter.
        write(format!("\"{}é\"", "a".repeat(ARGUMENTS_BYTES_MAX - 1)));
        for endless in ["@a.json", "@/dev/zero"] {
            let error = of_json(endless, folder.path()).unwrap_err();
            assert!(error.message.contains("send less"), "{error}");
        }
    }
}
