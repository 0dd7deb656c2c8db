//! The profile `discovery`: five tools to find, look at and run every other.
//!
//! It reads what the five are called with, asks the engine, and tells the answer; what the texts look
//! like and cost is settled in [`toolcrib_core::discovery`].

pub mod input;
mod told;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use toolcrib_core::discovery::details::{self, Standing};
use toolcrib_core::discovery::{definitions, listing, search};
use toolcrib_core::policy::{Caller, Visibility};
use toolcrib_core::rpc::{self, Fault};
use toolcrib_core::schema::signature;
use toolcrib_core::{Code, ToolId};

use self::input::{Bad, Input};
use super::bridge;
use super::fields::{Fields, raw};
use super::service::{Outcome, not_offered};
use super::surface::{Change, Context, Surface};
use crate::engine::Engine;
use crate::engine::answer::{self, Reply};
use crate::engine::ask::{Execution, Listing, Search};
use crate::engine::error::Error;
use crate::engine::rack::Rack;
use crate::engine::upstream::Health;

/// The five tools over an engine.
pub struct Discovery {
    engine: Arc<Engine>,
    changes: broadcast::Sender<Change>,
}

/// Why one of the five tools gave no answer.
enum Refusal {
    Bad(Bad),
    Engine(Box<Error>),
}

impl From<Bad> for Refusal {
    fn from(bad: Bad) -> Self {
        Self::Bad(bad)
    }
}

impl From<Box<Error>> for Refusal {
    fn from(error: Box<Error>) -> Self {
        Self::Engine(error)
    }
}

impl Discovery {
    /// The five tools over an engine.
    pub fn new(engine: Arc<Engine>) -> Arc<Self> {
        let changes = broadcast::channel(1).0;
        Arc::new(Self { engine, changes })
    }

    /// The definitions of the five, with a line on what this caller can find.
    pub fn tools(&self, caller: &Caller) -> Vec<Value> {
        let snapshot = self.engine.snapshot();
        let racks = snapshot
            .racks()
            .filter(|rack| rack.supplier.enabled && self.engine.shows(caller, &rack.supplier.name));
        let racks: Vec<&Arc<Rack>> = racks.collect();
        if !racks.iter().all(|rack| rack.is_known()) {
            // What is known so far is no measure of what there is.
            let names: Vec<&str> = racks.iter().map(|rack| &*rack.supplier.name).collect();
            return definitions::definitions(&definitions::digest_of_servers(&names));
        }
        let mut subjects = Vec::new();
        for rack in &racks {
            for mark in rack.marks() {
                if mark.visible(caller) == Visibility::Shown {
                    subjects.push(mark.domain().unwrap_or(&rack.supplier.name));
                }
            }
        }
        let (servers, tools) = (racks.len(), subjects.len());
        let digest = definitions::digest(servers, tools, subjects.into_iter());
        definitions::definitions(&digest)
    }

    async fn call(&self, params: Option<&RawValue>, context: &Context) -> Outcome {
        let fields = params.and_then(Fields::of);
        let name = fields.as_ref().and_then(|fields| fields.text("name"));
        let Some(name) = name else {
            return Err(Fault::new(
                rpc::INVALID_PARAMS,
                "`name` must be the name of a tool",
            ));
        };
        let arguments = fields.as_ref().and_then(|fields| fields.get("arguments"));
        let answer = match name.as_str() {
            "list_mcp_servers" => self.list_servers(arguments, context).await,
            "search_tools" => self.search(arguments, context).await,
            "list_tools" => self.list_tools(arguments, context).await,
            "get_tool_details" => self.details(arguments, context).await,
            "execute_tool" => self.execute(arguments, context).await,
            other => return Err(self.unknown(other, context)),
        };
        match answer {
            Ok(result) => Ok(result),
            Err(Refusal::Engine(error)) => Ok(told::failure(&error)),
            Err(Refusal::Bad(bad)) => input::refuse(bad, context, told::bad),
        }
    }

    /// None of the five has this name. What it may have meant is told, with how that is run.
    fn unknown(&self, name: &str, context: &Context) -> Fault {
        let mut fault = input::unknown_tool(name, &definitions::NAMES, context);
        let near = self.engine.near_names(&context.caller, name);
        let meant = near.iter().map(|entry| told::near(entry));
        let meant: Vec<Value> = meant.collect();
        let Some(first) = near.first() else {
            return fault;
        };
        let (id, schema) = (&first.tool.id, &first.tool.input_schema);
        let (signature, server) = (signature(id.tool(), schema), id.server());
        let how = format!("; execute_tool runs {signature} of the server {server}");
        fault.message.push_str(&how);
        fault.data = Some(raw(
            &json!({ "code": Code::ToolNotFound, "nearest": meant }),
        ));
        fault
    }

    async fn list_servers(
        &self,
        arguments: Option<&RawValue>,
        context: &Context,
    ) -> Result<Box<RawValue>, Refusal> {
        let input = Input::read(arguments, &["cursor"])?;
        let cursor = input.text("cursor")?;
        let servers = self.engine.list_servers(&context.caller).await?;
        let rows = servers.servers.iter().map(|row| listing::ServerRow {
            name: row.name.clone(),
            description: row.description.clone(),
            tool_count: row.tool_count,
            enabled_count: row.enabled_count,
            status: status(row),
            reason: trouble(row).cloned(),
            since: trouble(row).and_then(|_| row.standing.since()),
        });
        let unheard = (servers.pending_servers, servers.failed_servers);
        let page = listing::servers(rows.collect(), unheard, cursor.as_deref());
        Ok(told::text(&page.map_err(cursor_problem)?))
    }

    async fn search(
        &self,
        arguments: Option<&RawValue>,
        context: &Context,
    ) -> Result<Box<RawValue>, Refusal> {
        let input = Input::read(arguments, &["query", "server", "limit", "pattern"])?;
        let limit = input.limit()?;
        let wish = Search {
            query: input.required("query")?,
            server: input.text("server")?,
            pattern: input.text("pattern")?,
            limit,
            ..Search::default()
        };
        let found = self.engine.search_tools(&context.caller, wish).await?;
        let hits = found.hits.iter().map(|hit| search::Hit {
            tool: &hit.entry.tool,
            relevance: hit.relevance,
        });
        let answer = search::answer(&search::Found {
            hits: hits.collect(),
            total: found.total,
            pending_servers: found.pending_servers,
            failed_servers: found.failed_servers,
            limited: limit.is_some(),
        });
        Ok(told::text(&answer))
    }

    async fn list_tools(
        &self,
        arguments: Option<&RawValue>,
        context: &Context,
    ) -> Result<Box<RawValue>, Refusal> {
        let input = Input::read(
            arguments,
            &["server", "includeDisabled", "cursor", "pattern"],
        )?;
        let cursor = input.text("cursor")?;
        let wish = Listing {
            server: input.required("server")?,
            include_disabled: input.flag("includeDisabled")?,
            pattern: input.text("pattern")?,
            ..Listing::default()
        };
        let page = self.engine.list_tools(&context.caller, wish).await?;
        let tools: Vec<_> = page.tools.iter().map(|entry| &*entry.tool).collect();
        let text = listing::tools(&page.server, &tools, cursor.as_deref());
        Ok(told::text(&text.map_err(cursor_problem)?))
    }

    async fn details(
        &self,
        arguments: Option<&RawValue>,
        context: &Context,
    ) -> Result<Box<RawValue>, Refusal> {
        let input = Input::read(arguments, &["server", "tool", "full"])?;
        let (server, tool) = addressed(&self.engine, &input)?;
        let full = input.flag("full")?;
        let found = self
            .engine
            .tool_details(&context.caller, &server, &tool)
            .await?;
        let standing = Standing {
            disabled: found.visibility == Visibility::Disabled,
            needs: Vec::new(),
        };
        let tool = &found.entry.tool;
        Ok(told::text(&if full {
            details::verbatim(tool, &standing)
        } else {
            details::details(tool, &standing)
        }))
    }

    async fn execute(
        &self,
        arguments: Option<&RawValue>,
        context: &Context,
    ) -> Result<Box<RawValue>, Refusal> {
        let input = Input::read(arguments, &["server", "tool", "arguments", "options"])?;
        let (server, tool) = addressed(&self.engine, &input)?;
        let options = input.options()?;
        // The tool's own arguments go on as they were written.
        let given = arguments.and_then(Fields::of);
        let given = given.as_ref().and_then(|fields| fields.get("arguments"));
        let given = given.filter(|given| given.get() != "null");
        if given.is_some_and(|given| !given.get().trim_start().starts_with('{')) {
            return Err(Bad::new("arguments", "must be an object").into());
        }
        let execution = Execution {
            options,
            ..bridge::execution(&server, &tool, given, context)
        };
        let reply = self.engine.execute(&context.caller, execution).await?;
        Ok(told_reply(&reply, &server, &tool))
    }
}

/// The server and the tool that are meant. An id in `tool` says both: where the server is not given, and where it is
/// the same one and has no tool that is called so.
fn addressed(engine: &Engine, input: &Input) -> Result<(String, String), Bad> {
    let (server, tool) = (input.text("server")?, input.text("tool")?);
    let Some(id) = tool.as_deref().and_then(ToolId::parse) else {
        return Ok((input.required("server")?, input.required("tool")?));
    };
    let own = |server: &String| {
        let snapshot = engine.snapshot();
        let rack = snapshot.rack(server);
        let tool = tool.as_deref().unwrap_or_default();
        server != id.server() || rack.is_some_and(|rack| rack.find(tool).is_some())
    };
    match server {
        Some(server) if own(&server) => Ok((server, input.required("tool")?)),
        _ => Ok((id.server().to_owned(), id.tool().to_owned())),
    }
}

fn told_reply(reply: &Reply, server: &str, tool: &str) -> Box<RawValue> {
    let id = reply.entry.as_ref().map(|entry| &entry.tool.id);
    let server = id.map_or(server, |id| id.server());
    let tool = id.map_or(tool, |id| id.tool());
    match &reply.outcome {
        answer::Outcome::Answered(answered) => told::answered(answered, server, tool),
        answer::Outcome::Rehearsed(steps) => {
            let checks = json!({"dry_run": true, "checks": steps});
            told::text(&json!({"success": true, "result": checks}).to_string())
        }
    }
}

fn cursor_problem(bad: listing::BadCursor) -> Bad {
    Bad {
        field: "cursor".to_owned(),
        message: format!("{bad}."),
    }
}

/// Why a server cannot be used, where it cannot: only the person here is told.
fn trouble(row: &answer::ServerRow) -> Option<&String> {
    let fails = row.enabled && row.standing.health == Health::Error;
    row.standing.reason.as_ref().filter(|_| fails)
}

/// How things stand with a server, in one word.
fn status(row: &answer::ServerRow) -> String {
    if !row.enabled {
        return "disabled".to_owned();
    }
    let health = json!(row.standing.health);
    health.as_str().unwrap_or("disconnected").to_owned()
}

impl Surface for Discovery {
    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match method {
                "tools/list" => Ok(raw(&json!({"tools": self.tools(&context.caller)}))),
                "tools/call" => self.call(params, context).await,
                other => Err(not_offered(other)),
            }
        })
    }

    fn changes(&self, _caller: &Caller) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}
