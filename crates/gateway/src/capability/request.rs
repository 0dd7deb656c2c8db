//! What a caller other than the person at the terminal can ask of Toolcrib itself: to look at an unknown
//! server, and to register one that a person approved.
//!
//! Whoever asks can ask, never answer: neither approves anything. No command is started and no variable
//! is read for it, because both would be the caller's choice.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_config::file::legal_name;
use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_config::model::server::{Origin, Remote, Transport};
use toolcrib_config::placeholder::Template;
use toolcrib_config::registered;
use toolcrib_core::canon::params_hash;
use toolcrib_core::policy::scope::Scope;
use toolcrib_core::policy::{Caller, Principal};
use toolcrib_core::rest::ADMIN_SCOPE;
use toolcrib_core::rtfs::Dialect;
use toolcrib_core::{Code, ToolId};
use toolcrib_store::audit::{Decision, Outcome, Record};

use super::files::PENDING;
use super::review::{Desk, ReviewError, Subject};
use crate::engine::Engine;
use crate::engine::discovery::offered::short_name;
use crate::engine::error::Error;

/// The scope that a caller other than the local person needs, unless it runs the gateway.
const SCOPE: &str = "toolcrib:introspect";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Look at an unknown server and put it up for approval.
    Introspect,
    /// Register an introspected server that a person approved.
    Register,
}

impl Request {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Introspect, Self::Register];

    /// The name that the documents have for it, which records carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Introspect => "ccos_introspect_remote_api",
            Self::Register => "ccos_register_server",
        }
    }

    /// Fulfils it; like every call, it leaves one record.
    pub async fn fulfil(
        self,
        engine: &Arc<Engine>,
        caller: &Caller,
        arguments: &Value,
        trace: Option<&str>,
    ) -> Result<Value, Box<Error>> {
        let outcome = match permitted(caller) {
            Ok(()) => self.run(engine, arguments).await,
            Err(error) => Err(error),
        };
        self.record(engine, caller, arguments, trace, &outcome)
            .await?;
        outcome
    }

    async fn run(self, engine: &Arc<Engine>, arguments: &Value) -> Result<Value, Box<Error>> {
        let desk = desk(engine);
        match self {
            Self::Introspect => introspect(engine, &desk, arguments).await,
            Self::Register => {
                let server = text(arguments, "server_name")?;
                let promoted = desk
                    .register_server(server)
                    .await
                    .map_err(|error| failure(&error))?;
                Ok(json!({
                    "server_name": server,
                    "registered": true,
                    "approved_files": promoted.approved,
                    "archived_files": promoted.archived,
                }))
            }
        }
    }

    async fn record(
        self,
        engine: &Engine,
        caller: &Caller,
        arguments: &Value,
        trace: Option<&str>,
        outcome: &Result<Value, Box<Error>>,
    ) -> Result<(), Box<Error>> {
        let now_ms = engine.clock().now_ms();
        let code = outcome.as_ref().err().map(|error| error.code);
        let is_refusal = matches!(code, Some(Code::ScopeRequired | Code::ApprovalRequired));
        let record = Record {
            request_id: engine.clock().request_id(now_ms).to_string(),
            timestamp_ms: now_ms,
            actor_id: caller.principal.to_string(),
            tool_id: format!("toolcrib:{}", self.name()),
            params_hash: params_hash(arguments).to_string(),
            parameters: None,
            decision: if is_refusal {
                Decision::Refused
            } else {
                Decision::Allowed
            },
            reason: match outcome {
                Ok(_) => "allowed".to_owned(),
                Err(error) => error.message.clone(),
            },
            outcome: match code {
                None => Outcome::Ok,
                Some(_) if is_refusal => Outcome::Refused,
                Some(_) => Outcome::Error,
            },
            error_code: code.map(|code| code.to_string()),
            duration_us: None,
            upstream: None,
            request_bytes: i64::try_from(arguments.to_string().len()).unwrap_or(i64::MAX),
            response_bytes: None,
            trace_id: trace.map(str::to_owned),
        };
        let appended = engine.store().record(record).await;
        appended.map_err(|error| {
            tracing::error!(%error, "an execution could not be recorded");
            Box::<Error>::from(&error)
        })
    }
}

/// Where servers are reviewed, with what an engine holds.
pub fn desk(engine: &Engine) -> Desk {
    Desk::new(
        engine.store().clone(),
        engine.clock().clone(),
        engine.config(),
    )
}

/// Every tool that an engine knows of.
pub fn known_tools(engine: &Engine) -> Vec<ToolId> {
    let snapshot = engine.snapshot();
    let racks = snapshot.racks();
    racks.flat_map(|rack| rack.ids()).cloned().collect()
}

/// Where files to review go when nobody says otherwise.
pub fn pending(config: &Config) -> PathBuf {
    let usual = || std::path::absolute(PENDING).unwrap_or_else(|_| PENDING.into());
    config.export_directory.clone().unwrap_or_else(usual)
}

fn permitted(caller: &Caller) -> Result<(), Box<Error>> {
    let granted = [SCOPE, ADMIN_SCOPE].iter().any(|scope| {
        let scope = Scope::parse(scope);
        scope.is_ok_and(|scope| caller.scopes.covers(&scope))
    });
    if caller.principal == Principal::Local || granted {
        return Ok(());
    }
    let said = format!("This needs the scope `{SCOPE}`.");
    Err(Error::new(Code::ScopeRequired, said).suggest("Ask for a key that has it"))
}

fn text<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, Box<Error>> {
    arguments[name]
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| {
            let said = format!("`{name}` must be a text that is not empty.");
            Error::new(Code::ToolValidationError, said)
        })
}

/// A review that cannot go on, as a caller is told.
pub fn failure(error: &ReviewError) -> Box<Error> {
    let code = match error {
        ReviewError::Waits { .. } | ReviewError::Refused { .. } => Code::ApprovalRequired,
        ReviewError::Unknown(_) => Code::ServerNotFound,
        ReviewError::Discovery(_) => Code::ServerConnectionError,
        ReviewError::Store(error) => return error.into(),
        _ => Code::ToolExecutionError,
    };
    Error::new(code, error.to_string())
}

async fn introspect(
    engine: &Arc<Engine>,
    desk: &Desk,
    arguments: &Value,
) -> Result<Value, Box<Error>> {
    let server = server(arguments, &desk.config)?;
    let service = engine.discovery().ok_or_else(|| {
        Error::new(
            Code::ToolExecutionError,
            "Servers cannot be asked from here.",
        )
    })?;
    let subject = Subject {
        server,
        directory: pending(&desk.config),
        dialect: Dialect::Document,
    };
    let review = desk
        .introspect(&service, &subject, &known_tools(engine))
        .await
        .map_err(|error| failure(&error))?;
    Ok(json!({
        "server_name": subject.server.name,
        "approval_id": review.introduced.request,
        "status": if review.introduced.server_waits { "pending" } else { "approved" },
        "assessment": review.dossier.assessment,
        "files": review.files,
        "expires_ms": review.expires_ms,
        "next": format!(
            "A person approves it with `toolcrib approve {}`; then call {}.",
            subject.server.name,
            Request::Register.name()
        ),
    }))
}

/// The server at an address that a caller named: remote, with no credentials.
fn server(arguments: &Value, config: &Config) -> Result<Server, Box<Error>> {
    let invalid = |said: String| Error::new(Code::ToolValidationError, said);
    let url = text(arguments, "server_url")?;
    let parsed = reqwest::Url::parse(url).map_err(|_| {
        invalid("`server_url` must be an address that begins with https://.".to_owned())
    })?;
    let host = parsed.host_str().unwrap_or_default();
    let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    if parsed.scheme() != "https" && !(parsed.scheme() == "http" && is_here) {
        return Err(invalid("`server_url` must begin with https://.".to_owned()));
    }
    let label = host.rsplit('.').nth(1).unwrap_or(host);
    let name = match arguments["server_name"].as_str() {
        Some(name) => name.to_owned(),
        None => short_name(label),
    };
    legal_name(&name).map_err(|reason| invalid(format!("The name {name:?} {reason}.")))?;
    let taken = config.servers.iter().find(|known| known.name == name);
    if taken.is_some_and(|known| known.origin.kind != registered::KIND) {
        return Err(invalid(format!(
            "There is a server named {name} already; choose another name."
        )));
    }
    let remote = Remote {
        url: Template::literal(url),
        headers: std::iter::empty().collect(),
    };
    let origin = Origin {
        kind: registered::KIND.to_owned(),
        path: "introspect".into(),
        line: 0,
    };
    Ok(Server::new(name, Transport::Http(remote), origin))
}
