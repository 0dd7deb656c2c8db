//! What waits for a person, over REST: tools, servers and confirmations alike; and what puts servers
//! before a person and carries out what they said.

use serde_json::{Value, json};
use toolcrib_core::policy::Principal;
use toolcrib_core::policy::confirmation;
use toolcrib_core::policy::suspicion::Neighbours;
use toolcrib_core::rtfs::Dialect;
use toolcrib_core::trace::SpanContext;
use toolcrib_core::{Code, nearest};
use toolcrib_store::approval::{Shown, State, Verdict};

use super::problem::Problem;
use super::{Asked, Counter, Told, json};
use crate::capability::export::{Export, ExportError};
use crate::capability::question;
use crate::capability::request::{self, Request};
use crate::engine::error::Error;

impl Counter {
    pub(super) async fn approvals(&self, asked: &Asked) -> Told {
        let state = (!asked.flag("all")).then_some(State::Pending);
        let now_ms = self.door.clock.now_ms();
        let requests = self.engine().store().approvals(state, now_ms).await?;
        Ok(shown(requests.iter().map(question::request), Vec::new()))
    }

    /// What waits under a name, in full.
    pub(super) async fn approval(&self, asked: &Asked) -> Told {
        let neighbours = Neighbours::new(&request::known_tools(self.engine()));
        let now_ms = self.door.clock.now_ms();
        for target in question::targets(asked.part("target")) {
            let store = self.engine().store();
            let found = store.show_approvals(&target, now_ms).await?;
            if !found.is_empty() {
                let whole = found.iter().map(|one| question::whole(one, &neighbours));
                return Ok(shown(whole, Vec::new()));
            }
        }
        Err(nothing())
    }

    /// Settles what waits, and carries out what an approval brings about. Whoever does not show who
    /// they are cannot: a person's word is worth nothing where a program on the same machine can give
    /// it.
    pub(super) async fn settle(&self, asked: &Asked) -> Told {
        if matches!(
            asked.caller.principal,
            Principal::Loopback | Principal::Anonymous
        ) {
            return Err(Problem::plain(
                Code::ScopeRequired,
                "Approvals are settled with an API key or a token, or with `toolcrib approvals`.",
            ));
        }
        let body: Value = serde_json::from_str(asked.object(None)?.get()).unwrap_or_default();
        let (verdict, all_the_same) = verdict(&body)?;
        let desk = request::desk(self.engine());
        let by = asked.caller.principal.to_string();
        for target in question::targets(asked.part("target")) {
            let looked = desk.look(&target).await;
            let looked = looked.map_err(|error| request::failure(&error))?;
            for shown in looked.shown() {
                if let Some(asked_by) = &shown.request.caller {
                    confirmation::ensure_another(&asked.caller, asked_by)
                        .map_err(|error| Box::new(Error::from(error)))?;
                }
            }
            if verdict == Verdict::Approve && !all_the_same {
                self.ensure_meant(looked.shown())?;
            }
            let settled = desk.settle(&looked, verdict, &by).await;
            let settled = settled.map_err(|error| request::failure(&error))?;
            if !settled.requests.is_empty() {
                let promoted = settled.promoted.iter().map(question::promoted).collect();
                let requests = settled.requests.iter().map(question::request);
                return Ok(shown(requests, promoted));
            }
        }
        Err(nothing())
    }

    /// Tools that show signs of deceit are not approved in passing.
    fn ensure_meant(&self, shown: &[Shown]) -> Result<(), Problem> {
        let neighbours = Neighbours::new(&request::known_tools(self.engine()));
        let odd = question::odd(shown, &neighbours);
        if odd.is_empty() {
            return Ok(());
        }
        let why = format!("{} shows signs of deceit.", odd.join(", "));
        let how = "Read its flags, and send {\"verdict\": \"approve\", \"yes\": true} to approve all the same";
        let error = Error::new(Code::ConfirmationRequired, why).suggest(how);
        Err(Problem::of(&error, None))
    }

    /// Looks at an unknown server.
    pub(super) async fn introspect(&self, asked: &Asked) -> Told {
        let arguments = fields(asked, &["server_url", "server_name"])?;
        self.fulfil(Request::Introspect, asked, &arguments).await
    }

    /// Registers a server that a person approved.
    pub(super) async fn register(&self, asked: &Asked) -> Told {
        let arguments = json!({ "server_name": asked.part("server") });
        self.fulfil(Request::Register, asked, &arguments).await
    }

    async fn fulfil(&self, request: Request, asked: &Asked, arguments: &Value) -> Told {
        let trace = asked.trace.as_ref().map(SpanContext::trace_id);
        let trace = trace.as_deref();
        let told = request.fulfil(self.engine(), &asked.caller, arguments, trace);
        Ok(json(&full(told.await?)))
    }

    /// Writes the tools of a server as capability files.
    pub(super) async fn export(&self, asked: &Asked) -> Told {
        let wanted = fields(asked, &["introspect_outputs", "dialect"])?;
        let invalid = |why: &str| Problem::plain(Code::ValidationError, why);
        let introspect_outputs = match &wanted["introspect_outputs"] {
            Value::Null => false,
            Value::Bool(wanted) => *wanted,
            _ => return Err(invalid("`introspect_outputs` must be true or false.")),
        };
        let dialect = match &wanted["dialect"] {
            Value::Null => Dialect::Document,
            word if word == "doc" => Dialect::Document,
            word if word == "ccos" => Dialect::Ccos,
            _ => return Err(invalid("`dialect` must be doc or ccos.")),
        };
        let config = self.engine().config();
        let name = asked.part("server");
        let server = config.servers.iter().find(|server| server.name == name);
        let Some(server) = server else {
            let known = config.servers.iter().map(|server| server.name.as_str());
            let hint = match nearest::nearest(name, known, 1).first() {
                Some(near) => format!("; did you mean {near}?"),
                None => String::new(),
            };
            let why = format!("There is no MCP server of this name{hint}.");
            return Err(Problem::plain(Code::ServerNotFound, why));
        };
        let directory = request::pending(&config);
        let export = Export {
            directory: &directory,
            dialect,
            introspect_outputs,
        };
        let caller = (*asked.caller).clone();
        let exported = export.run(self.engine(), caller, server).await;
        let exported = exported.map_err(|error| match error {
            ExportError::Refused(error) => Problem::from(error),
            ExportError::Store(error) => Problem::from(error),
            error @ ExportError::Files { .. } => {
                Problem::plain(Code::ToolExecutionError, error.to_string())
            }
        })?;
        let mut told = exported.told();
        told["directory"] = json!(directory);
        Ok(json(&told))
    }
}

/// What a person says, and whether they say it whatever is odd about it.
fn verdict(body: &Value) -> Result<(Verdict, bool), Problem> {
    let wrong = || {
        let why = "The body must be {\"verdict\": \"approve\"} or {\"verdict\": \"reject\"}.";
        Problem::plain(Code::ValidationError, why)
    };
    let fields = body.as_object().ok_or_else(wrong)?;
    let all_the_same = match fields.get("yes") {
        None => false,
        Some(yes) => yes.as_bool().ok_or_else(wrong)?,
    };
    let known = ["verdict", "yes"];
    if fields.keys().any(|name| !known.contains(&name.as_str())) {
        return Err(wrong());
    }
    match fields.get("verdict").and_then(Value::as_str) {
        Some("approve") => Ok((Verdict::Approve, all_the_same)),
        Some("reject") => Ok((Verdict::Reject, false)),
        _ => Err(wrong()),
    }
}

fn nothing() -> Problem {
    let error = Error::new(Code::ApprovalNotFound, "Nothing waits under this name.");
    let error = error.suggest("GET /api/v1/approvals lists what waits, with its ids");
    Problem::of(&error, None)
}

/// The body, which must be an object with no field but these.
fn fields(asked: &Asked, known: &[&str]) -> Result<Value, Problem> {
    let body = asked.object(Some("{}"))?;
    let unclear = || Problem::plain(Code::ValidationError, "The body cannot be read.");
    let body: Value = serde_json::from_str(body.get()).map_err(|_| unclear())?;
    let fields = body.as_object().ok_or_else(unclear)?;
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(_) => {
            let why = format!("The body takes {} and nothing else.", known.join(", "));
            Err(Problem::plain(Code::ValidationError, why))
        }
        None => Ok(body),
    }
}

/// An object without the fields that hold nothing.
fn full(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
    }
    value
}

fn shown(requests: impl Iterator<Item = Value>, promoted: Vec<Value>) -> axum::response::Response {
    let requests: Vec<Value> = requests.map(full).collect();
    let mut told = json!({ "approvals": requests });
    if !promoted.is_empty() {
        told["promoted"] = promoted.into();
    }
    json(&told)
}
