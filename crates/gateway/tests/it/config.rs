//! `config show`, `validate` and `sources`.

use crate::home::Home;
use crate::stage::{execute, reader, staged};

/// The example of the documents, with files for two of its three sources.
fn documented() -> Home {
    let home = Home::new();
    home.write(
        ".docker/mcp-servers.json",
        r#"{"mcpServers":{"filesystem":{"command":"docker","args":["run","fs"]}}}"#,
    );
    home.write(
        ".config/Claude/claude_desktop_config.json",
        r#"{"mcpServers":{"github":{"command":"npx","args":["gh"]}}}"#,
    );
    home.configure(
        "cache: {enabled: true, ttl: 3600}
sources:
  - {type: docker-mcp, path: ~/.docker/mcp-servers.json}
  - {type: claude-desktop, path: ~/.config/Claude/claude_desktop_config.json}
  - {type: windsurf, path: ~/.windsurf/mcp.json}
toolRules:
  - {pattern: ['*github*', /issue/], enabled: true, tags: [github, issues]}
  - {pattern: ['*filesystem*', /read/, /write/], enabled: true, tags: [filesystem]}
  - {pattern: ['*dangerous*', '*delete*'], enabled: false, tags: [dangerous]}
servers:
  local:
    command: local
    tools:
      - {name: read_file, description: Reads}
      - {name: other, description: Does something else}
",
    );
    home
}

#[test]
fn show_prints_the_documented_layout() {
    let said = documented().run(&["mcp", "config", "show"]);
    assert_eq!(
        said.out,
        "MCP Discovery Configuration:

Status: Enabled
Cache: Enabled (TTL: 3600s)

Sources (3):
  ✓ docker-mcp (~/.docker/mcp-servers.json)
  ✓ claude-desktop (~/.config/Claude/claude_desktop_config.json)
  ✗ windsurf (~/.windsurf/mcp.json) - not found

Tool Rules (3):
  1. *github*, /issue/ → enabled, tags: [github, issues]
  2. *filesystem*, /read/, /write/ → enabled, tags: [filesystem]
  3. *dangerous*, *delete* → disabled, tags: [dangerous]

Servers: 3 configured, 0 connected
Tools: 2 total, 1 enabled
",
        "{}",
        said.err
    );
    assert_eq!(said.code, Some(0));
    assert!(said.err.contains("No process is running"), "{}", said.err);
}

#[test]
fn show_takes_its_counts_from_the_process_that_runs_on_the_same_configuration() {
    let home = documented();
    let server = home.serve(&[]);
    let said = home.run(&["config", "show", "--json"]);
    let json = said.json();
    assert_eq!(json["process"], server.pid());
    assert_eq!(json["servers"]["configured"], 3);
    assert_eq!(json["tools"]["total"], 2);
    let said = home.run(&["config", "show"]);
    assert!(!said.err.contains("No process is running"), "{}", said.err);
    let other = home.write("other.yaml", "servers: {}\n");
    let json = home
        .run(&[
            "config",
            "show",
            "--json",
            "--config",
            other.to_str().unwrap(),
        ])
        .json();
    assert_eq!(json["process"], serde_json::Value::Null);
}

#[test]
fn tools_of_lists_that_were_kept_on_disk_are_counted_and_checked_against_the_rules() {
    use toolcrib_config::surroundings::{Os, Surroundings};
    let home = Home::new();
    home.configure(
        "servers: {github: {command: gh}}
toolRules:
  - {pattern: ['create_*'], enabled: true}
  - {pattern: ['create_issue'], enabled: false}
",
    );
    let here = Surroundings::new(Os::current(), home.path(""), home.path("work"), |_| None);
    let config = toolcrib::loader::Loader::new(here.clone(), None)
        .config()
        .unwrap();
    let tools = [
        "{\"name\":\"create_issue\"}",
        "{\"name\":\"list\"}",
        "{\"bad\":1}",
    ];
    let tools = tools.map(|t| serde_json::value::RawValue::from_string(t.to_owned()).unwrap());
    let now_ms = jiff::Timestamp::now().as_millisecond();
    toolcrib::known::kept_lists(&config, &here)
        .store_tools(
            "github",
            &config.servers[0].fingerprint(),
            tools.to_vec(),
            now_ms,
        )
        .unwrap();
    let said = home.run(&["config", "show"]);
    assert!(
        said.out.ends_with("Tools: 2 total, 1 enabled\n"),
        "{}",
        said.out
    );
    assert!(said.err.contains("create_issue"), "{}", said.err);
    let said = home.run(&["config", "validate"]);
    assert!(said.out.contains("github:create_issue"), "{}", said.out);
}

#[test]
fn show_json_has_everything_that_is_shown() {
    let json = documented().run(&["config", "show", "--json"]).json();
    assert_eq!(json["enabled"], true);
    assert_eq!(json["cache"]["ttl"], 3600);
    assert_eq!(json["sources"][2]["state"], "not-found");
    assert_eq!(json["sources"][0]["servers"], 1);
    assert_eq!(json["toolRules"][0]["tags"][1], "issues");
    assert_eq!(json["tools"]["enabled"], 1);
}

#[test]
fn show_without_any_configuration_has_the_defaults() {
    let said = Home::new().run(&["config", "show"]);
    assert_eq!(
        said.out,
        "MCP Discovery Configuration:

Status: Enabled
Cache: Enabled (TTL: 3600s)

Sources: none

Tool Rules: none

Servers: 0 configured, 0 connected
Tools: 0 total, 0 enabled
"
    );
}

#[test]
fn show_marks_what_is_switched_off_and_rules_that_only_tag_or_are_for_one_server() {
    let home = Home::new();
    home.configure(
        "enabled: false
cache: {enabled: false}
toolRules:
  - {pattern: [a], tags: [x]}
  - {pattern: [b], server: s, enabled: false}
",
    );
    let out = home.run(&["config", "show"]).out;
    assert!(out.contains("Status: Disabled\nCache: Disabled\n"), "{out}");
    assert!(
        out.contains("  1. a → tags: [x]\n  2. b (server: s) → disabled\n"),
        "{out}"
    );
}

#[test]
fn a_broken_configuration_ends_every_command_with_2_and_its_place() {
    let home = Home::new();
    home.configure("toolRules:\n  - {pattern: [a], enabled: maybe}\n");
    for arguments in [
        &["config", "show"][..],
        &["config", "validate"],
        &["config", "reload"],
    ] {
        let said = home.run(arguments);
        assert_eq!(said.code, Some(2), "{arguments:?}");
        assert!(
            said.err.contains("toolcrib.yaml:2:29"),
            "{arguments:?}: {}",
            said.err
        );
        assert!(
            said.err.contains("error [CONFIGURATION_ERROR]: "),
            "{}",
            said.err
        );
        let json = home.run(&[arguments, &["--json"]].concat()).json();
        assert_eq!(
            json["error"]["code"], "CONFIGURATION_ERROR",
            "{arguments:?}"
        );
        assert_eq!(json["error"]["diagnostics"][0]["line"], 2, "{arguments:?}");
    }
}

#[test]
fn a_named_configuration_that_is_not_there_is_an_error() {
    let home = Home::new();
    for (arguments, variable) in [
        (&["config", "show", "--config", "missing.yaml"][..], ""),
        (&["config", "show"], "missing.yaml"),
    ] {
        let mut command = home.command(arguments);
        let output = command.env("TOOLCRIB_CONFIG", variable).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("missing.yaml"), "{told}");
    }
}

#[test]
fn the_option_goes_before_the_variable() {
    let home = Home::new();
    let one = home.write("one.yaml", "servers: {a: {command: a}}\n");
    let output = home
        .command(&[
            "config",
            "show",
            "--json",
            "--config",
            one.to_str().unwrap(),
        ])
        .env("TOOLCRIB_CONFIG", "missing.yaml")
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["servers"]["configured"], 1);
}

#[test]
fn validate_reports_everything_in_one_run() {
    let home = Home::new();
    home.configure(
        "servers:
  github:
    command: npx
    env: {GITHUB_TOKEN: ghp_0123456789abcdefghijklmnop}
toolRules:
  - {pattern: ['*issue*'], enabled: true}
  - {pattern: ['create_issue*'], enabled: false}
  - {pattern: ['/(unclosed/'], enabled: false}
  - {pattern: ['x'], server: githb, enabled: true}
",
    );
    let said = home.run(&["config", "validate"]);
    assert_eq!(said.code, Some(2));
    for word in ["unclosed", "githb", "plain text", "did you mean `github`?"] {
        assert!(said.err.contains(word), "{word}: {}", said.err);
    }
    assert!(!said.err.contains("ghp_0123456789"), "{}", said.err);
}

#[test]
fn validate_says_that_all_is_well() {
    let home = Home::new();
    home.configure("servers: {a: {command: a}}\n");
    let said = home.run(&["config", "validate"]);
    assert_eq!(
        (said.code, said.out.as_str(), said.err.as_str()),
        (Some(0), "✓ ~/.config/toolcrib/toolcrib.yaml is valid\n", "")
    );
    let json = home.run(&["config", "validate", "--json"]).json();
    assert_eq!(json["valid"], true);
    assert_eq!(json["servers"], 1);
    let none = Home::new().run(&["config", "validate"]);
    assert_eq!(none.out, "✓ No configuration file; the defaults hold\n");
}

#[test]
fn validate_shows_doubts_and_still_ends_with_0() {
    let home = Home::new();
    home.configure("toolRules: [{pattern: [x], server: nobody, enabled: true}]\n");
    let said = home.run(&["config", "validate"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.starts_with("warning: "), "{}", said.out);
    assert!(said.out.ends_with("is valid (1 finding)\n"), "{}", said.out);
}

#[test]
fn validate_finds_what_would_keep_a_door_or_a_collector_from_working() {
    let check = |yaml: &str, code: i32, says: &str| {
        let home = Home::new();
        home.configure(yaml);
        let said = home.run(&["config", "validate"]);
        let all = format!("{}{}", said.out, said.err);
        assert_eq!(said.code, Some(code), "{yaml} {all}");
        assert!(all.contains(says), "{yaml} {all}");
        assert!(!all.contains("hush"), "{yaml} {all}");
    };
    for address in ["ftp://hush", "localhost:4317", "not an address"] {
        let yaml = format!("telemetry: {{otlpEndpoint: '{address}'}}\n");
        check(&yaml, 0, "telemetry.otlpEndpoint must be an address");
        check(&yaml, 0, ":1:");
    }
    let fine = "otlpEndpoint: 'http://127.0.0.1:4318'";
    check(&format!("telemetry: {{{fine}}}\n"), 0, "is valid\n");
    let unset = "telemetry: {otlpEndpoint: '${NO_SUCH}'}\n";
    check(unset, 2, "NO_SUCH is not set");
    let header = format!("telemetry: {{{fine}, headers: {{'a b': x}}}}\n");
    check(&header, 0, "headers for the collector is not legal");
    check("mode: flat\n", 2, "none is enabled");
    let jwt = |jwks: &str, issuer: &str| {
        format!("http: {{jwt: {{issuer: '{issuer}', audience: a, jwks: '{jwks}'}}}}\n")
    };
    check(
        &jwt("http://keys.example/k", "i"),
        2,
        "https address or a file",
    );
    check(&jwt("keys.json", ""), 2, "http.jwt.issuer");
    check(&jwt("keys.json", "i"), 0, "is valid\n");
}

#[test]
fn sources_lists_files_that_are_used_and_those_that_are_not() {
    let home = documented();
    home.write("work/toolcrib.yaml", "servers: {}\n");
    let said = home.run(&["config", "sources"]);
    assert!(
        said.out
            .starts_with("Configuration: ~/.config/toolcrib/toolcrib.yaml\n"),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("✗ ~/work/toolcrib.yaml - not used"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("✓ docker-mcp (~/.docker/mcp-servers.json) - 1 server")
    );
    assert!(
        said.out
            .contains("✗ windsurf (~/.windsurf/mcp.json) - not found")
    );
    assert!(said.err.contains("toolcrib trust"), "{}", said.err);
    let all = home.run(&["config", "sources", "--all"]);
    let named = home.run(&["config", "sources", "--config", "toolcrib.yaml"]);
    assert!(
        named
            .out
            .starts_with("Configuration: ~/work/toolcrib.yaml\n"),
        "{}",
        named.out
    );
    assert!(all.out.lines().count() > said.out.lines().count() + 10);
    let json = home.run(&["config", "sources", "--json"]).json();
    assert_eq!(json["sources"].as_array().unwrap().len(), 3);
    assert!(json["searched"].as_array().unwrap().len() > 20);
}

#[test]
fn sources_say_what_is_broken_untrusted_or_skipped() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{");
    home.write("work/.mcp.json", r#"{"mcpServers":{"q":{"command":"q"}}}"#);
    home.write(
        ".codeium/windsurf/mcp_config.json",
        r#"{"mcpServers":{"bad":{},"good":{"command":"g"}}}"#,
    );
    let said = home.run(&["config", "sources"]);
    assert!(
        said.out
            .starts_with("Configuration: none; the defaults hold\n"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("✗ cursor (~/.cursor/mcp.json) - cannot be read"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("✗ claude-code (~/work/.mcp.json) - not trusted"),
        "{}",
        said.out
    );
    assert!(said.out.contains("      bad skipped: "), "{}", said.out);
    let json = home.run(&["config", "sources", "--json"]).json();
    let states: Vec<_> = json["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["state"].as_str().unwrap())
        .filter(|s| *s != "not-found")
        .collect();
    assert_eq!(states, ["untrusted", "broken", "read"]);
    let said = json["diagnostics"].as_array().unwrap();
    assert!(
        said.iter()
            .any(|d| d["severity"] == "warning" && d["line"] == 1),
        "{said:?}"
    );
}

#[test]
fn rules_of_the_users_own_file_are_shown_beside_those_of_a_project() {
    let home = Home::new();
    home.write(
        "work/toolcrib.yaml",
        "toolRules: [{pattern: [a], enabled: true}]\n",
    );
    home.run(&["trust", "--yes"]);
    home.configure("toolRules: [{pattern: [b], enabled: false}]\n");
    let out = home.run(&["config", "show"]).out;
    assert!(
        out.contains("Tool Rules (2):\n  1. a → enabled\n  2. b → disabled (of ~/.config/toolcrib/toolcrib.yaml)\n"),
        "{out}"
    );
}

#[test]
fn names_from_files_cannot_steer_the_terminal() {
    let home = Home::new();
    home.configure("toolRules: [{pattern: [\"a\\u001b[31mb\"], enabled: true}]\n");
    let out = home.run(&["config", "show", "--color", "always"]).out;
    assert!(out.contains("a\\u{1b}[31mb"), "{out:?}");
}

#[test]
fn a_server_whose_variable_is_not_set_leaves_the_others_at_work() {
    let tools = serde_json::json!([reader("echo", &serde_json::json!({}))]);
    let lame = "  lame: {command: lame, env: {TOKEN: '${NO_SUCH_TOKEN}'}}\n";
    let home = staged(&tools, lame, "");
    let checked = home.run(&["config", "validate"]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    for part in ["lame.env.TOKEN needs NO_SUCH_TOKEN", "lame is set aside"] {
        assert!(checked.out.contains(part), "{}", checked.out);
    }
    assert_eq!(execute(&home, "echo", "{}", &[]).code, Some(0));
    let found = home.run(&["search", "echo", "--json"]).json();
    assert_eq!(found["results"][0]["tool"], "echo", "{found}");
    let why = "the environment variable NO_SUCH_TOKEN is not set";
    assert_eq!(found["failedServers"]["lame"], why, "{found}");
    let listed = home.run(&["list"]).out;
    assert!(listed.contains(why), "{listed}");
    let looked = home.run(&["doctor"]);
    assert_eq!(looked.code, Some(3), "{}", looked.err);
    assert!(looked.out.contains(why), "{}", looked.out);
    assert!(!looked.out.contains("by hand"), "{}", looked.out);
    let refused = home.run(&["execute", "lame", "x", "--args", "{}"]);
    let said = format!("lame is set aside: {why}. Have it set where Toolcrib is started");
    assert!(refused.err.contains(&said), "{}", refused.err);
    assert!(!refused.err.contains("in a moment"), "{}", refused.err);
}
