//! Streams of events: the answer to a request, and the standing stream of a session.

use std::time::Duration;

use http::header::HeaderName;
use http::{HeaderValue, Method, StatusCode};
use reqwest::Response;
use toolcrib_core::limits::{
    HTTP_LINGER_MS, HTTP_RESUME_FAILURES_MAX, HTTP_RESUME_MS_DEFAULT, HTTP_RESUME_MS_MAX,
    HTTP_RESUME_MS_MIN, HTTP_TOLD_MS_MAX, MESSAGE_BYTES_MAX,
};
use toolcrib_core::rpc::{self, Id, Message};

use super::super::Failure;
use super::super::link::Incoming;
use super::Way;
use super::answer::{self, Form, Refused};
use super::events::Decoder;
use super::exchange::{self, Draft, cause};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How reading a stream came to its end.
enum End {
    /// The awaited answer was among its events.
    Answered,
    /// It ended, or broke, for this reason.
    Ended(String),
    /// An event was too large.
    TooLarge,
    /// Nobody listens any more.
    Unheard,
}

impl Way {
    /// Reads the stream that answers a request, and resumes it as long as the server keeps it.
    pub(super) async fn follow(
        &self,
        first: Response,
        id: &Id,
        resumable: bool,
    ) -> Result<(), Failure> {
        let mut decoder = Decoder::new(MESSAGE_BYTES_MAX);
        let mut response = Some(first);
        let mut failures = 0;
        let mut why = String::new();
        loop {
            if let Some(response) = response.take() {
                match self.read(response, &mut decoder, Some(id)).await {
                    End::Answered | End::Unheard => return Ok(()),
                    End::TooLarge => return Err(Failure::TooLarge(MESSAGE_BYTES_MAX)),
                    End::Ended(reason) => why = reason,
                }
            }
            let Some(last) = decoder.last_id().filter(|_| resumable) else {
                return Err(Failure::Broken(why));
            };
            if failures >= HTTP_RESUME_FAILURES_MAX {
                return Err(Failure::Broken(format!("{why}; it could not be resumed")));
            }
            tokio::time::sleep(pause(&decoder, failures)).await;
            match self.open_stream(Some(last)).await {
                Ok(next) => {
                    failures = 0;
                    response = Some(next);
                    decoder.restart();
                }
                Err(
                    failure @ (Failure::Unreachable(_) | Failure::Broken(_) | Failure::TimedOut(_)),
                ) => {
                    failures += 1;
                    why = failure.to_string();
                }
                Err(Failure::SessionLost) => return Err(Failure::SessionLost),
                Err(failure) => {
                    return Err(Failure::Broken(format!(
                        "{why}; it could not be resumed: {failure}"
                    )));
                }
            }
        }
    }

    /// Reads the stream on which the server speaks unasked, until the server has none or the way closes.
    pub(super) async fn listen(&self) {
        let mut decoder = Decoder::new(MESSAGE_BYTES_MAX);
        let mut failures = 0;
        while failures < HTTP_RESUME_FAILURES_MAX {
            match self.open_stream(decoder.last_id()).await {
                Ok(response) => {
                    failures = 0;
                    decoder.restart();
                    self.note_stream(true);
                    let end = self.read(response, &mut decoder, None).await;
                    self.note_stream(false);
                    match end {
                        End::Answered | End::Unheard => return,
                        End::TooLarge => {
                            tracing::warn!(server = %self.remote.name, "an event was too large; its stream is left");
                            return;
                        }
                        End::Ended(_) => {}
                    }
                }
                Err(Failure::Unreachable(_) | Failure::Broken(_) | Failure::TimedOut(_)) => {
                    failures += 1;
                }
                Err(failure) => {
                    tracing::debug!(server = %self.remote.name, %failure, "there is no stream for messages unasked");
                    return;
                }
            }
            tokio::time::sleep(pause(&decoder, failures)).await;
        }
    }

    /// Opens a stream with GET: a new one, or what is left of one after an event.
    async fn open_stream(&self, last: Option<&str>) -> Result<Response, Failure> {
        let mut headers = self.standing_headers();
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.push((LAST_EVENT_ID, last));
        }
        let draft = Draft {
            method: Method::GET,
            url: &self.remote.url,
            accept: "text/event-stream",
            headers,
            body: None,
            begins_within: Duration::from_millis(HTTP_TOLD_MS_MAX),
        };
        let reply = exchange::send(&self.client, &self.remote, &draft).await?;
        let status = reply.response.status();
        let in_session = self.session().is_some();
        if status == StatusCode::OK && answer::form(reply.response.headers()) == Form::Events {
            return Ok(reply.response);
        }
        if status.is_success() {
            return Err(Failure::NotMcp(
                "it answered without a stream of events".to_owned(),
            ));
        }
        match answer::refused(reply, None, in_session).await {
            Refused::Failure(failure) => Err(failure),
            Refused::Answer(_) => Err(Failure::NotMcp(
                "it answered a stream with a message".to_owned(),
            )),
        }
    }

    async fn read(
        &self,
        mut response: Response,
        decoder: &mut Decoder,
        awaited: Option<&Id>,
    ) -> End {
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return End::Ended("the stream ended before the answer".to_owned()),
                Err(error) => return End::Ended(cause(error)),
            };
            let Ok(events) = decoder.feed(&chunk) else {
                return End::TooLarge;
            };
            let mut answered = false;
            for event in events
                .iter()
                .filter(|event| event.is_message() && !event.data.is_empty())
            {
                let incoming = match rpc::parse(&event.data) {
                    Ok(message) => {
                        answered |= awaited.is_some_and(|id| answers(&message, id));
                        Incoming::Message(message)
                    }
                    Err(_) => Incoming::Junk(answer::excerpt(&event.data, &[])),
                };
                if self.incoming.send(incoming).await.is_err() {
                    return End::Unheard;
                }
            }
            if answered {
                linger(response).await;
                return End::Answered;
            }
        }
    }
}

/// Whether a message is the answer to a request.
pub(super) fn answers(message: &Message, id: &Id) -> bool {
    matches!(message, Message::Answer { id: Some(named), .. } if named == id)
}

/// Reads the rest of a stream that should end by itself, so that its connection can be used again.
async fn linger(mut response: Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    let _ = tokio::time::timeout(Duration::from_millis(HTTP_LINGER_MS), rest).await;
}

/// How long to wait before a stream is resumed: what the server asked for, more after failures.
fn pause(decoder: &Decoder, failures: u32) -> Duration {
    let asked = decoder.retry_ms().unwrap_or(HTTP_RESUME_MS_DEFAULT);
    let wait = asked.saturating_mul(1 << failures.min(10));
    Duration::from_millis(wait.clamp(HTTP_RESUME_MS_MIN, HTTP_RESUME_MS_MAX))
}
