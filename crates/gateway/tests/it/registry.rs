//! `registry` against a stand-in, and `cache`.

use toolcrib_testkit::registry::Registry;

use crate::home::{Home, Said};

/// A home whose configuration names a stand-in registry, which runs as long as this.
pub(crate) struct Market {
    pub(crate) home: Home,
    pub(crate) registry: Registry,
    _runtime: tokio::runtime::Runtime,
}

impl Market {
    pub(crate) fn open() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let registry = runtime.block_on(Registry::start());
        let home = Home::new();
        let market = Self {
            home,
            registry,
            _runtime: runtime,
        };
        market.configure("# mine\n");
        market
    }

    fn configure(&self, rest: &str) {
        let url = &self.registry.url;
        self.home
            .configure(&format!("{rest}registry:\n  url: {url}\n"));
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.home.run(&[&["registry"], arguments].concat())
    }

    pub(crate) fn file(&self) -> String {
        std::fs::read_to_string(self.home.path(".config/toolcrib/toolcrib.yaml")).unwrap()
    }
}

#[test]
fn a_search_lists_servers_and_marks_what_is_old() {
    let market = Market::open();
    let said = market.run(&["search", "weather"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("io.github.ada/weather"), "{}", said.out);
    assert!(said.out.contains("2.0.0") && !said.out.contains("1.1.0"));
    assert!(said.out.contains("0.1.0 (deprecated)"), "{}", said.out);
    let json = market.run(&["search", "weather", "--json"]).json();
    assert_eq!(json["total"], 2);
    assert_eq!(json["servers"][0]["ways"], "npm");
    assert_eq!(json["servers"][1]["status"], "deprecated");
}

#[test]
fn everything_is_listed_up_to_a_limit_and_the_broken_entry_is_named() {
    let market = Market::open();
    let said = market.run(&["search", "--limit", "2"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("9 more"), "{}", said.out);
    assert!(
        said.err.contains("io.github.mallory/broken"),
        "{}",
        said.err
    );
}

#[test]
fn a_second_search_asks_nobody_unless_it_is_to_be_fresh() {
    let market = Market::open();
    market.run(&["search", "weather"]);
    let asked = market.registry.requests();
    market.run(&["search", "WEATHER"]);
    assert_eq!(market.registry.requests(), asked);
    market.run(&["search", "weather", "--fresh"]);
    assert_eq!(market.registry.requests(), asked + 1);
    let shown = market.home.run(&["cache", "show", "--json"]).json();
    assert_eq!(shown["lists"][0]["list"], "registry");
    assert_eq!(shown["lists"][0]["name"], "weather");
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let market = Market::open();
    let said = market.run(&["search", "no-such-thing"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("SERVER_NOT_FOUND"), "{}", said.err);
    let said = market.run(&["show", "io.github.eve/weather"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("perhaps io.github.ada/weather"),
        "{}",
        said.err
    );
    let said = market.run(&["show", "a/zzz"]);
    assert!(
        said.err.contains("toolcrib registry search"),
        "{}",
        said.err
    );
    let said = market.run(&["add", "io.github.ada/weather", "--pin", "9"]);
    assert!(
        said.err.contains("it has 1.0.0, 1.1.0, 2.0.0"),
        "{}",
        said.err
    );
}

#[test]
fn a_server_is_shown_with_what_it_runs_and_needs() {
    let market = Market::open();
    let said = market.run(&["show", "io.github.ada/weather"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    for part in [
        "io.github.ada/weather 2.0.0",
        "Versions: 1.0.0, 1.1.0, 2.0.0",
        "runs npx -y @ada/weather@2.0.0 --units ${WEATHER_UNITS:-metric} ${WEATHER_REGION}",
        "WEATHER_API_KEY  yes, a secret",
        "no (metric)",
        "`toolcrib registry add io.github.ada/weather`",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let json = market
        .run(&["show", "io.github.carol/desk", "--json"])
        .json();
    let unusable = json["ways"][0]["unusable"].as_str().unwrap();
    assert!(unusable.contains("SHA-256"), "{unusable}");
    let said = market.run(&["show", "io.github.dave/old-weather"]);
    assert!(said.out.contains("(deprecated)"), "{}", said.out);
    assert!(
        said.out.contains("use io.github.ada/weather"),
        "{}",
        said.out
    );
}

#[test]
fn an_added_server_is_off_until_it_has_its_secrets() {
    let market = Market::open();
    let said = market.run(&["add", "io.github.ada/weather"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.contains("switched off; nothing was started"),
        "{}",
        said.out
    );
    let next = "Set WEATHER_REGION and WEATHER_API_KEY in the environment";
    assert!(said.out.contains(next), "{}", said.out);
    let text = market.file();
    assert!(text.starts_with("# mine\n"), "{text}");
    assert!(text.contains("enabled: false"), "{text}");
    assert!(text.contains("registry: io.github.ada/weather"), "{text}");
    assert!(
        text.contains("WEATHER_API_KEY: \"${WEATHER_API_KEY}\""),
        "{text}"
    );
    let checked = market.home.run(&["config", "validate"]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    let again = market.run(&["add", "io.github.ada/weather"]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("--name"), "{}", again.err);
}

#[test]
fn a_server_that_needs_nothing_or_has_it_is_on() {
    let market = Market::open();
    let json = market
        .run(&["add", "com.example/open-notes", "--json"])
        .json();
    assert_eq!(
        (&json["enabled"], &json["name"]),
        (&true.into(), &"open-notes".into())
    );
    let output = market
        .home
        .command(&[
            "registry",
            "add",
            "com.example/issues",
            "--name",
            "tracker",
            "--json",
        ])
        .env("TRACKER_TOKEN", "x")
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["enabled"], true);
    assert_eq!(json["missing"], serde_json::json!([]));
    let text = market.file();
    assert!(text.contains("Bearer ${TRACKER_TOKEN}"), "{text}");
    assert!(
        text.contains("https://${TRACKER_REGION:-eu}.issues.example/mcp"),
        "{text}"
    );
}

#[test]
fn the_way_can_be_chosen_and_what_cannot_be_run_is_refused() {
    let market = Market::open();
    let json = market
        .run(&[
            "add",
            "com.example/issues",
            "--via",
            "remote https://issues",
            "--json",
        ])
        .json();
    assert_eq!(json["way"]["runs"], "https://issues.example/sse");
    for (arguments, code, part) in [
        (&["io.github.carol/desk"][..], 3, "without a SHA-256"),
        (&["io.github.dave/served"], 3, "start `npx"),
        (&["io.github.mallory/gone"], 2, "taken back"),
        (
            &["io.github.ada/weather", "--via", "oci"],
            1,
            "lists the ways",
        ),
    ] {
        let said = market.run(&[&["add"], arguments].concat());
        assert_eq!(said.code, Some(code), "{arguments:?}");
        assert!(said.err.contains(part), "{arguments:?}: {}", said.err);
    }
    let said = market.run(&["add", "com.example/ledger", "--name", "a:b"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let said = market.run(&["add", "io.github.dave/old-weather"]);
    assert!(said.err.contains("is deprecated: use"), "{}", said.err);
    let said = market.run(&["add", "io.github.carol/grep"]);
    assert!(
        said.out
            .contains("1. Run `cargo install --locked grep-mcp --version 0.9.0`."),
        "{}",
        said.out
    );
}

#[test]
fn a_dry_run_writes_nothing() {
    let market = Market::open();
    let before = market.file();
    let said = market.run(&["add", "com.example/ledger", "--dry-run"]);
    assert!(said.out.contains("would get this"), "{}", said.out);
    assert!(said.out.contains("command: dnx"), "{}", said.out);
    assert_eq!(market.file(), before);
}

#[test]
fn a_project_file_is_written_and_stays_trusted() {
    let market = Market::open();
    for name in ["com.example/ledger", "io.github.bob/papers"] {
        let said = market.run(&["add", name, "--project"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        // The file names no registry, so the next command would ask the public one.
        let path = market.home.path("work/toolcrib.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(name.rsplit('/').next().unwrap()), "{text}");
        let listed = market.home.run(&["trust", "--list", "--json"]);
        assert!(listed.out.contains("toolcrib.yaml"), "{}", listed.out);
        let with_registry = format!("{text}registry:\n  url: {}\n", market.registry.url);
        std::fs::write(&path, with_registry).unwrap();
        let trusted = market.home.run(&["trust", "--yes"]);
        assert_eq!(trusted.code, Some(0), "{}", trusted.err);
    }
}

#[test]
fn a_file_that_the_project_has_is_added_to_and_not_pushed_aside() {
    let market = Market::open();
    let url = &market.registry.url;
    let own = format!("[registry]\nurl = \"{url}\"\n");
    let path = market.home.write("work/.toolcrib/toolcrib.toml", &own);
    let trusted = market.home.run(&["trust", "--yes"]);
    assert_eq!(trusted.code, Some(0), "{}", trusted.err);
    for arguments in [
        &["add", "com.example/ledger", "--project"][..],
        &["add", "io.github.bob/papers"],
    ] {
        let said = market.run(arguments);
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with(&own), "{text}");
    assert!(text.contains("ledger") && text.contains("papers"), "{text}");
    assert!(!market.home.path("work/toolcrib.yaml").exists());
}

#[test]
fn a_file_that_is_not_edited_is_told_with_the_lines_to_add() {
    let market = Market::open();
    let url = &market.registry.url;
    let config = market.home.write(
        "my.yaml",
        &format!("discovery:\n  servers:\n    a: {{command: a}}\nregistry: {{url: '{url}'}}\n"),
    );
    let config = config.to_str().unwrap();
    let said = market.run(&["add", "com.example/ledger", "--config", config]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(
        said.err.contains("by hand") && said.err.contains("command: dnx"),
        "{}",
        said.err
    );
}

#[test]
fn a_registry_that_does_not_answer_is_an_error_with_a_hint() {
    let home = Home::new();
    for (url, code, part) in [
        ("http://127.0.0.1:1", 3, "cannot be reached"),
        ("ftp://a.example", 2, "registry.url"),
    ] {
        home.configure(&format!("registry:\n  url: {url}\n"));
        let said = home.run(&["registry", "search", "x"]);
        assert_eq!(said.code, Some(code), "{}", said.err);
        assert!(said.err.contains(part), "{}", said.err);
    }
}

#[test]
fn the_cache_is_shown_and_cleared() {
    let market = Market::open();
    let shown = market.home.run(&["cache", "show"]);
    assert!(
        shown.out.starts_with("Nothing is kept in "),
        "{}",
        shown.out
    );
    market.run(&["search", "weather"]);
    let shown = market.home.run(&["cache", "show"]);
    assert!(
        shown.out.contains("weather") && shown.out.contains("fresh"),
        "{}",
        shown.out
    );
    let said = market.home.run(&["cache", "clear", "github"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(
        said.err.contains("no tools of github are kept"),
        "{}",
        said.err
    );
    let cleared = market.home.run(&["cache", "clear", "--json"]).json();
    assert_eq!(cleared["removed"], 1);
    let cleared = market.home.run(&["cache", "clear"]);
    assert_eq!(cleared.out, "Nothing was kept.\n");
}

#[test]
fn warming_fills_the_cache_and_skips_what_fails() {
    let home = Home::new();
    let program = toolcrib_testkit::program("hostile");
    home.configure(&format!(
        "servers:\n  good: {{command: {:?}}}\n  missing: {{command: no-such-program-at-all}}\n  off: {{command: x, enabled: false}}\n",
        program.to_str().unwrap()
    ));
    let said = home.run(&["cache", "warm"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(said.out.contains("✗ missing: "), "{}", said.out);
    assert!(
        said.out.contains("1 of 2 servers kept, with "),
        "{}",
        said.out
    );
    let shown = home.run(&["cache", "show", "--json"]).json();
    assert_eq!(shown["lists"][0]["name"], "good");
    assert_eq!(shown["lists"][0]["stale"], false);
    let stats = home.run(&["cache", "warm", "good", "--json"]).json();
    assert_eq!(
        (&stats["total_servers"], &stats["failed"]),
        (&1.into(), &0.into())
    );
    assert_eq!(stats["cached_tools"], shown["lists"][0]["items"]);
    let fresh = home
        .run(&["cache", "warm", "good", "--fresh", "--json"])
        .json();
    assert_eq!(fresh["successful"], 1);
    let failed = home.run(&["cache", "warm", "missing"]);
    assert_eq!(failed.code, Some(3), "{}", failed.out);
    assert!(
        failed.err.contains("SERVER_CONNECTION_ERROR"),
        "{}",
        failed.err
    );
    let unknown = home.run(&["cache", "warm", "god"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.err.contains("Did you mean good?"),
        "{}",
        unknown.err
    );
    let cleared = home.run(&["cache", "clear", "good"]);
    assert_eq!(cleared.out, "1 list was forgotten.\n");
}

#[test]
fn a_capability_is_found_here_first_and_then_in_the_registry() {
    let market = Market::open();
    market.configure("servers: {my-notes: {command: x}}\n");
    let said = market.run(&["find", "notes.read"]);
    assert_eq!(said.out, "my-notes is configured\n", "{}", said.err);
    let json = market.run(&["find", "weather.today", "--json"]).json();
    assert_eq!(json["servers"][0]["place"], "registry");
    assert_eq!(json["servers"][0]["name"], "io.github.ada/weather");
    let said = market.run(&["find", "no-such-thing"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
}

#[test]
fn servers_of_the_registry_that_are_not_asked_say_why() {
    let market = Market::open();
    let said = market.run(&["search", "--tools", "issues"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.contains("com.example/issues: it needs"),
        "{}",
        said.out
    );
    let json = market
        .run(&["search", "--tools", "ledger", "--json"])
        .json();
    let reason = json["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("toolcrib registry add"), "{reason}");
    assert_eq!(json["servers"], serde_json::json!([]));
}
