//! The socket: who may connect, for how long, and how it ends.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, lookup_host};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_core::limits::{
    HTTP_CONNECTIONS_MAX, HTTP_HEADERS_BYTES_MAX, HTTP_HEADERS_MAX, HTTP_HEADERS_MS_MAX,
    HTTP_PING_MS, HTTP_STREAMS_MAX, SHUTDOWN_DRAIN_MS, SHUTDOWN_GRACE_MS,
};
use tower::ServiceExt;

use super::stall::Impatient;

/// A socket that is open.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

/// What is under way at the door.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Requests that are being answered. A connection on which none is does not hold up the end.
    pub(super) tasks: TaskTracker,
    /// Cancels them, and ends every session.
    pub(super) closing: CancellationToken,
}

impl Work {
    /// Lets requests finish for a while, then cancels the rest.
    pub(super) async fn end(&self) {
        self.tasks.close();
        let drain = Duration::from_millis(SHUTDOWN_DRAIN_MS);
        if tokio::time::timeout(drain, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                requests = self.tasks.len(),
                "requests that are still under way are cancelled"
            );
        }
        self.closing.cancel();
    }
}

/// Opens the socket of `listen`, an address or name with a port.
pub async fn bind(listen: &str) -> io::Result<Bound> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in lookup_host(listen).await? {
        match TcpListener::bind(address).await {
            Ok(listener) => {
                let address = listener.local_addr()?;
                return Ok(Bound { listener, address });
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Bound {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `ending` fires; then requests under way may finish, and are cancelled where they take too
    /// long.
    pub async fn run(self, router: Router, ending: CancellationToken, work: Work) {
        let connections = Arc::new(Semaphore::new(HTTP_CONNECTIONS_MAX));
        let tasks = TaskTracker::new();
        loop {
            let permit = tokio::select! {
                permit = Arc::clone(&connections).acquire_owned() => permit,
                () = ending.cancelled() => break,
            };
            let Ok(permit) = permit else { break };
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = ending.cancelled() => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    // An answer is one write; it must not wait for another.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "TCP_NODELAY could not be set");
                    }
                    let serving = serve(stream, peer, router.clone(), ending.clone());
                    tasks.spawn(async move {
                        serving.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    // Such as too many open files: it passes, and asking again at once would not help.
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(self.listener);
        tasks.close();
        work.end().await;
        // What was answered is still to be written.
        let grace = Duration::from_millis(SHUTDOWN_GRACE_MS);
        let _ = tokio::time::timeout(grace, tasks.wait()).await;
    }
}

/// Serves one connection to its end.
pub(super) async fn serve<S>(stream: S, peer: SocketAddr, router: Router, ending: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let router = router.clone();
        async move {
            Ok::<_, Infallible>(
                router
                    .oneshot(request)
                    .await
                    .unwrap_or_else(|never| match never {}),
            )
        }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HTTP_HEADERS_MS_MAX))
        .max_buf_size(HTTP_HEADERS_BYTES_MAX)
        .max_headers(HTTP_HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(HTTP_HEADERS_BYTES_MAX).unwrap_or(u32::MAX))
        .max_concurrent_streams(HTTP_STREAMS_MAX)
        .keep_alive_interval(Duration::from_millis(HTTP_PING_MS));
    let connection = builder.serve_connection(TokioIo::new(Impatient::new(stream)), service);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(error, "a connection broke");
    }
}
