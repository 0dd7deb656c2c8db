//! Docker's MCP Toolkit behind the counter. There is no Docker here: a stand-in called `docker` on the path notes
//! what it was told and is the server of the image, so that everything up to the container is the real thing.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::home::{Home, Said};
use crate::stage::{hostile, offer, reader};

/// A home with the stand-in on its path.
struct Toolkit {
    home: Home,
}

impl Toolkit {
    fn new() -> Self {
        let home = Home::new();
        offer(
            &home,
            &json!([reader("echo", &json!({"text": {"type": "string"}}))]),
        );
        let program = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\nexec '{}' --offer '{}' --stderr-env NOTES_TOKEN\n",
            home.path("told").display(),
            hostile().display(),
            home.path("stage/offer.json").display(),
        );
        let docker = home.write("bin/docker", &program);
        std::fs::set_permissions(docker, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { home }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(arguments);
        let path = format!("{}:/usr/bin:/bin", self.home.path("bin").display());
        command.env("PATH", path);
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    /// What the stand-in was told, without repetitions.
    fn told(&self) -> Vec<String> {
        let told = std::fs::read_to_string(self.home.path("told")).unwrap_or_default();
        let mut told: Vec<String> = told.lines().map(str::to_owned).collect();
        told.sort();
        told.dedup();
        told
    }

    /// Finds the tool of a server and runs it.
    fn uses(&self, server: &str) {
        let listed = self.run(&["tools", server, "--json"]);
        assert_eq!(listed.code, Some(0), "{}", listed.err);
        assert_eq!(listed.json()["tools"][0]["name"], "echo");
        let found = self
            .run(&["search", "echo a text", "--server", server, "--json"])
            .json();
        assert_eq!(found["results"][0]["tool"], "echo", "{found}");
        let ran = self.run(&["execute", server, "echo", "text=hello", "--json"]);
        assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
        assert_eq!(ran.json()["success"], Value::Bool(true));
    }
}

#[test]
fn servers_that_are_enabled_in_the_toolkit_are_found_and_run_in_their_containers() {
    let toolkit = Toolkit::new();
    let home = &toolkit.home;
    home.write(
        ".docker/mcp/registry.yaml",
        "registry:\n  notes:\n    ref: \"\"\n",
    );
    home.write(
        ".docker/mcp/catalog.json",
        r#"{"catalogs": {"docker-mcp": {"displayName": "Docker MCP Catalog"}}}"#,
    );
    home.write(
        ".docker/mcp/catalogs/docker-mcp.yaml",
        "registry:\n  notes:\n    description: Notes.\n    title: Notes\n    type: server\n    image: mcp/notes@sha256:0123\n    disableNetwork: true\n",
    );
    let imported = toolkit.run(&["import", "--json"]);
    assert!(imported.out.contains("docker-mcp"), "{}", imported.out);
    toolkit.uses("notes");
    assert_eq!(
        toolkit.told(),
        [
            "run -i --rm --init --security-opt no-new-privileges --network none mcp/notes@sha256:0123"
        ]
    );
}

#[test]
fn containers_that_run_already_are_entered() {
    let toolkit = Toolkit::new();
    toolkit.home.write(
        ".docker/mcp-servers.json",
        r#"{"mcpServers": {"github": {"command": "docker", "args": ["exec", "-i", "mcp-github", "mcp-github"]}}}"#,
    );
    toolkit.uses("github");
    assert_eq!(toolkit.told(), ["exec -i mcp-github mcp-github"]);
}

#[test]
fn the_toolkits_own_gateway_is_a_server_like_any_other() {
    let toolkit = Toolkit::new();
    toolkit.home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"MCP_DOCKER": {"command": "docker", "args": ["mcp", "gateway", "run"]}}}"#,
    );
    toolkit.uses("MCP_DOCKER");
    assert_eq!(toolkit.told(), ["mcp gateway run"]);
}
