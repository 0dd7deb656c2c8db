//! A finding about a configuration in the form that is printed as JSON and sent over the control
//! socket.

use serde::{Deserialize, Serialize};
use toolcrib_config::{Diagnostic, Severity};
use toolcrib_core::limits;

/// One finding: the fields of a [`Diagnostic`], bounded in size, without the text of the file apart
/// from the rendered excerpt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// One sentence.
    pub message: String,
    /// The file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in characters, from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// What would be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The whole finding as a person reads it, with the place underlined.
    pub rendered: String,
}

impl Finding {
    /// An error without a place.
    pub fn error(message: impl Into<String>) -> Self {
        Self::from(&Diagnostic::error(message))
    }

    /// Whether it keeps the configuration from being used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error.word()
    }
}

impl From<&Diagnostic> for Finding {
    fn from(diagnostic: &Diagnostic) -> Self {
        let position = diagnostic.position();
        Self {
            severity: diagnostic.severity.word().to_owned(),
            message: cut(&diagnostic.message),
            file: diagnostic
                .source
                .as_ref()
                .map(|s| cut(&s.path().display().to_string())),
            line: position.map(|p| p.0),
            column: position.map(|p| p.1),
            help: diagnostic.help.as_deref().map(cut),
            rendered: cut(&diagnostic.to_string()),
        }
    }
}

/// The text, at most [`limits::CONTROL_TEXT_CHARS_MAX`] characters of it.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(limits::CONTROL_TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_config::{Source, Span};

    use super::*;

    #[test]
    fn a_diagnostic_keeps_its_place_and_its_rendering() {
        let source = Source::new("a.yaml", "x: 1\nenabled: maybe\n");
        let diagnostic = Diagnostic::error("enabled must be a boolean")
            .at(&source, Span::new(14, 19))
            .help("write true or false");
        let finding = Finding::from(&diagnostic);
        assert_eq!(
            (
                finding.file.as_deref(),
                finding.line,
                finding.column,
                finding.help.as_deref()
            ),
            (
                Some("a.yaml"),
                Some(2),
                Some(10),
                Some("write true or false")
            )
        );
        assert!(finding.is_error());
        assert_eq!(finding.rendered, diagnostic.to_string());
        let json = serde_json::to_string(&finding).unwrap();
        assert_eq!(serde_json::from_str::<Finding>(&json).unwrap(), finding);
    }

    #[test]
    fn long_texts_are_cut() {
        let finding = Finding::error("ü".repeat(limits::CONTROL_TEXT_CHARS_MAX + 5));
        assert_eq!(
            finding.message.chars().count(),
            limits::CONTROL_TEXT_CHARS_MAX + 1
        );
        assert!(finding.message.ends_with('…'));
    }
}
