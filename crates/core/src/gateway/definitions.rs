//! The five tools of the profile `gateway`, and how their names are spelt.

use serde_json::{Value, json};

/// One of the five tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meta {
    /// Natural language to an action.
    Intent,
    /// Runs a tool.
    Execute,
    /// Lists services.
    Adapters,
    /// Lists the tools of a service.
    Tools,
    /// Short help.
    Reference,
}

impl Meta {
    /// All five, in the order in which they are listed.
    pub const ALL: [Meta; 5] = [
        Meta::Intent,
        Meta::Execute,
        Meta::Adapters,
        Meta::Tools,
        Meta::Reference,
    ];

    /// The name as it is documented.
    pub const fn name(self) -> &'static str {
        match self {
            Meta::Intent => "gateway.intent",
            Meta::Execute => "gateway.execute",
            Meta::Adapters => "gateway.adapters",
            Meta::Tools => "gateway.tools",
            Meta::Reference => "gateway.reference",
        }
    }

    /// The tool that a name means, in whatever spelling.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|meta| {
            let ways = [Spelling::Dot, Spelling::Hyphen, Spelling::Underscore];
            ways.into_iter().any(|way| way.spell(meta.name()) == name)
        })
    }
}

/// How the dot of a name is spelt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// `gateway.intent`.
    #[default]
    Dot,
    /// `gateway-intent`.
    Hyphen,
    /// `gateway_intent`.
    Underscore,
}

impl Spelling {
    /// A name in this spelling.
    pub fn spell(self, name: &str) -> String {
        match self {
            Spelling::Dot => name.to_owned(),
            Spelling::Hyphen => name.replace('.', "-"),
            Spelling::Underscore => name.replace('.', "_"),
        }
    }

    /// What a client takes that calls itself `name` in its handshake: clients that hand names on to a
    /// model API which refuses dots get hyphens.
    pub fn for_client(name: &str) -> Self {
        let name = name.trim().to_lowercase();
        let strict = STRICT_CLIENTS.iter().any(|client| {
            name.strip_prefix(client)
                .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        });
        if strict {
            Spelling::Hyphen
        } else {
            Spelling::Dot
        }
    }
}

/// How clients that refuse dots begin to call themselves.
const STRICT_CLIENTS: &[&str] = &[
    "amazon-q",
    "claude",
    "codeium",
    "codex",
    "copilot",
    "cursor",
    "github-copilot",
    "goose",
    "kiro",
    "q-cli",
    "visual studio code",
    "vscode",
    "windsurf",
];

/// The categories of services that can be asked for.
pub const CATEGORIES: [&str; 6] = [
    "payments",
    "infrastructure",
    "analytics",
    "storage",
    "communication",
    "all",
];

/// The sections of a reference that can be asked for.
pub const SECTIONS: [&str; 7] = [
    "overview",
    "authentication",
    "examples",
    "errors",
    "webhooks",
    "best_practices",
    "all",
];

/// What a payment can be for, in the context of an intent.
pub const USE_CASES: [&str; 3] = ["one-time", "subscription", "marketplace"];

/// The pattern of ids: wider than kebab case, because real names are.
pub const TOOL_ID_PATTERN: &str = "^[A-Za-z0-9._-]+:[A-Za-z0-9._/-]+$";

/// Most tools on one page of `gateway.tools`.
pub const TOOLS_LIMIT_MAX: usize = 50;

/// Tools on one page of `gateway.tools` unless asked for otherwise.
pub const TOOLS_LIMIT_DEFAULT: usize = 20;

/// The definitions of the five tools, their names in a spelling. `limit` is how many alternatives
/// an intent gives unless asked for otherwise.
pub fn definitions(spelling: Spelling, limit: u32) -> Vec<Value> {
    let define = |meta: Meta| {
        let (description, schema) = match meta {
            Meta::Intent => (
                "Find the right tool for your task. Describe what you want to do in natural language.",
                intent(limit),
            ),
            Meta::Execute => (
                "Execute a specific tool. Use gateway.intent first to find the right tool_id.",
                execute(),
            ),
            Meta::Adapters => (
                "List available service adapters and their capabilities.",
                adapters(),
            ),
            Meta::Tools => ("List available tools within a specific adapter.", tools()),
            Meta::Reference => (
                "Get documentation, examples, and usage guides.",
                reference(),
            ),
        };
        json!({
            "name": spelling.spell(meta.name()),
            "description": description,
            "inputSchema": schema,
        })
    };
    Meta::ALL.into_iter().map(define).collect()
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn intent(limit: u32) -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": text("What you want to accomplish (e.g., 'charge a card in Nigeria')"),
            "adapter": text("Optional: Limit search to specific adapter (e.g., 'paystack')"),
            "context": {
                "type": "object",
                "description": "Optional: Additional context to improve matching",
                "properties": {
                    "currency": {"type": "string"},
                    "country": {"type": "string"},
                    "use_case": {"type": "string", "enum": USE_CASES},
                },
            },
            "limit": {
                "type": "integer",
                "default": limit,
                "description": "Max number of alternatives to return",
            },
        },
        "required": ["query"],
    })
}

fn execute() -> Value {
    json!({
        "type": "object",
        "properties": {
            "tool_id": {
                "type": "string",
                "description": "Tool identifier in 'adapter:tool' format",
                "pattern": TOOL_ID_PATTERN,
            },
            "params": {"type": "object", "description": "Parameters for the tool"},
            "options": {
                "type": "object",
                "properties": {
                    "timeout": {"type": "integer", "default": 30000},
                    "idempotency_key": text("REQUIRED for high-risk operations"),
                    "dry_run": {"type": "boolean", "default": false},
                    "confirmed": {
                        "type": "boolean",
                        "default": false,
                        "description": "REQUIRED for destructive operations",
                    },
                },
            },
        },
        "required": ["tool_id", "params"],
    })
}

fn adapters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "category": {"type": "string", "enum": CATEGORIES},
            "capability": {"type": "string"},
            "country": {"type": "string"},
        },
        "required": [],
    })
}

fn tools() -> Value {
    json!({
        "type": "object",
        "properties": {
            "adapter": text("Adapter ID"),
            "category": {"type": "string"},
            "search": {"type": "string"},
            "limit": {"type": "integer", "default": TOOLS_LIMIT_DEFAULT, "maximum": TOOLS_LIMIT_MAX},
            "offset": {"type": "integer", "default": 0},
        },
        "required": ["adapter"],
    })
}

fn reference() -> Value {
    json!({
        "type": "object",
        "properties": {
            "topic": text("Adapter name, tool_id, or concept"),
            "section": {"type": "string", "enum": SECTIONS},
        },
        "required": ["topic"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_five_definitions_cost_less_than_600_tokens() {
        let text = serde_json::to_string(&definitions(Spelling::Dot, 3)).unwrap();
        let tokens = bpe_openai::o200k_base().count(&text);
        assert!(tokens < 600, "{tokens}: {text}");
    }

    #[test]
    fn names_sentences_and_inputs_are_the_documented_ones() {
        let tools = definitions(Spelling::Dot, 3);
        let expected = [
            (
                "gateway.intent",
                "Find the right tool for your task. Describe what you want to do in natural language.",
                json!(["query", "adapter", "context", "limit"]),
                json!(["query"]),
            ),
            (
                "gateway.execute",
                "Execute a specific tool. Use gateway.intent first to find the right tool_id.",
                json!(["tool_id", "params", "options"]),
                json!(["tool_id", "params"]),
            ),
            (
                "gateway.adapters",
                "List available service adapters and their capabilities.",
                json!(["category", "capability", "country"]),
                json!([]),
            ),
            (
                "gateway.tools",
                "List available tools within a specific adapter.",
                json!(["adapter", "category", "search", "limit", "offset"]),
                json!(["adapter"]),
            ),
            (
                "gateway.reference",
                "Get documentation, examples, and usage guides.",
                json!(["topic", "section"]),
                json!(["topic"]),
            ),
        ];
        assert_eq!(tools.len(), 5);
        for (tool, (name, description, properties, required)) in tools.iter().zip(expected) {
            let schema = &tool["inputSchema"];
            let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
            assert_eq!(
                (&tool["name"], &tool["description"]),
                (&json!(name), &json!(description))
            );
            assert_eq!((json!(keys), &schema["required"]), (properties, &required));
            assert!(crate::schema::compile(schema).is_ok());
        }
    }

    #[test]
    fn parameters_say_what_the_document_says_of_them() {
        let tools = definitions(Spelling::Dot, 3);
        let of = |at: usize| &tools[at]["inputSchema"]["properties"];
        let options = &of(1)["options"]["properties"];
        for (found, expected) in [
            (
                &of(0)["query"]["description"],
                json!("What you want to accomplish (e.g., 'charge a card in Nigeria')"),
            ),
            (
                &of(0)["context"]["properties"]["use_case"]["enum"],
                json!(["one-time", "subscription", "marketplace"]),
            ),
            (&of(0)["limit"]["default"], json!(3)),
            (&options["timeout"]["default"], json!(30000)),
            (
                &options["idempotency_key"]["description"],
                json!("REQUIRED for high-risk operations"),
            ),
            (
                &options["confirmed"]["description"],
                json!("REQUIRED for destructive operations"),
            ),
            (&options["confirmed"]["default"], json!(false)),
            (&options["dry_run"]["default"], json!(false)),
            (
                &of(2)["category"]["enum"],
                json!([
                    "payments",
                    "infrastructure",
                    "analytics",
                    "storage",
                    "communication",
                    "all"
                ]),
            ),
            (
                &of(3)["limit"],
                json!({"type": "integer", "default": 20, "maximum": 50}),
            ),
            (&of(3)["offset"]["default"], json!(0)),
            (
                &of(4)["section"]["enum"],
                json!([
                    "overview",
                    "authentication",
                    "examples",
                    "errors",
                    "webhooks",
                    "best_practices",
                    "all"
                ]),
            ),
        ] {
            assert_eq!(found, &expected);
        }
        let pattern = regex::Regex::new(TOOL_ID_PATTERN).unwrap();
        for id in [
            "paystack:charge-authorization",
            "github:createIssue",
            "a.b:c/d",
        ] {
            assert!(pattern.is_match(id), "{id}");
        }
        assert!(!pattern.is_match("no-colon"));
    }

    #[test]
    fn every_spelling_is_understood_and_each_client_gets_one_that_it_takes() {
        for name in ["gateway.intent", "gateway-intent", "gateway_intent"] {
            assert_eq!(Meta::of(name), Some(Meta::Intent), "{name}");
        }
        assert_eq!(Meta::of("intent"), None);
        for (client, spelling) in [
            ("claude-ai", Spelling::Hyphen),
            ("Visual Studio Code", Spelling::Hyphen),
            ("cursor-vscode", Spelling::Hyphen),
            ("claudette", Spelling::Dot),
            ("mcp-inspector", Spelling::Dot),
            ("", Spelling::Dot),
        ] {
            assert_eq!(Spelling::for_client(client), spelling, "{client}");
        }
        let strict = regex::Regex::new("^[a-zA-Z0-9_-]{1,64}$").unwrap();
        for way in [Spelling::Hyphen, Spelling::Underscore] {
            for tool in definitions(way, 3) {
                assert!(strict.is_match(tool["name"].as_str().unwrap()));
            }
        }
    }
}
