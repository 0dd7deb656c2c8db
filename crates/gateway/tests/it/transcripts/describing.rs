//! Servers and APIs that are looked at before they are used, and what is written down about them.

use serde_json::json;

use super::configuring::leads_nowhere;
use super::furnished;
use super::screen::check;
use crate::home::Home;
use crate::stage::{hostile, offer, reader, staged, tool};
use crate::terminal::Input;

pub(super) const SHOP: &str = "openapi: 3.0.0
info: {title: Shop}
servers: [{url: https://api.example.com}]
components: {securitySchemes: {token: {type: http, scheme: bearer}}}
security: [{token: []}]
paths:
  /orders/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    delete: {operationId: deleteOrder, summary: Delete an order}
    get: {operationId: getOrder, summary: Show an order}
  /broken: {get: nonsense}
";

#[test]
fn introspecting() {
    check("introspecting", |screen| {
        let home = Home::new();
        home.configure("imports: {auto: false}\n");
        let tools = [
            reader("look_at_note", &json!({"title": {"type": "string"}})),
            tool("delete_note", &json!({})),
        ];
        offer(&home, &json!(tools));
        let program = hostile().display().to_string();
        let list = home.path("stage/offer.json").display().to_string();
        let known = [
            "introspect",
            &program,
            "--name",
            "stage",
            "--",
            "--offer",
            &list,
        ];
        screen.runs(
            &home,
            &[
                &known,
                &["approvals", "list"],
                &["approvals", "show", "stage"],
                &[
                    "rtfs",
                    "check",
                    "capabilities/servers/pending/stage/look_at_note.rtfs",
                ],
                &["approve", "stage"],
                &known,
                &["introspect", "/nowhere/at/all", "--name", "gone"],
                &["introspect", "http://127.0.0.1:1/mcp", "--name", "deaf"],
                &["introspect", &program, "--name", "a:b"],
                &[
                    "introspect",
                    &program,
                    "--name",
                    "new",
                    "--auth-env",
                    "NOWHERE_SET",
                ],
                &["introspect", &program, "--nope"],
            ],
        );
    });
}

#[test]
fn writing_down() {
    check("writing-down", |screen| {
        let home = furnished();
        home.write("work/good.rtfs", "(capability \"a.b\" :name \"x\")\n");
        home.write("work/bad.rtfs", "(capability \"a\"\n  :x (1 2)");
        screen.runs(
            &home,
            &[
                &["export-rtfs", "stage", "--dir", "out"],
                &["export-rtfs", "stage", "--dir", "out"],
                &["export-rtfs", "stage", "--dir", "good.rtfs/below"],
                &["export-rtfs", "stge"],
                &["rtfs", "check", "good.rtfs", "--dialect", "ccos"],
                &["rtfs", "check", "good.rtfs", "bad.rtfs", "missing.rtfs"],
                &["types", "from-schema", "missing.json"],
            ],
        );
        let tools = json!([reader("look_up", &json!({}))]);
        let partly = staged(&tools, "  gone: {command: /nowhere/at/all}\n", "");
        screen.runs(&partly, &[&["export-rtfs", "--dir", "out"]]);
        let types = ["types", "from-schema"];
        let schema = r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#;
        screen.run(&home, &types, Input::Text(schema), |_| {});
        screen.run(&home, &types, Input::Text("{ broken"), |_| {});
    });
}

#[test]
fn adapting() {
    check("adapters", |screen| {
        let home = Home::new();
        home.write("work/shop.yaml", SHOP);
        screen.runs(
            &home,
            &[
                &["adapter", "check", "shop.yaml"],
                &["adapter", "check", "missing.yaml"],
                &["adapter", "add", "shop.yaml"],
                &["adapter", "add", "shop.yaml"],
                &["adapter", "add", "missing.yaml"],
            ],
        );
        let nobody = "http://127.0.0.1:1/shop.yaml --allow-private";
        let (check, add) = (
            format!("adapter check {nobody}"),
            format!("adapter add {nobody}"),
        );
        screen.types(&home, &[&check, &add]);
        let home = Home::new();
        home.write("work/shop.yaml", SHOP);
        leads_nowhere(&home, ".config/toolcrib");
        screen.types(&home, &["adapter add shop.yaml"]);
        let home = Home::new();
        let open = SHOP.lines().filter(|line| !line.contains("security"));
        let spec = home.write("work/shop.yaml", &open.collect::<Vec<_>>().join("\n"));
        home.configure(&format!(
            "adapters: {{shop: {{spec: '{}'}}}}\n",
            spec.display()
        ));
        let file = |what| ["registry-file", what, "--path", "operations.json"];
        screen.runs(&home, &[&file("check"), &file("write"), &file("check")]);
        let path = home.path("work/operations.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let milder = text.replace("\"risk_level\": \"destructive\"", "\"risk_level\": \"low\"");
        std::fs::write(&path, milder).unwrap();
        let below_a_file = "shop.yaml/operations.json";
        screen.runs(
            &home,
            &[
                &file("check"),
                &["registry-file", "write", "--path", below_a_file],
            ],
        );
    });
}
