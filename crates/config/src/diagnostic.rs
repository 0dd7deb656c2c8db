//! What is wrong with a configuration, where, and what would be right.

mod excerpt;
pub(crate) mod veil;

use std::fmt;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::text::{Source, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// Something is left out or will not do what it seems to.
    Warning,
    /// The file cannot be used.
    Error,
}

impl Severity {
    /// The word that stands before a message.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One finding: a sentence, the place it is about, and what would be right.
///
/// The rendering shows the line with the offending text underlined; whatever on it looks like a
/// secret is masked, and a diagnostic marked [`Diagnostic::hide_text`] shows no text of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// One sentence, without a final full stop.
    pub message: String,
    /// The file it is about.
    pub source: Option<Arc<Source>>,
    /// The place in that file.
    pub span: Option<Span>,
    /// What would be right, where that is known.
    pub help: Option<String>,
    /// Other places in the same file that belong to it, each with a word on why.
    pub related: Vec<(Span, String)>,
    /// Whether the text at the place must not be shown.
    pub hidden: bool,
}

impl Diagnostic {
    /// A finding of that severity without a place.
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self {
            severity,
            message: message.into(),
            source: None,
            span: None,
            help: None,
            related: Vec::new(),
            hidden: false,
        }
    }

    /// An error without a place.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    /// A warning without a place.
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message)
    }

    /// Points at a place.
    #[must_use]
    pub fn at(mut self, source: &Arc<Source>, span: Span) -> Self {
        self.source = Some(Arc::clone(source));
        self.span = Some(span);
        self
    }

    /// Names the file as a whole.
    #[must_use]
    pub fn about(mut self, source: &Arc<Source>) -> Self {
        self.source = Some(Arc::clone(source));
        self
    }

    /// Says what would be right.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Points at one more place of the same file, such as where a key stood first.
    #[must_use]
    pub fn also(mut self, span: Span, why: impl Into<String>) -> Self {
        self.related.push((span, why.into()));
        self
    }

    /// Shows no text of the file: the place holds a secret.
    #[must_use]
    pub fn hide_text(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Line and column, counted from one, where there is a place.
    pub fn position(&self) -> Option<(usize, usize)> {
        Some(self.source.as_ref()?.position(self.span?.start))
    }

    /// The finding for programs: `severity`, `message`, `file`, `line`, `column`, `help` and
    /// `related`; what is not known is null. No text of the file is in it.
    pub fn to_json(&self) -> Json {
        let (line, column) = self.position().unzip();
        let file = self.source.as_ref().map(|s| s.path().display().to_string());
        let related: Vec<Json> = self
            .related
            .iter()
            .filter_map(|(span, why)| {
                let (line, column) = self.source.as_ref()?.position(span.start);
                let message = why.trim_end_matches(':');
                Some(json!({"message": message, "line": line, "column": column}))
            })
            .collect();
        json!({
            "severity": self.severity.word(),
            "message": self.message,
            "file": file,
            "line": line,
            "column": column,
            "help": self.help,
            "related": related,
        })
    }
}

impl fmt::Display for Diagnostic {
    /// Several lines, like a compiler's:
    ///
    /// ```text
    /// error: toolRules[0].enabled must be a boolean
    ///   --> toolcrib.yaml:4:14
    ///    |
    ///  4 |     enabled: "yes"
    ///    |              ^^^^^
    ///    = help: write true or false
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity.word(), self.message)?;
        let mut margin = 2;
        if let Some(source) = &self.source {
            if let Some(span) = self.span {
                let (line, column) = source.position(span.start);
                margin = line.to_string().len();
                write!(
                    f,
                    "\n{:margin$}--> {}:{line}:{column}",
                    "",
                    source.path().display()
                )?;
                if !self.hidden {
                    excerpt::write(f, source, span, line, margin)?;
                }
                for (span, why) in &self.related {
                    let (line, column) = source.position(span.start);
                    margin = line.to_string().len();
                    let path = source.path().display();
                    write!(f, "\n{:margin$}::: {why} {path}:{line}:{column}", "")?;
                    if !self.hidden {
                        excerpt::write(f, source, *span, line, margin)?;
                    }
                }
            } else {
                write!(f, "\n{:margin$}--> {}", "", source.path().display())?;
            }
        }
        if let Some(help) = &self.help {
            write!(f, "\n{:margin$} = help: {help}", "")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, marked: &str) -> String {
        let source = Source::new("toolcrib.yaml", text);
        let start = text.find(marked).unwrap();
        Diagnostic::error("x must be a boolean")
            .at(&source, Span::new(start, start + marked.len()))
            .help("write true or false")
            .to_string()
    }

    #[test]
    fn the_place_is_underlined_and_the_help_stands_below() {
        assert_eq!(
            shown("a: 1\nenabled: \"yes\"\n", "\"yes\""),
            "error: x must be a boolean\n --> toolcrib.yaml:2:10\n  |\n2 | enabled: \"yes\"\n  |          ^^^^^\n  = help: write true or false"
        );
    }

    #[test]
    fn a_secret_on_the_line_is_not_shown() {
        let text = shown("{\"TOKEN\": \"abc123\", \"enabled\": 1}", "1}");
        assert!(!text.contains("abc123"), "{text}");
        let hidden = shown("TOKEN: abc123", "abc123");
        assert!(!hidden.contains("abc123"), "{hidden}");
    }

    #[test]
    fn hidden_text_shows_only_the_position() {
        let source = Source::new("a.yaml", "x: secretvalue");
        let shown = Diagnostic::warning("plain")
            .at(&source, Span::new(3, 14))
            .hide_text();
        assert_eq!(shown.to_string(), "warning: plain\n --> a.yaml:1:4");
        assert_eq!(shown.position(), Some((1, 4)));
    }

    #[test]
    fn a_file_can_be_named_as_a_whole() {
        let source = Source::new("a.yaml", "");
        assert_eq!(
            Diagnostic::error("cannot be read")
                .about(&source)
                .to_string(),
            "error: cannot be read\n  --> a.yaml"
        );
    }

    #[test]
    fn other_places_stand_below_the_first() {
        let source = Source::new("a.yaml", "a: 1\na: 2\n");
        let finding = Diagnostic::error("twice")
            .at(&source, Span::new(5, 6))
            .also(Span::new(0, 1), "first here:")
            .help("keep one");
        assert_eq!(
            finding.to_string(),
            "error: twice\n --> a.yaml:2:1\n  |\n2 | a: 2\n  | ^\n ::: first here: a.yaml:1:1\n  |\n1 | a: 1\n  | ^\n  = help: keep one"
        );
    }

    #[test]
    fn programs_get_the_same_as_an_object() {
        let source = Source::new("a.yaml", "a: 1\na: 2\n");
        let finding = Diagnostic::error("twice")
            .at(&source, Span::new(5, 6))
            .also(Span::new(0, 1), "first here:")
            .help("keep one");
        assert_eq!(
            finding.to_json(),
            json!({
                "severity": "error", "message": "twice", "file": "a.yaml", "line": 2, "column": 1,
                "help": "keep one",
                "related": [{"message": "first here", "line": 1, "column": 1}],
            })
        );
        assert_eq!(
            Diagnostic::warning("nowhere").to_json(),
            json!({
                "severity": "warning", "message": "nowhere", "file": null, "line": null,
                "column": null, "help": null, "related": [],
            })
        );
    }
}
