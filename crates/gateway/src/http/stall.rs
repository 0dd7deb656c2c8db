//! A client that does not read what it is sent is given up after a while.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use toolcrib_core::limits::HTTP_STALL_MS;

/// A connection that breaks when something waits to be written and nothing of it can be for
/// [`HTTP_STALL_MS`]. Where nothing is to be written, it stays for as long as it likes.
pub(super) struct Impatient<S> {
    stream: S,
    /// Runs while something waits.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            stuck: None,
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
        Pin::new(&mut self.stream).poll_read(context, buffer)
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
