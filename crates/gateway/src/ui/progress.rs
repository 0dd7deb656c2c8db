//! How far something has come, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::line::clean;

/// What takes no longer than this needs no bar.
pub const PROGRESS_DELAY: Duration = Duration::from_millis(500);

/// How often the bar moves on its own.
const TICK: Duration = Duration::from_millis(120);

/// A bar on standard error; nothing where that is no terminal. Gone when dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar for so many steps; a hidden one draws nothing anywhere.
    pub fn new(steps: usize, hidden: bool) -> Self {
        let target = if hidden {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self { bar }
    }

    /// A spinner that counts the seconds, for what has no steps.
    pub fn spinner(hidden: bool) -> Self {
        let progress = Self::new(0, hidden);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            progress.bar.set_style(style);
        }
        progress
    }

    /// A bar for so many steps that counts unseen until it [appears](Self::appear).
    pub fn waiting(steps: usize) -> Self {
        Self::new(steps, true)
    }

    /// Shows itself from now on; a hidden one still draws nothing anywhere.
    pub fn appear(&self, hidden: bool) {
        if hidden {
            return;
        }
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(TICK);
        }
    }

    /// So many steps are done.
    pub fn reach(&self, steps: usize) {
        self.bar.set_position(steps as u64);
    }

    /// Says what is being done.
    pub fn say(&self, text: &str) {
        self.bar.set_message(clean(text).into_owned());
    }

    /// Prints something beside the bar, which makes room for it.
    pub fn aside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Takes the bar from the screen.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// One step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// How many steps are done.
    pub fn done(&self) -> u64 {
        self.bar.position()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_and_words_cannot_steer_the_terminal() {
        let progress = Progress::new(2, true);
        progress.say("a\u{1b}[31m");
        progress.step();
        assert_eq!(progress.done(), 1);
        assert_eq!(progress.bar.message(), "a\\u{1b}[31m");
    }
}
