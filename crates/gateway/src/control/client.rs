//! The side of a command: finds the running processes and asks them.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use toolcrib_core::limits;

use super::protocol::{Fault, Op};
use super::{Place, Status};

/// A running process that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "there is no socket to connect to")
    )]
    socket: PathBuf,
}

/// Why a process gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It has ended since it was found.
    #[error("process {0} has ended; run the command again")]
    Gone(u32),
    /// It said nothing in time.
    #[error(
        "process {pid} did not answer within {seconds} s; it may be stopped: end it, or try again"
    )]
    Silent {
        /// The process.
        pid: u32,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It answered something else than what the protocol says.
    #[error("process {0} does not speak the control protocol of this version; restart it")]
    Garbled(u32),
    /// It answered that it cannot.
    #[error("process {pid}: {}", .fault.message)]
    Refused {
        /// The process.
        pid: u32,
        /// What it said.
        fault: Fault,
    },
}

/// How long one answer may take.
fn patience_ms(op: Op) -> u64 {
    match op {
        Op::Reload => limits::CONTROL_RELOAD_TIMEOUT_MS + limits::CONTROL_TIMEOUT_MS,
        Op::Ping | Op::Status | Op::Counts | Op::Servers => limits::CONTROL_TIMEOUT_MS,
    }
}

/// What one process answered.
pub type Answered<T> = (Process, Result<T, AskError>);

/// Asks all of them at once; the answers come in the order of the processes.
pub async fn ask_all<T>(processes: Vec<Process>, op: Op) -> Vec<Answered<T>>
where
    T: DeserializeOwned + Send + 'static,
{
    let asked: Vec<_> = processes
        .into_iter()
        .map(|process| {
            let asked = process.clone();
            (
                process,
                tokio::spawn(async move { asked.ask::<T>(op).await }),
            )
        })
        .collect();
    let mut answers = Vec::with_capacity(asked.len());
    for (process, answer) in asked {
        let answer = answer.await.unwrap_or(Err(AskError::Garbled(process.pid)));
        answers.push((process, answer));
    }
    answers
}

/// The process to ask where one is as good as another: one that runs on the same configuration as the
/// command, and of several the one that started last.
pub async fn nearest(
    processes: Vec<Process>,
    config: Option<&str>,
    directory: &str,
) -> Option<Process> {
    ask_all::<Status>(processes, Op::Status)
        .await
        .into_iter()
        .filter_map(|(process, status)| Some((process, status.ok()?)))
        .filter(|(_, status)| match config {
            Some(_) => status.config.as_deref() == config,
            None => status.config.is_none() && status.directory == directory,
        })
        .max_by(|a, b| a.1.started.cmp(&b.1.started))
        .map(|(process, _)| process)
}

#[cfg(unix)]
pub use unix::running;

#[cfg(not(unix))]
mod elsewhere {
    use serde::de::DeserializeOwned;

    use super::{AskError, Op, Place, Process};

    /// This system has no control socket, so no process is found.
    pub async fn running(_place: &Place) -> Vec<Process> {
        Vec::new()
    }

    impl Process {
        /// This system has no control socket.
        pub async fn ask<T: DeserializeOwned>(&self, _op: Op) -> Result<T, AskError> {
            Err(AskError::Gone(self.pid))
        }
    }
}

#[cfg(not(unix))]
pub use elsewhere::running;

#[cfg(unix)]
mod unix {
    use std::io;
    use std::time::Duration;

    use serde::de::DeserializeOwned;
    use tokio::io::{AsyncWriteExt, BufReader};
    use tokio::net::UnixStream;
    use tokio::time::timeout;
    use toolcrib_core::limits;

    use super::{AskError, Op, Place, Process, patience_ms};
    use crate::control::place::owner;
    use crate::control::protocol::{Answer, Request};
    use crate::control::server::{Line, read_line};

    /// The running processes of this user, by process id. Sockets that processes left behind are
    /// removed.
    pub async fn running(place: &Place) -> Vec<Process> {
        let mut processes = Vec::new();
        for (pid, socket) in place.sockets() {
            match UnixStream::connect(&socket).await {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    let _ = std::fs::remove_file(&socket);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                _ => processes.push(Process { pid, socket }),
            }
            if processes.len() == limits::CONTROL_PROCESSES_MAX {
                break;
            }
        }
        processes
    }

    impl Process {
        /// Asks, and waits for the answer for as long as that may take.
        pub async fn ask<T: DeserializeOwned>(&self, op: Op) -> Result<T, AskError> {
            let patience_ms = patience_ms(op);
            let exchange = timeout(Duration::from_millis(patience_ms), self.exchange(op));
            let Ok(answer) = exchange.await else {
                return Err(AskError::Silent {
                    pid: self.pid,
                    seconds: patience_ms / 1000,
                });
            };
            answer?.into_result().map_err(|fault| AskError::Refused {
                pid: self.pid,
                fault,
            })
        }

        async fn exchange(&self, op: Op) -> Result<Answer, AskError> {
            let gone = |_| AskError::Gone(self.pid);
            let stream = UnixStream::connect(&self.socket).await.map_err(gone)?;
            let peer = stream.peer_cred().map_err(gone)?;
            if peer.uid() != owner() {
                return Err(AskError::Garbled(self.pid));
            }
            let mut request = serde_json::to_vec(&Request::new(op)).unwrap_or_default();
            request.push(b'\n');
            let (reader, mut writer) = stream.into_split();
            // A process that is too busy answers and closes without reading.
            let _ = writer.write_all(&request).await;
            match read_line(&mut BufReader::new(reader)).await {
                Ok(Line::Whole(line)) => {
                    serde_json::from_slice(&line).map_err(|_| AskError::Garbled(self.pid))
                }
                Ok(Line::TooLong) => Err(AskError::Garbled(self.pid)),
                Ok(Line::End) | Err(_) => Err(AskError::Gone(self.pid)),
            }
        }
    }
}
