//! The words that inference knows.

/// Words of server names and the domain that they mean; a pair is written with a hyphen.
const DOMAINS: &[(&str, &[&str])] = &[
    (
        "cloud.aws",
        &[
            "aws",
            "s3",
            "lambda",
            "dynamodb",
            "ec2",
            "cloudwatch",
            "amazon",
        ],
    ),
    ("cloud.azure", &["azure"]),
    ("cloud.gcp", &["gcp", "gcloud", "google-cloud", "bigquery"]),
    (
        "database",
        &[
            "postgres",
            "postgresql",
            "mysql",
            "mariadb",
            "sqlite",
            "mongodb",
            "mongo",
            "redis",
            "duckdb",
            "database",
            "databases",
            "sql",
            "db",
            "snowflake",
            "clickhouse",
            "supabase",
        ],
    ),
    ("docker", &["docker"]),
    (
        "email",
        &["email", "mail", "smtp", "imap", "gmail", "outlook"],
    ),
    ("filesystem", &["filesystem", "fs", "files"]),
    ("git", &["git"]),
    ("github", &["github"]),
    ("gitlab", &["gitlab"]),
    ("kubernetes", &["kubernetes", "k8s", "kubectl"]),
    ("slack", &["slack"]),
];

/// The domain that a word of a server's name means.
pub(super) fn domain(word: &str) -> Option<&'static str> {
    lookup(DOMAINS, word)
}

/// Words that say nothing of what a server is about.
pub(super) const GENERIC: &[&str] = &[
    "mcp",
    "server",
    "servers",
    "api",
    "apis",
    "tool",
    "tools",
    "service",
    "services",
    "bot",
    "client",
    "my",
    "the",
    "app",
    "plugin",
    "integration",
    "official",
];

/// Verbs, and nouns that stand for them, with the category of what they do.
const CATEGORIES: &[(&str, &[&str])] = &[
    (
        "crud.read",
        &[
            "get", "list", "read", "fetch", "show", "view", "describe", "retrieve", "load",
            "count", "check", "inspect", "browse", "download", "query", "lookup", "display",
            "peek", "tail",
        ],
    ),
    (
        "crud.create",
        &[
            "create", "add", "new", "insert", "post", "make", "generate", "register", "open",
            "fork", "clone",
        ],
    ),
    (
        "crud.update",
        &[
            "update", "edit", "patch", "modify", "set", "write", "rename", "move", "change",
            "replace", "assign", "merge", "put", "append", "enable", "disable", "close", "reopen",
        ],
    ),
    (
        "crud.delete",
        &[
            "delete",
            "remove",
            "destroy",
            "drop",
            "purge",
            "clear",
            "erase",
            "uninstall",
        ],
    ),
    ("search", &["search", "find"]),
    (
        "notify",
        &[
            "send",
            "notify",
            "alert",
            "publish",
            "broadcast",
            "email",
            "reply",
            "forward",
        ],
    ),
    (
        "transform",
        &[
            "transform",
            "convert",
            "format",
            "parse",
            "translate",
            "encode",
            "decode",
            "render",
            "summarize",
        ],
    ),
    ("validate", &["validate", "verify", "lint", "test"]),
    ("upload", &["upload", "import", "attach"]),
    (
        "execute",
        &[
            "run", "execute", "exec", "invoke", "call", "eval", "evaluate", "start", "stop",
            "restart", "trigger", "deploy",
        ],
    ),
];

/// The category that a verb means.
pub(super) fn category(word: &str) -> Option<&'static str> {
    lookup(CATEGORIES, word)
}

fn lookup(table: &[(&'static str, &[&str])], word: &str) -> Option<&'static str> {
    let row = table.iter().find(|(_, words)| words.contains(&word));
    row.map(|(meaning, _)| *meaning)
}

/// What is told to somebody when it is posted.
pub(super) const MESSAGES: &[&str] = &[
    "message",
    "notification",
    "email",
    "sms",
    "announcement",
    "alert",
];

/// Words between a verb and its object that say nothing of the object.
pub(super) const FILLERS: &[&str] = &[
    "all", "my", "the", "a", "an", "new", "current", "latest", "recent", "multiple", "many",
];

/// Words after which the object is over.
pub(super) const PREPOSITIONS: &[&str] = &[
    "by", "for", "from", "in", "into", "to", "with", "of", "on", "at", "as", "via", "using", "and",
    "or",
];

/// Nouns that have no plural of their own.
pub(super) const SAME_IN_PLURAL: &[&str] = &[
    "weather",
    "data",
    "metadata",
    "information",
    "info",
    "news",
    "content",
    "code",
    "history",
    "help",
    "time",
    "text",
    "html",
    "json",
    "sql",
    "schema",
    "memory",
    "traffic",
    "feedback",
];

/// Other ways to name what a domain has a usual name for.
const USUAL: &[(&str, &[&str])] = &[
    ("pull_requests", &["prs", "pulls", "merge_requests"]),
    ("repos", &["repositories"]),
];

/// The usual name of what a tool is about.
pub(super) fn usual_name(plural: &str) -> Option<&'static str> {
    lookup(USUAL, plural)
}
