//! One map of a client's file, taken key by key, with everything odd about it reported.

use std::sync::Arc;

use toolcrib_core::nearest;

use crate::diagnostic::{Diagnostic, Severity};
use crate::node::{Entry, Node, Value};
use crate::placeholder::{Dialect, Template};
use crate::text::{Source, Span};

/// Why an entry cannot be used. The finding points at the place.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Box<Diagnostic>);

/// A map of keys that are taken one by one; what nobody took is reported at the end.
pub(crate) struct Fields<'a> {
    source: &'a Arc<Source>,
    /// What the map is, for messages: `server "github"`.
    subject: String,
    entries: &'a [Entry],
    taken: Vec<bool>,
    known: Vec<&'static str>,
    findings: Vec<Diagnostic>,
}

/// A value that can be text in an environment or an argument list.
pub(crate) fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

impl<'a> Fields<'a> {
    /// The keys of a map; anything else is refused with `shape` as what would be right.
    pub(crate) fn of(
        source: &'a Arc<Source>,
        subject: impl Into<String>,
        node: &'a Node,
        shape: &str,
    ) -> Result<Self, Refused> {
        let subject = subject.into();
        let Value::Map(entries) = &node.value else {
            let finding = Diagnostic::warning(format!(
                "{subject} must be a map, not {}",
                node.value.kind()
            ))
            .at(source, node.span)
            .help(shape);
            return Err(Refused(Box::new(finding)));
        };
        Ok(Self {
            source,
            subject,
            entries,
            taken: vec![false; entries.len()],
            known: Vec::new(),
            findings: Vec::new(),
        })
    }

    /// The file that the map stands in.
    pub(crate) fn source(&self) -> &'a Arc<Source> {
        self.source
    }

    /// What the map is, for messages.
    pub(crate) fn subject(&self) -> &str {
        &self.subject
    }

    /// The value of the first of these keys that is there; null counts as absent.
    pub(crate) fn take(&mut self, keys: &[&'static str]) -> Option<&'a Entry> {
        let mut found: Option<&'a Entry> = None;
        for key in keys {
            self.known.push(key);
            for (entry, taken) in self.entries.iter().zip(&mut self.taken) {
                if entry.key != *key {
                    continue;
                }
                *taken = true;
                if entry.value.value != Value::Null && found.is_none() {
                    found = Some(entry);
                }
            }
        }
        found
    }

    /// Takes keys that mean nothing to us, so that they are not reported.
    pub(crate) fn ignore(&mut self, keys: &[&'static str]) {
        for (entry, taken) in self.entries.iter().zip(&mut self.taken) {
            *taken |= keys.contains(&entry.key.as_str());
        }
    }

    /// A key that nobody took and that looks like one of these, with the one it looks like.
    pub(crate) fn misspelt(&self, keys: &[&'static str]) -> Option<(&'a str, &'static str)> {
        self.entries
            .iter()
            .zip(&self.taken)
            .filter(|(_, taken)| !**taken)
            .find_map(|(entry, _)| Some((entry.key.as_str(), nearest(&entry.key, keys)?)))
    }

    /// Reports something worth knowing that costs nothing.
    pub(crate) fn remark(&mut self, severity: Severity, message: String, span: Span, help: &str) {
        let mut finding = Diagnostic::new(severity, message).at(self.source, span);
        if !help.is_empty() {
            finding = finding.help(help);
        }
        self.findings.push(finding);
    }

    /// A refusal that points at a place.
    pub(crate) fn refuse(&self, message: String, span: Span, help: &str) -> Refused {
        let finding = Diagnostic::warning(message).at(self.source, span);
        Refused(Box::new(if help.is_empty() {
            finding
        } else {
            finding.help(help)
        }))
    }

    fn wrong(&self, entry: &Entry, wanted: &str, help: &str) -> Refused {
        self.refuse(
            format!(
                "{}: `{}` must be {wanted}, not {}",
                self.subject,
                entry.key,
                entry.value.value.kind()
            ),
            entry.value.span,
            help,
        )
    }

    /// Text, where one of the keys is there.
    pub(crate) fn text(&mut self, keys: &[&'static str]) -> Result<Option<&'a str>, Refused> {
        match self.take(keys) {
            None => Ok(None),
            Some(entry) => match entry.value.as_str() {
                Some(text) => Ok(Some(text)),
                None => Err(self.wrong(entry, "a string", "put it in quotes")),
            },
        }
    }

    /// A truth value, where one of the keys is there.
    pub(crate) fn flag(&mut self, keys: &[&'static str]) -> Result<Option<bool>, Refused> {
        match self.take(keys) {
            None => Ok(None),
            Some(entry) => match entry.value.as_bool() {
                Some(value) => Ok(Some(value)),
                None => Err(self.wrong(entry, "a boolean", "write true or false")),
            },
        }
    }

    /// A number that is not negative, where one of the keys is there.
    pub(crate) fn number(&mut self, keys: &[&'static str]) -> Result<Option<f64>, Refused> {
        match self.take(keys) {
            None => Ok(None),
            Some(entry) => match &entry.value.value {
                Value::Number(number) => match number.as_f64() {
                    Some(value) if value >= 0.0 && value.is_finite() => Ok(Some(value)),
                    _ => Err(self.wrong(entry, "zero or more", "")),
                },
                _ => Err(self.wrong(entry, "a number", "write it without quotes")),
            },
        }
    }

    /// A list of texts, where one of the keys is there; numbers and booleans count as their text.
    pub(crate) fn texts(
        &mut self,
        keys: &[&'static str],
    ) -> Result<Option<Vec<(String, Span)>>, Refused> {
        let Some(entry) = self.take(keys) else {
            return Ok(None);
        };
        let Value::List(items) = &entry.value.value else {
            return Err(self.wrong(
                entry,
                "a list of strings",
                "put each one in quotes within [ ]",
            ));
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let Some(text) = scalar(item) else {
                return Err(self.refuse(
                    format!(
                        "{}: `{}[{index}]` must be a string, not {}",
                        self.subject,
                        entry.key,
                        item.value.kind()
                    ),
                    item.span,
                    "put it in quotes",
                ));
            };
            texts.push((text, item.span));
        }
        Ok(Some(texts))
    }

    /// A map of names to texts, where one of the keys is there. The texts are taken for secrets, so
    /// no message shows them. A null value leaves its name out.
    pub(crate) fn pairs(
        &mut self,
        keys: &[&'static str],
    ) -> Result<Vec<(&'a str, String, Span)>, Refused> {
        let Some(entry) = self.take(keys) else {
            return Ok(Vec::new());
        };
        let Value::Map(pairs) = &entry.value.value else {
            return Err(self.wrong(entry, "a map of strings", "write NAME: \"value\" pairs"));
        };
        let mut out = Vec::with_capacity(pairs.len());
        for pair in pairs {
            if pair.value.value == Value::Null {
                continue;
            }
            let Some(text) = scalar(&pair.value) else {
                let refused = self.refuse(
                    format!(
                        "{}: `{}.{}` must be a string, not {}",
                        self.subject,
                        entry.key,
                        pair.key,
                        pair.value.value.kind()
                    ),
                    pair.value.span,
                    "put it in quotes",
                );
                return Err(Refused(Box::new(refused.0.hide_text())));
            };
            out.push((pair.key.as_str(), text, pair.value.span));
        }
        Ok(out)
    }

    /// Text with the placeholders of a dialect.
    pub(crate) fn template(
        &self,
        text: &str,
        span: Span,
        dialect: Dialect,
    ) -> Result<Template, Refused> {
        Template::parse(text, dialect).map_err(|error| {
            let refused = self.refuse(format!("{}: {error}", self.subject), span, "");
            Refused(Box::new(refused.0.hide_text()))
        })
    }

    /// The value of a variable whose name the file gives.
    pub(crate) fn variable(&self, name: &str, span: Span) -> Result<Template, Refused> {
        let value = self.template(&format!("${{{name}}}"), span, Dialect::Own)?;
        if value.variables().eq([name]) {
            return Ok(value.sensitive());
        }
        Err(self.refuse(
            format!("{}: {name:?} is not the name of a variable", self.subject),
            span,
            "write a name of letters, digits and _",
        ))
    }

    /// Everything that was found, with a warning for each key that nobody took.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        for (entry, taken) in self.entries.iter().zip(&self.taken) {
            // Keys that begin so are how people write comments into plain JSON.
            if *taken || entry.key.starts_with(['$', '_', '/', '#']) {
                continue;
            }
            let mut finding = Diagnostic::warning(format!(
                "{}: `{}` is not a key that is known here and is left out",
                self.subject, entry.key
            ))
            .at(self.source, entry.key_span);
            if let Some(near) = nearest(&entry.key, &self.known) {
                finding = finding.help(format!("did you mean `{near}`?"));
            }
            self.findings.push(finding);
        }
        self.findings
    }
}

/// The known key that was most likely meant.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    nearest::nearest(key, known.iter().copied(), 1)
        .first()
        .copied()
}
