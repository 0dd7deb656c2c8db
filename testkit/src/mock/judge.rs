//! A request against the description: every violation, by its place.

use serde_json::{Map, Value, json};

use super::Verdict;
use super::body;
use super::document::Document;
use super::form::Pairs;
use super::reading::{Style, placed};
use super::route::{Found, Operation, Routes};
use crate::api::Received;

/// Headers that the specification keeps for itself: no parameter of these names counts.
const KEPT: [&str; 3] = ["accept", "content-type", "authorization"];

/// What the description has against a request.
pub(super) fn judge(document: &Document, routes: &Routes, asked: &Received) -> Verdict {
    let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let fitting = match routes.find(&asked.method, path, query) {
        Found::Some(fitting) => fitting,
        Found::OtherMethods => return Verdict::refused(405, "method: no operation has it here"),
        Found::Nothing => return Verdict::refused(404, "path: no operation has it"),
    };
    let verdicts = fitting
        .iter()
        .map(|(operation, values)| held(document, operation, asked, query, values));
    let verdict = verdicts.min_by_key(|verdict| verdict.against.len());
    verdict.unwrap_or_else(|| Verdict::refused(404, "path: no operation has it"))
}

/// A request held against one operation.
fn held(
    document: &Document,
    operation: &Operation,
    asked: &Received,
    query: &str,
    values: &[(String, String)],
) -> Verdict {
    let mut request = Request {
        document,
        operation,
        asked,
        query: Pairs::of_query(query),
        cookies: Pairs::of_query(
            &asked
                .header("cookie")
                .unwrap_or_default()
                .replace("; ", "&"),
        ),
        against: Vec::new(),
    };
    let is_parameter = |name: &str| {
        let mut parameters = operation.parameters.iter();
        parameters.any(|parameter| parameter["in"] == "query" && parameter["name"] == name)
    };
    let fixed = super::text::pairs(&operation.fixed).into_iter();
    for pair in fixed.filter(|(name, _)| !is_parameter(name)) {
        let style = Style::of(&Value::Null, "form");
        let _ = request.query.take(document, &pair.0, &json!({}), &style);
    }
    request.authentication();
    for parameter in &operation.parameters {
        request.parameter(parameter, values);
    }
    request.leftovers();
    let against = body::against(document, operation, asked);
    request.against.extend(against);
    let (status, answer) = operation.answer(document);
    Verdict {
        operation: format!("{} {}", operation.method.to_uppercase(), operation.path),
        status: if request.against.is_empty() {
            status
        } else {
            400
        },
        against: request.against,
        answer,
    }
}

/// A request that is being looked at.
struct Request<'a> {
    document: &'a Document,
    operation: &'a Operation,
    asked: &'a Received,
    query: Pairs,
    cookies: Pairs,
    against: Vec<String>,
}

impl Request<'_> {
    fn parameter(&mut self, parameter: &Value, values: &[(String, String)]) {
        let (Some(name), Some(spot)) = (parameter["name"].as_str(), parameter["in"].as_str())
        else {
            return;
        };
        let place = format!("{spot}.{name}");
        let (schema, is_json) = self.schema(parameter);
        let usual = if matches!(spot, "query" | "cookie") {
            "form"
        } else {
            "simple"
        };
        let style = if self.document.old {
            Style::old(parameter, usual)
        } else {
            Style::of(parameter, usual)
        };
        let read = match spot {
            "query" if is_json => self.plain_pair(name),
            "query" => self.query.take(self.document, name, &schema, &style),
            "cookie" => self.cookies.take(self.document, name, &schema, &style),
            "path" => {
                let found = values.iter().find(|(known, _)| known == name);
                self.placed(
                    name,
                    found.map(|(_, value)| value.as_str()),
                    &schema,
                    &style,
                )
            }
            "header" if KEPT.contains(&name.to_ascii_lowercase().as_str()) => return,
            // A header is not escaped; signs that would be taken for an escape are written as one.
            "header" => {
                let value = self
                    .asked
                    .header(name)
                    .map(|value| value.replace('%', "%25"));
                self.placed(name, value.as_deref(), &schema, &style)
            }
            // Bodies and forms of 2.0 are looked at as such.
            _ => return,
        };
        match read {
            Err(why) => self.against.push(format!("{place}: {why}")),
            Ok(None) if spot == "path" || parameter["required"] == true => {
                self.against
                    .push(format!("{place}: is required and missing"));
            }
            Ok(None) => {}
            Ok(Some(value)) => {
                let value = if is_json {
                    let text = value.as_str().unwrap_or_default();
                    serde_json::from_str(text).unwrap_or(value)
                } else {
                    self.document.typed(&value, &schema)
                };
                let found = self.document.against(&place, &value, &schema);
                self.against.extend(found);
            }
        }
    }

    /// The schema of a parameter, and whether its value is JSON.
    fn schema(&self, parameter: &Value) -> (Value, bool) {
        let content = parameter.get("content").and_then(Value::as_object);
        if let Some((media, content)) = content.and_then(|content| content.iter().next()) {
            let schema = content.get("schema").cloned().unwrap_or_default();
            return (schema, media.contains("json"));
        }
        if self.document.old {
            return (old_schema(parameter), false);
        }
        (
            parameter
                .get("schema")
                .cloned()
                .unwrap_or_else(|| json!({})),
            false,
        )
    }

    fn plain_pair(&mut self, name: &str) -> Result<Option<Value>, String> {
        let style = Style::of(&Value::Null, "form");
        self.query
            .take(self.document, name, &json!({ "type": "string" }), &style)
    }

    fn placed(
        &self,
        name: &str,
        written: Option<&str>,
        schema: &Value,
        style: &Style,
    ) -> Result<Option<Value>, String> {
        let Some(written) = written else {
            return Ok(None);
        };
        let readings = placed(name, written, style, self.document.shapes(schema))?;
        Ok(Some(self.document.chosen(&readings, schema)))
    }

    /// Whether one of the ways to authenticate is used; keys in the query are taken from it.
    fn authentication(&mut self) {
        let of = |value: &'static str| self.operation.rules.get(value);
        let ways = of("security").or_else(|| self.document.root.get("security"));
        let ways = ways.and_then(Value::as_array).cloned().unwrap_or_default();
        let schemes = ["/components/securitySchemes", "/securityDefinitions"];
        let schemes = schemes.iter().find_map(|at| self.document.root.pointer(at));
        let schemes = schemes
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let mut satisfied = ways.is_empty();
        for way in ways.iter().filter_map(Value::as_object) {
            // Not `all`: every key of a way is taken from the query.
            let used = way.keys().map(|name| {
                let scheme = schemes
                    .get(name)
                    .map(|scheme| self.document.follow(scheme).clone());
                scheme.is_none_or(|scheme| self.uses(&scheme))
            });
            let used: Vec<bool> = used.collect();
            satisfied |= used.iter().all(|used| *used);
        }
        if !satisfied {
            let ways: Vec<String> = ways.iter().map(Value::to_string).collect();
            self.against
                .push(format!("security: none of {} is used", ways.join(", ")));
        }
    }

    fn uses(&mut self, scheme: &Value) -> bool {
        let says = |word: &str| {
            let value = self.asked.header("authorization").unwrap_or_default();
            let (kind, rest) = value.split_once(' ').unwrap_or((value, ""));
            kind.eq_ignore_ascii_case(word) && !rest.is_empty()
        };
        let name = scheme["name"].as_str().unwrap_or_default();
        match (scheme["type"].as_str(), scheme["in"].as_str()) {
            (Some("basic"), _) => says("basic"),
            (Some("http"), _) => scheme["scheme"].as_str().is_some_and(says),
            (Some("oauth2" | "openIdConnect"), _) => says("bearer"),
            (Some("apiKey"), Some("header")) => self.asked.header(name).is_some(),
            (Some("apiKey"), Some("query")) => matches!(self.plain_pair(name), Ok(Some(_))),
            (Some("apiKey"), Some("cookie")) => {
                let style = Style::of(&Value::Null, "form");
                let taken = self.cookies.take(self.document, name, &json!({}), &style);
                matches!(taken, Ok(Some(_)))
            }
            _ => true,
        }
    }

    /// What stands in the query or in a cookie and is no parameter.
    fn leftovers(&mut self) {
        for name in self.query.left() {
            self.against
                .push(format!("query.{name}: is no parameter here"));
        }
        for name in self.cookies.left() {
            self.against
                .push(format!("cookie.{name}: is no parameter here"));
        }
    }
}

/// A parameter of 2.0 as the schema that it is.
pub(super) fn old_schema(parameter: &Value) -> Value {
    let none = Map::new();
    let fields = parameter.as_object().unwrap_or(&none).iter();
    let words = [
        "name",
        "in",
        "required",
        "collectionFormat",
        "allowEmptyValue",
    ];
    let fields = fields.filter(|(word, _)| !words.contains(&word.as_str()));
    Value::Object(
        fields
            .map(|(word, value)| (word.clone(), value.clone()))
            .collect(),
    )
}
