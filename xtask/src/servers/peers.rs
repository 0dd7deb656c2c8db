//! Which real servers are asked, and how each is started.

/// Which servers are installed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// Those that every change is checked against.
    Few,
    /// The rest.
    More,
}

impl Set {
    /// The directory of its pinned packages below `testkit/peers`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Few => "servers-few",
            Self::More => "servers-more",
        }
    }
}

/// Where a server's package comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registry {
    Npm,
    Pypi,
}

/// A real server.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) set: Set,
    pub(crate) registry: Registry,
    pub(crate) package: &'static str,
    /// The program that the package installs.
    pub(crate) program: &'static str,
    pub(crate) args: &'static [&'static str],
    /// Variables without which it does not start; none is a credential of anybody.
    pub(crate) env: &'static [(&'static str, &'static str)],
}

/// A server of an npm package that needs nothing.
const fn npm(
    set: Set,
    name: &'static str,
    package: &'static str,
    program: &'static str,
    env: &'static [(&'static str, &'static str)],
) -> Peer {
    Peer {
        name,
        set,
        registry: Registry::Npm,
        package,
        program,
        args: &[],
        env,
    }
}

/// A server of a Python package, whose program has its name.
const fn pypi(set: Set, package: &'static str, args: &'static [&'static str]) -> Peer {
    Peer {
        name: package,
        set,
        registry: Registry::Pypi,
        package,
        program: package,
        args,
        env: &[],
    }
}

use Set::{Few, More};

/// Every server, those of [`Set::Few`] first.
pub(crate) const PEERS: &[Peer] = &[
    npm(
        Few,
        "everything",
        "@modelcontextprotocol/server-everything",
        "mcp-server-everything",
        &[],
    ),
    Peer {
        args: &["."],
        ..npm(
            Few,
            "filesystem",
            "@modelcontextprotocol/server-filesystem",
            "mcp-server-filesystem",
            &[],
        )
    },
    npm(
        Few,
        "memory",
        "@modelcontextprotocol/server-memory",
        "mcp-server-memory",
        &[],
    ),
    npm(
        Few,
        "sequential-thinking",
        "@modelcontextprotocol/server-sequential-thinking",
        "mcp-server-sequential-thinking",
        &[],
    ),
    npm(
        Few,
        "context7",
        "@upstash/context7-mcp",
        "context7-mcp",
        &[],
    ),
    pypi(Few, "mcp-server-time", &["--local-timezone=UTC"]),
    npm(
        More,
        "airtable",
        "airtable-mcp-server",
        "airtable-mcp-server",
        &[("AIRTABLE_API_KEY", "none")],
    ),
    npm(
        More,
        "brave",
        "@brave/brave-search-mcp-server",
        "brave-search-mcp-server",
        &[("BRAVE_API_KEY", "none")],
    ),
    npm(
        More,
        "brave-first",
        "@modelcontextprotocol/server-brave-search",
        "mcp-server-brave-search",
        &[("BRAVE_API_KEY", "none")],
    ),
    npm(
        More,
        "elasticsearch",
        "@elastic/mcp-server-elasticsearch",
        "mcp-server-elasticsearch",
        &[("ES_URL", "http://127.0.0.1:9"), ("ES_API_KEY", "none")],
    ),
    npm(More, "exa", "exa-mcp-server", "exa-mcp-server", &[]),
    Peer {
        args: &["--stdio"],
        ..npm(
            More,
            "figma",
            "figma-developer-mcp",
            "figma-developer-mcp",
            &[("FIGMA_API_KEY", "none")],
        )
    },
    npm(
        More,
        "github",
        "@modelcontextprotocol/server-github",
        "mcp-server-github",
        &[],
    ),
    npm(
        More,
        "gitlab",
        "@modelcontextprotocol/server-gitlab",
        "mcp-server-gitlab",
        &[("GITLAB_PERSONAL_ACCESS_TOKEN", "none")],
    ),
    npm(
        More,
        "google-maps",
        "@modelcontextprotocol/server-google-maps",
        "mcp-server-google-maps",
        &[("GOOGLE_MAPS_API_KEY", "none")],
    ),
    npm(
        More,
        "linear",
        "linear-mcp-server",
        "linear-mcp-server",
        &[("LINEAR_API_KEY", "none")],
    ),
    npm(
        More,
        "linear-tacticlaunch",
        "@tacticlaunch/mcp-linear",
        "mcp-linear",
        &[("LINEAR_API_TOKEN", "none")],
    ),
    npm(
        More,
        "notion",
        "@notionhq/notion-mcp-server",
        "notion-mcp-server",
        &[("NOTION_TOKEN", "none")],
    ),
    npm(
        More,
        "perplexity",
        "@perplexity-ai/mcp-server",
        "perplexity-mcp",
        &[("PERPLEXITY_API_KEY", "none")],
    ),
    Peer {
        args: &["postgresql://127.0.0.1:9/none"],
        ..npm(
            More,
            "postgres",
            "@modelcontextprotocol/server-postgres",
            "mcp-server-postgres",
            &[],
        )
    },
    npm(
        More,
        "postman",
        "@postman/postman-mcp-server",
        "postman-mcp-server",
        &[("POSTMAN_API_KEY", "PMAK-none")],
    ),
    npm(
        More,
        "slack",
        "@modelcontextprotocol/server-slack",
        "mcp-server-slack",
        &[("SLACK_BOT_TOKEN", "none"), ("SLACK_TEAM_ID", "none")],
    ),
    npm(
        More,
        "tavily",
        "tavily-mcp",
        "tavily-mcp",
        &[("TAVILY_API_KEY", "none")],
    ),
    pypi(More, "duckduckgo-mcp-server", &[]),
    pypi(More, "excel-mcp-server", &["stdio"]),
    pypi(More, "mcp-server-fetch", &[]),
    pypi(More, "mcp-server-git", &[]),
];
