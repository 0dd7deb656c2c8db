//! The stdio transport: messages as lines on the standard streams of a child process.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_core::limits::{CHILD_DRAIN_MS, LINK_MESSAGES_MAX};

use super::endpoint::Command;
use super::lines::{self, Tail};
use super::process::{Life, Process, Spawner};
use super::{Failure, Incoming, Link, Outgoing, launcher};

/// Starts a server and opens the way to it.
///
/// What it writes to standard error is logged under `server`, and its tail is told when it ends. When
/// `tasks` are done, the process and all that it started are gone.
pub fn open(
    server: &str,
    command: &Command,
    spawner: &Spawner,
    tasks: &TaskTracker,
) -> Result<Link, Failure> {
    let Process { streams, life } = spawner.start(command)?;
    let (stdin, stdout, stderr) = streams;
    let (outgoing, to_write) = mpsc::channel(LINK_MESSAGES_MAX);
    let (sender, incoming) = mpsc::channel(LINK_MESSAGES_MAX);
    let close = CancellationToken::new();
    let tail = Tail::default();
    let work = Work {
        writer: tokio::spawn(write(stdin, to_write)),
        reader: tokio::spawn(lines::read(stdout, sender.clone())),
        listener: tokio::spawn(lines::listen(stderr, tail.clone(), server.to_owned())),
        program: command.program.clone(),
        launched: spawner.launcher.is_some(),
        tail: tail.clone(),
        life,
    };
    tasks.spawn(work.attend(sender, close.clone()));
    Ok(Link {
        outgoing,
        incoming,
        close,
        stderr: tail,
    })
}

/// Writes until nobody sends any more, or the child does not take any.
async fn write(mut stdin: ChildStdin, mut to_write: mpsc::Receiver<Outgoing>) {
    while let Some(mut message) = to_write.recv().await {
        message.text.push(b'\n');
        if stdin.write_all(&message.text).await.is_err() {
            return;
        }
    }
}

/// The tasks of one child.
struct Work {
    writer: JoinHandle<()>,
    reader: JoinHandle<()>,
    listener: JoinHandle<()>,
    program: String,
    launched: bool,
    tail: Tail,
    life: Life,
}

impl Work {
    /// Sees the child through to its end, whoever brings it about.
    async fn attend(mut self, sender: mpsc::Sender<Incoming>, close: CancellationToken) {
        let (status, wanted) = tokio::select! {
            status = self.life.ended() => (status, false),
            () = close.cancelled() => (self.end().await, true),
            () = sender.closed() => (self.end().await, true),
            _ = &mut self.writer => (self.end().await, sender.is_closed()),
            _ = &mut self.reader => (self.end().await, false),
        };
        // What it wrote before its end is still read; what it left behind may hold its output open.
        let drain = Duration::from_millis(CHILD_DRAIN_MS);
        if !self.reader.is_finished() {
            let _ = tokio::time::timeout(drain, &mut self.reader).await;
        }
        let _ = tokio::time::timeout(drain, &mut self.listener).await;
        self.writer.abort();
        self.reader.abort();
        self.listener.abort();
        close.cancel();
        let failure = if wanted {
            Failure::Closed
        } else {
            self.failure(status)
        };
        let _ = sender.send(Incoming::Closed(failure)).await;
    }

    /// Closes the child's input, which is its sign to end, and sees to it that it does.
    async fn end(&mut self) -> Option<std::process::ExitStatus> {
        self.writer.abort();
        self.life.end().await
    }

    fn failure(&self, status: Option<std::process::ExitStatus>) -> Failure {
        let stderr = self.tail.text();
        let code = status.and_then(|status| status.code());
        if self.launched && code == Some(i32::from(launcher::NOT_STARTED)) {
            let why = if stderr.is_empty() {
                &self.program
            } else {
                &stderr
            };
            return Failure::NotStarted(why.clone());
        }
        let status = status.map_or_else(
            || "nobody knows how".to_owned(),
            |status| status.to_string(),
        );
        Failure::Exited { status, stderr }
    }
}
