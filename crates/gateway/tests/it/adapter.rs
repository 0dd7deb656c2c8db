//! `adapter check` and `adapter add`.

use crate::home::Home;

const SPEC: &str = "openapi: 3.0.0
info: {title: Shop}
servers: [{url: https://api.example.com}]
components: {securitySchemes: {token: {type: http, scheme: bearer}}}
security: [{token: []}]
paths:
  /orders/{id}:
    delete: {operationId: deleteOrder}
    get: {operationId: getOrder, parameters: [{$ref: '#/nothing'}]}
  /broken: {get: nonsense}
";

fn home() -> Home {
    let home = Home::new();
    home.write("work/shop.yaml", SPEC);
    home
}

#[test]
fn check_says_what_would_become_of_a_file() {
    let home = home();
    let said = home.run(&["adapter", "check", "shop.yaml"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.contains("3 operations, 2 tools, 4 warnings"),
        "{}",
        said.out
    );
    assert!(said.out.contains("GET /broken"), "{}", said.out);
    let row = said
        .out
        .lines()
        .find(|l| l.starts_with("DELETE"))
        .unwrap_or_default();
    assert!(
        row.contains("shop:delete-order") && row.contains("destructive"),
        "{row}"
    );
    let said = home.run(&["adapter", "check", "shop.yaml", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let file = &report["files"][0];
    assert_eq!(
        (&file["operations"], &file["tools"]),
        (&3.into(), &2.into())
    );
    let item = file["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|i| i["method"] == "DELETE")
        .unwrap();
    assert_eq!(item["toolId"], "shop:delete-order");
    assert_eq!(item["operationId"], "deleteOrder");
    assert_eq!(item["parameters"][0]["in"], "path");
    assert_eq!(item["risk"], "destructive");
    assert_eq!(item["evidence"]["decided_by"], "method");
}

#[test]
fn check_reports_every_file_although_one_cannot_be_read() {
    let home = home();
    home.write("work/odd.yaml", "a: 1");
    let files = ["adapter", "check", "none.yaml", "shop.yaml", "odd.yaml"];
    let said = home.run(&files);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let told = ["none.yaml: ", "3 operations, 2 tools", "odd.yaml: "];
    assert!(
        told.iter().all(|part| said.out.contains(part)),
        "{}",
        said.out
    );
    assert!(said.err.contains("2 of 3 descriptions"), "{}", said.err);
    let said = home.run(&[&files[..], &["--json"]].concat());
    assert_eq!(said.code, Some(1), "{}", said.err);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert!(report["files"][0]["error"].is_string(), "{report}");
    assert_eq!(report["files"][1]["tools"], 2);
    assert!(report["files"][2]["error"].is_string(), "{report}");
}

#[test]
fn stats_count_the_tools_of_apis_and_the_five_of_the_profile() {
    let home = home();
    let with = |profile: &str| {
        let config = format!("profile: {profile}\nadapters: {{shop: {{spec: shop.yaml}}}}\n");
        home.write("work/c.yaml", &config);
        home.run(&["stats", "--json", "--config", "c.yaml"]).json()
    };
    let (discovery, gateway) = (with("discovery"), with("gateway"));
    assert_eq!(discovery["tokens"]["tools"], 2, "{discovery}");
    assert!(
        discovery["tokens"]["everything"].as_u64() > Some(10),
        "{discovery}"
    );
    assert_eq!(gateway["tokens"]["tools"], 2, "{gateway}");
    assert_ne!(gateway["tokens"]["surface"], discovery["tokens"]["surface"]);
}

#[test]
fn a_relative_description_is_found_beside_the_configuration_wherever_the_process_starts() {
    let check = |beside: bool, here: bool, expect: Option<&str>| {
        let home = Home::new();
        home.configure("adapters: {shop: {spec: specs/shop.yaml, auth: {type: none}}}\n");
        for (folder, tool, there) in [
            (".config/toolcrib", "beside-the-file", beside),
            ("work", "in-the-directory", here),
        ] {
            if there {
                let spec = SPEC.replace("deleteOrder", tool);
                home.write(&format!("{folder}/specs/shop.yaml"), &spec);
            }
        }
        let said = home.run(&["tools", "shop", "--all"]);
        let found = ["beside-the-file", "in-the-directory"]
            .into_iter()
            .find(|tool| said.out.contains(tool));
        assert_eq!(found, expect, "{}{}", said.out, said.err);
    };
    check(true, false, Some("beside-the-file"));
    check(true, true, Some("beside-the-file"));
    check(false, true, Some("in-the-directory"));
    check(false, false, None);
}

#[test]
fn add_writes_an_entry_that_loads() {
    let home = home();
    let said = home.run(&["adapter", "add", "shop.yaml"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("shop written to"), "{}", said.out);
    assert!(said.err.contains("SHOP_API_KEY"), "{}", said.err);
    let again = home.run(&["adapter", "add", "shop.yaml"]);
    assert_eq!(again.code, Some(1), "{}", again.err);
    let other = home.run(&[
        "adapter",
        "add",
        "shop.yaml",
        "--name",
        "other",
        "--env",
        "TOKEN",
    ]);
    assert_eq!(other.code, Some(0), "{}", other.err);
    let valid = home.run(&["config", "validate"]);
    assert_eq!(valid.code, Some(0), "{}{}", valid.out, valid.err);
}

#[test]
fn add_keeps_what_stands_in_the_file() {
    let home = home();
    home.configure(
        "# mine\nservers:\n  a: {command: x}\nadapters:\n    first: {spec: shop.yaml}\n",
    );
    let said = home.run(&["adapter", "add", "shop.yaml"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = std::fs::read_to_string(home.path(".config/toolcrib/toolcrib.yaml")).unwrap();
    assert!(
        text.starts_with("# mine\nservers:\n  a: {command: x}\nadapters:\n"),
        "{text}"
    );
    assert!(
        text.contains("    first: {spec: shop.yaml}\n") && text.contains("    shop:"),
        "{text}"
    );
}

#[test]
fn add_writes_to_the_file_that_is_in_force_and_to_no_second_one() {
    let home = home();
    let own = "[servers.a]\ncommand = \"x\"\n";
    let file = home.write(".config/toolcrib/toolcrib.toml", own);
    let said = home.run(&["adapter", "add", "shop.yaml"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("toolcrib.toml"), "{}", said.out);
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.starts_with(own), "{text}");
    assert!(!home.path(".config/toolcrib/toolcrib.yaml").exists());
    let listed = home.run(&["list"]);
    assert!(listed.out.contains("shop"), "{}{}", listed.out, listed.err);

    // A project's file that is trusted stands before it, and stays trusted.
    home.write("work/toolcrib.json", "{\"servers\": {}}\n");
    assert_eq!(home.run(&["trust", "--yes"]).code, Some(0));
    let said = home.run(&["adapter", "add", "shop.yaml"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = std::fs::read_to_string(home.path("work/toolcrib.json")).unwrap();
    assert!(text.contains("\"shop\""), "{text}");
    let listed = home.run(&["list"]);
    assert!(listed.out.contains("shop"), "{}{}", listed.out, listed.err);
}

#[test]
fn a_file_that_cannot_be_added_to_is_said_to_be_and_stays_in_force() {
    let home = home();
    let own = "export default {servers: {a: {command: 'x'}}};\n";
    let file = home.write(".anygpt/mcp-discovery.config.ts", own);
    let said = home.run(&["adapter", "add", "shop.yaml"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(
        said.err.contains("mcp-discovery.config.ts") && said.err.contains("`adapters` by hand"),
        "{}",
        said.err
    );
    assert_eq!(std::fs::read_to_string(file).unwrap(), own);
    assert!(!home.path(".config/toolcrib/toolcrib.yaml").exists());
}

#[test]
fn what_cannot_be_read_is_told() {
    let home = home();
    let missing = home.run(&["adapter", "check", "none.yaml"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("cannot be read"), "{}", missing.err);
    home.write("work/bad.yaml", "openapi: 3.0.0\npaths: [\n");
    let bad = home.run(&["adapter", "check", "bad.yaml"]);
    assert_eq!(bad.code, Some(1));
    let why = "is neither JSON nor YAML: a [ is never closed at line 2 column 8";
    assert!(bad.err.contains(why), "{}", bad.err);
    home.write("work/other.yaml", "a: 1");
    let other = home.run(&["adapter", "check", "other.yaml"]);
    assert_eq!(other.code, Some(1));
    assert!(
        other.err.contains("neither an OpenAPI description"),
        "{}",
        other.err
    );
}

#[test]
fn an_api_on_this_machine_is_told_what_its_entry_must_say() {
    let home = home();
    let here = SPEC.replace("https://api.example.com", "http://localhost:8080/v1");
    home.write("work/here.yaml", &here);
    for command in ["check", "add"] {
        let said = home.run(&["adapter", command, "here.yaml"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(
            said.err.contains("http://localhost:8080/v1, and calls"),
            "{}",
            said.err
        );
        assert!(said.err.contains("--allow-private"), "{}", said.err);
        let public = home.run(&["adapter", command, "shop.yaml"]);
        assert!(!public.err.contains("--allow-private"), "{}", public.err);
    }
    let next = "`toolcrib adapter add here.yaml --allow-private` puts it";
    let check = home.run(&["adapter", "check", "here.yaml"]);
    assert!(check.err.contains(next), "{}", check.err);
    let again = home.run(&["adapter", "add", "here.yaml", "--allow-private"]);
    assert_eq!(again.code, Some(1), "{}", again.out);
    let key = "set `allowPrivateAddresses: true` under `adapters.here` there";
    assert!(again.err.contains(key), "{}", again.err);
    let said = home.run(&[
        "adapter",
        "add",
        "here.yaml",
        "--name",
        "mine",
        "--allow-private",
    ]);
    assert!(!said.err.contains("--allow-private"), "{}", said.err);
    let text = std::fs::read_to_string(home.path(".config/toolcrib/toolcrib.yaml")).unwrap();
    let (_, mine) = text.split_once("mine:").unwrap();
    assert!(mine.contains("allowPrivateAddresses: true"), "{text}");
}

#[test]
fn references_to_other_folders_are_read_where_they_are_allowed() {
    let home = home();
    let split = "openapi: 3.0.0\ninfo: {title: Split}\nservers: [{url: https://api.example.com}]\npaths:\n  /a: {$ref: '../parts/a.yaml'}\n";
    home.write("work/api/split.yaml", split);
    home.write("work/parts/a.yaml", "get: {operationId: getA}\n");
    let count = |more: &[&str]| {
        let command = ["adapter", "check", "api/split.yaml", "--json"];
        let said = home.run(&[&command[..], more].concat());
        said.json()["files"][0]["tools"].clone()
    };
    assert_eq!(count(&[]), 0);
    assert_eq!(count(&["--ref-folder", "."]), 1);
    let said = home.run(&[
        "adapter",
        "add",
        "api/split.yaml",
        "--ref-folder",
        ".",
        "--base-url",
        "https://example.org/",
        "--ref-host",
        "parts.example.org",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = std::fs::read_to_string(home.path(".config/toolcrib/toolcrib.yaml")).unwrap();
    let told = [
        "baseUrl: \"https://example.org/\"",
        "refFolder: \"/",
        "parts.example.org",
    ];
    for part in told {
        assert!(text.contains(part), "{part}: {text}");
    }
    let listed = home.run(&["tools", "split"]);
    assert!(listed.out.contains("get-a"), "{}{}", listed.out, listed.err);
}
