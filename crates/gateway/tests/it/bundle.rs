//! `registry add` of bundles that the tests make themselves, served over loopback.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolcrib_testkit::bundle::{Zip, sha256};

use crate::home::Said;
use crate::registry::Market;

const NAME: &str = "io.github.carol/box";

/// Where the bundle with a hash is unpacked.
fn place(market: &Market, hash: &str) -> PathBuf {
    market.home.path(".local/share/toolcrib/bundles").join(hash)
}

fn publish_at(market: &Market, address: &str, hash: &str) {
    let package = json!({"registryType": "mcpb", "identifier": address, "fileSha256": hash,
        "transport": {"type": "stdio"}});
    let server =
        json!({"name": NAME, "description": "A box", "version": "1.0.0", "packages": [package]});
    market.registry.publish(&server, "active");
}

/// Publishes a bundle; gives its hash.
fn publish(market: &Market, zip: &Zip) -> String {
    let bytes = zip.build();
    let hash = sha256(&bytes);
    let address = market.registry.serve_file("box.mcpb", bytes);
    publish_at(market, &address, &hash);
    hash
}

/// A bundle whose server is the hostile program under another name; it needs a key.
fn good() -> Zip {
    let program = std::fs::read(toolcrib_testkit::program("hostile")).unwrap();
    let manifest = json!({
        "manifest_version": "0.3",
        "name": "box",
        "server": {"type": "binary", "entry_point": "server/box.exe", "mcp_config": {
            "command": "${__dirname}/server/box.exe",
            "env": {"BOX_KEY": "${user_config.api_key}"},
        }},
        "user_config": {"api_key": {"type": "string", "title": "Key", "sensitive": true, "required": true}},
    });
    Zip::with_manifest(&manifest).stored("server/box.exe", program)
}

fn with_variable(market: &Market, value: (&str, &str), arguments: &[&str]) -> Said {
    let mut command = market.home.command(arguments);
    Said::of(command.env(value.0, value.1).output().unwrap())
}

#[test]
fn a_bundle_is_unpacked_and_written_off_until_it_has_its_key_and_then_runs() {
    let market = Market::open();
    let hash = publish(&market, &good());
    let shown = market.run(&["show", NAME]);
    for part in ["/files/box.mcpb", &hash, "once `add` has downloaded it"] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    assert!(!place(&market, &hash).exists());

    let said = market.run(&["add", NAME, "--dry-run"]);
    assert!(
        said.out.contains("would get this"),
        "{} {}",
        said.out,
        said.err
    );
    assert!(said.out.contains("server/box.exe"), "{}", said.out);
    assert!(!place(&market, &hash).exists(), "a dry run keeps nothing");

    let said = market.run(&["add", NAME]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    for part in [
        "switched off; nothing was started",
        "Set BOX_API_KEY in",
        "yes, a secret",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let text = market.file();
    for part in ["enabled: false", "BOX_KEY: \"${BOX_API_KEY}\"", &hash] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(place(&market, &hash).join("server/box.exe").is_file());

    // The second time it is there already, and what the registry said is kept.
    let asked = market.registry.requests();
    let taken = market.run(&["add", NAME]);
    assert_eq!(taken.code, Some(1), "{}", taken.out);
    let key = ("OTHER_API_KEY", "k-2");
    let other = ["registry", "add", NAME, "--name", "other", "--json"];
    let other = with_variable(&market, key, &other);
    assert_eq!(other.json()["enabled"], true, "{}", other.err);
    assert_eq!(market.registry.requests(), asked);

    let warmed = with_variable(&market, key, &["cache", "warm", "other", "--json"]);
    let told = warmed.json();
    assert_eq!(told["successful"], 1, "{} {}", warmed.out, warmed.err);
    assert_ne!(told["cached_tools"], 0);
}

fn manifest(server: &Value) -> Zip {
    Zip::with_manifest(&json!({ "server": server }))
}

#[test]
fn hostile_and_broken_bundles_leave_nothing_behind() {
    let fine = manifest(&json!({"type": "node", "mcp_config": {"command": "node"}}));
    let cases = [
        (fine.clone().file("../evil", "x"), "not a file inside it"),
        (fine.clone().file("/tmp/evil", "x"), "not a file inside it"),
        (
            fine.clone().with_mode("l", "/etc/passwd", 0o120_777),
            "a link or a device",
        ),
        (
            fine.clone().file("big", "x").claiming(u32::MAX),
            "more than 536870912 bytes",
        ),
        (fine.clone().file("a", "xx").claiming(1), "is damaged"),
        (
            Zip::default().file("a", "x"),
            "manifest.json of the bundle cannot be used",
        ),
        (manifest(&json!({"type": "wasm"})), "\"wasm\" are not known"),
        (
            manifest(&json!({"type": "node", "mcp_config": {"command": "${__dirname}/../x"}})),
            "not a file inside it",
        ),
    ];
    for (zip, part) in cases {
        let market = Market::open();
        let before = market.file();
        publish(&market, &zip);
        let said = market.run(&["add", NAME]);
        assert_eq!(said.code, Some(3), "{part}: {}", said.out);
        assert!(said.err.contains(part), "{part}: {}", said.err);
        assert_eq!(market.file(), before, "{part}");
        let kept = std::fs::read_dir(market.home.path(".local/share/toolcrib/bundles"));
        assert_eq!(kept.map_or(0, Iterator::count), 0, "{part}");
    }
}

#[test]
fn a_bundle_that_is_another_file_or_elsewhere_is_refused() {
    let check = |address: &dyn Fn(&Market) -> String, hash: &str, part: &str| {
        let market = Market::open();
        publish_at(&market, &address(&market), hash);
        let said = market.run(&["add", NAME]);
        assert_eq!(said.code, Some(3), "{part}: {}", said.out);
        assert!(said.err.contains(part), "{part}: {}", said.err);
    };
    let file = |market: &Market| market.registry.serve_file("a", b"no archive".to_vec());
    let right = sha256(b"no archive");
    check(&file, &sha256(b"x"), "not 2d711642b726b04401627ca9fbac32f5");
    check(&file, &right, "no zip archive");
    check(
        &|market| format!("{}/files/none", market.registry.url),
        &right,
        "HTTP 404",
    );
    let redirect = |market: &Market| {
        let there = file(market);
        market.registry.serve_redirect("r", &there)
    };
    check(&redirect, &right, "no zip archive");
    let astray = |market: &Market| market.registry.serve_redirect("r", "http://192.0.2.1/a");
    check(
        &astray,
        &right,
        "redirects to an address that is not public",
    );
    let circle = |market: &Market| market.registry.serve_redirect("r", "/files/r");
    check(&circle, &right, "redirects too often");
    for address in [
        "http://a.example/a.mcpb",
        "https://10.0.0.1/a.mcpb",
        "https://printer.local/a",
    ] {
        check(&|_| address.to_owned(), &right, "not a public address");
    }
}
