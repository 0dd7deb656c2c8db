//! OpenAPI 2.0, 3.0, 3.1 and 3.2: operations and everything that belongs to them.

use serde_json::{Map, Value, json};
use toolcrib_core::limits::{
    ADAPTER_DESCRIPTION_BYTES_MAX, ADAPTER_ERRORS_MAX, ADAPTER_EXAMPLE_BYTES_MAX,
    ADAPTER_NOTE_BYTES_MAX, ADAPTER_OPERATIONS_MAX,
};

use super::description::{Description, Draft};
use super::flat::{self, Flat, Taken};
use super::idempotency;
use super::library::{Library, Spot, brief};
use super::name::{Origin, kebab};
use super::operation::{self, DocumentedError, Style, Writing};
use super::prose;
use super::schema::{Schemas, Way};
use super::security;
use super::server::Address;
use super::warning::Warnings;

mod body;
mod swagger;

pub(super) use body::is_json;

/// The methods that a path may have.
const METHODS: [&str; 9] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];

/// Where a parameter may stand.
const SPOTS: [&str; 5] = ["path", "query", "querystring", "header", "cookie"];

/// Headers that belong to the protocol or to authentication, never to an argument.
const OWN_HEADERS: [&str; 12] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether the file is an OpenAPI description.
pub(super) fn recognises(root: &Value) -> bool {
    root.get("openapi").is_some() || root.get("swagger").is_some()
}

/// Reads a description.
pub(super) fn read(library: &Library) -> Description {
    let root = library.root();
    let version = root
        .value
        .get("openapi")
        .or_else(|| root.value.get("swagger"));
    let version = version.map(text_of).unwrap_or_default();
    let old = root.value.get("openapi").is_none();
    let mut reader = Reader {
        library,
        schemas: Schemas::new(library, !old && !version.starts_with("3.0")),
        warn: Warnings::default(),
        old,
        security: security::alternatives(root),
        counted: 0,
    };
    let mut drafts = Vec::new();
    reader.paths(&mut drafts);
    // Shared parts belong to no operation alone.
    reader.warn.about("its schemas");
    let shared = reader.schemas.finish(&mut reader.warn);
    let info = root.get("info");
    let of_info = |key: &str| info.and_then(|info| info.text(key));
    let documentation = root.get("externalDocs").and_then(|docs| docs.text("url"));
    let about = of_info("description").unwrap_or("");
    Description {
        format: if old { "swagger" } else { "openapi" },
        version,
        title: of_info("title").map(|title| prose::plain(title, ADAPTER_NOTE_BYTES_MAX)),
        about: Some(prose::plain(about, ADAPTER_DESCRIPTION_BYTES_MAX))
            .filter(|text| !text.is_empty()),
        documentation: documentation.map(str::to_owned),
        servers: if old {
            swagger::servers(root)
        } else {
            Address::list(root)
        },
        schemes: security::schemes(library, root),
        counted: reader.counted,
        shared,
        drafts,
        warnings: reader.warn.finish(),
    }
}

/// A path: what is there, and what stands beside the reference that leads to it.
#[derive(Clone, Copy)]
struct Item<'a> {
    item: Spot<'a>,
    outer: Spot<'a>,
}

struct Reader<'a> {
    library: &'a Library,
    schemas: Schemas<'a>,
    warn: Warnings,
    /// Whether it is 2.0.
    old: bool,
    security: Option<Vec<security::Alternative>>,
    counted: usize,
}

impl<'a> Reader<'a> {
    fn paths(&mut self, drafts: &mut Vec<Draft>) {
        let root = self.library.root();
        for (path, item) in root.entries("paths") {
            if path.starts_with("x-") {
                continue;
            }
            self.warn.about(brief(path));
            let outer = item;
            let item = match self.library.settle(item) {
                Ok(item) if item.value.is_object() => item,
                Ok(_) => {
                    self.warn.add("it holds no operations; it is left out");
                    continue;
                }
                Err(why) => {
                    self.warn.add(format!("{why}; its operations are left out"));
                    continue;
                }
            };
            let item = Item { item, outer };
            for (method, operation) in methods(item.item).collect::<Vec<_>>() {
                self.counted += 1;
                if drafts.len() >= ADAPTER_OPERATIONS_MAX {
                    continue;
                }
                self.warn.about(format!("{method} {}", brief(path)));
                match self.operation(&method, path, item, operation) {
                    Ok(draft) => drafts.push(draft),
                    Err(why) => self.warn.add(format!("{why}; it is left out")),
                }
            }
        }
        if self.counted > drafts.len() && drafts.len() >= ADAPTER_OPERATIONS_MAX {
            self.warn.about("the whole description");
            self.warn.add(format!(
                "only the first {ADAPTER_OPERATIONS_MAX} of {} operations are used",
                self.counted
            ));
        }
    }

    fn operation(
        &mut self,
        method: &str,
        path: &str,
        item: Item<'a>,
        operation: Spot<'a>,
    ) -> Result<Draft, String> {
        let operation = self.library.settle(operation)?;
        if !operation.value.is_object() {
            return Err("it is not an operation".to_owned());
        }
        if !path.starts_with('/') {
            return Err("its path does not begin with a slash".to_owned());
        }
        let mut flat = Flat::default();
        let parameters = self.parameters(item, operation);
        self.misplaced(&parameters);
        for spot in SPOTS {
            let here = parameters.iter().filter(|p| p.text("in") == Some(spot));
            for parameter in here {
                self.parameter(*parameter, &mut flat);
            }
        }
        self.undeclared(path, &mut flat);
        if self.old {
            self.old_body(operation, &parameters, &mut flat);
        } else {
            self.body(operation, method, &mut flat);
        }
        if idempotency::takes_key(method) {
            flat.relax(idempotency::is_key);
        }
        let schema = flat.schema();
        let (output, accepts) = self.answers(operation);
        let own = security::alternatives(operation).or_else(|| self.security.clone());
        let id = operation.text("operationId").map(str::trim);
        let tags = operation.list("tags").filter_map(|tag| tag.value.as_str());
        let tags: Vec<String> = tags.map(str::to_owned).collect();
        let servers = [operation, item.item, item.outer].map(Address::list);
        let text = |key: &str, max: usize| {
            let text = operation.text(key).map(|text| prose::plain(text, max));
            text.unwrap_or_default()
        };
        let docs = operation.get("externalDocs").and_then(|d| d.text("url"));
        Ok(Draft {
            origin: Origin {
                id: id.filter(|id| !id.is_empty()).map(str::to_owned),
                place: format!("{method} {path}"),
            },
            method: method.to_owned(),
            path: path.to_owned(),
            summary: text("summary", ADAPTER_NOTE_BYTES_MAX),
            description: text("description", ADAPTER_DESCRIPTION_BYTES_MAX),
            category: tags
                .first()
                .map(|tag| kebab(tag))
                .or_else(|| category(path)),
            tags,
            deprecated: operation.says("deprecated"),
            documentation: docs.or_else(|| self.tag_docs(operation)).map(str::to_owned),
            extensions: extensions(operation),
            security: own.unwrap_or_default(),
            servers: servers
                .into_iter()
                .find(|list| !list.is_empty())
                .unwrap_or_default(),
            errors: self.errors(operation),
            flat,
            schema,
            output,
            accepts,
        })
    }

    /// The parameters of the operation and those of its path that it does not replace.
    fn parameters(&mut self, item: Item<'a>, operation: Spot<'a>) -> Vec<Spot<'a>> {
        let mut found: Vec<Spot<'a>> = Vec::new();
        let declared = [operation, item.outer, item.item].into_iter();
        let listed = |part: &Spot<'a>| part.get("parameters").is_none_or(|p| p.value.is_array());
        if !declared.clone().all(|part| listed(&part)) {
            self.warn
                .add("its parameters are left out: they are not a list");
        }
        for parameter in declared.flat_map(|part| part.list("parameters").collect::<Vec<_>>()) {
            match self.library.settle(parameter) {
                Ok(parameter) => {
                    let key = |p: &Spot<'a>| (p.text("name"), p.text("in"));
                    if !found.iter().any(|known| key(known) == key(&parameter)) {
                        found.push(parameter);
                    }
                }
                Err(why) => self.warn.add(format!("a parameter is left out: {why}")),
            }
        }
        found
    }

    /// Tells of parameters that stand nowhere in a request.
    fn misplaced(&mut self, parameters: &[Spot<'a>]) {
        let body = ["body", "formData"].as_slice();
        for parameter in parameters {
            let spot = parameter.text("in").unwrap_or_default();
            let known = SPOTS.contains(&spot) || self.old && body.contains(&spot);
            if !known {
                let name = brief(parameter.text("name").unwrap_or_default());
                self.warn.add(format!(
                    "the parameter `{name}` is left out: its `in` is none of {}",
                    SPOTS.join(", ")
                ));
            }
        }
    }

    fn parameter(&mut self, parameter: Spot<'a>, flat: &mut Flat) {
        let spot = match parameter.text("in") {
            Some("path") => operation::Spot::Path,
            Some("query" | "querystring") => operation::Spot::Query,
            Some("header") => operation::Spot::Header,
            Some("cookie") => operation::Spot::Cookie,
            _ => return,
        };
        let whole = parameter.text("in") == Some("querystring");
        let Some(name) = parameter.text("name").or(whole.then_some("querystring")) else {
            self.warn.add("a parameter without a name is left out");
            return;
        };
        let own = OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
        if spot == operation::Spot::Header && own {
            return;
        }
        let content = parameter.entries("content").next();
        let place = match (parameter.get("schema"), content) {
            (Some(schema), _) => Some(schema),
            (None, Some((_, media))) => media.get("schema"),
            (None, None) => self.old.then_some(parameter),
        };
        let mut schema = place.map_or_else(
            || Value::Object(Map::new()),
            |place| self.schemas.translate(place, Way::Request, &mut self.warn),
        );
        remark(&mut schema, parameter);
        let writing = match content {
            // A whole query has no name: what is in it stands for itself.
            Some((media, _)) if body::is_json(media) => Writing {
                style: Style::Json,
                explode: whole,
                allow_reserved: false,
            },
            Some(_) if whole => flat::FORM,
            _ if self.old => swagger::writing(parameter, spot),
            _ => writing(parameter, spot),
        };
        flat.add(Taken {
            name: name.to_owned(),
            spot,
            required: spot == operation::Spot::Path || parameter.says("required"),
            schema,
            writing,
            example: example(self.library, parameter),
        });
    }

    /// Parameters that the path names and nothing declares: each is some text.
    fn undeclared(&mut self, path: &str, flat: &mut Flat) {
        let mut rest = path;
        while let Some((_, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            rest = after;
            let path = operation::Spot::Path;
            let known = |input: &operation::Input| input.spot == path && input.name == name;
            if name.is_empty() || flat.inputs.iter().any(known) {
                continue;
            }
            self.warn.add(format!(
                "the parameter `{}` of its path is not declared; it is taken for text",
                brief(name)
            ));
            flat.add(Taken {
                name: name.to_owned(),
                spot: path,
                required: true,
                schema: json!({"type": "string"}),
                writing: Writing {
                    style: Style::Simple,
                    explode: false,
                    allow_reserved: false,
                },
                example: None,
            });
        }
    }

    /// The schema of a successful answer, and the media types of answers.
    fn answers(&mut self, operation: Spot<'a>) -> (Option<Value>, Vec<String>) {
        let mut good: Vec<(&str, Spot<'a>)> = Vec::new();
        for (status, answer) in operation.entries("responses") {
            if status.starts_with('2') || status == "default" {
                match self.library.settle(answer) {
                    Ok(answer) => good.push((status, answer)),
                    Err(why) => self.warn.add(format!("an answer is left out: {why}")),
                }
            }
        }
        good.sort_by_key(|(status, _)| (*status == "default", *status));
        let mut accepts: Vec<String> = Vec::new();
        let mut output = None;
        for (_, answer) in good {
            for (media, content) in answer.entries("content") {
                let is_json = body::is_json(media);
                if !accepts.iter().any(|known| known == media) && !media.contains('*') {
                    accepts.push(media.to_owned());
                }
                if output.is_none() && is_json {
                    output = content.get("schema");
                }
            }
            output = output.or_else(|| answer.get("schema").filter(|_| self.old));
        }
        accepts.sort_by_key(|media| !body::is_json(media));
        let output = output.map(|place| self.schemas.translate(place, Way::Answer, &mut self.warn));
        (output, accepts)
    }

    fn errors(&self, operation: Spot<'a>) -> Vec<DocumentedError> {
        let errors = operation
            .entries("responses")
            .filter(|(status, _)| status.starts_with(['4', '5']) || *status == "default");
        let errors = errors.filter_map(|(status, answer)| {
            let answer = self.library.settle(answer).ok()?;
            let meaning = prose::plain(answer.text("description")?, ADAPTER_NOTE_BYTES_MAX);
            (!meaning.is_empty()).then(|| DocumentedError {
                status: status.to_owned(),
                meaning,
            })
        });
        errors.take(ADAPTER_ERRORS_MAX).collect()
    }

    fn tag_docs(&self, operation: Spot<'a>) -> Option<&'a str> {
        let tag = operation.list("tags").next()?.value.as_str()?;
        let root = self.library.root();
        let found = root.list("tags").find(|t| t.text("name") == Some(tag))?;
        let docs = found.get("externalDocs").and_then(|docs| docs.text("url"));
        docs.or_else(|| root.get("externalDocs").and_then(|docs| docs.text("url")))
    }
}

/// The operations of a path by their method in capitals.
fn methods(item: Spot<'_>) -> impl Iterator<Item = (String, Spot<'_>)> {
    let usual = METHODS.iter().filter_map(move |method| {
        let operation = item.get(method)?;
        Some((method.to_ascii_uppercase(), operation))
    });
    let more = item.entries("additionalOperations");
    usual.chain(more.map(|(method, operation)| (method.to_owned(), operation)))
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// How an OpenAPI 3 parameter is written.
fn writing(parameter: Spot<'_>, spot: operation::Spot) -> Writing {
    use operation::Spot::{Cookie, Query};
    let usual = if matches!(spot, Query | Cookie) {
        Style::Form
    } else {
        Style::Simple
    };
    let style = match parameter.text("style") {
        Some("cookie") if spot == Cookie => Style::Cookie,
        Some("form") => Style::Form,
        Some("simple") => Style::Simple,
        Some("label") => Style::Label,
        Some("matrix") => Style::Matrix,
        Some("spaceDelimited") => Style::SpaceDelimited,
        Some("pipeDelimited") => Style::PipeDelimited,
        Some("deepObject") => Style::DeepObject,
        _ => usual,
    };
    let explode = parameter.value.get("explode").and_then(Value::as_bool);
    Writing {
        style,
        explode: explode.unwrap_or(matches!(style, Style::Form | Style::Cookie)),
        allow_reserved: parameter.says("allowReserved"),
    }
}

/// Puts the remark of a parameter on its schema.
fn remark(schema: &mut Value, parameter: Spot<'_>) {
    if schema == &Value::Bool(true) {
        *schema = Value::Object(Map::new());
    }
    if let (Value::Object(fields), Some(text)) = (schema, parameter.text("description")) {
        let text = prose::plain(text, ADAPTER_NOTE_BYTES_MAX);
        if !text.is_empty() {
            fields.insert("description".to_owned(), text.into());
        }
    }
}

/// The example that stands beside a schema.
fn example(library: &Library, part: Spot<'_>) -> Option<Value> {
    if let Some(example) = part.value.get("example") {
        return Some(example.clone());
    }
    let (_, first) = part.entries("examples").next()?;
    let first = library.settle(first).ok()?;
    first
        .value
        .get("value")
        .or_else(|| first.value.get("dataValue"))
        .cloned()
}

fn extensions(operation: Spot<'_>) -> Value {
    let fields = operation.value.as_object().into_iter().flatten();
    let own = fields.filter(|(key, value)| {
        let small =
            || serde_json::to_string(value).is_ok_and(|t| t.len() <= ADAPTER_EXAMPLE_BYTES_MAX);
        key.starts_with("x-") && small()
    });
    let own: Map<String, Value> = own.map(|(k, v)| (k.clone(), v.clone())).collect();
    if own.is_empty() {
        Value::Null
    } else {
        Value::Object(own)
    }
}

/// The first part of a path that is neither a version nor a parameter.
pub(super) fn category(path: &str) -> Option<String> {
    let is_version = |part: &str| {
        let digits = part.strip_prefix('v').unwrap_or("");
        part == "api" || !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let parts = path.split('/').filter(|part| !part.is_empty());
    let mut parts = parts.filter(|part| !part.contains(['{', ':']) && !is_version(part));
    parts.next().map(kebab).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
