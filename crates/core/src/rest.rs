//! The REST API, described once: the HTTP door builds its routes from this table and reads requests by
//! it, and the committed OpenAPI document is generated from it.

mod document;
mod schemas;

use serde_json::{Map, Value, json};

use crate::gateway::definitions::CATEGORIES;

pub use document::{COMMITTED_PATH, document, text};

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
    /// Settles what waits.
    Settle,
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

const fn path(name: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Path,
        required: true,
        kind: Kind::Text,
        about,
    }
}

const fn query(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Query,
        required: false,
        kind,
        about,
    }
}

const fn header(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Header,
        required: false,
        kind,
        about,
    }
}

const fn get(
    operation: Operation,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
) -> Route {
    Route {
        operation,
        method: Method::Get,
        path,
        id,
        summary,
        parameters,
        body: false,
        admin: false,
    }
}

const fn post(route: Route) -> Route {
    Route {
        method: Method::Post,
        body: true,
        ..route
    }
}

const fn admin(route: Route) -> Route {
    Route {
        admin: true,
        ..route
    }
}

/// [`crate::limits::SEARCH_LIMIT_MAX`], as parameters count.
const SEARCH_ROWS_MAX: i64 = 1_000;
/// [`crate::limits::AUDIT_PAGE_ROWS_MAX`], as parameters count.
const AUDIT_ROWS_MAX: i64 = 1_000;

const KEY: Parameter = header(
    "Idempotency-Key",
    Kind::Text,
    "The same key gives the same answer and has its effect once; high-risk tools need one",
);
const CONFIRMED: Parameter = header(
    "X-Confirmed",
    Kind::Flag,
    "Whether the call is confirmed; destructive tools need it",
);
const ADAPTER: Parameter = path("adapter", "The adapter's name");
const SERVER: Parameter = path("server", "The server's name");
const LIMIT: Parameter = query(
    "limit",
    Kind::Number(1, SEARCH_ROWS_MAX),
    "Most items to give",
);
const OUTCOMES: &[&str] = &[
    "ok",
    "error",
    "refused",
    "replayed",
    "timeout",
    "cancelled",
    "unknown",
];

/// Every route.
pub const ROUTES: &[Route] = &[
    post(get(
        Operation::RunTool,
        "/api/adapters/{adapter}/tools/{tool}",
        "runTool",
        "Run a tool; the body is its parameters",
        &[ADAPTER, path("tool", "The tool's name"), KEY, CONFIRMED],
    )),
    get(
        Operation::Adapters,
        "/api/adapters",
        "listAdapters",
        "List adapters and what they can do",
        &[
            query(
                "category",
                Kind::Word(&CATEGORIES),
                "Only services of this kind",
            ),
            query("capability", Kind::Text, "Only services that can do this"),
            query("country", Kind::Text, "Only services for this country"),
        ],
    ),
    get(
        Operation::Adapter,
        "/api/adapters/{adapter}",
        "showAdapter",
        "Show an adapter and its tools",
        &[ADAPTER],
    ),
    get(
        Operation::Servers,
        "/api/v1/servers",
        "listServers",
        "List servers",
        &[],
    ),
    get(
        Operation::ServerTools,
        "/api/v1/servers/{server}/tools",
        "listServerTools",
        "List the tools of a server",
        &[
            SERVER,
            LIMIT,
            query(
                "cursor",
                Kind::Text,
                "Where to go on: `next_cursor` of the page before",
            ),
            query(
                "pattern",
                Kind::Text,
                "Only tools whose name this glob or /regex/ matches",
            ),
            query(
                "include_disabled",
                Kind::Flag,
                "Whether tools that rules switch off are listed too",
            ),
        ],
    ),
    get(
        Operation::Tool,
        "/api/v1/tools/{tool_id}",
        "showTool",
        "Show a tool in full",
        &[path("tool_id", "The tool's id, `server:tool`")],
    ),
    get(
        Operation::Search,
        "/api/v1/search",
        "searchTools",
        "Find tools for a plain wish",
        &[
            Parameter {
                required: true,
                ..query("q", Kind::Text, "What is wanted, in plain words")
            },
            query("server", Kind::Text, "Only tools of this server"),
            LIMIT,
        ],
    ),
    post(get(
        Operation::Intent,
        "/api/v1/intent",
        "resolveIntent",
        "Turn a wish into an action that is ready to be executed",
        &[],
    )),
    post(get(
        Operation::Execute,
        "/api/v1/execute",
        "executeTool",
        "Run a tool by its id",
        &[KEY, CONFIRMED],
    )),
    admin(get(
        Operation::Approvals,
        "/api/v1/approvals",
        "listApprovals",
        "List what waits for a person",
        &[query(
            "all",
            Kind::Flag,
            "Whether what was settled is listed too",
        )],
    )),
    admin(post(get(
        Operation::Settle,
        "/api/v1/approvals/{target}",
        "settleApproval",
        "Approve or reject what waits; only for callers that show who they are",
        &[path("target", "An id, `server`, or `server:tool`")],
    ))),
    admin(get(
        Operation::Audit,
        "/api/v1/audit",
        "readAudit",
        "Read the newest records of the audit log, oldest of them first",
        &[
            query(
                "limit",
                Kind::Number(1, AUDIT_ROWS_MAX),
                "Most records to give",
            ),
            query("since_ms", Kind::Number(0, i64::MAX), "Not older than this"),
            query("until_ms", Kind::Number(0, i64::MAX), "Older than this"),
            query("actor_id", Kind::Text, "Of this caller"),
            query("tool_id", Kind::Text, "Of this tool"),
            query("server", Kind::Text, "Of any tool of this server"),
            query("outcome", Kind::Word(OUTCOMES), "With this outcome"),
            query("request_id", Kind::Text, "Of this request"),
        ],
    )),
    admin(get(
        Operation::Stats,
        "/api/v1/stats",
        "readStats",
        "Count servers, tools and calls",
        &[query(
            "days",
            Kind::Number(1, 3_650),
            "Over how many days; 30 unless given",
        )],
    )),
    admin(get(
        Operation::Configuration,
        "/api/v1/configuration",
        "showConfiguration",
        "Show the configuration in place, without its secrets",
        &[],
    )),
    admin(Route {
        body: false,
        ..post(get(
            Operation::Reload,
            "/api/v1/reload",
            "reload",
            "Read the configuration again",
            &[],
        ))
    }),
    admin(get(
        Operation::Events,
        "/api/v1/events",
        "followEvents",
        "Follow what happens: audit records and changes of the catalog, as server-sent events",
        &[],
    )),
    get(
        Operation::Document,
        "/api/v1/openapi.json",
        "describe",
        "This description",
        &[],
    ),
];

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
                "must be one of ok, error, refused, replayed, timeout, cancelled, unknown",
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
