//! `doctor` and `stats`.

use serde_json::{Value, json};

use crate::home::{Home, Said};
use crate::stage::{execute, reader, staged};

fn healthy() -> Home {
    staged(
        &json!([reader("echo", &json!({"at": {"type": "string"}}))]),
        "",
        "",
    )
}

fn check<'a>(report: &'a Value, area: &str, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    let found = checks
        .iter()
        .find(|check| check["area"] == area && check["name"] == name);
    found.unwrap_or_else(|| panic!("no {area} {name} in {report:#}"))
}

fn assert_says(said: &Said, parts: &[&str]) {
    for part in parts {
        assert!(
            said.out.contains(part),
            "no {part:?} in\n{}{}",
            said.out,
            said.err
        );
    }
}

#[test]
fn a_healthy_house_has_nothing_to_do() {
    let home = healthy();
    assert_eq!(home.run(&["setup", "cursor", "--yes"]).code, Some(0));
    let said = home.run(&["doctor"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_says(
        &said,
        &[
            "Configuration\n  ✓ files: ~/.config/toolcrib/toolcrib.yaml: 1 server\n",
            "✓ processes: no process is running",
            "✓ database: ~/.local/share/toolcrib/store/toolcrib.db, ",
            "✓ tool lists: ~/.cache/toolcrib holds no list yet",
            "✓ system time: 20",
            "✓ Cursor: ~/.cursor/mcp.json has Toolcrib as toolcrib",
            "Servers\n  ✓ stage: 1 tool in ",
            ", MCP 2025-11-25 (legacy)\n",
            "All is well; there is nothing to do.\n",
        ],
    );
    let report = home.run(&["doctor", "--json"]).json();
    assert_eq!(report["ok"], true);
    assert_eq!(report["todo"], json!([]));
    let stage = check(&report, "servers", "stage");
    assert!(stage["ms"].is_u64(), "{stage}");
    assert!(
        ["legacy", "modern"].contains(&stage["era"].as_str().unwrap()),
        "{stage}"
    );
    assert_eq!(
        check(&report, "cache", "tool lists")["kept"],
        1,
        "the first run kept it"
    );
}

#[test]
fn an_api_that_cannot_be_called_is_said_with_what_to_set() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let home = Home::new();
    let spec = json!({"openapi": "3.0.0", "info": {"title": "Pay", "version": "1"},
        "servers": [{"url": format!("http://127.0.0.1:{port}/v1")}],
        "paths": {"/things": {"get": {"operationId": "listThings",
            "responses": {"200": {"description": "ok"}}}}}});
    let spec = home.write("pay.json", &spec.to_string());
    let look = |private: bool| {
        home.configure(&format!(
            "adapters: {{pay: {{spec: '{}', allowPrivateAddresses: {private}}}}}\n",
            spec.display()
        ));
        home.run(&["doctor", "pay"])
    };
    let private = look(false);
    assert_eq!(private.code, Some(3), "{}", private.out);
    assert_says(
        &private,
        &[
            "✗ pay: calls would be refused: 127.0.0.1 leads to a private",
            "set `adapters.pay.allowPrivateAddresses: true` in ~/.config/toolcrib/toolcrib.yaml",
        ],
    );
    let fine = look(true);
    assert_eq!(fine.code, Some(0), "{}", fine.out);
    assert_says(&fine, &["✓ pay: 1 tool in "]);
    drop(listener);
    let gone = look(true);
    assert_eq!(gone.code, Some(3), "{}", gone.out);
    assert_says(
        &gone,
        &[
            "✗ pay: its description is read, but it cannot be reached",
            "`adapters.pay.baseUrl` in ~/.config/toolcrib/toolcrib.yaml",
        ],
    );
}

#[test]
fn a_file_that_is_no_store_is_not_said_to_want_permissions() {
    let home = healthy();
    home.write(
        ".local/share/toolcrib/store/toolcrib.db",
        "this is no database, whatever its name says",
    );
    let said = home.run(&["doctor", "--offline"]);
    assert_eq!(said.code, Some(3), "{}", said.out);
    let named = "~/.local/share/toolcrib/store/toolcrib.db is not a Toolcrib store.";
    assert_says(
        &said,
        &[&format!("✗ database: {named}"), "move the file away"],
    );
    assert_eq!(said.out.matches("toolcrib.db").count(), 1, "{}", said.out);
    assert!(!said.out.contains("can be written"), "{}", said.out);
}

#[test]
fn a_file_of_a_client_that_is_broken_is_a_configuration_error() {
    let home = healthy();
    home.write(".gemini/settings.json", "{");
    let said = home.run(&["doctor", "--offline"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(said.err.contains("[CONFIGURATION_ERROR]"), "{}", said.err);
    assert!(
        said.out.contains("`toolcrib setup` connects"),
        "{}",
        said.out
    );
}

#[cfg(unix)]
#[test]
fn a_place_that_takes_nothing_more_is_found_by_writing_to_it() {
    let home = healthy();
    assert_eq!(home.run(&["doctor", "--offline"]).code, Some(0));
    // Files can be made and not be filled, as on a disk without space.
    let plain = home.command(&["doctor", "--offline", "--json"]);
    let limited = "trap '' XFSZ; ulimit -f 70; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("/bin/sh");
    command
        .args(["-c", limited])
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(home.path("work"))
        .env_clear()
        .envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    let said = Said::of(command.output().unwrap());
    assert_eq!(said.code, Some(3), "{}", said.err);
    let report = said.json();
    for (area, name) in [("store", "database"), ("cache", "tool lists")] {
        let found = check(&report, area, name);
        assert_eq!(found["state"], "bad", "{found}");
        let message = found["message"].as_str().unwrap();
        assert!(message.contains("cannot be written"), "{message}");
        assert!(!message.contains(".tmp"), "{message}");
    }
}

#[test]
fn what_is_broken_is_said_in_a_sentence_with_what_to_do() {
    let home = healthy();
    let text = std::fs::read_to_string(home.path(".config/toolcrib/toolcrib.yaml")).unwrap();
    home.configure(&format!(
        "{text}  gone: {{command: /nowhere/at/all}}\n  off: {{command: x, enabled: false}}\n"
    ));
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"toolcrib": {"command": "/nowhere/toolcrib", "args": ["serve", "--stdio"]}}}"#,
    );
    home.write(".gemini/settings.json", "{");
    let said = home.run(&["doctor"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert_says(
        &said,
        &[
            "✗ gone: ",
            "○ off: switched off",
            "✓ stage: 1 tool",
            "✗ Cursor: ~/.cursor/mcp.json starts /nowhere/toolcrib, which is not there",
            "✗ Gemini CLI: ",
            "What to do:\n  1. ",
            "gone: run its command by hand",
            "Cursor: run `toolcrib setup cursor --yes`",
        ],
    );
    assert!(said.err.contains("3 things are broken"), "{}", said.err);
    let json = home.run(&["doctor", "--json"]);
    assert_eq!(json.code, Some(3));
    assert_eq!(json.json()["ok"], false);
}

#[test]
fn a_server_that_fails_is_told_with_its_time_and_one_piece_of_advice() {
    let home = Home::new();
    let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = refused.local_addr().unwrap();
    drop(refused);
    home.configure(&format!(
        "servers:\n  new: {{command: '{}', args: [--era, modern]}}\n  \
         exits: {{command: /bin/sh, args: [-c, 'echo boom >&2; exit 3']}}\n  \
         gone: {{command: /nowhere/at/all}}\n  \
         lost: {{url: 'https://nowhere.invalid/mcp'}}\n  \
         deaf: {{url: 'http://{address}/mcp'}}\n",
        crate::stage::hostile().display()
    ));
    let said = home.run(&["doctor"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    let check = |name: &str, wrong: &str, ends: &str, advice: &str| {
        let begins = format!("  ✗ {name}: {wrong}");
        let line = said.out.lines().find(|line| line.starts_with(&begins));
        let line = line.unwrap_or_else(|| panic!("no {begins:?} in\n{}", said.out));
        let (_, time) = line.rsplit_once(", after ").unwrap();
        let (number, rest) = time.split_once(' ').unwrap();
        assert!(number.parse::<f64>().is_ok(), "{line}");
        assert!(
            ["ms", "s"]
                .iter()
                .any(|unit| rest == format!("{unit}{ends}")),
            "{line}"
        );
        assert!(!line.contains("check"), "{line}");
        assert_says(&said, &[&format!(" {name}: {advice}\n")]);
    };
    assert_says(&said, &[", MCP 2026-07-28 (modern)\n"]);
    let by_hand =
        "run its command by hand; install what is missing, or take it out of the configuration";
    let network = "check its address and the network";
    let ended = "its process ended (exit status: 3), after ";
    check("exits", ended, "; it said: boom", by_hand);
    check("gone", "it could not be started: ", "", by_hand);
    check("lost", "it cannot be reached: ", "", network);
    check("deaf", "it cannot be reached: ", "", network);
}

#[test]
fn a_configuration_that_does_not_load_ends_with_2_and_the_rest_is_still_looked_at() {
    let home = Home::new();
    home.configure("servers: {a: {command: x}}\ntoolRules: 7\n");
    let said = home.run(&["doctor"]);
    assert_eq!(said.code, Some(2), "{}{}", said.out, said.err);
    assert_says(
        &said,
        &[
            "✗ files: ",
            "the first: ",
            "correct what `toolcrib config validate` shows",
            "✓ system time",
        ],
    );
}

#[test]
fn one_server_can_be_looked_at_and_none_need_be_connected() {
    let home = healthy();
    let report = home.run(&["doctor", "--offline", "--json"]).json();
    assert_eq!(check(&report, "servers", "stage")["message"], "not asked");
    assert_eq!(check(&report, "servers", "stage")["state"], "unasked");
    let said = home.run(&["doctor", "--offline"]);
    assert!(said.out.contains("○ stage: not asked\n"), "{}", said.out);
    assert!(!said.out.contains("All is well"), "{}", said.out);
    let said = home.run(&["doctor", "stag"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("Did you mean stage?"), "{}", said.err);
    let report = home.run(&["doctor", "stage", "--json"]).json();
    assert_eq!(check(&report, "servers", "stage")["tools"], 1);
    let empty = Home::new().run(&["doctor"]);
    assert_eq!(empty.code, Some(0), "{}", empty.err);
    assert_says(
        &empty,
        &[
            "! all: there are none",
            "or name the one that you will use: `toolcrib setup cursor`",
        ],
    );
}

#[test]
fn stats_count_tokens_calls_hits_and_times() {
    let home = healthy();
    let said = home.run(&["stats"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_says(&said, &["Calls:     0 (", "Cache:     no list was needed"]);
    home.run(&["search", "echo"]);
    home.run(&["search", "echo"]);
    assert_eq!(execute(&home, "echo", "{}", &[]).code, Some(0));
    assert_ne!(execute(&home, "echo", r#"{"at": 7}"#, &[]).code, Some(0));
    let json = home.run(&["stats", "--since", "1h", "--json"]).json();
    assert_eq!(json["tokens"]["tools"], 1, "{json}");
    let since = json["since"].as_str().unwrap();
    assert!(since.parse::<jiff::Timestamp>().is_ok(), "{since}");
    let tokens = |name: &str| json["tokens"][name].as_u64().unwrap();
    assert!(
        tokens("everything") > 10 && (200..400).contains(&tokens("surface")),
        "{json}"
    );
    assert_eq!(json["searches"], 2);
    assert_eq!(json["calls"]["total"], 2, "{json}");
    assert_eq!(json["calls"]["ok"], 1);
    assert_eq!(json["calls"]["refused"], 1);
    assert!(json["cache"]["hits"].as_u64().unwrap() >= 1, "{json}");
    assert_eq!(json["cache"]["misses"], 1, "{json}");
    assert_eq!(json["slowest"][0]["server"], "stage");
    assert_eq!(json["slowest"][0]["calls"], 1);
    let said = home.run(&["stats"]);
    assert_says(&said, &["SLOWEST SERVER", "Searches:  2", " % of "]);
    let said = home.run(&["stats", "--since", "yesterday"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("no point in time"), "{}", said.err);
}

#[test]
fn stats_say_how_many_servers_they_cover_and_tell_a_loss() {
    let home = healthy();
    let text = std::fs::read_to_string(home.path(".config/toolcrib/toolcrib.yaml")).unwrap();
    home.configure(&format!(
        "{text}  a: {{command: /nowhere}}\n  b: {{command: /nowhere}}\n  c: {{command: x, enabled: false}}\n"
    ));
    assert_eq!(home.run(&["tools", "stage"]).code, Some(0));
    let tokens = home.run(&["stats", "--json"]).json()["tokens"].clone();
    let of = |name: &str| tokens[name].as_u64().unwrap();
    assert_eq!((of("serversKnown"), of("servers")), (1, 3), "{tokens}");
    assert_eq!((of("saved"), of("tools")), (0, 1), "{tokens}");
    assert_eq!(of("lost"), of("surface") - of("everything"), "{tokens}");
    let more = format!("{} more than these alone", of("lost"));
    let said = home.run(&["stats"]);
    assert_says(
        &said,
        &[
            &more,
            "of the 1 server of 3 whose tools are known; `toolcrib cache warm` asks the others\n",
        ],
    );
    assert!(!said.out.contains("saved"), "{}", said.out);
}

#[test]
fn of_a_days_work_more_than_eight_in_ten_lists_are_kept_ones() {
    let home = Home::new();
    let server = crate::stage::hostile().display().to_string();
    let names = ["one", "two", "three", "four"];
    let servers = names.map(|name| {
        let starts = home.path(name).display().to_string();
        format!("  {name}: {{command: '{server}', args: [--tools, '3', --starts, '{starts}']}}\n")
    });
    home.configure(&format!("servers:\n{}", servers.concat()));
    // Each is a process of its own, as with clients that come and go.
    for _ in 0..10 {
        assert_eq!(home.run(&["list", "--tools"]).code, Some(0));
        home.run(&["search", "tool"]);
    }
    for name in names {
        let starts = std::fs::read_to_string(home.path(name)).unwrap();
        assert_eq!(starts.lines().count(), 1, "{name} is asked once");
    }
    let json = home.run(&["stats", "--json"]).json();
    assert!(json["cache"]["hitRate"].as_f64().unwrap() > 0.8, "{json}");
}

#[test]
fn in_an_empty_home_only_advice_that_works_is_given() {
    let home = Home::new();
    let said = home.run(&["doctor", "--offline"]);
    assert!(said.out.contains("`toolcrib setup cursor`"), "{}", said.out);
    assert_eq!(home.run(&["setup", "cursor", "--yes"]).code, Some(0));
}
