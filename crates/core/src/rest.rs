//! The REST API, described once: the HTTP door builds its routes from this table and reads requests by
//! it, and the committed OpenAPI document is generated from it.

mod document;
mod routes;
mod schemas;

use serde_json::{Map, Value, json};

pub use document::{COMMITTED_PATH, document, text};
pub use routes::ROUTES;

/// The scope that running the gateway itself takes: its records, its configuration, its approvals.
pub const ADMIN_SCOPE: &str = "toolcrib:admin";

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Runs a tool by its path.
    RunTool,
    /// Lists adapters.
    Adapters,
    /// Shows one adapter and its tools.
    Adapter,
    /// Lists servers.
    Servers,
    /// Lists the tools of a server.
    ServerTools,
    /// Shows one tool in full.
    Tool,
    /// Finds tools.
    Search,
    /// Turns a wish into an action.
    Intent,
    /// Runs a tool by its id.
    Execute,
    /// Lists what waits for a person.
    Approvals,
    /// Shows what waits in full.
    ShowApproval,
    /// Settles what waits.
    Settle,
    /// Looks at an unknown server.
    Introspect,
    /// Registers a server that a person approved.
    Register,
    /// Writes the tools of a server as capability files.
    Export,
    /// Reads the audit log.
    Audit,
    /// Counts.
    Stats,
    /// Shows the configuration without its secrets.
    Configuration,
    /// Reads the configuration again.
    Reload,
    /// Tells what happens.
    Events,
    /// This description.
    Document,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Does.
    Post,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the path.
    Path,
    /// After the `?`.
    Query,
    /// In a header.
    Header,
}

/// What a parameter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text that is not empty.
    Text,
    /// A whole number within bounds.
    Number(i64, i64),
    /// `true` or `false`.
    Flag,
    /// One of some words.
    Word(&'static [&'static str]),
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// Whether it must be there.
    pub required: bool,
    /// What it holds.
    pub kind: Kind,
    /// What it is for.
    pub about: &'static str,
}

/// One route.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// What it does.
    pub operation: Operation,
    /// Its method.
    pub method: Method,
    /// Its path, parameters in braces.
    pub path: &'static str,
    /// A name for generated clients.
    pub id: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What it takes beside the body.
    pub parameters: &'static [Parameter],
    /// Whether it takes a body.
    pub body: bool,
    /// Whether it needs [`ADMIN_SCOPE`].
    pub admin: bool,
}

/// The route of an operation.
pub fn route(operation: Operation) -> &'static Route {
    let found = ROUTES.iter().find(|route| route.operation == operation);
    // A test holds that every operation has its route.
    found.unwrap_or(&ROUTES[0])
}

/// A parameter that cannot be used: which, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` {why}.")]
pub struct BadParameter {
    /// Which.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

impl Route {
    /// Reads parameters of one place: what is not in the table is refused, what must be there is
    /// asked for, and each must hold what the table says. A header that the table does not name is
    /// somebody else's.
    pub fn read(
        &self,
        place: Place,
        given: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Map<String, Value>, BadParameter> {
        let known = || self.parameters.iter().filter(|p| p.place == place);
        let bad = |name: &str, why: String| BadParameter {
            name: name.chars().take(64).collect(),
            why,
        };
        let mut read = Map::new();
        for (name, text) in given {
            let parameter = known().find(|parameter| parameter.name.eq_ignore_ascii_case(&name));
            let Some(parameter) = parameter else {
                if place == Place::Header {
                    continue;
                }
                let names: Vec<&str> = known().map(|parameter| parameter.name).collect();
                return Err(bad(
                    &name,
                    format!("is not known; known are {}", names.join(", ")),
                ));
            };
            let value = parameter
                .kind
                .read(&text)
                .map_err(|why| bad(parameter.name, why))?;
            if read.insert(parameter.name.to_owned(), value).is_some() {
                return Err(bad(parameter.name, "is given twice".to_owned()));
            }
        }
        let missing = known().find(|p| p.required && !read.contains_key(p.name));
        match missing {
            Some(parameter) => Err(bad(parameter.name, "is required".to_owned())),
            None => Ok(read),
        }
    }
}

impl Kind {
    fn read(self, text: &str) -> Result<Value, String> {
        match self {
            Kind::Text if text.trim().is_empty() => Err("must not be empty".to_owned()),
            Kind::Text => Ok(text.into()),
            Kind::Number(least, most) => match text.parse::<i64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(number.into()),
                _ => Err(format!("must be a whole number from {least} to {most}")),
            },
            Kind::Flag => match text {
                "true" => Ok(true.into()),
                "false" => Ok(false.into()),
                _ => Err("must be true or false".to_owned()),
            },
            Kind::Word(words) if words.contains(&text) => Ok(text.into()),
            Kind::Word(words) => Err(format!("must be one of {}", words.join(", "))),
        }
    }

    fn schema(self) -> Value {
        match self {
            Kind::Text => json!({"type": "string", "minLength": 1, "pattern": "\\S"}),
            Kind::Number(least, i64::MAX) => {
                json!({"type": "integer", "format": "int64", "minimum": least})
            }
            Kind::Number(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Word(words) => json!({"type": "string", "enum": words}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(given: &[(&str, &str)]) -> Vec<(String, String)> {
        given
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    }

    #[test]
    fn every_route_has_its_own_path_and_declares_its_path_parameters() {
        for (at, one) in ROUTES.iter().enumerate() {
            let same = |other: &&Route| other.path == one.path && other.method == one.method;
            assert_eq!(ROUTES.iter().filter(same).count(), 1, "{}", one.path);
            assert_eq!(route(one.operation).path, ROUTES[at].path);
            let declared: Vec<&str> = one
                .parameters
                .iter()
                .filter(|parameter| parameter.place == Place::Path)
                .map(|parameter| parameter.name)
                .collect();
            let used: Vec<&str> = one
                .path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            assert_eq!(declared, used, "{}", one.path);
        }
    }

    #[test]
    fn bounds_are_those_of_the_product() {
        use super::routes::{AUDIT_ROWS_MAX, SEARCH_ROWS_MAX};
        use crate::limits::{AUDIT_PAGE_ROWS_MAX, SEARCH_LIMIT_MAX};
        assert_eq!(usize::try_from(SEARCH_ROWS_MAX), Ok(SEARCH_LIMIT_MAX));
        assert_eq!(usize::try_from(AUDIT_ROWS_MAX), Ok(AUDIT_PAGE_ROWS_MAX));
    }

    #[test]
    fn parameters_hold_what_the_table_says() {
        let audit = route(Operation::Audit);
        let read = audit.read(Place::Query, pairs(&[("limit", "5"), ("outcome", "ok")]));
        assert_eq!(
            Value::Object(read.unwrap()),
            json!({"limit": 5, "outcome": "ok"})
        );
        for (given, name, why) in [
            (
                &[("limit", "0")][..],
                "limit",
                "must be a whole number from 1 to 1000",
            ),
            (
                &[("limit", "x")],
                "limit",
                "must be a whole number from 1 to 1000",
            ),
            (&[("limit", "1"), ("limit", "2")], "limit", "is given twice"),
            (
                &[("outcome", "fine")],
                "outcome",
                "must be one of ok, error, refused, replayed, dry_run, timeout, cancelled, unknown",
            ),
            (&[("tool_id", " ")], "tool_id", "must not be empty"),
        ] {
            let bad = audit.read(Place::Query, pairs(given)).unwrap_err();
            assert_eq!((bad.name.as_str(), bad.why.as_str()), (name, why));
        }
        let search = route(Operation::Search);
        assert_eq!(
            search
                .read(Place::Query, pairs(&[]))
                .unwrap_err()
                .to_string(),
            "`q` is required."
        );
        let bad = search
            .read(Place::Query, pairs(&[("query", "x")]))
            .unwrap_err();
        assert_eq!(
            bad.to_string(),
            "`query` is not known; known are q, server, limit."
        );
        let run = route(Operation::RunTool);
        let headers = pairs(&[
            ("host", "x"),
            ("x-confirmed", "true"),
            ("idempotency-key", "k"),
        ]);
        let read = run.read(Place::Header, headers).unwrap();
        assert_eq!(
            Value::Object(read),
            json!({"X-Confirmed": true, "Idempotency-Key": "k"})
        );
        assert!(
            run.read(Place::Header, pairs(&[("x-confirmed", "yes")]))
                .is_err()
        );
        let all = route(Operation::Approvals);
        assert!(all.read(Place::Query, pairs(&[("all", "false")])).is_ok());
    }
}
