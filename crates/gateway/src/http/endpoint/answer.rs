//! How an answer is written: at once, or as a stream where something comes before it.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use toolcrib_core::rpc::{self, Fault, Id};

use super::super::event::{self, Reader};
use super::super::sessions::Seat;
use super::{faulty, frame, json};
use crate::mcp::outlet::{Nowhere, Outlet, Stream};
use crate::mcp::revision::Revision;
use crate::mcp::service::Outcome;

/// What a client can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A whole answer or a stream.
    Either,
    /// Only a whole answer: what would come before it is left out.
    Whole,
    /// Only a stream.
    Stream,
}

impl Form {
    /// Reads `Accept`, and checks that the body is JSON.
    #[expect(clippy::result_large_err, reason = "the response is what is sent")]
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Response> {
        let text = |name| {
            headers
                .get(name)
                .map(|value: &axum::http::HeaderValue| value.to_str().unwrap_or(""))
        };
        let kind = text(header::CONTENT_TYPE).unwrap_or("");
        let kind = kind.split(';').next().unwrap_or("").trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            let why = "send JSON with Content-Type: application/json\n";
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, why).into_response());
        }
        let Some(accepts) = text(header::ACCEPT) else {
            return Ok(Form::Either);
        };
        let accepts = accepts.to_ascii_lowercase();
        let any = accepts.contains("*/*");
        let whole =
            any || accepts.contains("application/json") || accepts.contains("application/*");
        let stream = any || accepts.contains("text/event-stream") || accepts.contains("text/*");
        match (whole, stream) {
            (true, true) => Ok(Form::Either),
            (true, false) => Ok(Form::Whole),
            (false, true) => Ok(Form::Stream),
            (false, false) => {
                let why = "accept application/json and text/event-stream\n";
                Err((StatusCode::NOT_ACCEPTABLE, why).into_response())
            }
        }
    }

    /// Where messages before the answer go.
    pub(super) fn outlet(self, stream: &Arc<Stream>) -> Arc<dyn Outlet> {
        match self {
            Form::Whole => Arc::new(Nowhere),
            Form::Either | Form::Stream => Arc::clone(stream) as Arc<dyn Outlet>,
        }
    }
}

/// A request that is being answered.
pub(super) struct Answering {
    pub(super) id: Id,
    pub(super) stream: Arc<Stream>,
    pub(super) form: Form,
    /// Cancels the request when the client hangs up.
    pub(super) guard: Option<DropGuard>,
    /// The session, where there is one.
    pub(super) seat: Option<Arc<Seat>>,
    /// Whether it begins the session: the headers of the answer then depend on how it ends.
    pub(super) begins: bool,
}

impl Answering {
    /// Waits for the answer, or for what comes before it; the rest is then written as part of `work`.
    pub(super) async fn respond(
        self,
        mut running: JoinHandle<(Outcome, bool)>,
        work: &TaskTracker,
    ) -> Response {
        if self.form != Form::Stream || self.begins {
            tokio::select! {
                biased;
                ended = &mut running => {
                    let (outcome, is_malformed) = ended.unwrap_or_else(|_| (Err(broken()), false));
                    if self.stream.is_empty() && self.form != Form::Stream {
                        return self.whole(outcome, is_malformed);
                    }
                    self.stream.push(frame(&self.id, outcome));
                    self.stream.close();
                    return self.streamed();
                }
                () = self.stream.written(), if !self.begins => {}
            }
        }
        let (stream, id, seat) = (Arc::clone(&self.stream), self.id.clone(), self.seat.clone());
        work.spawn(async move {
            let (outcome, _) = running.await.unwrap_or_else(|_| (Err(broken()), false));
            stream.push(frame(&id, outcome));
            stream.close();
            if let Some(seat) = seat {
                seat.touch();
            }
        });
        self.streamed()
    }

    fn whole(self, outcome: Outcome, is_malformed: bool) -> Response {
        if let Some(guard) = self.guard {
            guard.disarm();
        }
        match outcome {
            Ok(result) => json(StatusCode::OK, rpc::result(&self.id, &result)),
            Err(fault) => {
                let status = match fault.code {
                    // The handshake era knows no status but that of the transport.
                    _ if self.seat.is_some() => StatusCode::OK,
                    rpc::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
                    rpc::HEADER_MISMATCH | rpc::MISSING_CAPABILITY | rpc::UNSUPPORTED_VERSION => {
                        StatusCode::BAD_REQUEST
                    }
                    _ if is_malformed => StatusCode::BAD_REQUEST,
                    _ => StatusCode::OK,
                };
                faulty(status, Some(&self.id), &fault)
            }
        }
    }

    fn streamed(self) -> Response {
        let revision = self.seat.as_ref().and_then(|seat| seat.session.revision());
        let name = self
            .seat
            .as_ref()
            .map(|seat| seat.keep(Arc::clone(&self.stream)));
        event::response(Reader {
            stream: self.stream,
            from: 0,
            name,
            primes: revision >= Some(Revision::V2025_11_25),
            // It ends with the answer, which comes also when the request is cancelled.
            until: CancellationToken::new(),
            guard: self.guard,
            heard: None,
        })
    }
}

fn broken() -> Fault {
    Fault::new(
        rpc::INTERNAL_ERROR,
        "Toolcrib met a fault of its own while it answered; its log says more",
    )
}
