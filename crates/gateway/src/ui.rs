//! Terminal output: the one place that writes to standard output and standard error for people.
//!
//! What is asked for goes to standard output, everything else to standard error. Colours are used
//! where the stream is a terminal and `NO_COLOR` is not set, or as `--color` says. Text that comes
//! from files is [cleaned](line::clean): a name cannot move the cursor or recolour what follows. A
//! reader that closes the pipe early ends the output, not the program.
//!
//! On a terminal lines are broken between words to its width; in a pipe they are left alone.

pub mod line;
pub mod progress;
pub mod question;
pub mod table;
mod wrap;

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

pub use line::{Line, Tone};
pub use progress::{PROGRESS_DELAY, Progress};
pub use table::Table;

use crate::failure::Failure;
use crate::finding::Finding;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// The choice for a stream.
    fn choice(self, auto: ColorChoice) -> ColorChoice {
        match self {
            Self::Auto => auto,
            Self::Always => ColorChoice::AlwaysAnsi,
            Self::Never => ColorChoice::Never,
        }
    }
}

type Stream = AutoStream<Box<dyn Write + Send>>;

/// Where a command writes.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about one of the streams"
)]
pub struct Ui {
    out: Stream,
    err: Stream,
    json: bool,
    is_terminal: bool,
    err_is_terminal: bool,
    columns: Option<usize>,
    err_columns: Option<usize>,
    closed: bool,
    broken: Option<io::Error>,
}

impl Ui {
    /// Standard output and standard error.
    pub fn standard(color: Color, json: bool) -> Self {
        let out = color.choice(AutoStream::choice(&io::stdout()));
        let err = color.choice(AutoStream::choice(&io::stderr()));
        let columns = columns_of(terminal_size::terminal_size_of(io::stdout()));
        let buffered = io::BufWriter::new(io::stdout());
        let ui = Self::new(
            (Box::new(buffered), out),
            (Box::new(io::stderr()), err),
            json,
            columns,
        );
        Self {
            // One of no known width is a terminal all the same.
            is_terminal: io::stdout().is_terminal(),
            err_is_terminal: io::stderr().is_terminal(),
            err_columns: columns_of(terminal_size::terminal_size_of(io::stderr())),
            ..ui
        }
    }

    /// Streams with their colours. `columns`: the width of the terminal that both should fit.
    pub fn new(
        out: (Box<dyn Write + Send>, ColorChoice),
        err: (Box<dyn Write + Send>, ColorChoice),
        json: bool,
        columns: Option<usize>,
    ) -> Self {
        Self {
            out: AutoStream::new(out.0, out.1),
            err: AutoStream::new(err.0, err.1),
            json,
            is_terminal: columns.is_some(),
            err_is_terminal: columns.is_some(),
            columns,
            err_columns: columns,
            closed: false,
            broken: None,
        }
    }

    /// Whether only JSON may be printed on standard output.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether standard error shows colours.
    pub fn colors_errors(&self) -> bool {
        self.err.current_choice() != ColorChoice::Never
    }

    /// Prints a line of what was asked for.
    pub fn line(&mut self, line: impl Into<Line>) {
        let text = laid_out(line.into(), self.columns);
        self.write(&text);
    }

    /// Prints an empty line.
    pub fn gap(&mut self) {
        self.write("\n");
    }

    /// Prints a table of what was asked for.
    pub fn table(&mut self, table: &Table) {
        for line in table.lines(self.columns) {
            self.write(&line.render());
        }
    }

    /// How many columns there are, where it is a terminal.
    pub fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// Whether a line needs no more columns than there are.
    pub fn fits(&self, line: &str) -> bool {
        self.columns
            .is_none_or(|columns| line::width(line) <= columns)
    }

    /// Prints a text of our own making as it is.
    pub fn verbatim(&mut self, text: &str) {
        self.write(text);
    }

    /// Prints lines in a format that programs read: on a terminal cleaned, else as they are.
    pub fn data(&mut self, lines: &str) {
        if !self.is_terminal {
            return self.write_untouched(lines);
        }
        for line in lines.lines() {
            self.write(&Line::new().whole(line).render());
        }
    }

    /// Prints a value as JSON with an indentation of two. What would steer a terminal is escaped as JSON has it.
    pub fn json(&mut self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.write(&line::escaped(&format!("{text}\n"))),
            Err(error) => self.broken = Some(error.into()),
        }
    }

    /// Prints lines of JSON that are written already. What would steer a terminal is escaped as JSON
    /// has it.
    pub fn json_lines(&mut self, lines: &str) {
        self.write(&line::escaped(lines));
    }

    /// Says something beside what was asked for, on standard error, after all that was printed before it: on a
    /// terminal both are one text.
    pub fn note(&mut self, line: impl Into<Line>) {
        let text = laid_out(line.into(), self.err_columns);
        self.say(&text);
    }

    /// What says things on standard error while a work has the screen.
    pub fn aside(&self) -> Aside {
        Aside {
            color: self.err.current_choice(),
            columns: self.err_columns,
        }
    }

    /// Shows a table beside what was asked for, on standard error.
    pub fn note_table(&mut self, table: &Table) {
        for line in table.lines(self.err_columns) {
            self.say(&line.render());
        }
    }

    /// Lets everything be seen that was printed until now, before a person waits for the rest.
    pub fn show(&mut self) {
        self.flush_out();
    }

    /// Sends what would go to standard error to standard output from now on.
    pub fn complain_beside(&mut self) {
        self.err = AutoStream::new(Box::new(io::stdout()), self.out.current_choice());
        self.err_columns = self.columns;
        self.err_is_terminal = self.is_terminal;
    }

    /// Prints nothing more on standard output: what was asked for is said.
    pub fn mute(&mut self) {
        self.flush_out();
        self.closed = true;
    }

    /// Shows a finding with its place, on standard error.
    pub fn finding(&mut self, finding: &Finding) {
        for line in Line::of_finding(finding) {
            self.note(line);
        }
    }

    /// Shows why a command failed: on standard error for people, in JSON where that was asked for.
    pub fn failure(&mut self, failure: &Failure) {
        if self.json {
            self.json(&failure.to_json());
        }
        for finding in &failure.diagnostics {
            self.finding(finding);
        }
        let code = Line::new()
            .tone(Tone::Bad, "error")
            .tone(Tone::Dim, format_args!(" [{}]", failure.code));
        // Who looks at the screen has read the rest of it there.
        if failure.is_told && !self.json && self.is_terminal {
            if !self.err_is_terminal {
                self.note(code);
            }
            return;
        }
        let mut rest = failure.message.lines();
        let first = code.text(": ").text(rest.next().unwrap_or_default());
        self.note(first);
        for line in rest {
            self.note(line);
        }
    }

    /// Writes out what is still held back; an error other than a closed pipe is given back once.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush_out();
        let _ = self.err.flush();
        self.broken.take().map_or(Ok(()), Err)
    }

    fn say(&mut self, text: &str) {
        self.flush_out();
        let _ = self.err.write_all(text.as_bytes());
    }

    fn flush_out(&mut self) {
        if !self.closed
            && let Err(error) = self.out.flush()
        {
            self.stumble(error);
        }
    }

    fn write(&mut self, text: &str) {
        if self.closed {
            return;
        }
        if let Err(error) = self.out.write_all(text.as_bytes()) {
            self.stumble(error);
        }
    }

    /// Writes past what takes colours out of a stream, and other control characters with them.
    fn write_untouched(&mut self, text: &str) {
        if self.closed {
            return;
        }
        let nowhere: Box<dyn Write + Send> = Box::new(io::sink());
        let choice = self.out.current_choice();
        let out = std::mem::replace(&mut self.out, AutoStream::never(nowhere));
        let mut out = out.into_inner();
        let written = out.write_all(text.as_bytes());
        self.out = AutoStream::new(out, choice);
        if let Err(error) = written {
            self.stumble(error);
        }
    }

    /// After the first error nothing more is written: who closed the pipe has read enough.
    fn stumble(&mut self, error: io::Error) {
        self.closed = true;
        if error.kind() != io::ErrorKind::BrokenPipe {
            self.broken = Some(error);
        }
    }
}

/// Says things on standard error as [`Ui::note`] does, from wherever they come up.
#[derive(Clone, Copy, Debug)]
pub struct Aside {
    color: ColorChoice,
    columns: Option<usize>,
}

impl Aside {
    /// Says something.
    pub fn note(self, line: impl Into<Line>) {
        let text = laid_out(line.into(), self.columns);
        let mut err = AutoStream::new(io::stderr(), self.color);
        let _ = err.write_all(text.as_bytes());
    }
}

fn columns_of(size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    size.map(|(terminal_size::Width(columns), _)| usize::from(columns))
}

/// A line as it is written: on a terminal as many as it needs.
fn laid_out(line: Line, columns: Option<usize>) -> String {
    match columns {
        Some(columns) => wrap::wrapped(line, columns)
            .iter()
            .map(Line::render)
            .collect(),
        None => line.render(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
