//! What the system tells the process: to end, or to read its configuration again.

use std::io::{self, IsTerminal};

use tokio::runtime::{Builder, Handle, Runtime};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To end, and which signal asked.
    End(&'static str),
    /// To read the configuration again.
    Reload,
}

/// The signals of this process, from the moment this is made.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
    on_terminal: bool,
}

impl Signals {
    /// Takes over the signals.
    #[cfg(unix)]
    pub(crate) fn take() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            on_terminal: io::stderr().is_terminal(),
        })
    }

    /// Takes over the signals.
    #[cfg(not(unix))]
    pub(crate) fn take() -> io::Result<Self> {
        Ok(Self {
            on_terminal: io::stderr().is_terminal(),
        })
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::End("SIGINT"),
            _ = self.terminate.recv() => Asked::End("SIGTERM"),
            _ = self.hang_up.recv() => on_hang_up(self.on_terminal, io::stderr().is_terminal()),
        }
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> Asked {
        let _ = self.on_terminal;
        match tokio::signal::ctrl_c().await {
            Ok(()) => Asked::End("Ctrl-C"),
            Err(_) => std::future::pending().await,
        }
    }
}

/// `SIGHUP` asks for a reload, but it also comes when the terminal that the process was started from
/// is closed, and then nobody is left to end it.
#[cfg(unix)]
fn on_hang_up(had_terminal: bool, terminal_now: bool) -> Asked {
    if had_terminal && !terminal_now {
        Asked::End("SIGHUP")
    } else {
        Asked::Reload
    }
}

/// Does something, such as asking a person, while Ctrl-C ends nothing by itself. What it came to is the work's to say.
/// Nothing brings the signal's own effect back: this is for what ends soon after, or takes the signals over for good.
pub(crate) fn with_interrupt_taken<T>(work: impl FnOnce() -> T) -> T {
    // Signals belong to a runtime; where the work is done in none, one is made for that time.
    let runtime = match Handle::try_current() {
        Ok(_) => None,
        Err(_) => Builder::new_current_thread().enable_all().build().ok(),
    };
    let _inside = runtime.as_ref().map(Runtime::enter);
    let _taken = interrupt();
    work()
}

#[cfg(unix)]
fn interrupt() -> io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
}

#[cfg(windows)]
fn interrupt() -> io::Result<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_is_gone_ends_the_process_and_any_other_hang_up_reloads() {
        assert_eq!(on_hang_up(true, false), Asked::End("SIGHUP"));
        assert_eq!(on_hang_up(true, true), Asked::Reload);
        assert_eq!(on_hang_up(false, false), Asked::Reload);
    }
}
