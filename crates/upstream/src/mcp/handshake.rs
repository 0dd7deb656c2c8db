//! Finding out which era a server speaks, and what it can do.
//!
//! `server/discover` comes first, with a short time-out of our own. A server that refuses it is legacy.
//! One that is silent may be slow or old: it gets `initialize` too, and what it answers first counts.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;
use toolcrib_core::limits::ERA_PROBE_MS;
use toolcrib_core::rpc;

use super::era::{Era, LEGACY, LEGACY_LATEST, MODERN, Negotiated};
use super::object::{Fields, raw};
use super::{CallError, Failure, Options, Peer, stamp};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// What is known before the first word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before<'a> {
    /// When the handshake must be over.
    pub(super) deadline: Instant,
    /// The era that the server spoke last.
    pub(super) era: Option<Era>,
    /// Whether the server can only be legacy: its transport is, or it ended when it was probed.
    pub(super) legacy_only: bool,
    /// What the client can do that owns the connection.
    pub(super) capabilities: &'a RawValue,
}

/// Comes to terms with a server.
pub(super) async fn shake(peer: &Peer, before: Before<'_>) -> Result<Negotiated, Failure> {
    let negotiated = if before.legacy_only {
        initialize(peer, before).await.map_err(refused)
    } else if before.era == Some(Era::Legacy) {
        match initialize(peer, before).await {
            // It may have moved on since.
            Err(
                CallError::Fault(_)
                | CallError::Failure(Failure::Status {
                    status: 400..=499, ..
                }),
            ) => discover_only(peer, before).await,
            other => other.map_err(refused),
        }
    } else {
        probe(peer, before).await
    };
    let negotiated = negotiated.map_err(|failure| instead(peer, failure))?;
    if let Ok(version) = HeaderValue::from_str(&negotiated.version) {
        peer.set_headers(vec![(VERSION, version)]);
    }
    if negotiated.era == Era::Legacy {
        peer.notify("notifications/initialized", None).await?;
    }
    Ok(negotiated)
}

/// A server that talked, but not MCP, is told from one that was silent.
fn instead(peer: &Peer, failure: Failure) -> Failure {
    match (failure, peer.first_junk()) {
        (Failure::TimedOut(_), Some(junk)) => Failure::NotMcp(format!("it said: {junk}")),
        (failure, _) => failure,
    }
}

fn refused(error: CallError) -> Failure {
    match error {
        CallError::Failure(failure) | CallError::Unsent(failure) => failure,
        CallError::Fault(fault) => Failure::NotMcp(format!("it refused `initialize`: {fault}")),
    }
}

/// Asks in the modern way first, and in both if there is no quick answer.
async fn probe(peer: &Peer, before: Before<'_>) -> Result<Negotiated, Failure> {
    let options = options(before);
    let modern = discovery(before);
    let mut asked = peer
        .begin("server/discover", Some(&modern.params), &modern.options)
        .await?;
    let patience = Duration::from_millis(ERA_PROBE_MS);
    if let Ok(mut answer) = tokio::time::timeout(patience, asked.answer(&options)).await {
        if offers_modern(&answer) {
            answer = peer
                .request("server/discover", Some(&modern.params), &modern.options)
                .await;
        }
        return match discovered(answer)? {
            Some(negotiated) => Ok(negotiated),
            None => initialize(peer, before).await.map_err(refused),
        };
    }
    let legacy = initialize(peer, before);
    tokio::pin!(legacy);
    tokio::select! {
        // A server that answers both speaks the modern era too.
        biased;
        answer = asked.answer(&options) => match discovered(answer)? {
            Some(negotiated) => Ok(negotiated),
            None => legacy.await.map_err(refused),
        },
        answer = &mut legacy => match answer {
            Ok(negotiated) => Ok(negotiated),
            Err(CallError::Fault(fault)) => {
                let late = discovered(asked.answer(&options).await)?;
                late.ok_or_else(|| refused(CallError::Fault(fault)))
            }
            Err(CallError::Failure(failure) | CallError::Unsent(failure)) => Err(failure),
        },
    }
}

async fn discover_only(peer: &Peer, before: Before<'_>) -> Result<Negotiated, Failure> {
    let modern = discovery(before);
    let answer = peer
        .request("server/discover", Some(&modern.params), &modern.options)
        .await;
    let neither = "it refuses both `initialize` and `server/discover`";
    discovered(answer)?.ok_or_else(|| Failure::NotMcp(neither.to_owned()))
}

/// Whether a server refuses the revision of a request and yet names it among those that it takes: it is
/// asked once more before it counts as one of the legacy era.
fn offers_modern(answer: &Result<Box<RawValue>, CallError>) -> bool {
    let Err(CallError::Fault(fault)) = answer else {
        return false;
    };
    let data = Fields::of(fault.data.as_deref());
    let supported: Vec<String> = data
        .get("supported")
        .and_then(|supported| serde_json::from_str(supported.get()).ok())
        .unwrap_or_default();
    fault.code == rpc::UNSUPPORTED_VERSION && supported.iter().any(|version| version == MODERN)
}

fn options(before: Before<'_>) -> Options {
    Options {
        deadline: Some(before.deadline),
        ..Options::default()
    }
}

struct Discovery {
    params: Box<RawValue>,
    options: Options,
}

fn discovery(before: Before<'_>) -> Discovery {
    let params = stamp::modern(None, before.capabilities);
    let mut options = options(before);
    options.headers = stamp::headers("server/discover", None, None);
    options
        .headers
        .push((VERSION, HeaderValue::from_static(MODERN)));
    Discovery { params, options }
}

/// What an answer to `server/discover` says; `None`: the server is of the legacy era.
fn discovered(answer: Result<Box<RawValue>, CallError>) -> Result<Option<Negotiated>, Failure> {
    let result = match answer {
        Ok(result) => result,
        Err(CallError::Fault(_)) => return Ok(None),
        Err(CallError::Failure(failure) | CallError::Unsent(failure)) => {
            return match failure {
                Failure::Status {
                    status: 400..=428 | 430..=502 | 504..,
                    ..
                }
                | Failure::SessionLost
                | Failure::NotMcp(_) => Ok(None),
                failure => Err(failure),
            };
        }
    };
    let fields = Fields::of(Some(&result));
    let versions = fields.get("supportedVersions");
    let versions: Vec<String> = versions
        .and_then(|versions| serde_json::from_str(versions.get()).ok())
        .unwrap_or_default();
    if !versions.iter().any(|version| version == MODERN) {
        return Ok(None);
    }
    let meta = Fields::of(fields.get("_meta"));
    Ok(Some(Negotiated {
        era: Era::Modern,
        version: MODERN.to_owned(),
        info: meta
            .get("io.modelcontextprotocol/serverInfo")
            .map(ToOwned::to_owned),
        ..said(&fields)
    }))
}

fn said(fields: &Fields<'_>) -> Negotiated {
    Negotiated {
        era: Era::Legacy,
        version: fields.text("protocolVersion").unwrap_or_default(),
        capabilities: fields
            .get("capabilities")
            .map_or_else(|| raw(&json!({})), ToOwned::to_owned),
        info: fields.get("serverInfo").map(ToOwned::to_owned),
        instructions: fields.text("instructions"),
    }
}

async fn initialize(peer: &Peer, before: Before<'_>) -> Result<Negotiated, CallError> {
    let params = raw(&json!({
        "protocolVersion": LEGACY_LATEST,
        "capabilities": before.capabilities,
        "clientInfo": stamp::client_info(),
    }));
    let result = peer
        .request("initialize", Some(&params), &options(before))
        .await?;
    let negotiated = said(&Fields::of(Some(&result)));
    let version = negotiated.version.as_str();
    if version == MODERN {
        // It takes a handshake that its era does without.
        return Ok(Negotiated {
            era: Era::Modern,
            ..negotiated
        });
    }
    if LEGACY.contains(&version) {
        return Ok(negotiated);
    }
    let spoken = format!(
        "it speaks revision `{version}`, which is not one of {}",
        LEGACY.join(", ")
    );
    Err(Failure::NotMcp(spoken.chars().take(200).collect()).into())
}

/// Whether a fault means that the server does not know what it was asked for.
pub(super) fn is_unknown_method(error: &CallError) -> bool {
    matches!(error, CallError::Fault(fault) if fault.code == rpc::METHOD_NOT_FOUND)
}
