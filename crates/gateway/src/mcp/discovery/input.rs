//! What the five tools are called with, read exactly: whatever is wrong is named by its field.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolcrib_core::canon::{StrictError, parse_strict};
use toolcrib_core::limits::{CALL_TIMEOUT_MS_ASKED_MAX, SEARCH_LIMIT_MAX};
use toolcrib_core::nearest::nearest;
use toolcrib_core::rpc::{self, Fault};

use crate::engine::ask::CallOptions;
use crate::mcp::fields::{Fields, Indistinct, raw};
use crate::mcp::service::Outcome;
use crate::mcp::surface::Context;

/// The fields whose text goes on as it was written: what is in it is the tool's concern.
const UNREAD: [&str; 2] = ["arguments", "params"];

/// A parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Bad {
    /// Which.
    pub field: String,
    /// One sentence.
    pub message: String,
}

impl Bad {
    /// A field and what is wrong with it.
    pub fn new(field: &str, problem: &str) -> Self {
        Self {
            field: field.to_owned(),
            message: format!("`{field}` {problem}."),
        }
    }
}

/// The parameters of one call of one of the five tools.
#[derive(Debug)]
pub struct Input {
    fields: Map<String, Value>,
    inside: &'static str,
}

impl Input {
    /// Reads `arguments` of a call; absent means empty. Only the `known` names may occur, each once.
    /// The arguments of the tool that is to be run are not read.
    pub fn read(arguments: Option<&RawValue>, known: &[&str]) -> Result<Self, Bad> {
        let written = match arguments.filter(|given| given.get() != "null") {
            None => Fields::default(),
            Some(given) => Fields::distinct(given).map_err(|problem| match problem {
                Indistinct::NoObject => Bad::new("arguments", "must be an object"),
                Indistinct::Twice(name) => Bad::new(&shown(&name), "is given twice; keep one"),
            })?,
        };
        let mut fields = Map::new();
        for (name, text) in written.iter() {
            let value = if UNREAD.contains(&name) && known.contains(&name) {
                Value::Null
            } else {
                parse_strict(text.get()).map_err(|error| unusable(&shown(name), &error))?
            };
            fields.insert(name.to_owned(), value);
        }
        Self::of(Value::Object(fields), "", known)
    }

    /// The fields of an object inside a call, whatever their names.
    pub fn inside(fields: Map<String, Value>, inside: &'static str) -> Self {
        Self { fields, inside }
    }

    fn of(value: Value, inside: &'static str, known: &[&str]) -> Result<Self, Bad> {
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            _ => return Err(Bad::new(inside, "must be an object")),
        };
        let input = Self { fields, inside };
        if let Some(name) = input.fields.keys().find(|n| !known.contains(&n.as_str())) {
            let near = nearest(name, known.iter().copied(), 1);
            let problem = match near.first() {
                Some(near) => format!("is not known; did you mean `{near}`?"),
                None if known.is_empty() => "is not known; there are no parameters".to_owned(),
                None => format!("is not known; known are {}", known.join(", ")),
            };
            let mut bad = Bad::new(&input.path(&shown(name)), &problem);
            bad.message = bad.message.replace("?.", "?");
            return Err(bad);
        }
        Ok(input)
    }

    fn path(&self, name: &str) -> String {
        match self.inside {
            "" => name.to_owned(),
            inside => format!("{inside}.{name}"),
        }
    }

    fn given(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// A text that may be absent.
    pub fn text(&self, name: &str) -> Result<Option<String>, Bad> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Bad::new(&self.path(name), "must be a string")),
        }
    }

    /// A text that must be there and say something.
    pub fn required(&self, name: &str) -> Result<String, Bad> {
        match self.text(name)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(Bad::new(&self.path(name), "must not be empty")),
            None => Err(Bad::new(&self.path(name), "is required")),
        }
    }

    /// A yes or no; absent means no.
    pub fn flag(&self, name: &str) -> Result<bool, Bad> {
        match self.given(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(Bad::new(&self.path(name), "must be true or false")),
        }
    }

    /// A whole number from 1 to `most`.
    pub fn number(&self, name: &str, most: u64) -> Result<Option<u64>, Bad> {
        let Some(value) = self.given(name) else {
            return Ok(None);
        };
        let whole = value.as_u64().or_else(|| {
            let number = value.as_f64()?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be a small whole number"
            )]
            (number.fract() == 0.0 && (0.0..1e15).contains(&number)).then_some(number as u64)
        });
        match whole {
            Some(number) if (1..=most).contains(&number) => Ok(Some(number)),
            _ => Err(Bad::new(
                &self.path(name),
                &format!("must be a whole number from 1 to {most}"),
            )),
        }
    }

    /// An object that may be absent.
    pub fn object(&self, name: &str) -> Result<Map<String, Value>, Bad> {
        match self.given(name) {
            None => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(_) => Err(Bad::new(&self.path(name), "must be an object")),
        }
    }

    /// One of some words, where it is given.
    pub fn word(&self, name: &str, known: &[&str]) -> Result<Option<String>, Bad> {
        let word = self.text(name)?;
        if word.as_deref().is_none_or(|word| known.contains(&word)) {
            return Ok(word);
        }
        let problem = format!("must be one of {}", known.join(", "));
        Err(Bad::new(&self.path(name), &problem))
    }

    /// A whole number from 0 on; absent means 0.
    pub fn offset(&self, name: &str) -> Result<usize, Bad> {
        let Some(value) = self.given(name) else {
            return Ok(0);
        };
        if value.as_f64() == Some(0.0) {
            return Ok(0);
        }
        let number = self.number(name, u64::from(u32::MAX))?;
        Ok(number.and_then(|n| usize::try_from(n).ok()).unwrap_or(0))
    }

    /// How many hits are wanted.
    pub fn limit(&self) -> Result<Option<usize>, Bad> {
        let limit = self.number("limit", SEARCH_LIMIT_MAX as u64)?;
        Ok(limit.and_then(|limit| usize::try_from(limit).ok()))
    }

    /// What may be asked for beside the arguments of an execution.
    pub fn options(&self) -> Result<CallOptions, Bad> {
        let given = self.given("options").cloned();
        options(given.unwrap_or_default(), "options")
    }
}

/// Reads options that stand somewhere else under another name.
pub fn options_at(text: &RawValue, name: &'static str) -> Result<CallOptions, Bad> {
    let value = parse_strict(text.get()).map_err(|error| unusable(name, &error))?;
    options(value, name)
}

fn options(value: Value, name: &'static str) -> Result<CallOptions, Bad> {
    const KNOWN: [&str; 8] = [
        "idempotency_key",
        "confirmed",
        "challenge",
        "dry_run",
        "timeout",
        "idle_timeout",
        "select",
        "page",
    ];
    let options = Input::of(value, name, &KNOWN)?;
    Ok(CallOptions {
        idempotency_key: options.text("idempotency_key")?,
        confirmed: options.flag("confirmed")?,
        challenge: options.text("challenge")?,
        dry_run: options.flag("dry_run")?,
        timeout_ms: options.number("timeout", CALL_TIMEOUT_MS_ASKED_MAX)?,
        idle_timeout_ms: options.number("idle_timeout", CALL_TIMEOUT_MS_ASKED_MAX)?,
        select: options.text("select")?,
        page: options.text("page")?,
    })
}

fn unusable(name: &str, error: &StrictError) -> Bad {
    Bad::new(name, &format!("cannot be used: {error}"))
}

/// As much of a name as a sentence bears.
fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

/// The fault of a call of a tool that is none of the five.
pub fn unknown_tool(name: &str, known: &[&str], context: &Context) -> Fault {
    let code = if context.revision.is_stateless() {
        rpc::INVALID_PARAMS
    } else {
        rpc::METHOD_NOT_FOUND
    };
    let shown: String = name.chars().take(128).collect();
    let known = known.join(", ");
    Fault::new(
        code,
        format!("Tool not found: {shown}; the tools are {known}"),
    )
}

/// Tells what is wrong with the parameters of one of the five tools, as the client's revision of the
/// protocol has it: as a result, or as a fault.
pub fn refuse(bad: Bad, context: &Context, told: fn(&Bad) -> Box<RawValue>) -> Outcome {
    if context.revision.tells_bad_arguments_in_results() {
        return Ok(told(&bad));
    }
    Err(Fault {
        data: Some(raw(&json!({"field": bad.field}))),
        ..Fault::new(rpc::INVALID_PARAMS, bad.message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(value: &Value, known: &[&str]) -> Result<Input, Bad> {
        Input::read(Some(&raw(value)), known)
    }

    fn refused<T: std::fmt::Debug>(read: Result<T, Bad>, field: &str, message: &str) {
        let bad = read.unwrap_err();
        assert_eq!((bad.field.as_str(), bad.message.as_str()), (field, message));
    }

    #[test]
    fn absent_arguments_are_empty() {
        assert!(Input::read(None, &[]).is_ok());
        assert!(input(&json!(null), &[]).is_ok());
        let empty = input(&json!({"server": null}), &["server"]).unwrap();
        assert_eq!(empty.text("server").unwrap(), None);
        assert!(!empty.flag("full").unwrap());
        assert_eq!(empty.limit().unwrap(), None);
        assert_eq!(empty.options().unwrap(), CallOptions::default());
    }

    #[test]
    fn what_is_wrong_is_named_by_its_field() {
        refused(
            input(&json!([]), &[]),
            "arguments",
            "`arguments` must be an object.",
        );
        refused(
            input(&json!({"qeury": "x"}), &["query", "server"]),
            "qeury",
            "`qeury` is not known; did you mean `query`?",
        );
        refused(
            input(&json!({"zzz": 1}), &["query", "server"]),
            "zzz",
            "`zzz` is not known; known are query, server.",
        );
        refused(
            input(&json!({"x": 1}), &[]),
            "x",
            "`x` is not known; there are no parameters.",
        );
        let odd = json!({"query": 5, "limit": 0, "full": "yes", "server": " "});
        let odd = input(&odd, &["query", "limit", "full", "server"]).unwrap();
        refused(odd.text("query"), "query", "`query` must be a string.");
        refused(odd.required("tool"), "tool", "`tool` is required.");
        refused(
            odd.required("server"),
            "server",
            "`server` must not be empty.",
        );
        refused(odd.flag("full"), "full", "`full` must be true or false.");
        refused(
            odd.limit(),
            "limit",
            "`limit` must be a whole number from 1 to 1000.",
        );
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_point() {
        for (value, expect) in [
            (json!(5), Some(5)),
            (json!(5.0), Some(5)),
            (json!(5.5), None),
            (json!(-1), None),
            (json!("5"), None),
            (json!(1001), None),
        ] {
            let read = input(&json!({"limit": value}), &["limit"]).unwrap().limit();
            assert_eq!(read.ok().flatten(), expect, "{value}");
        }
    }

    #[test]
    fn options_are_read_and_named_inside_their_object() {
        let given = json!({"idempotency_key": "k", "confirmed": true, "dry_run": true,
            "timeout": 1000, "idle_timeout": 50, "select": ".a", "page": "h.1"});
        let read = |given: Value| {
            input(&json!({"options": given}), &["options"])
                .unwrap()
                .options()
        };
        let options = read(given).unwrap();
        assert_eq!(options.idempotency_key.as_deref(), Some("k"));
        assert!(options.confirmed && options.dry_run);
        assert_eq!(options.idle_timeout_ms, Some(50));
        assert_eq!(
            (
                options.timeout_ms,
                options.select.as_deref(),
                options.page.as_deref()
            ),
            (Some(1_000), Some(".a"), Some("h.1"))
        );
        refused(
            read(json!({"confirm": true})),
            "options.confirm",
            "`options.confirm` is not known; did you mean `confirmed`?",
        );
        refused(
            read(json!({"confirmed": "yes"})),
            "options.confirmed",
            "`options.confirmed` must be true or false.",
        );
        refused(read(json!("x")), "options", "`options` must be an object.");
    }

    #[test]
    fn nothing_is_given_twice_and_what_is_for_the_tool_is_not_read() {
        let read = |text: &str| {
            let given: Box<RawValue> = serde_json::from_str(text).unwrap();
            Input::read(Some(&given), &["server", "arguments", "query"]).map(drop)
        };
        assert_eq!(
            read(r#"{"server": "a", "arguments": {"n": 1e400}}"#),
            Ok(())
        );
        refused(
            read(r#"{"server": "a", "server": "b"}"#),
            "server",
            "`server` is given twice; keep one.",
        );
        refused(
            read(r#"{"arguments": {}, "arguments": {"a": 1}}"#),
            "arguments",
            "`arguments` is given twice; keep one.",
        );
        let bad = read(r#"{"query": 1e400}"#).unwrap_err();
        assert_eq!(bad.field, "query");
        let bad = read(r#"{"query": {"a": 1, "a": 2}}"#).unwrap_err();
        assert!(bad.message.contains("`a` appears twice"), "{bad}");
        let elsewhere = raw(&json!({"confirmed": 1}));
        refused(
            options_at(&elsewhere, "_meta.x"),
            "_meta.x.confirmed",
            "`_meta.x.confirmed` must be true or false.",
        );
    }
}
