//! The table of routes.

use super::{Kind, Method, Operation, Parameter, Place, Route};
use crate::gateway::definitions::CATEGORIES;

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
pub(super) const SEARCH_ROWS_MAX: i64 = 1_000;
/// [`crate::limits::AUDIT_PAGE_ROWS_MAX`], as parameters count.
pub(super) const AUDIT_ROWS_MAX: i64 = 1_000;

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
const TARGET: Parameter = path("target", "An id, `server`, or `server:tool`");
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
    "dry_run",
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
    admin(get(
        Operation::ShowApproval,
        "/api/v1/approvals/{target}",
        "showApproval",
        "Show what waits in full, with what was accepted before and what is odd about it",
        &[TARGET],
    )),
    admin(post(get(
        Operation::Settle,
        "/api/v1/approvals/{target}",
        "settleApproval",
        "Approve or reject what waits; only for callers that show who they are",
        &[TARGET],
    ))),
    admin(post(get(
        Operation::Introspect,
        "/api/v1/introspect",
        "introspectServer",
        "Ask a remote MCP server what it offers, and put it up for approval",
        &[],
    ))),
    admin(Route {
        body: false,
        ..post(get(
            Operation::Register,
            "/api/v1/servers/{server}/register",
            "registerServer",
            "Register an introspected server that was approved, with its capabilities",
            &[SERVER],
        ))
    }),
    admin(post(get(
        Operation::Export,
        "/api/v1/servers/{server}/capabilities",
        "exportCapabilities",
        "Write the tools of an MCP server as capability files for review, and learn what its reading tools answer where that is asked for",
        &[SERVER],
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
