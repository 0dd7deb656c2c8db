//! How a server is treated, as clients write it.

use toolcrib_core::limits::{CALL_TIMEOUT_MS_MAX, START_TIMEOUT_MS_MAX};

use super::Habits;
use crate::diagnostic::Severity;
use crate::import::client::TimeUnit;
use crate::import::fields::{Fields, Refused};
use crate::import::name::exact_pattern;
use crate::model::server::Server;
use crate::node::{Entry, Value};
use crate::placeholder::Template;
use crate::text::Span;

/// Keys that say what may run without asking. Toolcrib's own policy decides that.
const APPROVALS: &[&str] = &[
    "alwaysAllow",
    "autoApprove",
    "trust",
    "default_tools_approval_mode",
];

/// Reads the texts for people.
pub(super) fn describe(server: &mut Server, fields: &mut Fields<'_>) -> Result<(), Refused> {
    server.title = fields
        .text(&["title", "display_name", "displayName", "name"])?
        .filter(|title| !title.is_empty() && *title != server.name)
        .map(str::to_owned);
    server.description = fields
        .text(&["description"])?
        .filter(|text| !text.is_empty())
        .map(str::to_owned);
    Ok(())
}

/// Reads how the server is treated: switches, tool lists, time-outs and credentials.
pub(super) fn handle(
    server: &mut Server,
    fields: &mut Fields<'_>,
    habits: Habits,
) -> Result<(), Refused> {
    server.enabled =
        !fields.flag(&["disabled"])?.unwrap_or(false) && fields.flag(&["enabled"])?.unwrap_or(true);
    filters(server, fields, habits)?;
    timeouts(server, fields, habits)?;
    if let Some(entry) = fields.take(&["bearer_token_env_var"]) {
        let name = fields.text(&["bearer_token_env_var"])?.unwrap_or_default();
        server.handling.bearer = Some(fields.variable(name, entry.value.span)?);
    }
    if let Some(entry) = fields.take(&["bearer_token"])
        && let Some(text) = entry.value.as_str()
    {
        server.handling.bearer = Some(Template::literal(text).sensitive());
    }
    if let Some(entry) = fields.take(&["oauth", "auth"]) {
        server.handling.oauth = match &entry.value.value {
            Value::Bool(value) => *value,
            Value::Map(entries) => !entries
                .iter()
                .any(|e| e.key == "enabled" && e.value.as_bool() == Some(false)),
            Value::String(word) => word == "oauth",
            _ => false,
        };
    }
    for key in APPROVALS {
        if let Some(entry) = fields.take(&[key]) {
            let unused = matches!(&entry.value.value, Value::List(items) if items.is_empty())
                || entry.value.as_bool() == Some(false);
            if !unused {
                not_taken_over(fields, entry);
            }
        }
    }
    Ok(())
}

fn not_taken_over(fields: &mut Fields<'_>, entry: &Entry) {
    fields.remark(
        Severity::Note,
        format!("{}: `{}` is not taken over", fields.subject(), entry.key),
        entry.key_span,
        "Toolcrib's own policy says what runs without asking",
    );
}

/// Which tools are kept.
fn filters(server: &mut Server, fields: &mut Fields<'_>, habits: Habits) -> Result<(), Refused> {
    let patterns = |names: Option<Vec<(String, Span)>>| -> Vec<String> {
        let names = names.unwrap_or_default().into_iter();
        names
            .map(|(name, _)| {
                if habits.tools_are_names {
                    exact_pattern(&name)
                } else {
                    name
                }
            })
            .collect()
    };
    let mut keys: &[&'static str] = &["enabled_tools", "includeTools"];
    if habits.tools_are_names
        && let Some(tools) = fields.take(&["tools"])
    {
        if let Value::Map(_) = tools.value.value {
            // Codex keeps approvals for single tools there.
            not_taken_over(fields, tools);
        } else {
            keys = &["tools"];
        }
    }
    if let Some(entry) = fields.take(keys) {
        match &entry.value.value {
            Value::List(items) if items.is_empty() => {
                server.enabled = false;
                fields.remark(
                    Severity::Note,
                    format!("{} keeps none of its tools, so it is off", fields.subject()),
                    entry.value.span,
                    "",
                );
            }
            Value::List(items) if items.iter().any(|item| item.as_str() == Some("*")) => {}
            _ => server.include_tools = patterns(fields.texts(keys)?),
        }
    }
    // Goose writes an empty list for "all".
    server
        .include_tools
        .extend(patterns(fields.texts(&["available_tools"])?));
    server.exclude_tools =
        patterns(fields.texts(&["disabled_tools", "excludeTools", "disabledTools"])?);
    Ok(())
}

/// Seconds above which a number of seconds can only be milliseconds.
const SECONDS_PLAUSIBLE_MAX: f64 = 3600.0;

fn timeouts(server: &mut Server, fields: &mut Fields<'_>, habits: Habits) -> Result<(), Refused> {
    let handling = &mut server.handling;
    if let Some(entry) = fields.take(&["timeout"]) {
        if let Value::Map(_) = entry.value.value {
            let mut inner = Fields::of(
                fields.source(),
                format!("{}: `timeout`", fields.subject()),
                &entry.value,
                "",
            )?;
            handling.start_timeout_ms = inner.number(&["startup"])?.map(|n| milliseconds(n, 1.0));
            handling.call_timeout_ms = inner.number(&["request"])?.map(|n| milliseconds(n, 1.0));
        } else {
            let number = fields.number(&["timeout"])?.unwrap_or_default();
            let factor = match habits.timeout {
                TimeUnit::Seconds if number <= SECONDS_PLAUSIBLE_MAX => 1000.0,
                TimeUnit::Seconds => {
                    fields.remark(
                        Severity::Note,
                        format!("{}: `timeout` is taken for milliseconds", fields.subject()),
                        entry.value.span,
                        "",
                    );
                    1.0
                }
                TimeUnit::Milliseconds => 1.0,
            };
            handling.call_timeout_ms = Some(milliseconds(number, factor));
        }
    }
    let seconds = |n: Option<f64>| n.map(|n| milliseconds(n, 1000.0));
    let plain = |n: Option<f64>| n.map(|n| milliseconds(n, 1.0));
    let call =
        seconds(fields.number(&["tool_timeout_sec"])?).or(plain(fields.number(&["timeoutMs"])?));
    let start = seconds(fields.number(&["startup_timeout_sec"])?).or(plain(fields.number(&[
        "startup_timeout_ms",
        "startTimeoutMs",
        "initTimeout",
        "connectionTimeout",
    ])?));
    // Zero means the client's default, which is not ours.
    let within = |ms: Option<u64>, max: u64| ms.filter(|ms| *ms > 0).map(|ms| ms.min(max));
    let handling = &mut server.handling;
    handling.call_timeout_ms = within(call.or(handling.call_timeout_ms), CALL_TIMEOUT_MS_MAX);
    handling.start_timeout_ms = within(start.or(handling.start_timeout_ms), START_TIMEOUT_MS_MAX);
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is not negative, and a cast saturates"
)]
fn milliseconds(number: f64, factor: f64) -> u64 {
    (number * factor).round() as u64
}
