//! The side of the running process: takes requests of the same user and answers them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_core::{Code, limits};

use super::Place;
use super::place::{PlaceError, owner, socket_name};
use super::protocol::{Answer, Counts, Op, Pong, Request, ServerState, Status};
use crate::reload::Report;
use crate::reload::queue::Ending;

/// What the process can tell about itself.
pub trait Service: Send + Sync + 'static {
    /// What it runs on.
    fn status(&self) -> Status;
    /// How many servers and tools it has.
    fn counts(&self) -> impl Future<Output = Counts> + Send;
    /// How its servers stand.
    fn servers(&self) -> impl Future<Output = Vec<ServerState>> + Send;
    /// Reads the configuration again.
    fn reload(&self) -> impl Future<Output = Result<Arc<Report>, Ending>> + Send;
}

/// A socket that is ready to be asked. Its file goes away with it.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    file: SocketFile,
}

impl Listener {
    /// Binds the socket of this process in the first place that will do.
    pub fn bind(place: &Place) -> Result<Self, PlaceError> {
        let directory = place.prepare()?;
        let pid = std::process::id();
        let path = (0..10)
            .map(|n| directory.join(socket_name(pid, n)))
            .find(|path| is_free(path))
            .ok_or_else(|| PlaceError::NotADirectory(directory.clone()))?;
        let system = |error| PlaceError::System {
            path: path.clone(),
            error,
        };
        // Bound under a name that no command looks at, so that nobody takes a socket that does not
        // listen yet for one that was left behind.
        let early = directory.join(format!(".{pid}.new"));
        let _ = std::fs::remove_file(&early);
        let listener = UnixListener::bind(&early).map_err(system)?;
        let file = SocketFile::take(&early, &path).map_err(system)?;
        Ok(Self { listener, file })
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Answers until the token is cancelled, then lets answers under way finish for a short while.
    pub async fn run(self, service: Arc<impl Service>, ending: CancellationToken) {
        let connections = TaskTracker::new();
        let room = Arc::new(Semaphore::new(limits::CONTROL_CONNECTIONS_MAX));
        loop {
            let accepted = tokio::select! {
                () = ending.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection to the control socket failed");
                    tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                    continue;
                }
            };
            if !is_same_user(&stream) {
                tracing::warn!("a connection of another user to the control socket was refused");
                continue;
            }
            let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
                let busy = Answer::error(
                    Code::Overloaded,
                    "too many commands ask this process at once; try again in a few seconds",
                );
                let _ = stream.try_write(&busy.line());
                continue;
            };
            let (service, ending) = (Arc::clone(&service), ending.clone());
            connections.spawn(async move {
                converse(stream, &*service, &ending).await;
                drop(permit);
            });
        }
        connections.close();
        let grace = Duration::from_millis(limits::SHUTDOWN_GRACE_MS);
        let _ = timeout(grace, connections.wait()).await;
    }
}

/// Pause after a connection could not be accepted, so that a lack of descriptors does not spin.
const ACCEPT_PAUSE_MS: u64 = 100;

/// Whether no process listens at the path; what one left behind is removed.
fn is_free(path: &Path) -> bool {
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).is_ok()
        }
        Ok(_) | Err(_) => false,
    }
}

fn is_same_user(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == owner())
}

/// Takes request after request until the other side closes, is silent for too long, or says something
/// that cannot be read on from.
async fn converse(stream: UnixStream, service: &impl Service, ending: &CancellationToken) {
    let patience = Duration::from_millis(limits::CONTROL_TIMEOUT_MS);
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let line = tokio::select! {
            () = ending.cancelled() => return,
            line = timeout(patience, read_line(&mut reader)) => line,
        };
        let answer = match line {
            Err(_) | Ok(Err(_) | Ok(Line::End)) => return,
            Ok(Ok(Line::TooLong)) => {
                let answer = Answer::error(Code::ValidationError, "the request is too long");
                let _ = timeout(patience, send(&mut writer, &answer)).await;
                return;
            }
            Ok(Ok(Line::Whole(line))) => answer(&line, service).await,
        };
        if !matches!(
            timeout(patience, send(&mut writer, &answer)).await,
            Ok(Ok(()))
        ) {
            return;
        }
    }
}

async fn answer(line: &[u8], service: &impl Service) -> Answer {
    let request = match Request::parse(line) {
        Ok(request) => request,
        Err(fault) => return Answer::from(fault),
    };
    match request.op {
        Op::Ping => Answer::result(&Pong {
            pid: std::process::id(),
        }),
        Op::Status => Answer::result(&service.status()),
        Op::Counts => Answer::result(&service.counts().await),
        Op::Servers => Answer::result(&service.servers().await),
        Op::Reload => {
            let longest = Duration::from_millis(limits::CONTROL_RELOAD_TIMEOUT_MS);
            match timeout(longest, service.reload()).await {
                Ok(Ok(report)) => Answer::result(&*report),
                Ok(Err(ending)) => Answer::error(Code::Cancelled, ending.to_string()),
                Err(_) => Answer::error(
                    Code::Overloaded,
                    "the reload takes too long; it goes on and its outcome will be in the log",
                ),
            }
        }
    }
}

async fn send(writer: &mut OwnedWriteHalf, answer: &Answer) -> io::Result<()> {
    writer.write_all(&answer.line()).await
}

/// What stands between two ends of line.
pub(super) enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// More than [`limits::CONTROL_MESSAGE_BYTES_MAX`].
    TooLong,
    /// The other side closed.
    End,
}

/// Reads one line of bounded length.
pub(super) async fn read_line(reader: &mut BufReader<OwnedReadHalf>) -> io::Result<Line> {
    let mut line = Vec::new();
    let most = u64::try_from(limits::CONTROL_MESSAGE_BYTES_MAX).unwrap_or(u64::MAX);
    reader.take(most).read_until(b'\n', &mut line).await?;
    Ok(match line.pop() {
        Some(b'\n') => Line::Whole(line),
        Some(_) if line.len() + 1 == limits::CONTROL_MESSAGE_BYTES_MAX => Line::TooLong,
        _ => Line::End,
    })
}

/// The file of a bound socket, removed on drop unless another one has taken its place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl SocketFile {
    /// Closes the socket to others and gives it its name.
    fn take(early: &Path, path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        std::fs::set_permissions(early, std::fs::Permissions::from_mode(0o600))?;
        let inode = std::fs::symlink_metadata(early)?.ino();
        std::fs::rename(early, path)?;
        Ok(Self {
            path: path.to_owned(),
            inode,
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        use std::os::unix::fs::MetadataExt;
        if std::fs::symlink_metadata(&self.path).is_ok_and(|m| m.ino() == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests;
