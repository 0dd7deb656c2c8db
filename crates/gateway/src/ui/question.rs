//! Questions to the person at the terminal.
//!
//! What is asked may hold names that are not ours: like everything that is shown it is [cleaned](clean). Ctrl-C is an
//! answer and ends nothing by itself, and the cursor that a question hides comes back whatever is answered.

use std::io;

use dialoguer::console::Term;

use super::Ui;
use super::line::clean;
use crate::signals::with_interrupt_taken;

impl Ui {
    /// Asks for yes or no; nothing where the person leaves the question with Ctrl-C.
    pub fn confirm(&mut self, question: &str) -> io::Result<Option<bool>> {
        self.show();
        let asked = dialoguer::Confirm::new()
            .with_prompt(clean(question))
            .default(false);
        answer(|| asked.interact().map(Some))
    }

    /// Asks which of these are wanted, all of them at first; the places of those that are, and nothing where the person
    /// leaves the question.
    pub fn choose(&mut self, question: &str, items: &[String]) -> io::Result<Option<Vec<usize>>> {
        self.show();
        let items = items.iter().map(|item| (clean(item), true));
        let asked = dialoguer::MultiSelect::new()
            .with_prompt(clean(question))
            .items_checked(items)
            .report(false);
        answer(|| asked.interact_opt())
    }
}

/// Asks with Ctrl-C taken over, and shows the cursor again.
fn answer<T>(ask: impl FnOnce() -> dialoguer::Result<Option<T>>) -> io::Result<Option<T>> {
    with_interrupt_taken(ask).or_else(|dialoguer::Error::IO(error)| {
        // What is said next does not stand behind the question.
        let terminal = Term::stderr();
        let _ = terminal.show_cursor().and_then(|()| terminal.clear_line());
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        }
    })
}
