//! The same configuration in every format gives the same tree.

use serde_json::json;
use toolcrib_config::Source;
use toolcrib_config::reader::{Format, read};

const YAML: &str = r#"
# servers
defaults: &defaults
  enabled: true
  retries: 3
servers:
  - name: github
    command: npx
    args: ["-y", '@modelcontextprotocol/server-github']
    env:
      GITHUB_TOKEN: ${GITHUB_TOKEN}
      MODE: ${MODE:-lazy}
    handling: *defaults
    timeout: 30000
    ratio: -0.5
  - name: 'été "quoted"'
    url: https://example.com/mcp
    tags: []
    options: {}
    handling:
      <<: *defaults
      retries: 5
since: "2024-01-31"
"#;

const TOML: &str = r#"
since = 2024-01-31

[defaults]
enabled = true
retries = 3

[[servers]]
name = "github"
command = 'npx'
args = ["-y", "@modelcontextprotocol/server-github"]
env.GITHUB_TOKEN = "${GITHUB_TOKEN}"
env.MODE = "${MODE:-lazy}"
timeout = 30_000
ratio = -0.5
handling = { enabled = true, retries = 3 }

[[servers]]
name = 'été "quoted"'
url = "https://example.com/mcp"
tags = []
options = {}

[servers.handling]
enabled = true
retries = 5
"#;

const JSON: &str = r#"{
  "defaults": {"enabled": true, "retries": 3},
  "servers": [
    {"name": "github", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],
     "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "MODE": "${MODE:-lazy}"},
     "handling": {"enabled": true, "retries": 3}, "timeout": 30000, "ratio": -0.5},
    {"name": "\u00e9t\u00e9 \"quoted\"", "url": "https://example.com/mcp", "tags": [], "options": {},
     "handling": {"enabled": true, "retries": 5}}
  ],
  "since": "2024-01-31"
}"#;

const JSONC: &str = r#"// servers
{
  "defaults": {"enabled": true, "retries": 3,},
  "servers": [
    {"name": "github", "command": "npx", /* "command": "old", */
     "args": ["-y", "@modelcontextprotocol/server-github",],
     "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "MODE": "${MODE:-lazy}"},
     "handling": {"enabled": true, "retries": 3}, "timeout": 30000, "ratio": -5e-1},
    {"name": "été \"quoted\"", "url": "https://example.com/mcp", "tags": [], "options": {},
     "handling": {"enabled": true, "retries": 5}},
  ],
  "since": "2024-01-31",
}
"#;

const SCRIPT: &str = r#"
import { config, type Config } from '@anygpt/config';

const defaults = { enabled: true, retries: 3 } as const;
const scope = '@modelcontextprotocol';

export default config({
  defaults,
  servers: [
    {
      name: 'github',
      command: 'npx',
      args: ['-y', `${scope}/server-github`],
      env: { GITHUB_TOKEN: process.env.GITHUB_TOKEN!, MODE: process.env['MODE'] ?? 'lazy' },
      handling: defaults,
      timeout: 30 * 1000,
      ratio: -0.5,
    },
    {
      name: "été \"quoted\"",
      url: 'https://' + 'example.com/mcp',
      tags: [],
      options: {},
      handling: { ...defaults, retries: 5 },
    },
  ],
  since: '2024-01-31',
  unset: undefined,
} satisfies Config);
"#;

#[test]
fn the_same_configuration_in_every_format_is_the_same() {
    let expected = json!({
        "defaults": {"enabled": true, "retries": 3},
        "servers": [
            {
                "name": "github",
                "command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-github"],
                "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "MODE": "${MODE:-lazy}"},
                "handling": {"enabled": true, "retries": 3},
                "timeout": 30000,
                "ratio": -0.5,
            },
            {
                "name": "été \"quoted\"",
                "url": "https://example.com/mcp",
                "tags": [],
                "options": {},
                "handling": {"enabled": true, "retries": 5},
            },
        ],
        "since": "2024-01-31",
    });
    for (format, text) in [
        (Format::Yaml, YAML),
        (Format::Toml, TOML),
        (Format::Jsonc, JSON),
        (Format::Jsonc, JSONC),
        (Format::Yaml, JSON),
        (Format::Script, SCRIPT),
    ] {
        match read(&Source::new("test", text), format) {
            Ok(node) => assert_eq!(node.to_json(), expected, "{format:?}"),
            Err(found) => panic!("{format:?}: {}", found[0]),
        }
    }
}
