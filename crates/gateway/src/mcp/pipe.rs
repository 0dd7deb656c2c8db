//! Standard input and output as the runtime waits for them.
//!
//! Pipes and sockets are waited for together with everything else, so that a message costs no change of
//! threads. They stay in blocking mode, which belongs to whoever else holds them, such as standard error:
//! each read and write is asked for only when the system says that it will not wait. Files cannot be
//! waited for; they are read and written on other threads.

use tokio::io::{AsyncRead, AsyncWrite};

/// What a client writes to us.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// What we write to it.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// The standard streams of this process.
pub fn standard() -> (Input, Output) {
    #[cfg(unix)]
    let (input, output) = (
        unix::Reader::new(std::io::stdin()).map(|reader| Box::new(reader) as Input),
        unix::Writer::new(std::io::stdout()).map(|writer| Box::new(writer) as Output),
    );
    #[cfg(not(unix))]
    let (input, output) = (None, None);
    (
        input.unwrap_or_else(|| Box::new(tokio::io::stdin())),
        output.unwrap_or_else(|| Box::new(tokio::io::stdout())),
    )
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::retry_on_intr;
    use tokio::io::unix::AsyncFd;
    use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

    /// What a stream that can be written to takes at once without waiting: POSIX's `PIPE_BUF`.
    #[cfg(target_os = "linux")]
    const AT_ONCE_BYTES: usize = 4096;
    #[cfg(not(target_os = "linux"))]
    const AT_ONCE_BYTES: usize = 512;

    /// Whether the stream can be used now without waiting.
    fn is_ready(fd: impl AsFd, wish: PollFlags) -> io::Result<bool> {
        let mut fds = [PollFd::new(&fd, wish)];
        let at_once = Timespec::default();
        Ok(retry_on_intr(|| poll(&mut fds, Some(&at_once)))? > 0)
    }

    /// A stream that can be waited for, if this is one.
    #[expect(
        deprecated,
        reason = "the other way in is unsafe; an owned descriptor stays the same as long as it lives"
    )]
    fn waited_for(stream: &impl AsFd, interest: Interest) -> Option<AsyncFd<OwnedFd>> {
        let own = stream.as_fd().try_clone_to_owned().ok()?;
        AsyncFd::with_interest(own, interest).ok()
    }

    /// Reads from a stream that can be waited for.
    pub(super) struct Reader(AsyncFd<OwnedFd>);

    impl Reader {
        pub(super) fn new(stream: impl AsFd) -> Option<Self> {
            waited_for(&stream, Interest::READABLE).map(Self)
        }
    }

    impl AsyncRead for Reader {
        fn poll_read(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            loop {
                let mut guard = ready!(self.0.poll_read_ready(cx))?;
                if !is_ready(self.0.get_ref(), PollFlags::IN)? {
                    guard.clear_ready();
                    continue;
                }
                let room = buf.initialize_unfilled();
                let read = retry_on_intr(|| rustix::io::read(self.0.get_ref(), &mut *room))?;
                buf.advance(read);
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Writes to a stream that can be waited for.
    pub(super) struct Writer(AsyncFd<OwnedFd>);

    impl Writer {
        pub(super) fn new(stream: impl AsFd) -> Option<Self> {
            waited_for(&stream, Interest::WRITABLE).map(Self)
        }
    }

    impl AsyncWrite for Writer {
        fn poll_write(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            loop {
                let mut guard = ready!(self.0.poll_write_ready(cx))?;
                if !is_ready(self.0.get_ref(), PollFlags::OUT)? {
                    guard.clear_ready();
                    continue;
                }
                let part = &bytes[..bytes.len().min(AT_ONCE_BYTES)];
                let written = retry_on_intr(|| rustix::io::write(self.0.get_ref(), part))?;
                return Poll::Ready(Ok(written));
            }
        }

        fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[cfg(test)]
    mod tests {
        use std::io::{Read, Write};
        use std::time::Duration;

        use tokio::io::{AsyncReadExt, AsyncWriteExt};

        use super::*;

        #[tokio::test]
        async fn what_is_larger_than_the_pipe_comes_through_whole() {
            let (mut theirs, ours) = io::pipe().unwrap();
            let sent: Vec<u8> = (0..300_000_u32).map(|n| n.to_le_bytes()[0]).collect();
            let expected = sent.clone();
            let reading = std::thread::spawn(move || {
                let mut text = Vec::new();
                theirs.read_to_end(&mut text).unwrap();
                text
            });
            let mut writer = Writer::new(ours).unwrap();
            writer.write_all(&sent).await.unwrap();
            writer.flush().await.unwrap();
            drop(writer);
            assert!(reading.join().unwrap() == expected);
        }

        #[tokio::test]
        async fn a_reader_that_does_not_read_holds_up_nobody_else() {
            let (theirs, ours) = io::pipe().unwrap();
            let mut writer = Writer::new(ours).unwrap();
            let much = vec![b'x'; 1_000_000];
            let writing = writer.write_all(&much);
            let stuck = tokio::time::timeout(Duration::from_millis(20), writing).await;
            assert!(stuck.is_err(), "the timer of the same thread rang");
            drop(theirs);
            let error = writer.write_all(b"x").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }

        #[tokio::test]
        async fn what_comes_in_pieces_is_read_as_it_comes() {
            let (ours, mut theirs) = io::pipe().unwrap();
            let mut reader = Reader::new(ours).unwrap();
            let mut room = [0; 4];
            for piece in [&b"ab"[..], b"cdef", b"g"] {
                theirs.write_all(piece).unwrap();
                let mut read = Vec::new();
                while read.len() < piece.len() {
                    let count = reader.read(&mut room).await.unwrap();
                    read.extend_from_slice(&room[..count]);
                }
                assert_eq!(read, piece);
                let waiting =
                    tokio::time::timeout(Duration::from_millis(1), reader.read(&mut room));
                assert!(waiting.await.is_err(), "nothing more has come");
            }
            drop(theirs);
            assert_eq!(reader.read(&mut room).await.unwrap(), 0, "the end");
        }

        #[tokio::test]
        async fn a_file_cannot_be_waited_for() {
            let file = tempfile::tempfile().unwrap();
            assert!(Reader::new(file.try_clone().unwrap()).is_none());
            assert!(Writer::new(file).is_none());
        }
    }
}
