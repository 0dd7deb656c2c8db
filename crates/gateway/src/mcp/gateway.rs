//! The profile `gateway`: five tools that turn an intent into an action and run it.
//!
//! It reads what the five are called with and hands it to the [`Desk`]; what is found, decided and
//! answered is the same for every door.

pub mod input;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use toolcrib_config::model::settings::Names;
use toolcrib_core::Code;
use toolcrib_core::gateway::definitions::{CATEGORIES, Meta, SECTIONS, Spelling, definitions};
use toolcrib_core::gateway::listing::{Filters, Window};
use toolcrib_core::gateway::reference::Section;
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::{self, Fault};

use super::bridge;
use super::discovery::input::{Bad, Input, refuse, unknown_tool};
use super::fields::{Fields, raw};
use super::service::{Outcome, not_offered};
use super::surface::{Change, Context, Surface};
use crate::desk::{Desk, Reference, Shelf, failure};
use crate::engine::ask::Execution;
use crate::engine::error::Error;
use crate::telling;

/// The five tools over a desk.
pub struct Gateway {
    desk: Arc<Desk>,
    changes: broadcast::Sender<Change>,
}

/// Why one of the five tools gave no answer.
enum Refusal {
    Bad(Bad),
    /// With the id that was asked for, where one was.
    Engine(Box<Error>, Option<String>),
}

impl From<Bad> for Refusal {
    fn from(bad: Bad) -> Self {
        Self::Bad(bad)
    }
}

impl From<Box<Error>> for Refusal {
    fn from(error: Box<Error>) -> Self {
        Self::Engine(error, None)
    }
}

type Told = Result<(Value, Vec<Value>), Refusal>;

impl Gateway {
    /// The five tools over a desk.
    pub fn new(desk: Arc<Desk>) -> Arc<Self> {
        let changes = broadcast::channel(1).0;
        Arc::new(Self { desk, changes })
    }

    /// How names are spelt towards this client. In the stateless era a list does not vary with who
    /// asks.
    fn spelling(&self, context: &Context) -> Spelling {
        match self.desk.config().settings.names {
            Names::Dot => Spelling::Dot,
            Names::Hyphen => Spelling::Hyphen,
            Names::Underscore => Spelling::Underscore,
            Names::Auto if context.revision.is_stateless() => Spelling::Dot,
            Names::Auto => Spelling::for_client(context.client.name()),
        }
    }

    fn tools(&self, context: &Context) -> Vec<Value> {
        let limit = self.desk.config().settings.search.default_limit;
        definitions(self.spelling(context), limit)
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
        let Some(meta) = Meta::of(&name) else {
            let known = Meta::ALL.map(Meta::name);
            return Err(unknown_tool(&name, &known, context));
        };
        let arguments = fields.as_ref().and_then(|fields| fields.get("arguments"));
        let told = match meta {
            Meta::Intent => self.intent(arguments, context).await,
            Meta::Execute => self.execute(arguments, context).await,
            Meta::Adapters => self.adapters(arguments, context).await,
            Meta::Tools => self.list(arguments, context).await,
            Meta::Reference => self.reference(arguments, context).await,
        };
        match told {
            Ok((answer, blocks)) => Ok(said(&answer, blocks, false)),
            Err(Refusal::Engine(error, id)) => {
                Ok(said(&failure(&error, id.as_deref()), Vec::new(), true))
            }
            Err(Refusal::Bad(bad)) => refuse(bad, context, told_bad),
        }
    }

    async fn intent(&self, arguments: Option<&RawValue>, context: &Context) -> Told {
        let intent = input::intent(arguments)?;
        let answer = self.desk.intent(&context.caller, intent).await?;
        Ok((answer, Vec::new()))
    }

    async fn execute(&self, arguments: Option<&RawValue>, context: &Context) -> Told {
        let wish = input::execution(arguments)?;
        let given = wish.params.as_deref();
        let execution = Execution {
            options: wish.options,
            ..bridge::execution(&wish.adapter, &wish.tool, given, context)
        };
        let told = self.desk.execute(&context.caller, execution).await;
        told.map_err(|error| Refusal::Engine(error, Some(wish.id)))
    }

    async fn adapters(&self, arguments: Option<&RawValue>, context: &Context) -> Told {
        let input = Input::read(arguments, &["category", "capability", "country", "cursor"])?;
        let filters = Filters {
            category: input.word("category", &CATEGORIES)?,
            capability: input.text("capability")?,
            country: input.text("country")?,
        };
        let cursor = input.text("cursor")?;
        let answer = self
            .desk
            .adapters(&context.caller, &filters, cursor.as_deref())
            .await?;
        Ok((answer, Vec::new()))
    }

    async fn list(&self, arguments: Option<&RawValue>, context: &Context) -> Told {
        let known = ["adapter", "category", "search", "limit", "offset"];
        let input = Input::read(arguments, &known)?;
        let limit = input.number("limit", u64::from(u32::MAX))?;
        let wish = Shelf {
            adapter: input.required("adapter")?,
            category: input.text("category")?,
            search: input.text("search")?,
            window: Window {
                limit: limit.and_then(|limit| usize::try_from(limit).ok()),
                offset: input.offset("offset")?,
            },
        };
        let answer = self.desk.tools(&context.caller, wish).await?;
        Ok((answer, Vec::new()))
    }

    async fn reference(&self, arguments: Option<&RawValue>, context: &Context) -> Told {
        let input = Input::read(arguments, &["topic", "section"])?;
        let section = input.word("section", &SECTIONS)?;
        let reference = Reference {
            topic: input.required("topic")?,
            section: section
                .and_then(|word| Section::parse(&word))
                .unwrap_or_default(),
        };
        let answer = self.desk.reference(&context.caller, reference).await?;
        Ok((answer, Vec::new()))
    }
}

/// A result of one text and what goes along with it. A result that asks for more input passes as it is.
fn said(answer: &Value, blocks: Vec<Value>, failed: bool) -> Box<RawValue> {
    if answer["resultType"] == "input_required" {
        return raw(answer);
    }
    let first = json!({"type": "text", "text": answer.to_string()});
    let content: Vec<Value> = std::iter::once(first).chain(blocks).collect();
    let failed = failed || answer["success"] == false;
    let mut result = json!({"content": content});
    if failed {
        result["isError"] = true.into();
    }
    raw(&result)
}

/// Wrong parameters of one of the five tools.
fn told_bad(bad: &Bad) -> Box<RawValue> {
    let field = telling::cut_name(&bad.field);
    let message = telling::cut(&bad.message);
    let next = format!("Correct `{field}` and call again");
    let error = json!({"code": Code::ValidationError, "message": message, "field": field});
    let answer = json!({"success": false, "error": error, "next_step": next});
    said(&answer, Vec::new(), true)
}

impl Surface for Gateway {
    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match method {
                "tools/list" => Ok(raw(&json!({"tools": self.tools(context)}))),
                "tools/call" => self.call(params, context).await,
                other => Err(not_offered(other)),
            }
        })
    }

    fn changes(&self, _caller: &Caller) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}
