//! What the process tells of its work: the log, and traces for a collector.
//!
//! The log is `tracing` events on standard error, one line each, with no secret in them.

pub mod collector;
mod exporter;
pub mod otlp;
pub mod sampler;
pub mod span;

use std::fmt;
use std::io::{self, Write};

use serde_json::Value;
use toolcrib_config::model::settings::{LogFormat, LogLevel};
use toolcrib_core::secret;
use toolcrib_core::trace::SpanContext;
use tracing::field::{Field, Visit};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FormatFields, MakeWriter};

use crate::telling::cut_name;
use crate::ui::line::clean;
use crate::veil::cover;

pub use collector::Found;
pub use span::{Kind, Span, Tracer};

/// How events are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl From<LogFormat> for Format {
    fn from(format: LogFormat) -> Self {
        match format {
            LogFormat::Text => Self::Text,
            LogFormat::Json => Self::Json,
        }
    }
}

/// What is logged and how.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// How events are written.
    pub format: Format,
    /// What `TOOLCRIB_LOG` says: `debug`, or `toolcrib=debug,warn`.
    pub filter: Option<String>,
    /// How often `-v` was given.
    pub verbose: u8,
    /// The least important event that is logged where neither says anything.
    pub usual: LogLevel,
    /// Whether to leave out when and in which module something was: of a command that ends at once, that is of no
    /// use to a person.
    pub brief: bool,
    /// Whether text is coloured.
    pub color: bool,
}

/// Starts logging; what cannot be understood of the filter is given back as a sentence.
pub fn start(settings: &Settings) -> Option<String> {
    let (filter, complaint) = filter(settings);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Sieve {
            format: settings.format,
            colored: settings.color,
        });
    let brief = settings.brief && settings.verbose == 0;
    let started = match settings.format {
        Format::Text if brief => builder
            .with_ansi(settings.color)
            .without_time()
            .with_target(false)
            .try_init(),
        Format::Text if settings.color => builder.with_ansi(true).try_init(),
        // What writes colours costs as much as all else of a line, also where there are none.
        Format::Text => builder.with_ansi(false).fmt_fields(Plain).try_init(),
        Format::Json => builder.json().flatten_event(true).try_init(),
    };
    // Someone else in this process, such as a test, may log already.
    drop(started);
    complaint
}

/// Writes fields as `name=value`, and the message as it is.
#[derive(Clone, Copy, Debug)]
struct Plain;

impl<'w> FormatFields<'w> for Plain {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = PlainLine {
            writer,
            begun: false,
            written: Ok(()),
        };
        fields.record(&mut line);
        line.written
    }
}

/// A line of which fields are written.
struct PlainLine<'w> {
    writer: Writer<'w>,
    begun: bool,
    written: fmt::Result,
}

impl Visit for PlainLine<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Where in its source a crate that uses `log` wrote the line is of no use to a reader.
        if self.written.is_err() || field.name().starts_with("log.") {
            return;
        }
        let gap = if std::mem::replace(&mut self.begun, true) {
            " "
        } else {
            ""
        };
        self.written = match field.name().trim_start_matches("r#") {
            "message" => write!(self.writer, "{gap}{value:?}"),
            name => write!(self.writer, "{gap}{name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.record_debug(field, &format_args!("{value}"));
        } else {
            self.record_debug(field, &value);
        }
    }
}

/// What log lines of a request that came through a door carry, whatever their level.
pub fn request_span(method: &str, trace: Option<&SpanContext>) -> tracing::Span {
    let (method, trace_id) = (cut_name(method), trace.map(SpanContext::trace_id));
    tracing::error_span!("request", method = &*method, trace_id)
}

fn filter(settings: &Settings) -> (EnvFilter, Option<String>) {
    let level = match (settings.verbose, settings.usual) {
        (0, LogLevel::Off) => "off",
        (0, LogLevel::Error) => "error",
        (0, LogLevel::Warn) => "warn",
        (0, LogLevel::Info) => "info",
        (0, LogLevel::Debug) | (1, _) => "debug",
        _ => "trace",
    };
    let usual = || EnvFilter::new(level);
    match &settings.filter {
        Some(text) if settings.verbose == 0 && !text.trim().is_empty() => {
            match EnvFilter::try_new(text) {
                Ok(filter) => (filter, None),
                Err(error) => (
                    usual(),
                    Some(format!(
                        "TOOLCRIB_LOG is not understood ({error}); write a level such as debug, or target=level"
                    )),
                ),
            }
        }
        _ => (usual(), None),
    }
}

/// Writes whole events to standard error and keeps back what must not be in a log.
#[derive(Clone, Copy, Debug)]
struct Sieve {
    format: Format,
    /// Whether what steers a terminal is ours.
    colored: bool,
}

impl<'a> MakeWriter<'a> for Sieve {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Write for Sieve {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let mut line = sifted(&String::from_utf8_lossy(event), self.format);
        if self.format == Format::Text && !self.colored {
            line = clean(&line).into_owned();
        }
        line.push('\n');
        // One call, so that lines of several threads do not mix. A log that nobody reads any more
        // must not stop the process.
        let _ = io::stderr().lock().write_all(line.as_bytes());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The event on one line, secrets masked.
fn sifted(event: &str, format: Format) -> String {
    let event = event.trim_end_matches('\n');
    match format {
        Format::Json => match serde_json::from_str::<Value>(event) {
            Ok(mut value) => {
                mask(None, &mut value);
                value.to_string()
            }
            Err(_) => cover(event),
        },
        Format::Text => cover(event).replace('\n', "\\n"),
    }
}

fn mask(name: Option<&str>, value: &mut Value) {
    match value {
        Value::String(text) if name.is_some_and(secret::name_is_secret) => {
            secret::MASK.clone_into(text);
        }
        Value::String(text) => *text = cover(text),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(name, item)),
        Value::Object(fields) => fields
            .iter_mut()
            .for_each(|(name, value)| mask(Some(name), value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_without_secrets() {
        let check = |event: &str, format, expected: &str| {
            assert_eq!(sifted(event, format), expected);
        };
        check("INFO two\nlines\n", Format::Text, "INFO two\\nlines");
        check("INFO token=abc\n", Format::Text, "INFO token=***");
        check(
            r#"{"a":"Bearer ghp_0123456789abcdefghij","api_key":"x","n":1,"l":[{"password":"p"}]}"#,
            Format::Json,
            r#"{"a":"Bearer ***","api_key":"***","n":1,"l":[{"password":"***"}]}"#,
        );
        check("not json token=abc", Format::Json, "not json token=***");
    }

    #[test]
    fn fields_of_a_line_without_colours_are_as_they_are_read() {
        #[derive(Clone, Default)]
        struct Heard(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

        impl Write for Heard {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().extend(bytes);
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        let heard = Heard::default();
        let writer = heard.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .fmt_fields(Plain)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::error_span!("execute", server = "notes", n = 1).entered();
            tracing::info!(code = "x y", took = ?std::time::Duration::from_millis(2), log.line = 7, "it ended");
            drop(span);
            tracing::warn!(r#type = %"bare");
        });
        let said = String::from_utf8(heard.0.lock().unwrap().clone()).unwrap();
        assert_eq!(
            said,
            " INFO execute{server=\"notes\" n=1}: it ended code=\"x y\" took=2ms\n WARN type=bare\n"
        );
    }

    #[test]
    fn the_filter_is_what_was_asked_for_last() {
        let check = |text: Option<&str>, verbose, usual, expected: &str| {
            let settings = Settings {
                filter: text.map(str::to_owned),
                verbose,
                usual,
                ..Settings::default()
            };
            assert_eq!(filter(&settings).0.to_string(), expected);
        };
        for (usual, expected) in [
            (LogLevel::Off, "off"),
            (LogLevel::Error, "error"),
            (LogLevel::Warn, "warn"),
            (LogLevel::Info, "info"),
            (LogLevel::Debug, "debug"),
            (LogLevel::Trace, "trace"),
        ] {
            check(None, 0, usual, expected);
        }
        check(None, 1, LogLevel::Warn, "debug");
        check(None, 2, LogLevel::Off, "trace");
        check(Some("error"), 0, LogLevel::Info, "error");
        check(Some("error"), 1, LogLevel::Info, "debug");
        check(Some(" "), 0, LogLevel::Info, "info");
    }

    #[test]
    fn a_filter_that_is_not_understood_is_told_and_the_usual_one_used() {
        let settings = Settings {
            filter: Some("toolcrib=loud".into()),
            usual: LogLevel::Warn,
            ..Settings::default()
        };
        let (filter, complaint) = filter(&settings);
        assert_eq!(filter.to_string(), "warn");
        assert!(
            complaint
                .unwrap()
                .starts_with("TOOLCRIB_LOG is not understood")
        );
    }
}
