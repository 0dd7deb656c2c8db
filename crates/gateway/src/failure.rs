//! A command that failed: what is printed and which exit code says so.

use serde::Serialize;
use serde_json::{Map, Value, json};
use toolcrib_config::trust::TrustError;
use toolcrib_core::Code;

use crate::finding::Finding;

/// The exit codes that commands share.
pub mod exit {
    /// Everything went well.
    pub const OK: u8 = 0;
    /// The arguments are invalid.
    pub const USAGE: u8 = 1;
    /// The configuration is not usable.
    pub const CONFIGURATION: u8 = 2;
    /// A server or tool was not found; told apart from [`CONFIGURATION`] by the error's code.
    pub const NOT_FOUND: u8 = 2;
    /// The command understood what was asked and could not do it.
    pub const FAILED: u8 = 3;
    /// The tool is switched off.
    pub const DISABLED: u8 = 4;
    /// A fault of Toolcrib itself.
    pub const FAULT: u8 = 101;
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The code of the one table, printed on stderr and in JSON so that equal exit codes can be told
    /// apart.
    pub code: Code,
    /// One sentence.
    pub message: String,
    /// What is wrong with the configuration, where that is the reason.
    pub diagnostics: Vec<Finding>,
    /// What else the JSON form holds.
    pub details: Vec<(String, Value)>,
    /// The exit code.
    pub exit: u8,
    /// Whether the message stands on standard output already.
    pub is_told: bool,
    /// Whether it is a call that failed: its JSON form begins with `success`, as that of an answer.
    pub of_call: bool,
}

impl Failure {
    /// A failure with one of the codes; the exit code is [`exit::FAILED`].
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            diagnostics: Vec::new(),
            details: Vec::new(),
            exit: exit::FAILED,
            is_told: false,
            of_call: false,
        }
    }

    /// Arguments that make no sense together.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: exit::USAGE,
            ..Self::new(Code::ValidationError, message)
        }
    }

    /// A configuration that cannot be used, or a file of it that cannot be read or written.
    pub fn configuration(message: impl Into<String>) -> Self {
        Self {
            exit: exit::CONFIGURATION,
            ..Self::new(Code::ConfigurationError, message)
        }
    }

    /// Nothing by that name, or nothing that fits: the documents' exit code 2 for it.
    pub fn not_found(code: Code, message: impl Into<String>) -> Self {
        Self {
            exit: exit::NOT_FOUND,
            ..Self::new(code, message)
        }
    }

    /// A place that was named for what a command makes, and that cannot be written.
    pub fn unwritten(place: &str, error: &std::io::Error) -> Self {
        let why = Self::unwritten_for(error);
        let message = format!("{place} cannot be written: {why}; choose another place");
        Self::new(Code::ToolExecutionError, message)
    }

    /// Why a place cannot be written.
    pub fn unwritten_for(error: &std::io::Error) -> String {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::NotFound => "its folder is not there".to_owned(),
            ErrorKind::PermissionDenied => "this user may not write there".to_owned(),
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                "a part of its path is a file".to_owned()
            }
            ErrorKind::IsADirectory => "a directory stands there".to_owned(),
            // The kind alone: the error may name a file that only stands there for a moment.
            kind => kind.to_string(),
        }
    }

    /// Says that it is a call that failed.
    #[must_use]
    pub fn of_a_call(self) -> Self {
        Self {
            of_call: true,
            ..self
        }
    }

    /// Adds what is wrong.
    #[must_use]
    pub fn because(mut self, diagnostics: Vec<Finding>) -> Self {
        self.diagnostics = diagnostics;
        self
    }

    /// Says that people have read the message on standard output.
    #[must_use]
    pub fn told(mut self) -> Self {
        self.is_told = true;
        self
    }

    /// Adds a field to the JSON form.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.push((name.to_owned(), value.into()));
        self
    }

    /// The object that `--json` prints.
    pub fn to_json(&self) -> Value {
        #[derive(Serialize)]
        struct Shape<'a> {
            code: Code,
            message: &'a str,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            diagnostics: &'a [Finding],
            #[serde(flatten)]
            details: Map<String, Value>,
        }
        let error = Shape {
            code: self.code,
            message: &self.message,
            diagnostics: &self.diagnostics,
            details: self.details.iter().cloned().collect(),
        };
        if self.of_call {
            return json!({ "success": false, "error": error });
        }
        json!({ "error": error })
    }
}

/// Why something that was named at the command line was not read, and what to do.
pub fn unread(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            "it is not there; check the path, which starts in the current directory".to_owned()
        }
        std::io::ErrorKind::PermissionDenied => {
            "this user may not read it; change its mode or its owner".to_owned()
        }
        _ => format!("{error}; check what stands at that path"),
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        Self::configuration(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_from_the_kind_of_failure() {
        assert_eq!(Failure::usage("x").exit, 1);
        assert_eq!(Failure::configuration("x").exit, 2);
        assert_eq!(Failure::new(Code::Overloaded, "x").exit, 3);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told_without_the_words_of_the_system() {
        use std::io::{Error, ErrorKind};
        let check = |error: Error, part: &str| {
            let failure = Failure::unwritten("a/b", &error);
            assert!(failure.message.contains(part), "{failure}");
            assert!(!failure.message.contains(".tmp"), "{failure}");
            assert_eq!(failure.exit, exit::FAILED);
        };
        check(ErrorKind::NotFound.into(), "its folder is not there");
        check(ErrorKind::PermissionDenied.into(), "may not write there");
        check(ErrorKind::NotADirectory.into(), "is a file");
        check(ErrorKind::IsADirectory.into(), "a directory stands there");
        let full = Error::new(ErrorKind::StorageFull, "no space at /x/.tmpAbC");
        check(full, "no storage space");
    }

    #[test]
    fn json_carries_code_message_and_diagnostics() {
        let failure = Failure::configuration("a.yaml does not load");
        assert_eq!(
            failure.to_json(),
            json!({"error": {"code": "CONFIGURATION_ERROR", "message": "a.yaml does not load"}})
        );
        assert_eq!(failure.clone().of_a_call().to_json()["success"], false);
        let failure = failure.because(vec![Finding::error("bad")]);
        assert_eq!(
            failure.to_json()["error"]["diagnostics"][0]["message"],
            "bad"
        );
    }
}
