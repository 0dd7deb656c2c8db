//! The endpoint of MCP: one path, three methods, both eras.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::DOOR_BATCH_MESSAGES_MAX;
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::{self, Fault, Id, Message};

use super::Door;
use super::body::Unread;
use super::event::{self, Reader};
use super::headers;
use super::sessions::{STANDING, Seat};
use crate::mcp::fields::Fields;
use crate::mcp::gate::overloaded;
use crate::mcp::meta::{self, Meta};
use crate::mcp::outlet::{Nowhere, Outlet, Stream};
use crate::mcp::revision::Revision;
use crate::mcp::service::{Arrival, Outcome, Request, Service};
use crate::mcp::session::Session;
use crate::mcp::stdio::{described, joined};

mod answer;

use answer::{Answering, Form};

const VERSION: &str = "mcp-protocol-version";
const SESSION: &str = "mcp-session-id";

/// One path and what answers there.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) door: Arc<Door>,
    pub(super) service: Arc<Service>,
}

/// What a client sent beside the body.
struct Letter {
    caller: Arc<Caller>,
    headers: HeaderMap,
    form: Form,
}

/// Takes a message.
pub(super) async fn post(
    State(endpoint): State<Endpoint>,
    Extension(caller): Extension<Arc<Caller>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let form = match Form::of(&headers) {
        Ok(form) => form,
        Err(refusal) => return refusal,
    };
    let text = match endpoint.door.room.read(body).await {
        Ok(text) => text,
        Err(unread) => {
            let fault = match unread {
                Unread::NoRoom => overloaded(&unread.to_string()),
                _ => Fault::new(rpc::INVALID_REQUEST, unread.to_string()),
            };
            return faulty(unread.status(), None, &fault);
        }
    };
    let letter = Letter {
        caller,
        headers,
        form,
    };
    if text.trim_ascii_start().starts_with(b"[") {
        return endpoint.batch(&letter, &text).await;
    }
    match rpc::parse(&text) {
        Ok(message) => endpoint.message(letter, message).await,
        Err(malformed) => faulty(
            StatusCode::BAD_REQUEST,
            malformed.id(),
            &described(&malformed),
        ),
    }
}

impl Endpoint {
    async fn message(&self, letter: Letter, message: Message) -> Response {
        let version = letter
            .headers
            .get(VERSION)
            .and_then(|value| value.to_str().ok());
        let named = version.map(str::trim).and_then(Revision::parse);
        if let Message::Request { method, params, .. } = &message {
            let meta = Meta::of(params.as_deref());
            let stateless = meta.is_stateless()
                || named.is_some_and(Revision::is_stateless)
                || method == "server/discover";
            if stateless {
                return self.stateless(letter, message, &meta).await;
            }
        } else if named.is_some_and(Revision::is_stateless) {
            // There is nothing to tell a server that keeps no state.
            return StatusCode::ACCEPTED.into_response();
        }
        if let (Some(version), None) = (version, named) {
            return faulty(
                StatusCode::BAD_REQUEST,
                id_of(&message),
                &meta::unsupported(version),
            );
        }
        self.with_session(letter, message).await
    }

    async fn stateless(&self, letter: Letter, message: Message, meta: &Meta) -> Response {
        let Message::Request { id, method, params } = message else {
            return StatusCode::ACCEPTED.into_response();
        };
        let checked = headers::check(&letter.headers, meta, &method, params.as_deref())
            .and_then(|()| self.check_mirrored(&letter, &method, params.as_deref()));
        if let Err(fault) = checked {
            return faulty(StatusCode::BAD_REQUEST, Some(&id), &fault);
        }
        let cancel = self.door.work.closing.child_token();
        let stream = Stream::new();
        let arrival = arrival(&letter, letter.form.outlet(&stream), cancel.clone());
        let service = Arc::clone(&self.service);
        let request = Request {
            id: id.clone(),
            method,
            params,
        };
        let running = self.door.work.tasks.spawn(async move {
            let reply = service.stateless(request, arrival).await;
            (reply.outcome, reply.is_malformed)
        });
        Answering {
            id,
            stream,
            form: letter.form,
            // Whoever hangs up does not want the answer.
            guard: Some(cancel.drop_guard()),
            seat: None,
            begins: false,
        }
        .respond(running, &self.door.work.tasks)
        .await
    }

    fn check_mirrored(
        &self,
        letter: &Letter,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), Fault> {
        let name = params
            .and_then(Fields::of)
            .and_then(|fields| fields.text("name"));
        match name {
            Some(name) if method == "tools/call" => {
                let mirrored = self.service.surface().mirrored(&letter.caller, &name);
                headers::check_mirrored(&letter.headers, &mirrored, params)
            }
            _ => Ok(()),
        }
    }

    async fn with_session(&self, letter: Letter, message: Message) -> Response {
        let begins = matches!(&message, Message::Request { method, .. } if method == "initialize");
        if begins {
            return self.begin(letter, message).await;
        }
        let seat = match self.seat(&letter.headers, &letter.caller) {
            Ok(seat) => seat,
            Err((status, fault)) => return faulty(status, id_of(&message), &fault),
        };
        match message {
            Message::Request { id, method, params } => {
                self.answer(letter, seat, Request { id, method, params }, None)
                    .await
            }
            other => {
                heed(&seat.session, other);
                StatusCode::ACCEPTED.into_response()
            }
        }
    }

    async fn begin(&self, letter: Letter, message: Message) -> Response {
        let Message::Request { id, method, params } = message else {
            return StatusCode::ACCEPTED.into_response();
        };
        let name: Arc<str> = blake3::Hash::from_bytes(self.door.clock.random()).to_hex()[..].into();
        let standing = Stream::new();
        let session = Session::new(
            Arc::clone(&self.service),
            Arc::clone(&letter.caller),
            Some(Arc::clone(&name)),
            Arc::clone(&standing) as Arc<dyn Outlet>,
        );
        let seat = Seat::new(Arc::clone(&session), standing);
        if !self
            .door
            .sessions
            .open(Arc::clone(&name), Arc::clone(&seat))
        {
            let fault = Fault::new(
                rpc::INTERNAL_ERROR,
                "too many sessions are open; try again later",
            );
            return faulty(StatusCode::SERVICE_UNAVAILABLE, Some(&id), &fault);
        }
        let begun = Some(Arc::clone(&name));
        let mut response = self
            .answer(letter, seat, Request { id, method, params }, begun)
            .await;
        if session.revision().is_some()
            && let Ok(name) = HeaderValue::from_str(&name)
        {
            response.headers_mut().insert(SESSION, name);
        }
        response
    }

    /// `begun` is the name of a session that this request begins. Where it does not come about, the session ends with
    /// the request, whether or not the client is still there to hear of it.
    async fn answer(
        &self,
        letter: Letter,
        seat: Arc<Seat>,
        request: Request,
        begun: Option<Arc<str>>,
    ) -> Response {
        let (begins, sessions) = (begun.is_some(), Arc::clone(&self.door.sessions));
        let cancel = seat.session.closing().child_token();
        let stream = Stream::new();
        let arrival = arrival(&letter, letter.form.outlet(&stream), cancel);
        let (id, asked) = (request.id.clone(), Arc::clone(&seat));
        let answering = async move {
            let outcome = asked.session.request(request, arrival).await;
            // However long that took, the client has its time from now on.
            asked.touch();
            if let Some(name) = begun.filter(|_| asked.session.revision().is_none()) {
                sessions.close(&name);
            }
            (outcome, false)
        };
        let running = self.door.work.tasks.spawn(answering);
        Answering {
            id,
            stream,
            form: letter.form,
            guard: None,
            seat: Some(seat),
            begins,
        }
        .respond(running, &self.door.work.tasks)
        .await
    }

    async fn batch(&self, letter: &Letter, text: &[u8]) -> Response {
        let wrong = |why: String| {
            faulty(
                StatusCode::BAD_REQUEST,
                None,
                &Fault::new(rpc::INVALID_REQUEST, why),
            )
        };
        let seat = match self.seat(&letter.headers, &letter.caller) {
            Ok(seat) if seat.session.revision().is_some_and(Revision::has_batches) => seat,
            _ => return wrong("only sessions of revision 2025-03-26 have batches".to_owned()),
        };
        let messages: Vec<&RawValue> = match serde_json::from_slice(text) {
            Ok(messages) => messages,
            Err(error) => {
                let fault = Fault::new(rpc::PARSE_ERROR, error.to_string());
                return faulty(StatusCode::BAD_REQUEST, None, &fault);
            }
        };
        if !(1..=DOOR_BATCH_MESSAGES_MAX).contains(&messages.len()) {
            return wrong(format!(
                "a batch holds 1 to {DOOR_BATCH_MESSAGES_MAX} messages"
            ));
        }
        let mut answers = Vec::new();
        for message in messages {
            match rpc::parse(message.get().as_bytes()) {
                Ok(Message::Request { id, method, params }) => {
                    let cancel = seat.session.closing().child_token();
                    let arrival = arrival(letter, Arc::new(Nowhere), cancel);
                    let request = Request {
                        id: id.clone(),
                        method,
                        params,
                    };
                    let session = Arc::clone(&seat.session);
                    answers.push(tokio::spawn(async move {
                        frame(&id, session.request(request, arrival).await)
                    }));
                }
                Ok(other) => heed(&seat.session, other),
                Err(malformed) => {
                    let refused = rpc::fault(malformed.id(), &described(&malformed));
                    answers.push(tokio::spawn(std::future::ready(refused)));
                }
            }
        }
        let answers = futures::future::join_all(answers).await;
        let answers: Vec<Vec<u8>> = answers.into_iter().filter_map(Result::ok).collect();
        seat.touch();
        if answers.is_empty() {
            return StatusCode::ACCEPTED.into_response();
        }
        json(StatusCode::OK, joined(&answers))
    }

    fn seat(&self, headers: &HeaderMap, caller: &Caller) -> Result<Arc<Seat>, (StatusCode, Fault)> {
        let Some(name) = headers.get(SESSION) else {
            let fault = Fault::new(
                rpc::INVALID_REQUEST,
                "send `initialize` first and then the header Mcp-Session-Id, or name protocol version 2026-07-28",
            );
            return Err((StatusCode::BAD_REQUEST, fault));
        };
        let seat = name
            .to_str()
            .ok()
            .and_then(|name| self.door.sessions.find(name));
        // Somebody else's session does not exist, as far as this caller may know.
        seat.filter(|seat| seat.session.caller().principal == caller.principal)
            .ok_or_else(|| {
                let fault = Fault::new(
                    rpc::INVALID_REQUEST,
                    "there is no such session any more; send `initialize` again",
                );
                (StatusCode::NOT_FOUND, fault)
            })
    }
}

fn arrival(letter: &Letter, outlet: Arc<dyn Outlet>, cancel: CancellationToken) -> Arrival {
    Arrival {
        caller: Arc::clone(&letter.caller),
        outlet,
        cancel,
        trace: headers::trace(&letter.headers),
        network: "tcp",
    }
}

/// Sends messages that belong to no request, or the rest of a stream that broke off.
pub(super) async fn get(
    State(endpoint): State<Endpoint>,
    Extension(caller): Extension<Arc<Caller>>,
    headers: HeaderMap,
) -> Response {
    let accepts = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    if !accepts
        .is_some_and(|accepts| accepts.contains("text/event-stream") || accepts.contains("*/*"))
    {
        return (StatusCode::NOT_ACCEPTABLE, "accept text/event-stream\n").into_response();
    }
    if !headers.contains_key(SESSION) {
        let allow = [(header::ALLOW, "POST")];
        return (
            StatusCode::METHOD_NOT_ALLOWED,
            allow,
            "only a session has a stream; use POST\n",
        )
            .into_response();
    }
    let seat = match endpoint.seat(&headers, &caller) {
        Ok(seat) => seat,
        Err((status, fault)) => return faulty(status, None, &fault),
    };
    let last = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .and_then(event::after);
    let primes = seat.session.revision() >= Some(Revision::V2025_11_25);
    if let Some((name, from)) = last.filter(|(name, _)| *name != STANDING) {
        let Some(stream) = seat.stream(name) else {
            return (StatusCode::NOT_FOUND, "that stream is not kept any more\n").into_response();
        };
        return event::response(Reader {
            stream,
            from,
            name: Some(name),
            primes: false,
            until: seat.session.closing().clone(),
            guard: None,
            heard: None,
        });
    }
    let unread = Arc::clone(&seat.unread);
    let from = last.map_or_else(
        || unread.load(std::sync::atomic::Ordering::Relaxed),
        |(_, from)| from,
    );
    let touched = Arc::clone(&seat);
    event::response(Reader {
        stream: Arc::clone(&seat.standing),
        from,
        name: Some(STANDING),
        primes,
        until: seat.read_standing(),
        guard: None,
        heard: Some(Arc::new(move |number| {
            unread.store(number + 1, std::sync::atomic::Ordering::Relaxed);
            touched.touch();
        })),
    })
}

/// Ends a session.
pub(super) async fn delete(
    State(endpoint): State<Endpoint>,
    Extension(caller): Extension<Arc<Caller>>,
    headers: HeaderMap,
) -> Response {
    match endpoint.seat(&headers, &caller) {
        Ok(_) => {
            if let Some(Ok(name)) = headers.get(SESSION).map(HeaderValue::to_str) {
                endpoint.door.sessions.close(name);
            }
            StatusCode::NO_CONTENT.into_response()
        }
        Err((status, fault)) => faulty(status, None, &fault),
    }
}

fn heed(session: &Session, message: Message) {
    match message {
        Message::Notification { method, params } => {
            session.notification(&method, params.as_deref());
        }
        Message::Answer { id, outcome } => session.answered(id.as_ref(), outcome),
        Message::Request { .. } => {}
    }
}

fn id_of(message: &Message) -> Option<&Id> {
    match message {
        Message::Request { id, .. } => Some(id),
        _ => None,
    }
}

fn frame(id: &Id, outcome: Outcome) -> Vec<u8> {
    match outcome {
        Ok(result) => rpc::result(id, &result),
        Err(fault) => rpc::fault(Some(id), &fault),
    }
}

/// A fault as the whole answer.
fn faulty(status: StatusCode, id: Option<&Id>, fault: &Fault) -> Response {
    json(status, rpc::fault(id, fault))
}

fn json(status: StatusCode, text: Vec<u8>) -> Response {
    let mut response = (status, text).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
