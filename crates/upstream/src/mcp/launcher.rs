//! The launcher: a tiny process between Toolcrib and each server that it starts.
//!
//! It leads a process group of its own, starts the server in it with its own standard streams, and
//! waits. The server's standard input is its lifeline: when nobody holds the writing end any more,
//! Toolcrib has closed the connection or is gone, however it ended, and the launcher sees to it that
//! the server and all that it started end too. It carries no data, so it costs a call nothing.

use std::ffi::OsString;
use std::process::ExitCode;

/// The first argument that makes a process a launcher.
pub const MODE: &str = "__launch";

/// Exit code when the server's program could not be started, as shells have it.
pub const NOT_STARTED: u8 = 127;

/// Runs as a launcher if the arguments of this process say so. To be called first thing in `main`.
///
/// The arguments are the program's own name, [`MODE`], how long a server may take to end in
/// milliseconds after its input closed and again after SIGTERM, and the command.
pub fn run_if_launcher(args: &[OsString]) -> Option<ExitCode> {
    if args.get(1)? != MODE {
        return None;
    }
    #[cfg(unix)]
    return Some(unix::run(&args[2..]));
    #[cfg(not(unix))]
    return Some(ExitCode::from(NOT_STARTED));
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitCode, ExitStatus};
    use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

    use super::NOT_STARTED;
    use crate::mcp::descendants;
    use crate::mcp::process::unstarted;

    enum Event {
        /// The server ended.
        Ended(ExitStatus),
        /// Nobody holds the writing end of its input any more.
        Abandoned,
    }

    pub(super) fn run(args: &[OsString]) -> ExitCode {
        let (Some(close), Some(term), Some(program)) =
            (millis(args.first()), millis(args.get(1)), args.get(2))
        else {
            return complain("the launcher was started by hand; use `toolcrib serve`");
        };
        // Toolcrib does without huge pages; what it starts decides for itself.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::disable_transparent_huge_pages(false);
        // What a server leaves behind becomes a child of this process, wherever it moved itself.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let server = match Command::new(program).args(&args[3..]).spawn() {
            Ok(child) => descendants::pid(child.id()),
            Err(error) => {
                let name = program.to_string_lossy();
                return complain(&unstarted(&name, &error));
            }
        };
        let Some(server) = server else {
            return ExitCode::from(NOT_STARTED);
        };
        let _ = let_go_of_output();
        let events = watch(server);
        let status = attend(&events, server, [close, term]);
        descendants::end_all();
        forward(status)
    }

    fn millis(arg: Option<&OsString>) -> Option<Duration> {
        let number = arg?.to_str()?.parse().ok()?;
        Some(Duration::from_millis(number))
    }

    fn complain(why: &str) -> ExitCode {
        let _ = writeln!(std::io::stderr(), "{why}");
        ExitCode::from(NOT_STARTED)
    }

    /// Leaves standard output and error to the server alone, so that their end is seen when it ends.
    fn let_go_of_output() -> std::io::Result<()> {
        let nothing = std::fs::File::options().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&nothing)?;
        rustix::stdio::dup2_stderr(&nothing)?;
        Ok(())
    }

    fn watch(server: Pid) -> Receiver<Event> {
        let (sender, events) = mpsc::channel();
        let lifeline = sender.clone();
        thread::spawn(move || {
            while let Ok(Some((pid, status))) = wait(WaitOptions::empty()) {
                if pid == server {
                    let _ = sender.send(Event::Ended(ExitStatus::from_raw(status.as_raw())));
                    return;
                }
            }
        });
        thread::spawn(move || {
            let input = std::io::stdin();
            // Nothing is asked for, so that only the end of the other side wakes it up.
            let mut fds = [PollFd::new(&input, PollFlags::empty())];
            loop {
                match poll(&mut fds, None) {
                    Ok(_) => break,
                    Err(rustix::io::Errno::INTR) => {}
                    Err(_) => return,
                }
            }
            let _ = lifeline.send(Event::Abandoned);
        });
        events
    }

    /// Waits for the server's end, and brings it about once nobody needs the server any more.
    fn attend(events: &Receiver<Event>, server: Pid, graces: [Duration; 2]) -> Option<ExitStatus> {
        match events.recv() {
            Ok(Event::Ended(status)) => return Some(status),
            Ok(Event::Abandoned) => {}
            Err(_) => return None,
        }
        for (grace, signal) in graces.into_iter().zip([Signal::TERM, Signal::KILL]) {
            let until = Instant::now() + grace;
            match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Ended(status)) => return Some(status),
                Ok(Event::Abandoned) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            descendants::signal_all(signal);
            let _ = kill_process(server, signal);
        }
        match events.recv_timeout(graces[1]) {
            Ok(Event::Ended(status)) => Some(status),
            _ => None,
        }
    }

    /// Ends as the server ended.
    fn forward(status: Option<ExitStatus>) -> ExitCode {
        let Some(status) = status else {
            return ExitCode::FAILURE;
        };
        if let Some(signal) = status.signal() {
            if let Some(signal) = Signal::from_named_raw(signal) {
                let _ = kill_process(rustix::process::getpid(), signal);
            }
            return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
        }
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        code.map_or(ExitCode::FAILURE, ExitCode::from)
    }
}
