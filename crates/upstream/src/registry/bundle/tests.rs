//! Archives that the tests make themselves, hostile ones included; manifests of every kind.

use serde_json::{Value, json};
use toolcrib_testkit::bundle::{Zip, sha256};
use toolcrib_testkit::registry::Registry;

use super::archive::Bounds;
use super::*;

fn host(directory: &str) -> Host {
    Host {
        platform: "linux",
        home: "/home/ada".into(),
        directory: directory.into(),
    }
}

fn bundle(address: &str, sha256: &str) -> Bundle {
    let package = json!({"registryType": "mcpb", "identifier": address, "fileSha256": sha256});
    let package: Package = serde_json::from_value(package).unwrap();
    of_package(&package, Vec::new(), Vec::new()).unwrap()
}

fn made(manifest: &Value) -> Result<Offer, BundleError> {
    let manifest = Manifest::read(manifest.to_string().as_bytes())?;
    let bundle = bundle("https://a.example/a.mcpb", &"0".repeat(64));
    let holds = |name: &str| name == "server/index.js";
    bundle.offer("mcpb a", &[], "DESK", &manifest, &host("/data/b"), &holds)
}

fn refused(error: impl Into<BundleError>, part: &str) {
    let said = error.into().to_string();
    assert!(said.contains(part), "{part}: {said}");
}

#[test]
fn an_archive_is_unpacked_whole_with_its_programs() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("bundles").join("abc");
    let mut bytes = Zip::with_manifest(&json!({}))
        .file("server/", "")
        .file("server/lib/a.js", "a".repeat(10_000))
        .stored("server/run", "x")
        .with_mode("bin/tool", "y", 0o100_755)
        .build();
    // A signature may follow the archive.
    bytes.extend(b"MCPB_SIG_V1 something MCPB_SIG_END");
    let archive = Archive::read(bytes).unwrap();
    assert!(archive.holds("bin/tool") && !archive.holds("server"));
    assert_eq!(archive.manifest().unwrap(), b"{}");
    archive.unpack(&target, &["server/run".to_owned()]).unwrap();
    let text = std::fs::read_to_string(target.join("server/lib/a.js")).unwrap();
    assert_eq!(text.len(), 10_000);
    #[cfg(unix)]
    for (name, mode) in [
        ("server/run", 0o700),
        ("bin/tool", 0o700),
        ("server/lib/a.js", 0o600),
    ] {
        use std::os::unix::fs::PermissionsExt as _;
        let found = std::fs::metadata(target.join(name)).unwrap().permissions();
        assert_eq!(found.mode() & 0o777, mode, "{name}");
    }
    // Unpacking again finds it there, and leaves nothing beside it.
    archive.unpack(&target, &[]).unwrap();
    let beside = std::fs::read_dir(target.parent().unwrap()).unwrap();
    assert_eq!(beside.count(), 1);
}

#[test]
fn names_that_lead_out_of_an_archive_are_refused() {
    for name in [
        "../evil",
        "a/../../evil",
        "/etc/evil",
        "//evil",
        "C:/evil",
        "C:evil",
        "..\\evil",
        "a//b",
        "./a",
        "a/.",
        "a/..",
        "a. /b",
        "",
        "/",
        "a\0b",
        "a\nb",
        &"x".repeat(1_025),
    ] {
        let bytes = Zip::with_manifest(&json!({})).file(name, "x").build();
        refused(Archive::read(bytes).unwrap_err(), "not a file inside it");
    }
    let bytes = Zip::default().file(&"x".repeat(1_024), "x").build();
    Archive::read(bytes).unwrap();
}

#[test]
fn links_and_devices_are_refused() {
    for mode in [0o120_777, 0o020_666, 0o060_666, 0o010_644, 0o040_755] {
        let bytes = Zip::default().with_mode("a", "/etc/passwd", mode).build();
        refused(Archive::read(bytes).unwrap_err(), "a link or a device");
    }
    let bytes = Zip::default().with_mode("a/", "", 0o120_777).build();
    refused(Archive::read(bytes).unwrap_err(), "a link or a device");
}

#[test]
fn archives_hold_so_much_and_no_more() {
    let bytes = Zip::default().file("a", "12345").file("b", "678").build();
    let read = |entries, most| {
        let bounds = Bounds {
            entries,
            bytes: most,
        };
        Archive::read_within(bytes.clone(), bounds)
    };
    read(2, 8).unwrap();
    refused(read(1, 8).unwrap_err(), "files");
    refused(read(2, 7).unwrap_err(), "bytes");
    let huge = Zip::default().file("a", "x").claiming(u32::MAX).build();
    refused(Archive::read(huge).unwrap_err(), "536870912 bytes");
}

#[test]
fn a_file_that_is_longer_or_shorter_than_it_says_is_refused_and_nothing_stays() {
    let folder = tempfile::tempdir().unwrap();
    for size in [1, 999, 1_001] {
        let zip = Zip::default()
            .file("good", "x")
            .file("a", "a".repeat(1_000));
        let archive = Archive::read(zip.claiming(size).build()).unwrap();
        let error = archive.unpack(&folder.path().join("it"), &[]).unwrap_err();
        refused(error, "is damaged");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn what_is_no_archive_or_a_broken_one_is_refused() {
    refused(Archive::read(Vec::new()).unwrap_err(), "no zip archive");
    refused(Archive::read(vec![0; 100]).unwrap_err(), "no zip archive");
    let twice = Zip::default().file("a", "x").file("A", "y").build();
    refused(Archive::read(twice).unwrap_err(), "twice");
    let bytes = Zip::with_manifest(&json!({})).file("a/b", "text").build();
    // Whatever is cut off or turned round, nothing panics.
    for end in 0..bytes.len() {
        assert!(Archive::read(bytes[..end].to_vec()).is_err(), "{end}");
    }
    for at in 0..bytes.len() {
        for bits in [1, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= bits;
            if let Ok(archive) = Archive::read(bytes) {
                let _ = archive.manifest();
            }
        }
    }
}

#[tokio::test]
async fn a_bundle_is_fetched_within_its_bound_and_checked() {
    let registry = Registry::start().await;
    let http = reqwest::Client::new();
    let url = registry.serve_file("a.mcpb", b"12345".to_vec());
    let good = bundle(&url, &sha256(b"12345").to_uppercase());
    assert_eq!(good.fetch(&http).await.unwrap(), b"12345");
    let other = bundle(&url, &sha256(b"other"));
    refused(other.fetch(&http).await.unwrap_err(), "do not use it");
    let address = good.address.clone();
    download(&http, address.clone(), 5).await.unwrap();
    let error = download(&http, address, 4).await.unwrap_err();
    refused(error, "larger than 4 bytes");
    let gone = bundle(&format!("{}/files/none", registry.url), &sha256(b""));
    refused(gone.fetch(&http).await.unwrap_err(), "HTTP 404");
    let nobody = bundle("http://127.0.0.1:1/a.mcpb", &sha256(b""));
    refused(
        nobody.fetch(&http).await.unwrap_err(),
        "cannot be downloaded",
    );
}

#[test]
fn a_manifest_becomes_a_command_with_its_inputs() {
    let offer = made(&json!({
        "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {
            "command": "node",
            "args": ["${__dirname}${/}server/index.js", "--at=${user_config.place}", "${user_config.folders}",
                "${user_config.more}", "${UNKNOWN}", "${HOME}/x"],
            "env": {"KEY": "${user_config.api_key}", "NOTE": "${user_config.note}", "LEVEL": "${user_config.level}"},
        }},
        "user_config": {
            "place": {"type": "string", "title": "Place"},
            "folders": {"type": "directory", "multiple": true, "default": ["${DESKTOP}", "${HOME}/b"]},
            "more": {"type": "directory", "multiple": true},
            "api_key": {"type": "string", "description": "The key", "sensitive": true, "required": true},
            "note": {"type": "string"},
            "level": {"type": "number", "default": 3},
            "unused": {"type": "string", "required": true},
        },
    }))
    .unwrap();
    assert_eq!(
        offer.reached(),
        "node /data/b/server/index.js --at=${DESK_PLACE} /home/ada/Desktop /home/ada/b ${UNKNOWN} /home/ada/x"
    );
    let Way::Stdio { env, .. } = &offer.way else {
        panic!("{offer:?}");
    };
    let env: Vec<String> = env.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(env, ["KEY=${DESK_API_KEY}", "LEVEL=${DESK_LEVEL:-3}"]);
    let required: Vec<(&str, bool)> = offer
        .required()
        .map(|needed| (needed.variable.as_str(), needed.secret))
        .collect();
    assert_eq!(required, [("DESK_PLACE", false), ("DESK_API_KEY", true)]);
    let all: Vec<&str> = offer.needed.iter().map(|n| n.variable.as_str()).collect();
    assert!(
        all.contains(&"DESK_NOTE") && all.contains(&"DESK_MORE"),
        "{all:?}"
    );
}

#[test]
fn a_machine_may_have_its_own_command_and_uv_needs_none() {
    let offer = made(&json!({"server": {"type": "binary", "mcp_config": {
        "command": "x", "args": ["a"], "env": {"A": "1"},
        "platform_overrides": {"linux": {"command": "${__dirname}/run"}, "win32": {"command": "y"}},
    }}}))
    .unwrap();
    assert_eq!(offer.reached(), "/data/b/run a");
    let offer = made(&json!({"server": {"type": "uv", "entry_point": "./server/index.js"}}));
    let expect = "uv run --directory /data/b server/index.js";
    assert_eq!(offer.unwrap().reached(), expect);
}

#[test]
fn a_manifest_that_cannot_be_used_says_why() {
    let check =
        |server: Value, part: &str| refused(made(&json!({"server": server})).unwrap_err(), part);
    let run = json!({"command": "node"});
    check(
        json!({"type": "wasm", "mcp_config": run}),
        "\"wasm\" are not known",
    );
    check(json!({"type": "node"}), "no server.mcp_config");
    check(json!({"type": "node", "mcp_config": {}}), "no command");
    check(json!({"mcp_config": run}), "missing field `type`");
    check(
        json!({"type": "node", "entry_point": "gone.js", "mcp_config": run}),
        "not in the bundle",
    );
    for entry in ["../x.js", "/x.js", "${__dirname}/../x.js"] {
        check(
            json!({"type": "node", "entry_point": entry, "mcp_config": run}),
            "not a file inside it",
        );
    }
    for outside in [
        "${__dirname}/../x",
        "${__dirname}${/}..${/}x",
        "${__dirname}\\..\\x",
    ] {
        let run = json!({"command": "node", "args": [outside]});
        check(
            json!({"type": "node", "mcp_config": run}),
            "not a file inside it",
        );
        let run = json!({"command": outside});
        check(
            json!({"type": "binary", "mcp_config": run}),
            "not a file inside it",
        );
    }
    let run = json!({"command": "node", "args": ["${user_config.none}"]});
    check(
        json!({"type": "node", "mcp_config": run}),
        "does not describe",
    );
    let run = json!({"command": "node", "env": {"A=B": "x"}});
    check(
        json!({"type": "node", "mcp_config": run}),
        "no name of a variable",
    );
    let elsewhere = made(&json!({
        "server": {"type": "node", "mcp_config": {"command": "node"}},
        "compatibility": {"platforms": ["darwin", "win32"]},
    }));
    refused(
        elsewhere.unwrap_err(),
        "not run on linux; it is for darwin and win32",
    );
    let error = Manifest::read(b"[").unwrap_err();
    refused(error, "manifest.json of the bundle cannot be used");
    let none = Archive::read(Zip::default().file("a", "").build()).unwrap();
    refused(none.manifest().unwrap_err(), "it is not there");
    let large = Zip::default().file(MANIFEST, vec![b' '; 1024 * 1024 + 1]);
    let large = Archive::read(large.build()).unwrap();
    refused(large.manifest().unwrap_err(), "too large");
}

#[test]
fn a_package_without_a_hash_or_an_address_is_no_bundle() {
    let check = |package: Value, part: &str| {
        let package: Package = serde_json::from_value(package).unwrap();
        let said = of_package(&package, Vec::new(), Vec::new()).unwrap_err();
        assert!(said.contains(part), "{part}: {said}");
    };
    let at = "https://a.example/a.mcpb";
    check(
        json!({"registryType": "mcpb", "identifier": at}),
        "without a SHA-256",
    );
    for hash in ["", "abc", "../../../../etc", &"g".repeat(64)] {
        check(
            json!({"registryType": "mcpb", "identifier": at, "fileSha256": hash}),
            "is none",
        );
    }
    for at in ["a.mcpb", "file:///etc/passwd", "ftp://a.example/a"] {
        check(
            json!({"registryType": "mcpb", "identifier": at, "fileSha256": "0".repeat(64)}),
            "does not begin with https://",
        );
    }
}
