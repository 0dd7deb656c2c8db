//! The two tools on Toolcrib itself: looking at an unknown server, and registering one that a person
//! approved. They are listed where `capabilities.tools` is on.
//!
//! An agent can ask, never answer: neither tool approves anything. No command is started and no
//! variable is read for it, because both would be the agent's choice.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;
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
use toolcrib_core::rtfs::Dialect;
use toolcrib_core::{Code, ToolId};
use toolcrib_store::audit::{Decision, Outcome, Record};

use super::super::bridge::failure;
use super::super::fields::raw;
use super::super::surface::Context;
use crate::capability::files::PENDING;
use crate::capability::review::{Desk, ReviewError, Subject};
use crate::engine::Engine;
use crate::engine::discovery::offered::short_name;
use crate::engine::error::Error;

/// The scope that a caller other than the local person needs.
const SCOPE: &str = "toolcrib:introspect";

/// A tool on Toolcrib itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// `ccos_introspect_remote_api`
    Introspect,
    /// `ccos_register_server`
    Register,
}

impl Own {
    const ALL: [Self; 2] = [Self::Introspect, Self::Register];

    fn name(self) -> &'static str {
        match self {
            Self::Introspect => "ccos_introspect_remote_api",
            Self::Register => "ccos_register_server",
        }
    }

    /// The tool of a name, where the configuration lists it.
    pub(super) fn named(name: &str, config: &Config) -> Option<Self> {
        let own = Self::ALL.into_iter().find(|own| own.name() == name);
        own.filter(|_| config.settings.capabilities.tools)
    }

    fn definition(self) -> Value {
        match self {
            Self::Introspect => json!({
                "name": self.name(),
                "description": "Ask a remote MCP server which tools it has and put it up for approval by a person. Nothing of it can be run before they approve.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "server_url": {"type": "string", "description": "Address of the server; https, or http on this machine"},
                        "server_name": {"type": "string", "description": "What to call it; from its address unless given"},
                    },
                    "required": ["server_url"],
                    "additionalProperties": false,
                },
                "annotations": {"readOnlyHint": false, "destructiveHint": false, "openWorldHint": true},
            }),
            Self::Register => json!({
                "name": self.name(),
                "description": "Register a server that was introspected and that a person approved, so that its tools can be found and run.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "server_name": {"type": "string", "description": "The name it was introspected under"},
                    },
                    "required": ["server_name"],
                    "additionalProperties": false,
                },
                "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true},
            }),
        }
    }

    /// Runs the tool; like every call, it leaves one record.
    pub(super) async fn call(
        self,
        engine: &Arc<Engine>,
        arguments: Option<&RawValue>,
        context: &Context,
    ) -> Box<RawValue> {
        let arguments = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let arguments: Value = arguments.unwrap_or_else(|| json!({}));
        let outcome = match permitted(&context.caller) {
            Ok(()) => self.run(engine, &arguments).await,
            Err(error) => Err(error),
        };
        if let Err(error) = self.record(engine, &arguments, context, &outcome).await {
            return failure(&error);
        }
        match outcome {
            Ok(said) => raw(&json!({
                "content": [{"type": "text", "text": said.to_string()}],
                "structuredContent": said,
            })),
            Err(error) => failure(&error),
        }
    }

    async fn run(self, engine: &Arc<Engine>, arguments: &Value) -> Result<Value, Box<Error>> {
        let (store, clock) = (engine.store().clone(), engine.clock().clone());
        let desk = Desk::new(store, clock, engine.config());
        match self {
            Self::Introspect => introspect(engine, &desk, arguments).await,
            Self::Register => {
                let server = text(arguments, "server_name")?;
                let promoted = desk
                    .register_server(server)
                    .await
                    .map_err(|error| refused(&error))?;
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
        arguments: &Value,
        context: &Context,
        outcome: &Result<Value, Box<Error>>,
    ) -> Result<(), Box<Error>> {
        let now_ms = engine.clock().now_ms();
        let code = outcome.as_ref().err().map(|error| error.code);
        let is_refusal = matches!(code, Some(Code::ScopeRequired | Code::ApprovalRequired));
        let record = Record {
            request_id: engine.clock().request_id(now_ms).to_string(),
            timestamp_ms: now_ms,
            actor_id: context.caller.principal.to_string(),
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
            trace_id: context.trace.parent.clone(),
        };
        let appended = engine.store().record(record).await;
        appended.map_err(|error| Error::new(Code::AuditUnavailable, error.to_string()))
    }
}

/// The definitions of the tools, where the configuration lists them.
pub(super) fn definitions(config: &Config) -> Vec<Box<RawValue>> {
    if !config.settings.capabilities.tools {
        return Vec::new();
    }
    Own::ALL.iter().map(|own| raw(&own.definition())).collect()
}

fn permitted(caller: &Caller) -> Result<(), Box<Error>> {
    let granted = Scope::parse(SCOPE).is_ok_and(|scope| caller.scopes.covers(&scope));
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

fn refused(error: &ReviewError) -> Box<Error> {
    let code = match error {
        ReviewError::Waits { .. } | ReviewError::Refused { .. } => Code::ApprovalRequired,
        ReviewError::Unknown(_) => Code::ServerNotFound,
        ReviewError::Discovery(_) => Code::ServerConnectionError,
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
    let snapshot = engine.snapshot();
    let racks = snapshot.racks();
    let known: Vec<ToolId> = racks
        .flat_map(|rack| rack.entries().iter().map(|entry| entry.tool.id.clone()))
        .collect();
    let named = desk
        .config
        .settings
        .capabilities
        .export_directory
        .as_deref();
    let directory = named.map_or_else(|| PathBuf::from(PENDING), PathBuf::from);
    let subject = Subject {
        server,
        directory: absolute(&directory),
        dialect: Dialect::Document,
    };
    let review = desk
        .introspect(&service, &subject, &known)
        .await
        .map_err(|error| refused(&error))?;
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
            Own::Register.name()
        ),
    }))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The server at an address that an agent named: remote, with no credentials.
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
