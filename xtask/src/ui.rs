//! The one place that writes to the terminal.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task's output is for the person who runs it"
)]

/// Prints one line of result.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Prints the title of a step, so that a long log can be searched for it.
pub(crate) fn title(text: &str) {
    println!("\n== {text}");
}

/// Prints something that went on but needs a look.
pub(crate) fn warn(text: &str) {
    println!("warning: {text}");
}

/// Prints why a task failed.
pub(crate) fn error(text: &str) {
    eprintln!("error: {text}");
}
