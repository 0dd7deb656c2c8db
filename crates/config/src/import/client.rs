//! The clients whose configuration is understood, and where each keeps it, as data.

use crate::placeholder::Dialect;
use crate::reader::Format;
use crate::surroundings::Os;

/// Whose decision a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// It lies in the user's own directories.
    User,
    /// It lies in the working directory, where anyone's repository may have put it: listed, but not
    /// used until the user trusts it.
    Project,
}

/// How a client's file is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A map of names to entries under a root key.
    Map,
    /// [`Family::Map`], and maps of the same kind under `projects.<path>`.
    ClaudeCode,
    /// [`Family::Map`] with `inputs` that entries refer to.
    VsCode,
    /// A map whose entries include servers that extensions bring along.
    Zed,
    /// A map whose entries include parts of the client itself.
    Goose,
    /// A map, in the newer revision one level deeper, whose commands are lists.
    Opencode,
    /// A list of entries, or a map in files of other clients' shape.
    Continue,
    /// A list of enabled servers that catalogs describe; the older file is a [`Family::Map`].
    Docker,
    /// The YAML of our own documents: `servers` with `connection` and `tools`.
    Custom,
}

/// The unit in which a client writes `timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds.
    Seconds,
}

/// A client of MCP servers whose configuration is understood.
///
/// Paths are written with `/`; `~`, `$NAME` and `%NAME%` at the front are resolved by
/// [`crate::surroundings::Surroundings::resolve`]. A path that ends in `/*` means every file of
/// that directory.
#[derive(Debug)]
pub struct Client {
    /// The name in commands and in `sources[].type`.
    pub id: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The user's files on Linux.
    pub linux: &'static [&'static str],
    /// The user's files on macOS.
    pub macos: &'static [&'static str],
    /// The user's files on Windows.
    pub windows: &'static [&'static str],
    /// Files in the working directory.
    pub project: &'static [&'static str],
    /// The key that holds the servers; dots separate levels, the first that is there counts, the last
    /// is the usual one.
    pub roots: &'static [&'static str],
    /// The format of the files.
    pub format: Format,
    /// How they are built.
    pub family: Family,
    /// The placeholder spellings of commands, arguments, variables and headers.
    pub dialect: Dialect,
    /// The unit of `timeout`.
    pub timeout: TimeUnit,
    /// Whether it refuses tool names with dots, so that our entry must ask for hyphens.
    pub strict_names: bool,
}

/// What most clients have in common; rows of the table say where they differ.
const PLAIN: Client = Client {
    id: "",
    title: "",
    linux: &[],
    macos: &[],
    windows: &[],
    project: &[],
    roots: &["mcpServers"],
    format: Format::Jsonc,
    family: Family::Map,
    dialect: Dialect::Braces,
    timeout: TimeUnit::Milliseconds,
    strict_names: false,
};

/// Every client, in the order in which their servers are merged.
pub const CLIENTS: &[Client] = &[
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        linux: &["$XDG_CONFIG_HOME/Claude/claude_desktop_config.json"],
        macos: &["~/Library/Application Support/Claude/claude_desktop_config.json"],
        windows: &["%APPDATA%/Claude/claude_desktop_config.json"],
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "claude-code",
        title: "Claude Code",
        linux: &["$CLAUDE_CONFIG_DIR/.claude.json"],
        macos: &["$CLAUDE_CONFIG_DIR/.claude.json"],
        windows: &["$CLAUDE_CONFIG_DIR/.claude.json"],
        project: &[".mcp.json"],
        family: Family::ClaudeCode,
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "cursor",
        title: "Cursor",
        linux: &["~/.cursor/mcp.json"],
        macos: &["~/.cursor/mcp.json"],
        windows: &["~/.cursor/mcp.json"],
        project: &[".cursor/mcp.json"],
        dialect: Dialect::VsCode,
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "windsurf",
        title: "Windsurf",
        linux: WINDSURF,
        macos: WINDSURF,
        windows: WINDSURF,
        dialect: Dialect::Either,
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "vscode",
        title: "VS Code",
        linux: &[
            "$XDG_CONFIG_HOME/Code/User/mcp.json",
            "$XDG_CONFIG_HOME/Code - Insiders/User/mcp.json",
            "$XDG_CONFIG_HOME/VSCodium/User/mcp.json",
        ],
        macos: &[
            "~/Library/Application Support/Code/User/mcp.json",
            "~/Library/Application Support/Code - Insiders/User/mcp.json",
            "~/Library/Application Support/VSCodium/User/mcp.json",
        ],
        windows: &[
            "%APPDATA%/Code/User/mcp.json",
            "%APPDATA%/Code - Insiders/User/mcp.json",
            "%APPDATA%/VSCodium/User/mcp.json",
        ],
        project: &[".vscode/mcp.json"],
        roots: &["servers"],
        family: Family::VsCode,
        dialect: Dialect::VsCode,
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "zed",
        title: "Zed",
        linux: &["$XDG_CONFIG_HOME/zed/settings.json"],
        macos: &["~/.config/zed/settings.json"],
        windows: &["%APPDATA%/Zed/settings.json"],
        project: &[".zed/settings.json"],
        roots: &["context_servers"],
        family: Family::Zed,
        dialect: Dialect::None,
        timeout: TimeUnit::Seconds,
        ..PLAIN
    },
    Client {
        id: "codex",
        title: "Codex",
        linux: &["$CODEX_HOME/config.toml"],
        macos: &["$CODEX_HOME/config.toml"],
        windows: &["$CODEX_HOME/config.toml"],
        project: &[".codex/config.toml"],
        roots: &["mcp_servers"],
        format: Format::Toml,
        dialect: Dialect::None,
        timeout: TimeUnit::Seconds,
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "gemini",
        title: "Gemini CLI",
        linux: &["~/.gemini/settings.json"],
        macos: &["~/.gemini/settings.json"],
        windows: &["~/.gemini/settings.json"],
        project: &[".gemini/settings.json"],
        dialect: Dialect::Shell,
        ..PLAIN
    },
    Client {
        id: "goose",
        title: "Goose",
        linux: &["$XDG_CONFIG_HOME/goose/config.yaml"],
        macos: &["$XDG_CONFIG_HOME/goose/config.yaml"],
        windows: &["%APPDATA%/Block/goose/config/config.yaml"],
        roots: &["extensions"],
        format: Format::Yaml,
        family: Family::Goose,
        dialect: Dialect::None,
        timeout: TimeUnit::Seconds,
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "opencode",
        title: "opencode",
        linux: OPENCODE,
        macos: OPENCODE,
        windows: OPENCODE,
        project: &["opencode.json", "opencode.jsonc"],
        roots: &["mcp.servers", "mcp"],
        family: Family::Opencode,
        dialect: Dialect::Opencode,
        ..PLAIN
    },
    Client {
        id: "cline",
        title: "Cline",
        linux: &[
            "$XDG_CONFIG_HOME/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            "$XDG_CONFIG_HOME/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ],
        macos: &[
            "~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            "~/Library/Application Support/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ],
        windows: &[
            "%APPDATA%/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            "%APPDATA%/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ],
        dialect: Dialect::VsCode,
        timeout: TimeUnit::Seconds,
        ..PLAIN
    },
    Client {
        id: "roo",
        title: "Roo Code",
        linux: &[
            "$XDG_CONFIG_HOME/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            "$XDG_CONFIG_HOME/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ],
        macos: &[
            "~/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            "~/Library/Application Support/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ],
        windows: &[
            "%APPDATA%/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            "%APPDATA%/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ],
        project: &[".roo/mcp.json"],
        dialect: Dialect::VsCode,
        timeout: TimeUnit::Seconds,
        ..PLAIN
    },
    Client {
        id: "lm-studio",
        title: "LM Studio",
        linux: LM_STUDIO,
        macos: LM_STUDIO,
        windows: LM_STUDIO,
        dialect: Dialect::VsCode,
        ..PLAIN
    },
    Client {
        id: "copilot",
        title: "Copilot CLI",
        linux: &["$COPILOT_HOME/mcp-config.json"],
        macos: &["$COPILOT_HOME/mcp-config.json"],
        windows: &["$COPILOT_HOME/mcp-config.json"],
        project: &[".github/mcp.json"],
        dialect: Dialect::Either,
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "docker-mcp",
        title: "Docker MCP Toolkit",
        linux: DOCKER,
        macos: DOCKER,
        windows: DOCKER,
        roots: &["mcpServers", "registry"],
        family: Family::Docker,
        ..PLAIN
    },
    Client {
        id: "continue",
        title: "Continue",
        linux: &["~/.continue/config.yaml"],
        macos: &["~/.continue/config.yaml"],
        windows: &["~/.continue/config.yaml"],
        project: &[".continue/mcpServers/*"],
        format: Format::Yaml,
        family: Family::Continue,
        dialect: Dialect::Secrets,
        ..PLAIN
    },
    Client {
        id: "amazon-q",
        title: "Amazon Q",
        linux: &["~/.aws/amazonq/mcp.json"],
        macos: &["~/.aws/amazonq/mcp.json"],
        windows: &["~/.aws/amazonq/mcp.json"],
        project: &[".amazonq/mcp.json"],
        dialect: Dialect::Either,
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "kiro",
        title: "Kiro",
        linux: &["~/.kiro/settings/mcp.json"],
        macos: &["~/.kiro/settings/mcp.json"],
        windows: &["~/.kiro/settings/mcp.json"],
        project: &[".kiro/settings/mcp.json"],
        dialect: Dialect::Either,
        strict_names: true,
        ..PLAIN
    },
    Client {
        id: "warp",
        title: "Warp",
        linux: &["~/.warp/.mcp.json"],
        macos: &["~/.warp/.mcp.json"],
        windows: &["~/.warp/.mcp.json"],
        project: &[".warp/.mcp.json"],
        dialect: Dialect::Either,
        ..PLAIN
    },
    Client {
        id: "custom",
        title: "custom YAML",
        roots: &["servers"],
        format: Format::Yaml,
        family: Family::Custom,
        dialect: Dialect::Own,
        ..PLAIN
    },
];

const WINDSURF: &[&str] = &[
    "~/.codeium/windsurf/mcp_config.json",
    "~/.windsurf/mcp.json",
];
const OPENCODE: &[&str] = &[
    "$XDG_CONFIG_HOME/opencode/opencode.json",
    "$XDG_CONFIG_HOME/opencode/opencode.jsonc",
];
const LM_STUDIO: &[&str] = &["~/.lmstudio/mcp.json", "~/.cache/lm-studio/mcp.json"];
const DOCKER: &[&str] = &["~/.docker/mcp-servers.json", "~/.docker/mcp/registry.yaml"];

impl Client {
    /// The client of that id.
    pub fn by_id(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// The user's files on an operating system.
    pub fn user_paths(&self, os: Os) -> &'static [&'static str] {
        match os {
            Os::Linux => self.linux,
            Os::MacOs => self.macos,
            Os::Windows => self.windows,
        }
    }
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Client {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_an_id_of_its_own_and_a_place_on_every_system() {
        let mut ids: Vec<_> = CLIENTS.iter().map(|c| c.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CLIENTS.len());
        assert_eq!(CLIENTS.len(), 20);
        for client in CLIENTS.iter().filter(|c| c.id != "custom") {
            for os in [Os::Linux, Os::MacOs, Os::Windows] {
                assert!(!client.user_paths(os).is_empty(), "{} on {os:?}", client.id);
            }
            assert!(!client.title.is_empty() && !client.roots.is_empty());
            assert_eq!(Client::by_id(client.id), Some(client));
        }
        assert_eq!(Client::by_id("emacs"), None);
    }

    #[test]
    fn project_files_lie_in_the_working_directory() {
        for path in CLIENTS.iter().flat_map(|c| c.project) {
            assert!(!path.starts_with(['~', '$', '%', '/']), "{path}");
        }
    }
}
