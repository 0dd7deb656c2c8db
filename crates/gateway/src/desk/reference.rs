//! Short help on an adapter, a tool or a concept of this gateway, with links to the provider's own.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::Code;
use toolcrib_core::gateway::{reference as help, steps};
use toolcrib_core::limits::{REFERENCE_ITEMS_MAX, REFERENCE_RESPONSE_BYTES_MAX};
use toolcrib_core::policy::{Caller, Risk};
use toolcrib_core::schema::{self, signature};
use toolcrib_upstream::rest::Operation;
use toolcrib_upstream::rest::security::Scheme;

use super::adapters::runnable;
use super::facts::{Facts, spoken};
use super::intent::constraints;
use super::{Desk, Reference};
use crate::engine::answer::ServerRow;
use crate::engine::ask::Listing;
use crate::engine::error::{Error, Result};
use crate::engine::snapshot::Entry;
use crate::telling::cut_name;

/// Longest description in a reference.
const ABOUT_CHARS: usize = 300;

impl Desk {
    /// What there is to know about a topic.
    pub async fn reference(&self, caller: &Caller, wish: Reference) -> Result<Value> {
        let topic = wish.topic.trim();
        let mut answer = match self.known_adapter(caller, topic).await? {
            Some(row) => self.of_adapter(caller, &row).await,
            None => match topic.split_once(':') {
                Some((server, tool)) => self.of_tool(caller, server, tool).await?,
                None => help::concept(topic).ok_or_else(|| unknown(topic))?,
            },
        };
        answer["next_step"] = steps::TRY.into();
        wish.section.narrow(&mut answer);
        Ok(answer)
    }

    async fn known_adapter(&self, caller: &Caller, topic: &str) -> Result<Option<ServerRow>> {
        let servers = self.engine.list_servers(caller).await?;
        let snapshot = self.engine.snapshot();
        let named = snapshot
            .rack(topic)
            .map(|rack| Arc::clone(&rack.supplier.name));
        let mut rows = servers.servers.into_iter();
        Ok(rows.find(|row| named.as_deref() == Some(row.name.as_str())))
    }

    async fn of_adapter(&self, caller: &Caller, row: &ServerRow) -> Value {
        let listing = Listing {
            server: row.name.clone(),
            ..Listing::default()
        };
        // An adapter that cannot be asked still has an overview.
        let _ = self.engine.list_tools(caller, listing).await;
        let snapshot = self.engine.snapshot();
        let facts = self.facts(&row.name, &snapshot);
        let tools = runnable(caller, &snapshot, &row.name);
        let mut overview = json!({"name": facts.title(row.title.as_deref())});
        let about = facts.about(&row.description);
        if !about.is_empty() {
            overview["description"] = short(&about);
        }
        if let Some(link) = documentation(&facts) {
            overview["documentation"] = link.into();
        }
        let examples: Vec<Value> = self.beginnings(&tools, &facts);
        let mut answer = json!({
            "topic": row.name,
            "type": "adapter",
            "overview": overview,
            "authentication": authentication(&facts),
            "examples": examples,
            "common_errors": adapter_errors(&facts),
            "best_practices": practices(tools.iter().map(|entry| entry.metadata.risk).max()),
        });
        answer["webhooks"] = webhooks(documentation(&facts).as_deref());
        answer
    }

    /// Examples of the tools that are safest to begin with.
    fn beginnings(&self, tools: &[Arc<Entry>], facts: &Facts) -> Vec<Value> {
        let mut sorted: Vec<&Arc<Entry>> = tools.iter().collect();
        sorted.sort_by_key(|entry| entry.metadata.risk);
        let examples = sorted.into_iter().filter_map(|entry| {
            let operation = operation(facts, entry);
            self.worked(entry, operation)
        });
        examples.take(REFERENCE_ITEMS_MAX).collect()
    }

    /// An example of a call, with its answer where the description says what it looks like.
    fn worked(&self, entry: &Entry, operation: Option<&Operation>) -> Option<Value> {
        let request = self.example(entry)?;
        let tool = &entry.tool;
        let title = tool.title.clone().unwrap_or_else(|| spoken(tool.id.tool()));
        let id = self.engine.snapshot().canonical_id(entry);
        let mut example = json!({"title": title, "tool_id": id, "request": request});
        let output = output(entry, operation);
        let response = output.and_then(|schema| schema::sample(&schema));
        if let Some(response) =
            response.filter(|r| r.to_string().len() <= REFERENCE_RESPONSE_BYTES_MAX)
        {
            example["response"] = response;
        }
        Some(example)
    }

    /// The schema of a tool's answer, where one is known.
    pub fn output_schema(&self, entry: &Entry) -> Option<Value> {
        let facts = self.facts(entry.tool.id.server(), &self.engine.snapshot());
        output(entry, operation(&facts, entry))
    }

    async fn of_tool(&self, caller: &Caller, server: &str, tool: &str) -> Result<Value> {
        let details = self.engine.tool_details(caller, server, tool).await?;
        let entry = &details.entry;
        let snapshot = self.engine.snapshot();
        let facts = self.facts(entry.tool.id.server(), &snapshot);
        let operation = operation(&facts, entry);
        let tool = &entry.tool;
        let mut overview = json!({
            "name": tool.title.clone().unwrap_or_else(|| spoken(tool.id.tool())),
            "description": short(&tool.description),
            "signature": signature(tool.id.tool(), &tool.input_schema),
            "constraints": constraints(caller, entry),
        });
        if let (Some(method), Some(path)) = (&tool.method, &tool.path) {
            overview["request"] = format!("{method} {path}").into();
        }
        let link = operation.and_then(|operation| operation.documentation.clone());
        let link = link.or_else(|| documentation(&facts));
        if let Some(link) = &link {
            overview["documentation"] = link.as_str().into();
        }
        let scopes: Vec<_> = entry.metadata.required_scopes.iter().collect();
        overview["required_scopes"] = json!(scopes);
        let errors: Vec<Value> = match operation {
            Some(operation) => documented(operation, variable(&facts)),
            None => [Code::ToolValidationError, Code::ToolExecutionError]
                .map(help::error)
                .into(),
        };
        Ok(json!({
            "topic": snapshot.canonical_id(entry),
            "type": "tool",
            "overview": overview,
            "authentication": authentication(&facts),
            "examples": self.worked(entry, operation).into_iter().collect::<Vec<_>>(),
            "common_errors": errors,
            "webhooks": webhooks(link.as_deref()),
            "best_practices": practices(Some(entry.metadata.risk)),
        }))
    }
}

/// The schema of a tool's answer, where one is known.
fn output(entry: &Entry, operation: Option<&Operation>) -> Option<Value> {
    match operation {
        Some(operation) => operation.output_schema(),
        None => entry.tool.output_schema.as_deref().cloned(),
    }
}

fn unknown(topic: &str) -> Box<Error> {
    let known: Vec<&str> = help::concepts().collect();
    let shown = cut_name(topic);
    Error::new(
        Code::ValidationError,
        format!("There is no adapter, tool or concept `{shown}`."),
    )
    .suggest(format!(
        "Ask about an adapter of gateway.adapters, a tool_id, or one of {}",
        known.join(", ")
    ))
}

fn operation<'a>(facts: &'a Facts, entry: &Entry) -> Option<&'a Operation> {
    let api = facts.described()?.api();
    api.operation(entry.tool.id.tool()).map(Arc::as_ref)
}

fn short(text: &str) -> Value {
    let (short, _) = toolcrib_core::discovery::prose::shorten(text, ABOUT_CHARS);
    short.into_owned().into()
}

fn documentation(facts: &Facts) -> Option<String> {
    let configured = facts.configured().and_then(|c| c.documentation.clone());
    configured.or_else(|| facts.described()?.api().documentation.clone())
}

/// The environment variable that holds an adapter's secret.
fn variable(facts: &Facts) -> Option<&str> {
    facts.configured()?.auth.as_ref()?.env.as_deref()
}

/// How the gateway authenticates to an adapter: never with what.
fn authentication(facts: &Facts) -> Value {
    let kind = facts.auth_type();
    let mut told = json!({"type": kind});
    let variable = variable(facts);
    let secret = variable.map_or_else(|| "<secret>".to_owned(), |name| format!("<{name}>"));
    let own_name = facts
        .configured()
        .and_then(|c| c.auth.as_ref()?.name.clone());
    let schemes = facts
        .described()
        .into_iter()
        .flat_map(|a| a.api().schemes.values());
    let mut keys = schemes.filter_map(|scheme| match scheme {
        Scheme::ApiKey { name, spot } => Some((name.clone(), spot.as_str())),
        _ => None,
    });
    match kind {
        "bearer" | "oauth2" => told["header"] = format!("Authorization: Bearer {secret}").into(),
        "basic" => told["header"] = format!("Authorization: Basic {secret}").into(),
        "apikey" => {
            let (name, spot) = keys.next().unwrap_or(("X-API-Key".to_owned(), "header"));
            let name = own_name.unwrap_or(name);
            told[spot] = format!("{name}: {secret}").into();
        }
        _ => {}
    }
    if let Some(name) = variable {
        told["env_var"] = name.into();
    }
    told
}

/// The failures that most operations of an adapter document, with what to do here.
fn adapter_errors(facts: &Facts) -> Vec<Value> {
    let Some(described) = facts.described() else {
        return [
            Code::ServerConnectionError,
            Code::ToolExecutionError,
            Code::ToolExecutionTimeout,
        ]
        .map(help::error)
        .into();
    };
    let mut counts: indexmap::IndexMap<&str, (usize, &str)> = indexmap::IndexMap::new();
    for operation in &described.api().operations {
        for error in &operation.errors {
            let count = counts.entry(&error.status).or_insert((0, &error.meaning));
            count.0 += 1;
        }
    }
    counts.sort_by(|a, (m, _), b, (n, _)| n.cmp(m).then_with(|| a.cmp(b)));
    let most = counts.into_iter().take(REFERENCE_ITEMS_MAX);
    let mut told: Vec<Value> = most
        .map(|(status, (_, meaning))| documented_error(status, meaning, variable(facts)))
        .collect();
    if told.is_empty() {
        told.push(documented_error(
            "401",
            "The credentials are not accepted",
            variable(facts),
        ));
    }
    told
}

fn documented(operation: &Operation, variable: Option<&str>) -> Vec<Value> {
    let errors = operation.errors.iter().take(2 * REFERENCE_ITEMS_MAX);
    errors
        .map(|error| documented_error(&error.status, &error.meaning, variable))
        .collect()
}

fn documented_error(status: &str, meaning: &str, variable: Option<&str>) -> Value {
    json!({"code": status, "meaning": short(meaning), "fix": help::fix(status, variable)})
}

fn webhooks(link: Option<&str>) -> Value {
    let mut told = json!({
        "description": "Toolcrib calls adapters and receives nothing from them; webhooks go to an address of yours.",
    });
    if let Some(link) = link {
        told["documentation"] = link.into();
    }
    told
}

/// How to use tools of up to a risk safely.
fn practices(risk: Option<Risk>) -> Vec<&'static str> {
    let mut told = vec!["Find the tool and its params with gateway.intent first"];
    if risk >= Some(Risk::High) {
        told.push("Use a new options.idempotency_key for each intended effect, and the same one when you try again");
    }
    if risk >= Some(Risk::Destructive) {
        told.push("Ask the user before you confirm; try options.dry_run first");
    }
    told
}
