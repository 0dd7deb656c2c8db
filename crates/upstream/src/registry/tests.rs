//! The client against a stand-in registry over loopback, and what becomes of its entries.

use serde_json::json;
use serde_json::value::to_raw_value;
use toolcrib_testkit::registry::{Faults, Registry};

use super::*;

fn client(url: &str) -> RegistryClient {
    RegistryClient::new(reqwest::Client::new(), url).unwrap()
}

async fn found(registry: &Registry, query: &str) -> Reading {
    let answer = client(&registry.url).search(query).await.unwrap();
    assert!(answer.complete);
    entries(answer.items.iter().map(|item| &**item))
}

/// An entry of the stand-in, its newest version.
async fn entry(name: &str) -> Entry {
    let registry = Registry::start().await;
    let answer = client(&registry.url).versions(name).await.unwrap();
    let reading = entries(answer.items.iter().map(|item| &**item)).latest();
    reading.entries.into_iter().next().unwrap()
}

#[tokio::test]
async fn every_page_is_read_and_the_broken_entry_is_named() {
    let registry = Registry::start().await;
    let reading = found(&registry, "").await.latest();
    let names: Vec<&str> = reading.entries.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names.len(), 11, "{names:?}");
    assert!(registry.requests() >= 3);
    assert_eq!(reading.warnings.len(), 1);
    assert!(
        reading.warnings[0].contains("io.github.mallory/broken"),
        "{:?}",
        reading.warnings
    );
    assert!(!reading.warnings[0].contains(" at line "));
}

#[tokio::test]
async fn a_search_is_a_part_of_the_name_whatever_its_case() {
    let registry = Registry::start().await;
    let reading = found(&registry, " WEATHER ").await;
    let names: Vec<(&str, &str)> = reading
        .entries
        .iter()
        .map(|e| (e.name.as_str(), e.version.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            ("io.github.ada/weather", "2.0.0"),
            ("io.github.dave/old-weather", "0.1.0")
        ]
    );
    assert!(registry.queries()[0].contains("search=WEATHER&"));
    assert!(found(&registry, "no such thing").await.entries.is_empty());
}

#[tokio::test]
async fn versions_of_a_name_and_names_that_are_not_there() {
    let registry = Registry::start().await;
    let client = client(&registry.url);
    let answer = client.versions("io.github.ada/weather").await.unwrap();
    let reading = entries(answer.items.iter().map(|item| &**item));
    assert_eq!(reading.entries.len(), 3);
    let latest = reading.latest();
    assert_eq!(latest.entries.len(), 1);
    let entry = &latest.entries[0];
    assert_eq!(entry.version, "2.0.0");
    assert_eq!(entry.title.as_deref(), Some("Weather"));
    assert_eq!(entry.website.as_deref(), Some("https://weather.example"));
    let repository = entry.repository.as_deref();
    assert_eq!(repository, Some("https://github.com/ada/weather"));
    let missing = client.versions("io.github.ada/nothing").await.unwrap_err();
    assert_eq!(
        missing,
        RegistryError::NotFound("io.github.ada/nothing".into())
    );
    assert!(missing.to_string().contains("toolcrib registry search"));
}

#[tokio::test]
async fn deprecated_and_deleted_entries_are_marked() {
    let registry = Registry::start().await;
    let reading = found(&registry, "").await;
    let status = |name: &str| {
        let entry = reading.entries.iter().find(|e| e.name == name).unwrap();
        (entry.status, entry.status_message.clone())
    };
    assert_eq!(status("com.example/ledger").0, Status::Active);
    let (old, message) = status("io.github.dave/old-weather");
    assert_eq!(old.word(), "deprecated");
    assert_eq!(message.as_deref(), Some("use io.github.ada/weather"));
    assert_eq!(status("io.github.mallory/gone").0.word(), "deleted");
    let bare = json!({"server": {"name": "a/b", "version": "1", "status": "deprecated"}});
    let bare = Entry::read(&to_raw_value(&bare).unwrap()).unwrap();
    assert_eq!(bare.status, Status::Deprecated);
}

#[tokio::test]
async fn trouble_is_told_apart() {
    let faulty = |faults| async move {
        let registry = Registry::misbehaving(faults).await;
        client(&registry.url).search("x").await.unwrap_err()
    };
    let busy = faulty(Faults {
        first: Some((1, 429)),
        retry_after: Some("7"),
        ..Faults::default()
    })
    .await;
    let after = Some(Duration::from_secs(7));
    assert_eq!(busy.trouble(), (Trouble::Status(429), after));
    assert!(busy.to_string().contains("HTTP 429 (try later)"), "{busy}");
    let broken = faulty(Faults {
        body: Some("<html>".into()),
        ..Faults::default()
    })
    .await;
    assert!(matches!(broken, RegistryError::NotRegistry(_)));
    assert_eq!(broken.trouble(), (Trouble::Lasting, None));
    let circle = faulty(Faults {
        circle: true,
        ..Faults::default()
    })
    .await;
    assert!(circle.to_string().contains("circle"), "{circle}");
    let long = faulty(Faults {
        body: Some("x".repeat(REGISTRY_PAGE_BYTES_MAX + 1)),
        ..Faults::default()
    })
    .await;
    assert_eq!(long, RegistryError::TooLarge);
    // Bound and not listened to: nobody else can take it, and whoever connects is refused.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let closed = held.local_addr().unwrap();
    let error = client(&format!("http://{closed}")).search("x").await;
    let error = error.unwrap_err();
    assert!(matches!(error, RegistryError::Unreachable(_)), "{error:?}");
    assert_eq!(error.trouble(), (Trouble::Lasting, None));
}

#[test]
fn an_address_must_be_one() {
    for wrong in ["", "registry", "ftp://a.example", "file:///etc"] {
        let error = RegistryClient::new(reqwest::Client::new(), wrong).unwrap_err();
        assert!(error.to_string().contains("registry.url"), "{wrong}");
    }
    let client = client("https://ada:secret@a.example/base?key=secret");
    assert_eq!(client.address(), "https://a.example/base");
    let url = client.url(&["v0.1", "servers", "a/b", "versions"]).unwrap();
    assert_eq!(url.path(), "/base/v0.1/servers/a%2Fb/versions");
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let now: jiff::Timestamp = "2026-11-16T04:00:00Z".parse().unwrap();
    let check = |text: &str, expect: Option<u64>| {
        assert_eq!(
            retry_after(text, now),
            expect.map(Duration::from_secs),
            "{text}"
        );
    };
    check("120", Some(120));
    check(" 0 ", Some(0));
    check("Mon, 16 Nov 2026 04:00:30 GMT", Some(30));
    check("Mon, 16 Nov 2026 03:00:00 GMT", Some(0));
    check("soon", None);
    check("-5", None);
}

#[tokio::test]
async fn packages_become_command_lines() {
    let check = |name: &'static str, line: &'static str| async move {
        let entry = entry(name).await;
        let offers = entry.offers("IT");
        assert_eq!(offers.len(), 1);
        assert_eq!(offers[0].as_ref().unwrap().reached(), line);
    };
    check(
        "io.github.ada/weather",
        "npx -y @ada/weather@2.0.0 --units ${IT_UNITS:-metric} ${IT_REGION}",
    )
    .await;
    check("io.github.bob/papers", "uvx --python 3.12 papers-mcp@0.4.1").await;
    check(
        "io.github.bob/images",
        "docker run -i --rm -e LOG --mount type=bind,src=${IT_SOURCE},dst=/data ghcr.io/bob/images:1.2.0",
    )
    .await;
    check(
        "com.example/ledger",
        "dnx Example.Ledger.Mcp@5.0.0 --yes -- serve",
    )
    .await;
    check("io.github.carol/grep", "grep-mcp").await;
}

#[tokio::test]
async fn what_a_package_needs_is_listed() {
    let entry = entry("io.github.ada/weather").await;
    let offer = entry.offers("WEATHER").remove(0).unwrap();
    assert_eq!(offer.label, "npm @ada/weather 2.0.0");
    let required: Vec<(&str, bool)> = offer
        .required()
        .map(|needed| (needed.variable.as_str(), needed.secret))
        .collect();
    assert_eq!(
        required,
        [("WEATHER_REGION", false), ("WEATHER_API_KEY", true)]
    );
    let optional: Vec<&str> = offer
        .needed
        .iter()
        .filter(|needed| !needed.required)
        .map(|needed| needed.variable.as_str())
        .collect();
    assert_eq!(optional, ["WEATHER_UNITS", "WEATHER_LANG"]);
    let Way::Stdio { env, .. } = &offer.way else {
        panic!("{offer:?}");
    };
    assert_eq!(env.len(), 1, "what may be left out is left out: {env:?}");
    assert_eq!(env[0].1.to_string(), "${WEATHER_API_KEY}");
}

#[tokio::test]
async fn remotes_become_addresses_with_headers() {
    let entry = entry("com.example/issues").await;
    let offers = entry.offers("ISSUES");
    let first = offers[0].as_ref().unwrap();
    assert_eq!(
        first.reached(),
        "https://${ISSUES_REGION:-eu}.issues.example/mcp"
    );
    let Way::Http { headers, .. } = &first.way else {
        panic!("{first:?}");
    };
    assert_eq!(headers.len(), 1);
    assert_eq!(headers[0].0, "Authorization");
    assert_eq!(headers[0].1.to_string(), "Bearer ${ISSUES_TOKEN}");
    let token = first.required().next().unwrap();
    assert!(token.secret);
    assert_eq!(token.used_for, "Authorization");
    assert_eq!(token.description.as_deref(), Some("Access token"));
    let second = offers[1].as_ref().unwrap();
    let Way::Sse { headers, .. } = &second.way else {
        panic!("{second:?}");
    };
    assert_eq!(headers[0].1.to_string(), "${ISSUES_X_API_KEY}");
}

#[tokio::test]
async fn what_cannot_be_run_says_what_to_do() {
    let check = |name: &'static str, expect: &'static str| async move {
        let unusable = entry(name).await.offers("IT").remove(0).unwrap_err();
        assert!(unusable.reason.contains(expect), "{unusable:?}");
    };
    check("io.github.carol/desk", "a bundle without a SHA-256").await;
    check(
        "io.github.dave/served",
        "start `npx -y served-mcp@1.0.0` and add http://127.0.0.1:{port}/mcp",
    )
    .await;
}

#[tokio::test]
async fn a_crate_is_installed_first() {
    let entry = entry("io.github.carol/grep").await;
    let offer = entry.offers("IT").remove(0).unwrap();
    let expect = "cargo install --locked grep-mcp --version 0.9.0";
    assert_eq!(offer.preparation.as_deref(), Some(expect));
}

/// The one way of an entry with one package or remote.
fn only(key: &str, value: &serde_json::Value) -> Result<Offer, Unusable> {
    let entry = json!({"server": {"name": "a/b", "version": "1", key: [value]}});
    let entry = Entry::read(&to_raw_value(&entry).unwrap()).unwrap();
    entry.offers("IT").remove(0)
}

#[test]
fn names_that_could_do_harm_are_refused() {
    let check = |kind: &str, identifier: &str, version: &str| {
        let package = json!({"registryType": kind, "identifier": identifier, "version": version});
        let refused = only("packages", &package).unwrap_err();
        assert!(refused.reason.contains("is none"), "{refused:?}");
    };
    check("npm", "--registry=https://evil.example", "1");
    check("npm", "a b", "1");
    check("npm", "https://evil.example/x.tgz", "1");
    check("npm", "../x", "1");
    check("npm", "", "1");
    check("oci", "-v/:/host", "1");
    check("pypi", "a;rm", "1");
    check("pypi", "a", "1 --with evil");
    let strange = json!({"registryType": "npm", "identifier": "a", "registryBaseUrl": "https://evil.example"});
    let refused = only("packages", &strange).unwrap_err();
    assert!(refused.reason.contains("evil.example"), "{refused:?}");
    let unknown = json!({"registryType": "gem", "identifier": "a"});
    assert!(
        only("packages", &unknown)
            .unwrap_err()
            .reason
            .contains("gem")
    );
    for (kind, url) in [
        ("streamable-http", "file:///etc"),
        ("pigeon", "https://a.example"),
    ] {
        assert!(only("remotes", &json!({"type": kind, "url": url})).is_err());
    }
}

#[test]
fn arguments_follow_what_is_said_of_them() {
    let check = |argument: serde_json::Value, expect: &str| {
        let package = json!({
            "registryType": "npm", "identifier": "a", "version": "1",
            "runtimeArguments": [{"type": "named", "name": "-y"}],
            "packageArguments": [argument],
        });
        let line = only("packages", &package).unwrap().reached();
        assert_eq!(line, format!("npx -y a@1{expect}"));
    };
    check(
        json!({"type": "named", "name": "--x", "value": "1"}),
        " --x 1",
    );
    check(
        json!({"type": "named", "name": "--x", "isRequired": true, "description": "d"}),
        " --x ${IT_X}",
    );
    check(
        json!({"type": "named", "name": "--x", "description": "d"}),
        "",
    );
    check(
        json!({"type": "named", "name": "--x", "format": "boolean", "value": "true"}),
        " --x",
    );
    check(
        json!({"type": "named", "name": "--x", "format": "boolean", "default": "false"}),
        "",
    );
    check(
        json!({"type": "named", "name": "--x", "format": "boolean"}),
        "",
    );
    check(
        json!({"type": "positional", "isRequired": true}),
        " ${IT_ARGUMENT_1}",
    );
    check(
        json!({"type": "positional", "value": "{\"a\": {b}}"}),
        " {\"a\": {b}}",
    );
    check(
        json!({"type": "positional", "valueHint": "x", "default": "${Y}"}),
        " ${Y}",
    );
    check(
        json!({"type": "positional", "value": "{a}-{b}-{c}", "variables": {"a": {"value": "1"}, "b": {"default": "2"}}}),
        " 1-${IT_B:-2}-{c}",
    );
}

#[test]
fn images_and_runners_keep_what_they_are_given() {
    let check = |package: serde_json::Value, expect: &str| {
        let line = only("packages", &package).unwrap().reached();
        assert_eq!(line, expect);
    };
    let image = |identifier: &str, version: &str| json!({"registryType": "oci", "identifier": identifier, "version": version, "runtimeHint": "podman"});
    check(
        image("docker.io/a/b:1", "2"),
        "podman run -i --rm docker.io/a/b:1",
    );
    check(
        image("localhost:5000/a", "2"),
        "podman run -i --rm localhost:5000/a:2",
    );
    check(
        image("a/b", "sha256:0f"),
        "podman run -i --rm a/b@sha256:0f",
    );
    check(
        json!({"registryType": "oci", "identifier": "a/b"}),
        "docker run -i --rm a/b",
    );
    check(
        json!({"registryType": "npm", "identifier": "a", "runtimeHint": "bunx"}),
        "bunx a",
    );
    check(
        json!({"registryType": "nuget", "identifier": "A"}),
        "dnx A --yes",
    );
}

#[test]
fn odd_entries_are_skipped_with_a_reason() {
    let long = "a".repeat(201);
    let odd = [
        json!({"server": {"version": "1"}}),
        json!({"server": {"name": "a b"}}),
        json!({"server": {"name": ""}}),
        json!({"server": {"name": long}}),
        json!("text"),
        json!({"server": {"name": "x/y", "remotes": [{"type": "sse"}]}}),
    ];
    let raw: Vec<_> = odd.iter().map(|one| to_raw_value(one).unwrap()).collect();
    let reading = entries(raw.iter().map(|item| &**item));
    assert_eq!(
        (reading.entries.len(), reading.warnings.len()),
        (0, odd.len())
    );
    assert!(
        reading.warnings[0].contains("number 1"),
        "{:?}",
        reading.warnings
    );
    assert!(
        reading.warnings[5].contains("x/y"),
        "{:?}",
        reading.warnings
    );
}
