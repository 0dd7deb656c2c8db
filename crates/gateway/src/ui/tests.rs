use std::sync::{Arc, Mutex};

use super::*;

/// A stream that is read back, or fails.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    bytes: Arc<Mutex<Vec<u8>>>,
    fails: Option<io::ErrorKind>,
}

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.fails {
            Some(kind) => Err(kind.into()),
            None => self.bytes.lock().unwrap().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Heard {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
    }
}

pub(crate) fn ui(out: &Heard, err: &Heard, color: Color, json: bool) -> Ui {
    let choice = color.choice(ColorChoice::Never);
    Ui::new(
        (Box::new(out.clone()), choice),
        (Box::new(err.clone()), choice),
        json,
        None,
    )
}

#[test]
fn colours_are_left_out_in_a_pipe_and_used_when_asked_for() {
    for (color, expected) in [
        (Color::Auto, "✓ x\n\n"),
        (Color::Never, "✓ x\n\n"),
        (Color::Always, "\u{1b}[32m✓\u{1b}[0m x\n\n"),
    ] {
        let (out, err) = (Heard::default(), Heard::default());
        let mut ui = ui(&out, &err, color, false);
        ui.line(Line::new().mark(true).text(" x"));
        ui.gap();
        ui.finish().unwrap();
        assert_eq!(out.text(), expected, "{color:?}");
        assert_eq!(err.text(), "");
    }
}

#[test]
fn a_failure_goes_to_standard_error_with_its_code() {
    let (out, err) = (Heard::default(), Heard::default());
    let mut ui = ui(&out, &err, Color::Never, false);
    let failure = Failure::configuration("a.yaml does not load\nsecond line")
        .because(vec![Finding::error("bad key")]);
    ui.failure(&failure);
    assert_eq!(out.text(), "");
    assert_eq!(
        err.text(),
        "error: bad key\nerror [CONFIGURATION_ERROR]: a.yaml does not load\nsecond line\n"
    );
}

#[test]
fn with_json_only_json_is_on_standard_output() {
    let (out, err) = (Heard::default(), Heard::default());
    let mut ui = ui(&out, &err, Color::Never, true);
    assert!(ui.is_json());
    ui.note("by the way");
    ui.failure(&Failure::usage("no"));
    ui.finish().unwrap();
    let value: serde_json::Value = serde_json::from_str(&out.text()).unwrap();
    assert_eq!(value["error"]["code"], "VALIDATION_ERROR");
    assert!(err.text().starts_with("by the way\n"));
}

#[test]
fn a_closed_pipe_ends_the_output_and_any_other_error_is_told() {
    for (kind, told) in [
        (io::ErrorKind::BrokenPipe, false),
        (io::ErrorKind::StorageFull, true),
    ] {
        let out = Heard {
            fails: Some(kind),
            ..Heard::default()
        };
        let mut ui = ui(&out, &Heard::default(), Color::Never, false);
        let mut table = Table::new(["A"]);
        table.row(["b".into()]);
        ui.table(&table);
        ui.line("more");
        assert_eq!(ui.finish().is_err(), told, "{kind:?}");
        assert!(ui.finish().is_ok());
    }
}

fn on_a_terminal(out: &Heard, err: &Heard, columns: usize) -> Ui {
    Ui::new(
        (Box::new(out.clone()), ColorChoice::Never),
        (Box::new(err.clone()), ColorChoice::Never),
        false,
        Some(columns),
    )
}

#[test]
fn lines_fit_a_terminal_and_are_left_alone_in_a_pipe() {
    let long = "✗ gone: it is not there; check the path";
    let (out, err) = (Heard::default(), Heard::default());
    let mut narrow = on_a_terminal(&out, &err, 24);
    narrow.line(long);
    narrow.note(Line::new().whole("{\"a json\": \"of any length\"}"));
    narrow.note("a note that is too long here");
    narrow.finish().unwrap();
    assert_eq!(out.text(), "✗ gone: it is not there;\n  check the path\n");
    assert_eq!(
        err.text(),
        "{\"a json\": \"of any length\"}\na note that is too long\nhere\n"
    );
    let (out, err) = (Heard::default(), Heard::default());
    let mut pipe = ui(&out, &err, Color::Never, false);
    pipe.line(long);
    pipe.finish().unwrap();
    assert_eq!(out.text(), format!("{long}\n"));
}

#[test]
fn data_is_cleaned_on_a_terminal_and_as_it_is_in_a_pipe() {
    let lines = "a\tb\u{7},\u{1b}[31mc\r\nd\r\n";
    for color in [Color::Never, Color::Always] {
        let (out, err) = (Heard::default(), Heard::default());
        let mut pipe = ui(&out, &err, color, false);
        pipe.line("before");
        pipe.data(lines);
        pipe.line("after");
        pipe.finish().unwrap();
        assert_eq!(out.text(), format!("before\n{lines}after\n"), "{color:?}");
    }
    let (out, err) = (Heard::default(), Heard::default());
    on_a_terminal(&out, &err, 8).data(lines);
    assert_eq!(out.text(), "a b\\u{7},\\u{1b}[31mc\nd\n");
}

#[test]
fn the_excerpt_of_a_finding_is_not_broken() {
    let (out, err) = (Heard::default(), Heard::default());
    let mut finding = Finding::error("bad");
    finding.rendered =
        "error: a key is not known\n --> a.yaml:1:1\n  |\n1 | some: long line of it\n  |       ^^^^\n  = help: take the key out".into();
    on_a_terminal(&out, &err, 20).finding(&finding);
    assert_eq!(
        err.text(),
        "error: a key is not\n  known\n --> a.yaml:1:1\n  |\n1 | some: long line of it\n  |       ^^^^\n  = help: take the\n    key out\n"
    );
}

#[test]
fn a_failure_that_was_told_is_told_again_only_to_programs() {
    let failure = Failure::usage("it is so").told();
    for (columns, err_columns, expected) in [
        (Some(80), Some(80), ""),
        (Some(80), None, "error [VALIDATION_ERROR]\n"),
        (None, None, "error [VALIDATION_ERROR]: it is so\n"),
    ] {
        let (out, err) = (Heard::default(), Heard::default());
        let mut ui = match columns {
            Some(columns) => on_a_terminal(&out, &err, columns),
            None => ui(&out, &err, Color::Never, false),
        };
        ui.err_columns = err_columns;
        ui.err_is_terminal = err_columns.is_some();
        ui.failure(&failure);
        assert_eq!(err.text(), expected);
    }
    // A terminal that does not say how wide it is was read all the same.
    let (out, err) = (Heard::default(), Heard::default());
    let mut ui = ui(&out, &err, Color::Never, false);
    (ui.is_terminal, ui.err_is_terminal) = (true, true);
    ui.failure(&failure);
    assert_eq!(err.text(), "");
}
