//! Postman collections 2.0 and 2.1: each request becomes an operation.
//!
//! A collection holds requests, not rules: types are read off the values that its author left, and
//! only what stands in the path, or is called required in so many words, is required.

use std::fmt::Write as _;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use toolcrib_core::limits::{
    ADAPTER_DEPTH_MAX, ADAPTER_DESCRIPTION_BYTES_MAX, ADAPTER_NOTE_BYTES_MAX,
    ADAPTER_OPERATIONS_MAX,
};
use url::Url;

use super::description::{Description, Draft};
use super::flat::{Flat, TakenBody};
use super::library::{Library, brief};
use super::name::{Origin, kebab};
use super::openapi::is_json;
use super::operation::{Body, Field, Media, Shape, Spot, Style};
use super::prose;
use super::schema::Schemas;
use super::security::{Alternative, Need, Scheme};
use super::server::Address;
use super::warning::Warnings;

mod inference;
mod rows;

use rows::{Entry, entries};

/// Whether the file is a collection.
pub(super) fn recognises(root: &Value) -> bool {
    let schema = root.pointer("/info/schema").and_then(Value::as_str);
    let known = schema.is_some_and(|schema| schema.contains("getpostman.com/json/collection"));
    root.get("item").is_some_and(Value::is_array) && (known || root.get("info").is_some())
}

/// Reads a collection.
pub(super) fn read(root: &Value) -> Description {
    let mut reader = Reader {
        variables: variables(root),
        warn: Warnings::default(),
        drafts: Vec::new(),
        schemes: IndexMap::new(),
        servers: Vec::new(),
        counted: 0,
    };
    let auth = root.get("auth").filter(|auth| !auth.is_null());
    reader.folder(root, &[], auth, 0);
    let schema = root
        .pointer("/info/schema")
        .and_then(Value::as_str)
        .unwrap_or("");
    let version = if schema.contains("v2.0") {
        "2.0"
    } else {
        "2.1"
    };
    let title = root.pointer("/info/name").and_then(Value::as_str);
    let info = text(root.pointer("/info/description"));
    Description {
        format: "postman",
        version: version.to_owned(),
        title: title.map(|title| prose::plain(title, ADAPTER_NOTE_BYTES_MAX)),
        about: Some(prose::plain(&info, ADAPTER_DESCRIPTION_BYTES_MAX))
            .filter(|info| !info.is_empty()),
        documentation: None,
        servers: reader.servers,
        schemes: reader.schemes,
        counted: reader.counted,
        shared: IndexMap::new(),
        drafts: reader.drafts,
        warnings: reader.warn.finish(),
    }
}

/// A description is a text or an object that holds one.
fn text(value: Option<&Value>) -> String {
    let text = match value {
        Some(Value::String(text)) => Some(text.as_str()),
        Some(object) => object.get("content").and_then(Value::as_str),
        None => None,
    };
    text.unwrap_or("").to_owned()
}

fn variables(root: &Value) -> IndexMap<String, String> {
    let list = root.get("variable").and_then(Value::as_array);
    let pairs = list.into_iter().flatten().filter_map(|variable| {
        let key = variable
            .get("key")
            .or_else(|| variable.get("id"))?
            .as_str()?;
        let value = match variable.get("value")? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((key.to_owned(), value))
    });
    pairs.collect()
}

struct Reader {
    variables: IndexMap<String, String>,
    warn: Warnings,
    drafts: Vec<Draft>,
    schemes: IndexMap<String, Scheme>,
    servers: Vec<Address>,
    counted: usize,
}

impl Reader {
    fn folder(&mut self, folder: &Value, path: &[String], auth: Option<&Value>, depth: usize) {
        let items = folder.get("item").and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            let name = item
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_owned();
            if item.get("item").is_some() {
                if depth < ADAPTER_DEPTH_MAX {
                    let mut path = path.to_vec();
                    path.push(name);
                    let own = item.get("auth").filter(|auth| !auth.is_null());
                    self.folder(item, &path, own.or(auth), depth + 1);
                }
                continue;
            }
            let Some(request) = item.get("request") else {
                continue;
            };
            self.counted += 1;
            if self.drafts.len() >= ADAPTER_OPERATIONS_MAX {
                continue;
            }
            self.warn.about(brief(
                &[path, std::slice::from_ref(&name)].concat().join(" / "),
            ));
            match self.request(&name, request, path, auth) {
                Ok(draft) => self.drafts.push(draft),
                Err(why) => self.warn.add(format!("{why}; it is left out")),
            }
        }
    }

    fn request(
        &mut self,
        name: &str,
        request: &Value,
        folders: &[String],
        auth: Option<&Value>,
    ) -> Result<Draft, String> {
        let short = Value::Null;
        let (url, method) = match request {
            Value::String(_) => (request, "GET"),
            Value::Object(_) => (
                request.get("url").unwrap_or(&short),
                request
                    .get("method")
                    .and_then(Value::as_str)
                    .unwrap_or("GET"),
            ),
            _ => return Err("it is not a request".to_owned()),
        };
        let address = self.address(url)?;
        let mut flat = Flat::default();
        let path = path_arguments(&address.path, url, &mut flat);
        query_arguments(&address.query, url, &mut flat);
        header_arguments(request, &mut flat);
        self.body(request, &mut flat);
        let schema = flat.schema();
        let own = request.get("auth").filter(|auth| !auth.is_null());
        let description = text(request.get("description"));
        let method = method.to_ascii_uppercase();
        Ok(Draft {
            origin: Origin {
                id: Some(name.to_owned()).filter(|name| !name.trim().is_empty()),
                place: format!("{method} {path}"),
            },
            category: folders
                .first()
                .map(|folder| kebab(folder))
                .filter(|c| !c.is_empty()),
            summary: prose::plain(name, ADAPTER_NOTE_BYTES_MAX),
            description: prose::plain(&description, ADAPTER_DESCRIPTION_BYTES_MAX),
            tags: folders.iter().filter(|f| !f.is_empty()).cloned().collect(),
            deprecated: false,
            documentation: None,
            extensions: Value::Null,
            security: self.security(own.or(auth)),
            servers: self.servers_of(&address),
            errors: Vec::new(),
            flat,
            schema,
            output: None,
            accepts: Vec::new(),
            method,
            path,
        })
    }

    /// Base address, path and query of a request, with the collection's variables filled in.
    fn address(&self, url: &Value) -> Result<PostmanAddress, String> {
        let raw = match url {
            Value::String(raw) => raw.clone(),
            Value::Object(fields) => {
                let parts = |key: &str, joint: &str| match fields.get(key) {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Array(parts)) => {
                        let parts = parts.iter().map(|part| match part {
                            Value::String(text) => text.clone(),
                            other => text(other.get("value")),
                        });
                        parts.collect::<Vec<_>>().join(joint)
                    }
                    _ => String::new(),
                };
                let host = parts("host", ".");
                if host.is_empty() {
                    text(fields.get("raw"))
                } else {
                    let protocol = parts("protocol", "");
                    let scheme = if protocol.is_empty() {
                        String::new()
                    } else {
                        format!("{protocol}://")
                    };
                    let port = parts("port", "");
                    let port = if port.is_empty() {
                        String::new()
                    } else {
                        format!(":{port}")
                    };
                    format!("{scheme}{host}{port}/{}", parts("path", "/"))
                }
            }
            _ => return Err("it has no address".to_owned()),
        };
        let raw = self.expand(&raw);
        let (raw, query) = match raw.split_once('?') {
            Some((raw, query)) => (raw.to_owned(), query.to_owned()),
            None => (raw, String::new()),
        };
        let after = raw.find("://").map_or(0, |at| at + 3);
        let slash = raw[after..].find('/').map_or(raw.len(), |at| after + at);
        let host = &raw[..slash];
        let path = raw[slash..].trim_start_matches('/');
        let host = match host {
            "" => None,
            host if host.contains("{{") => None,
            host if host.contains("://") => Some(host.to_owned()),
            host => Some(format!("https://{host}")),
        };
        Ok(PostmanAddress {
            base: host.filter(|host| Url::parse(host).is_ok()),
            path: format!("/{path}"),
            query,
        })
    }

    /// The text with the collection's own variables; others stay as they are.
    fn expand(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (name, value) in &self.variables {
            let place = format!("{{{{{name}}}}}");
            if out.contains(&place) && out.len() < ADAPTER_NOTE_BYTES_MAX {
                out = out.replace(&place, value);
            }
        }
        out
    }

    /// The address of a request where it is not that of the collection.
    fn servers_of(&mut self, address: &PostmanAddress) -> Vec<Address> {
        let Some(base) = &address.base else {
            return Vec::new();
        };
        let base = Address::fixed(base.clone());
        match self.servers.first() {
            None => {
                self.servers.push(base);
                Vec::new()
            }
            Some(first) if *first == base => Vec::new(),
            Some(_) => vec![base],
        }
    }

    fn body(&mut self, request: &Value, flat: &mut Flat) {
        let Some(body) = request.get("body").filter(|body| body.is_object()) else {
            return;
        };
        match body.get("mode").and_then(Value::as_str) {
            Some("urlencoded") => form(entries(body.get("urlencoded")), Media::Form, flat),
            Some("formdata") => form(entries(body.get("formdata")), Media::Multipart, flat),
            Some("raw") => {
                let raw = body.get("raw").and_then(Value::as_str).unwrap_or("");
                self.raw(raw, request, body, flat);
            }
            Some("graphql") => graphql(body.get("graphql"), flat),
            Some("file") => whole(
                "application/octet-stream",
                Media::Binary,
                json!({}),
                None,
                flat,
            ),
            _ => {}
        }
    }

    fn raw(&mut self, raw: &str, request: &Value, body: &Value, flat: &mut Flat) {
        if raw.trim().is_empty() {
            return;
        }
        let language = body
            .pointer("/options/raw/language")
            .and_then(Value::as_str);
        let mut headers = entries(request.get("header")).into_iter();
        let content_type = headers.find(|header| header.key.eq_ignore_ascii_case("content-type"));
        let content_type = content_type.and_then(|header| header.value.as_str().map(str::to_owned));
        // Placeholders without quotes are no JSON; as texts they are.
        let parsed = serde_json::from_str::<Value>(raw)
            .or_else(|_| serde_json::from_str(&inference::quoted(raw)));
        match parsed {
            Ok(example) => {
                let schema = inference::schema(&example, 0);
                let stated = content_type.filter(|media| is_json(media));
                let media = stated.as_deref().unwrap_or("application/json");
                whole(media, Media::Json, schema, Some(example), flat);
            }
            Err(_) if language == Some("json") => {
                self.warn.add("its body is not JSON; any JSON is accepted");
                whole("application/json", Media::Json, json!({}), None, flat);
            }
            Err(_) => {
                let content_type = content_type.unwrap_or_else(|| "text/plain".to_owned());
                whole(
                    &content_type,
                    Media::Text,
                    json!({}),
                    Some(raw.into()),
                    flat,
                );
            }
        }
    }

    /// The scheme that a request or its folder uses.
    fn security(&mut self, auth: Option<&Value>) -> Vec<Alternative> {
        let Some(kind) = auth
            .and_then(|auth| auth.get("type"))
            .and_then(Value::as_str)
        else {
            return Vec::new();
        };
        let field = |name: &str| {
            let fields = auth.and_then(|auth| auth.get(kind));
            let listed = fields.and_then(Value::as_array).and_then(|list| {
                let found = list
                    .iter()
                    .find(|pair| pair.get("key") == Some(&name.into()))?;
                found.get("value")
            });
            let value = listed.or_else(|| fields.and_then(|fields| fields.get(name)));
            value.and_then(Value::as_str).unwrap_or("").to_owned()
        };
        let scheme = match kind {
            "bearer" => Scheme::Bearer,
            "basic" => Scheme::Basic,
            "apikey" => Scheme::ApiKey {
                name: Some(field("key"))
                    .filter(|k| !k.is_empty())
                    .unwrap_or("X-API-Key".into()),
                spot: if field("in") == "query" {
                    Spot::Query
                } else {
                    Spot::Header
                },
            },
            "oauth2" => Scheme::OAuth2 {
                token_url: Some(field("accessTokenUrl")).filter(|url| url.starts_with("http")),
                client_credentials: field("grant_type") == "client_credentials",
            },
            "noauth" => return Vec::new(),
            _ => Scheme::Other,
        };
        // Requests of a collection may use several of a kind: each has a name of its own.
        let mut name = kind.to_owned();
        let mut count = 1;
        while self
            .schemes
            .get(&name)
            .is_some_and(|known| *known != scheme)
        {
            count += 1;
            name = format!("{kind}-{count}");
        }
        self.schemes.entry(name.clone()).or_insert(scheme);
        vec![Alternative {
            all: vec![Need {
                scheme: name,
                scopes: Vec::new(),
            }],
        }]
    }
}

struct PostmanAddress {
    base: Option<String>,
    path: String,
    query: String,
}

/// The path as a template, its variables (`:id` and `{{id}}`) as arguments.
fn path_arguments(path: &str, url: &Value, flat: &mut Flat) -> String {
    let mut known = entries(url.get("variable"));
    let mut parts = Vec::new();
    for part in path.split('/') {
        let mut template = String::new();
        let mut rest = part;
        if let Some(name) = part.strip_prefix(':').filter(|name| !name.is_empty()) {
            take_path(name, &mut known, flat);
            template = format!("{{{name}}}");
            rest = "";
        }
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, after)) = after.split_once("}}") else {
                break;
            };
            take_path(name, &mut known, flat);
            let _ = write!(template, "{before}{{{name}}}");
            rest = after;
        }
        parts.push(template + rest);
    }
    parts.join("/")
}

fn take_path(name: &str, known: &mut Vec<Entry>, flat: &mut Flat) {
    let at = known.iter().position(|entry| entry.key == name);
    let entry = at.map_or_else(
        || Entry {
            key: name.to_owned(),
            value: Value::Null,
            description: String::new(),
            file: false,
        },
        |at| known.remove(at),
    );
    flat.add(entry.taken(Spot::Path, Style::Simple, true));
}

fn query_arguments(query: &str, url: &Value, flat: &mut Flat) {
    let mut rows = entries(url.get("query"));
    if rows.is_empty() {
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            rows.push(Entry {
                key: key.to_owned(),
                value: value.into(),
                description: String::new(),
                file: false,
            });
        }
    }
    for row in rows {
        flat.add(row.taken(Spot::Query, Style::Form, false));
    }
}

fn header_arguments(request: &Value, flat: &mut Flat) {
    for header in entries(request.get("header")) {
        let own = [
            "content-type",
            "accept",
            "authorization",
            "cookie",
            "host",
            "content-length",
        ];
        if own.iter().any(|own| header.key.eq_ignore_ascii_case(own)) {
            continue;
        }
        flat.add(header.taken(Spot::Header, Style::Simple, false));
    }
}

fn form(rows: Vec<Entry>, media: Media, flat: &mut Flat) {
    if rows.is_empty() {
        return;
    }
    let files = rows.iter().filter(|row| row.file);
    let fields = files.map(|row| {
        let field = Field {
            content_type: None,
            binary: true,
        };
        (row.key.clone(), field)
    });
    let fields = fields.collect();
    for row in rows {
        flat.add(row.taken(Spot::Body, Style::Form, false));
    }
    let content_type = if media == Media::Form {
        "application/x-www-form-urlencoded"
    } else {
        "multipart/form-data"
    };
    flat.body = Some(Body {
        content_type: content_type.to_owned(),
        media,
        shape: Shape::Fields,
        required: false,
        open: false,
        fields,
    });
}

fn graphql(body: Option<&Value>, flat: &mut Flat) {
    let query = body
        .and_then(|body| body.get("query"))
        .and_then(Value::as_str);
    let mut schema = json!({"type": "object", "properties": {
        "query": {"type": "string"}, "variables": {"type": "object"},
    }, "required": ["query"]});
    if let Some(query) = query {
        schema["properties"]["query"]["default"] = query.into();
    }
    whole("application/json", Media::Json, schema, None, flat);
}

/// A body with its schema; laid flat where that can be.
fn whole(content_type: &str, media: Media, schema: Value, example: Option<Value>, flat: &mut Flat) {
    let library = Library::default();
    let schemas = Schemas::new(&library, true);
    let taken = TakenBody {
        content_type: content_type.to_owned(),
        media,
        required: Some(false),
        schema,
        description: None,
        example,
        writings: Map::new(),
        content_types: Map::new(),
    };
    flat.add_body(taken, &schemas);
}

#[cfg(test)]
mod tests;
