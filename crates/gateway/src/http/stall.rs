//! A client that says nothing, or does not read what it is sent, is given up after a while.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use toolcrib_core::limits::{HTTP_HEADERS_MS_MAX, HTTP_STALL_MS};

/// What a connection of HTTP/2 begins with. Until it is told apart from a request of HTTP/1, nobody else keeps time.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that breaks when something waits to be written and nothing of it can be for
/// [`HTTP_STALL_MS`], or when its client has not begun to speak one of the two versions after
/// [`HTTP_HEADERS_MS_MAX`]. Where that is done and nothing is to be written, it stays for as long as it likes.
pub(super) struct Impatient<S> {
    stream: S,
    /// Runs while something waits.
    stuck: Option<Pin<Box<Sleep>>>,
    /// Is there until the version is known.
    greeting: Option<Greeting>,
}

/// A client that may yet speak either version.
struct Greeting {
    /// How much of [`PREFACE`] has come.
    heard: usize,
    patience: Pin<Box<Sleep>>,
}

impl Greeting {
    /// Whether the version is still open after this, too.
    fn goes_on(&mut self, said: &[u8]) -> bool {
        let expected = &PREFACE[self.heard..];
        self.heard += said.len();
        // Nothing is the end.
        !said.is_empty() && said.len() < expected.len() && expected.starts_with(said)
    }
}

impl<S> Impatient<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            stuck: None,
            greeting: Some(Greeting {
                heard: 0,
                patience: Box::pin(tokio::time::sleep(Duration::from_millis(
                    HTTP_HEADERS_MS_MAX,
                ))),
            }),
        }
    }

    /// Lets an attempt to write pass, unless none has succeeded for too long.
    fn judge(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let patience = Duration::from_millis(HTTP_STALL_MS);
        let stuck = self
            .stuck
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(stuck.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client does not read",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(greeting) = &mut self.greeting else {
            return read;
        };
        if read.is_ready() {
            if !greeting.goes_on(&buffer.filled()[before..]) {
                self.greeting = None;
            }
            return read;
        }
        ready!(greeting.patience.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client says nothing",
        )))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        text: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, text);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        texts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, texts);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_reads_slowly_is_waited_for_and_who_does_not_read_is_not() {
        let (ours, mut theirs) = duplex(4);
        let mut ours = Impatient::new(ours);
        let almost = Duration::from_millis(HTTP_STALL_MS - 1);
        let slowly = async {
            let mut read = [0; 4];
            for _ in 0..4 {
                tokio::time::sleep(almost).await;
                theirs.read_exact(&mut read).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(ours.write_all(&[b'x'; 16]), slowly);
        written.unwrap();
        // Quiet is no fault.
        tokio::time::sleep(almost * 100).await;
        ours.write_all(b"four").await.unwrap();
        let begun = tokio::time::Instant::now();
        let error = ours.write_all(b"more").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= almost);
    }
}
