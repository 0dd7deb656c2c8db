//! `toolcrib keys`: API keys for callers over HTTP.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use toolcrib_core::Code;
use toolcrib_core::policy::Grant;
use toolcrib_store::key::{ApiKey, NewKey};

use super::memory::{moment, span_ms, with_store, with_store_to_change};
use super::{Context, now_ms};
use crate::failure::Failure;
use crate::ui::{Line, Table, Tone};

/// Make, list and revoke API keys
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib keys list
  toolcrib keys create ci --scope github:read")]
pub struct Keys {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key; it is shown once and kept only as a hash
    #[command(after_help = "\
Examples:
  toolcrib keys create ci --scope github:read
  toolcrib keys create ops --scope github:*,jira:read --expires 90d

Exit codes: 0 the key is made, 1 wrong arguments, 2 the configuration does not load, 3 the store \
cannot be used.")]
    Create {
        /// What the key is for
        name: String,
        /// What it may do, such as `github:read`, `github:*` or `*:read`; may be given several times
        #[arg(
            long = "scope",
            value_name = "SCOPE",
            required = true,
            value_delimiter = ','
        )]
        scopes: Vec<String>,
        /// How long it is accepted, such as `90d`; for ever unless given
        #[arg(long, value_name = "SPAN", value_parser = span_ms)]
        expires: Option<i64>,
    },
    /// List the keys, without their secrets
    #[command(after_help = "\
Examples:
  toolcrib keys list

Exit codes: 0 the keys are listed, 1 wrong arguments, 2 the configuration does not load, 3 the store \
cannot be used.")]
    List,
    /// Refuse a key from now on
    #[command(after_help = "\
Examples:
  toolcrib keys revoke key-0123456789abcdef

Exit codes: 0 the key is refused from now on, 1 wrong arguments, or there is no such key, 2 the \
configuration does not load, 3 the store cannot be used.")]
    Revoke {
        /// The key's id, as `keys list` shows it
        id: String,
    },
}

impl Keys {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self.command {
            KeysCommand::Create {
                name,
                scopes,
                expires,
            } => create(context, name, scopes, expires),
            KeysCommand::List => list(context),
            KeysCommand::Revoke { id } => revoke(context, &id),
        }
    }
}

fn create(
    context: &mut Context,
    name: String,
    scopes: Vec<String>,
    expires: Option<i64>,
) -> Result<(), Failure> {
    for scope in &scopes {
        Grant::parse(scope).map_err(|error| Failure::usage(error.to_string()))?;
    }
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| {
        Failure::new(
            Code::Overloaded,
            format!("the system gives no random numbers, so no key was made: {error}"),
        )
    })?;
    let now = now_ms();
    let new = NewKey {
        name,
        scopes,
        expires_ms: expires.map(|span| now.saturating_add(span)),
    };
    with_store_to_change(context, async |context, store| {
        let (key, secret) = store.create_key(new, &random, now).await?;
        if context.ui.is_json() {
            let mut shown = shown(&key, now);
            shown["secret"] = secret.expose().into();
            context.ui.json(&shown);
            return Ok(());
        }
        context.ui.note(format!(
            "Key {} for {} was made. This is the only time that it is shown; send it as `Authorization: Bearer KEY`:",
            key.id, key.name
        ));
        context.ui.line(secret.expose());
        Ok(())
    })
}

fn list(context: &mut Context) -> Result<(), Failure> {
    with_store(context, async |context, store| {
        let (keys, now) = (store.keys().await?, now_ms());
        if context.ui.is_json() {
            let keys: Vec<Value> = keys.iter().map(|key| shown(key, now)).collect();
            context.ui.json(&json!({ "keys": keys }));
            return Ok(());
        }
        if keys.is_empty() {
            context.ui.line(
                "There are no keys. Make one with `toolcrib keys create NAME --scope SCOPE`.",
            );
            return Ok(());
        }
        let mut table = Table::new(["ID", "NAME", "SCOPES", "CREATED", "STATE"]);
        for key in &keys {
            table.row([
                key.id.clone(),
                key.name.clone(),
                key.scopes.join(" "),
                moment(key.created_ms),
                state(key, now),
            ]);
        }
        context.ui.table(&table);
        Ok(())
    })
}

fn revoke(context: &mut Context, id: &str) -> Result<(), Failure> {
    with_store_to_change(context, async |context, store| {
        let revoked = store.revoke_key(id, now_ms()).await?;
        if !revoked {
            return Err(Failure::usage(format!(
                "there is no key {id} in force; `toolcrib keys list` shows them"
            )));
        }
        if context.ui.is_json() {
            context.ui.json(&json!({ "id": id, "state": "revoked" }));
        } else {
            let line = Line::new()
                .mark(true)
                .text(format_args!(" {id} is refused from now on"));
            context
                .ui
                .line(line.tone(Tone::Dim, ", also by processes that are running"));
        }
        Ok(())
    })
}

fn state(key: &ApiKey, now: i64) -> String {
    match (key.revoked_ms, key.expires_ms) {
        (Some(at), _) => format!("revoked {}", moment(at)),
        (None, Some(at)) if at <= now => format!("expired {}", moment(at)),
        (None, Some(at)) => format!("until {}", moment(at)),
        (None, None) => "in force".to_owned(),
    }
}

fn shown(key: &ApiKey, now: i64) -> Value {
    json!({
        "id": key.id,
        "name": key.name,
        "scopes": key.scopes,
        "created_ms": key.created_ms,
        "expires_ms": key.expires_ms,
        "revoked_ms": key.revoked_ms,
        "valid": key.is_valid(now),
    })
}
