//! Operations of a description, and which of them a request is for.

use serde_json::{Value, json};

use super::document::Document;

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// One operation.
#[derive(Debug)]
pub(super) struct Operation {
    /// The method, in lower case.
    pub(super) method: String,
    /// The template of its path.
    pub(super) path: String,
    /// What the template has after a `?`.
    pub(super) fixed: String,
    /// What the description says about it.
    pub(super) rules: Value,
    /// Its parameters, those of its path included, none of them a reference.
    pub(super) parameters: Vec<Value>,
}

/// The operations of a description.
#[derive(Debug)]
pub(super) struct Routes {
    pub(super) all: Vec<Operation>,
}

/// What a path leads to.
pub(super) enum Found<'a> {
    /// Operations, and the parts of the path that stand for their parameters, still escaped. There are
    /// several where templates differ only after a `#`, which is never sent.
    Some(Vec<(&'a Operation, Vec<(String, String)>)>),
    /// Nothing by this method.
    OtherMethods,
    /// Nothing.
    Nothing,
}

impl Routes {
    pub(super) fn of(document: &Document) -> Self {
        let mut all = Vec::new();
        let paths = document.root.get("paths").and_then(Value::as_object);
        for (path, item) in paths.into_iter().flatten() {
            let item = document.follow(item);
            for method in METHODS {
                let Some(rules) = item.get(method) else {
                    continue;
                };
                let (path, fixed) = path.split_once('?').unwrap_or((path, ""));
                all.push(Operation {
                    method: method.to_owned(),
                    path: path.split('#').next().unwrap_or(path).to_owned(),
                    fixed: fixed.to_owned(),
                    parameters: parameters(document, item, rules),
                    rules: rules.clone(),
                });
            }
        }
        Self { all }
    }

    /// The operation that a request is for: of several paths that fit, the one with the fewest parameters.
    pub(super) fn find(&self, method: &str, path: &str, query: &str) -> Found<'_> {
        let mut fitting: Vec<(&Operation, Vec<(String, String)>)> = Vec::new();
        let mut elsewhere = false;
        for operation in &self.all {
            let fixed = operation.fixed.split('&').filter(|pair| !pair.is_empty());
            let mut asked = fixed.map(|pair| query.split('&').any(|other| other == pair));
            let Some(values) = captured(&operation.path, path).filter(|_| asked.all(|is| is))
            else {
                continue;
            };
            if operation.method.eq_ignore_ascii_case(method) {
                fitting.push((operation, values));
            } else {
                elsewhere = true;
            }
        }
        fitting.sort_by_key(|(operation, values)| (values.len(), operation.fixed.is_empty()));
        if let Some((best, _)) = fitting.first() {
            let (path, fixed) = (best.path.clone(), best.fixed.clone());
            fitting.retain(|(other, _)| other.path == path && other.fixed == fixed);
            return Found::Some(fitting);
        }
        if elsewhere {
            return Found::OtherMethods;
        }
        Found::Nothing
    }
}

fn parameters(document: &Document, item: &Value, rules: &Value) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    // Those of the operation come first and stand for those of the path.
    for list in [rules, item] {
        let list = list.get("parameters").and_then(Value::as_array);
        for parameter in list.into_iter().flatten() {
            let parameter = document.follow(parameter);
            let same = |other: &Value| {
                other["name"] == parameter["name"] && other["in"] == parameter["in"]
            };
            if !all.iter().any(same) {
                all.push(parameter.clone());
            }
        }
    }
    all
}

/// What stands for the parameters of a template, where the path fits it.
fn captured(template: &str, path: &str) -> Option<Vec<(String, String)>> {
    let templates: Vec<&str> = template.trim_end_matches('/').split('/').collect();
    let segments: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    if templates.len() != segments.len() {
        return None;
    }
    let mut values = Vec::new();
    for (template, segment) in templates.into_iter().zip(segments) {
        values.extend(within(template, segment)?);
    }
    Some(values)
}

/// One segment: `{id}`, `{id}.json`, `{from}-{to}`.
fn within(template: &str, segment: &str) -> Option<Vec<(String, String)>> {
    let Some((before, rest)) = template.split_once('{') else {
        return (super::text::unescape(template) == super::text::unescape(segment)).then(Vec::new);
    };
    let (name, after) = rest.split_once('}')?;
    let segment = segment.strip_prefix(before)?;
    for end in (1..=segment.len()).rev() {
        let Some((value, left)) = segment.split_at_checked(end) else {
            continue;
        };
        let further = if after.is_empty() {
            left.is_empty().then(Vec::new)
        } else {
            within(after, left)
        };
        if let Some(further) = further {
            let mut values = vec![(name.to_owned(), value.to_owned())];
            values.extend(further);
            return Some(values);
        }
    }
    None
}

impl Operation {
    /// What it answers when all is well: the status and a body.
    pub(super) fn answer(&self, document: &Document) -> (u16, Value) {
        let responses = self.rules.get("responses").and_then(Value::as_object);
        let mut responses: Vec<_> = responses.into_iter().flatten().collect();
        responses.sort_by_key(|(status, _)| status.as_str());
        let good = responses.iter().find(|(status, _)| status.starts_with('2'));
        let Some((status, response)) = good else {
            return (200, json!({}));
        };
        let response = document.follow(response);
        let status = status.parse().unwrap_or(200);
        (
            status,
            shown(document, response).unwrap_or_else(|| json!({})),
        )
    }
}

/// The example of an answer.
fn shown(document: &Document, response: &Value) -> Option<Value> {
    let old = response.pointer("/examples/application~1json");
    let media = response.pointer("/content/application~1json");
    let several = media.and_then(|media| media.get("examples")?.as_object()?.values().next());
    let several = several.and_then(|one| document.follow(one).get("value"));
    let one = media.and_then(|media| media.get("example"));
    old.or(one).or(several).cloned()
}
