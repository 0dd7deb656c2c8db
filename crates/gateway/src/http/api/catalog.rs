//! Servers, adapters and tools over REST.

use serde_json::{Map, Value, json};
use toolcrib_core::gateway::listing::{Filters, Window};
use toolcrib_core::policy::Visibility;

use super::problem::Problem;
use super::{Asked, Counter, Told, json};
use crate::desk::{self, Shelf};
use crate::engine::ask::{Listing, Search};
use crate::engine::snapshot::{Entry, Snapshot};

impl Counter {
    pub(super) async fn adapters(&self, asked: &Asked) -> Told {
        let filters = Filters {
            category: asked.text("category"),
            capability: asked.text("capability"),
            country: asked.text("country"),
        };
        let (rows, pending) = self.desk().adapter_rows(&asked.caller).await?;
        let rows: Vec<_> = rows.into_iter().filter(|row| filters.take(row)).collect();
        let mut answer = json!({"total": rows.len(), "adapters": rows});
        if pending > 0 {
            answer["pending_servers"] = pending.into();
        }
        Ok(json(&answer))
    }

    pub(super) async fn adapter(&self, asked: &Asked) -> Told {
        let wish = Shelf {
            adapter: asked.part("adapter").to_owned(),
            window: Window::default(),
            ..Shelf::default()
        };
        let tools = self.desk().stocked(&asked.caller, &wish).await?;
        let (rows, _) = self.desk().adapter_rows(&asked.caller).await?;
        let row = rows.into_iter().find(|row| row.id == tools.adapter);
        let mut answer = json!(row);
        answer["tools"] = json!(tools.tools);
        Ok(json(&answer))
    }

    pub(super) async fn servers(&self, asked: &Asked) -> Told {
        let servers = self.engine().list_servers(&asked.caller).await?;
        let rows = servers.servers.iter().map(|row| {
            let mut told = json!({
                "name": row.name,
                "kind": row.kind,
                "enabled": row.enabled,
                "known": row.known,
                "tool_count": row.tool_count,
                "enabled_count": row.enabled_count,
                "pending_count": row.pending_count,
                "status": desk::status(row.enabled, &row.standing),
            });
            if let Some(title) = &row.title {
                told["title"] = title.as_str().into();
            }
            if !row.description.is_empty() {
                told["description"] = row.description.as_str().into();
            }
            told
        });
        let rows: Vec<Value> = rows.collect();
        Ok(json(&json!({
            "servers": rows,
            "pending_servers": servers.pending_servers,
            "failed_servers": servers.failed_servers,
        })))
    }

    pub(super) async fn server_tools(&self, asked: &Asked) -> Told {
        let listing = Listing {
            server: asked.part("server").to_owned(),
            include_disabled: asked.flag("include_disabled"),
            pattern: asked.text("pattern"),
            cursor: asked.text("cursor"),
            limit: asked.count("limit"),
        };
        let page = self.engine().list_tools(&asked.caller, listing).await?;
        let snapshot = self.engine().snapshot();
        let rows = page.tools.iter().map(|entry| row(entry, &snapshot));
        let rows: Vec<Value> = rows.map(Value::Object).collect();
        let mut answer = json!({"server": page.server, "tools": rows, "total": page.total});
        if let Some(cursor) = page.next_cursor {
            answer["next_cursor"] = cursor.into();
        }
        Ok(json(&answer))
    }

    pub(super) async fn tool(&self, asked: &Asked) -> Told {
        let id = asked.part("tool_id");
        let (server, tool) = id.split_once(':').unwrap_or((id, ""));
        let details = self
            .engine()
            .tool_details(&asked.caller, server, tool)
            .await;
        let details = details.map_err(|error| Problem::of(&error, Some(id)))?;
        let snapshot = self.engine().snapshot();
        let entry = &details.entry;
        let mut told = row(entry, &snapshot);
        told["enabled"] = (details.visibility == Visibility::Shown).into();
        let tool = &entry.tool;
        let mut tell = |name: &str, value: Value| {
            if !value.is_null() {
                told.insert(name.to_owned(), value);
            }
        };
        tell("description", tool.description.as_str().into());
        tell("input_schema", (*tool.input_schema).clone());
        tell("output_schema", json!(self.desk().output_schema(entry)));
        tell("example", json!(self.desk().example(entry)));
        tell("method", json!(tool.method));
        tell("path", json!(tool.path));
        tell("domains", json!(tool.domains));
        tell("categories", json!(tool.categories));
        tell("policy", json!(entry.metadata));
        Ok(json(&Value::Object(told)))
    }

    pub(super) async fn search(&self, asked: &Asked) -> Told {
        let search = Search {
            query: asked.text("q").unwrap_or_default(),
            server: asked.text("server"),
            limit: asked.count("limit"),
            explain: true,
            ..Search::default()
        };
        let found = self.engine().search_tools(&asked.caller, search).await?;
        let rows = found.hits.iter().map(|hit| {
            let mut told = row(&hit.entry, &found.snapshot);
            told.insert("relevance".into(), share(hit.relevance));
            told.insert("why".into(), json!(hit.why));
            Value::Object(told)
        });
        let rows: Vec<Value> = rows.collect();
        Ok(json(&json!({
            "results": rows,
            "total": found.total,
            "confidence": share(found.confidence),
            "pending_servers": found.pending_servers,
            "failed_servers": found.failed_servers,
        })))
    }
}

fn share(number: f32) -> Value {
    json!((f64::from(number) * 10_000.0).round() / 10_000.0)
}

fn row(entry: &Entry, snapshot: &Snapshot) -> Map<String, Value> {
    let tool = &entry.tool;
    let mut told = Map::new();
    told.insert("tool_id".into(), snapshot.canonical_id(entry).into());
    told.insert("server".into(), tool.id.server().into());
    told.insert("tool".into(), tool.id.tool().into());
    if let Some(title) = &tool.title {
        told.insert("title".into(), title.as_str().into());
    }
    told.insert("summary".into(), tool.summary().into());
    if !tool.tags.is_empty() {
        told.insert("tags".into(), json!(tool.tags));
    }
    told.insert("enabled".into(), tool.enabled.into());
    told.insert("risk_level".into(), json!(entry.metadata.risk));
    told
}
