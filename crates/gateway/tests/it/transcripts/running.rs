//! Processes that run, servers that are asked, logins, and the registry.

use std::fmt::Write as _;
use std::os::unix::net::UnixListener;

use rustix::process::Signal;
use serde_json::json;
use toolcrib_testkit::issuer;

use super::finding::NOTES;
use super::furnished;
use super::screen::{Screen, check, veiled};
use crate::home::Home;
use crate::login::World;
use crate::registry::Market;
use crate::terminal::Input;
use crate::web::Web;

/// Nothing to connect to, and nobody who looks at files in the middle.
const QUIET: &str = "servers: {off: {command: x, enabled: false}}\nwatch: false\n";

/// Serves while something else is done, and notes the log when it has ended.
fn serve(screen: &mut Screen, home: &Home, options: &[&str], during: impl FnOnce(&mut Screen)) {
    let mut server = home.serve(&[options, &["--color", "never"]].concat());
    during(screen);
    server.signal(Signal::TERM);
    let code = server.ends().code().unwrap();
    assert_eq!(server.stdout(), "");
    let mut text = format!(
        "-- on standard error:\n{}",
        veiled(home, &server.rest().join("\n"))
    );
    let _ = writeln!(text, "-- exit code {code}");
    let line = [&["toolcrib", "serve"], options].concat().join(" ");
    screen.remember(home, &line, text);
}

/// A process that takes whatever it is asked and ends the connection without a word.
fn hang_up(home: &Home) {
    let directory = home.path("run/toolcrib");
    std::fs::create_dir_all(&directory).unwrap();
    let socket = UnixListener::bind(directory.join("4242.sock")).unwrap();
    std::thread::spawn(move || socket.incoming().for_each(drop));
}

#[test]
fn serving() {
    check("serving", |screen| {
        let home = Home::new();
        home.configure(QUIET);
        serve(screen, &home, &[], |screen| {
            screen.types(&home, &["status", "config reload"]);
            home.configure("servers: 7\n");
            screen.types(&home, &["config reload", "status", "config reload --pid 1"]);
            home.configure(QUIET);
        });
        serve(screen, &home, &["--profile", "gateway"], |_| {});
        screen.runs(
            &home,
            &[
                &["serve", "--stdio"],
                &["serve", "--listen", "nowhere"],
                &["serve", "--names", "spaces"],
            ],
        );
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        screen.runs(&home, &[&["serve", "--listen", &address]]);
        hang_up(&home);
        screen.types(&home, &["config reload"]);
    });
}

#[test]
fn beside_a_process() {
    check("beside", |screen| {
        let home = Home::new();
        home.configure(&format!(
            "watch: false\nservers:\n{NOTES}  gone: {{command: /nowhere/at/all}}\n  off: {{command: x, enabled: false}}\n"
        ));
        let mut web = Web::start(&home);
        for server in ["notes", "gone"] {
            let arguments = json!({"server": server, "tool": "list_notes", "arguments": {}});
            let call = json!({"name": "execute_tool", "arguments": arguments});
            web.request("tools/call", &call.to_string());
        }
        screen.types(
            &home,
            &[
                "list",
                "list --status",
                "list --tools",
                "config show",
                "status",
                "doctor",
            ],
        );
    });
}

#[test]
fn examining() {
    check("examining", |screen| {
        let home = furnished();
        screen.runs(&home, &[&["doctor", "stage"]]);
        let well = Home::new();
        well.configure(&format!("servers:\n{NOTES}"));
        assert_eq!(well.run(&["setup", "cursor", "--yes"]).code, Some(0));
        screen.types(&well, &["doctor"]);
        home.configure(
            "servers:\n  gone: {command: /nowhere/at/all}\n  off: {command: x, enabled: false}\n",
        );
        screen.runs(
            &home,
            &[
                &["doctor"],
                &["list"],
                &["tools", "gone"],
                &["inspect", "gone", "anything"],
                &["execute", "gone", "anything", "--args", "{}"],
                &["policy", "explain", "gone:anything"],
                &["search", "anything"],
                &["search", "anything", "--server", "gone"],
                &["export-rtfs", "gone"],
                &["registry-file", "write", "--path", "operations.json"],
            ],
        );
        home.configure(&format!(
            "servers:\n  gone: {{command: /nowhere/at/all}}\n{NOTES}"
        ));
        screen.types(
            &home,
            &[
                "search 'write a note'",
                "search 'write a note' --json --limit 1",
                "registry-file write --path operations.json",
                "registry-file check --path operations.json",
            ],
        );
    });
}

#[test]
fn logging_in() {
    check("login", |screen| {
        let world = World::new(issuer::Settings::default());
        let home = &world.home;
        screen.runs(home, &[&["doctor", "files"]]);
        let login = ["login", "files", "--no-browser"];
        screen.run(home, &login, Input::Nothing, |line| {
            if line.trim().starts_with("http") {
                assert_eq!(world.browse(line.trim()), 200);
            }
        });
        screen.runs(
            home,
            &[
                &["logout", "files"],
                &["logout", "files"],
                &["logout", "nowhere"],
                &["login", "nowhere"],
                &["login", "local"],
            ],
        );
        let world = World::new(issuer::Settings {
            device: true,
            ..issuer::Settings::default()
        });
        screen.runs(&world.home, &[&login]);
        let world = World::new(issuer::Settings {
            registration: issuer::Registration::None,
            ..issuer::Settings::default()
        });
        screen.runs(&world.home, &[&login]);
        let world = World::new(issuer::Settings::default());
        world.home.write(
            ".local/share/toolcrib/store/toolcrib.db",
            "this is no database, it is a letter to a friend of mine",
        );
        screen.runs(&world.home, &[&login, &["logout", "files"]]);
    });
}

#[test]
fn shopping() {
    check("registry", |screen| {
        let market = Market::open();
        screen.runs(
            &market.home,
            &[
                &["registry", "search", "weather"],
                &["registry", "search", "--limit", "3"],
                &["registry", "search", "no-such-thing"],
                &["registry", "search", "--tools", "issues"],
                &["registry", "search", "--tools", "weather", "--limit", "1"],
                &["registry", "search", "--tools", "no-such-thing"],
                &["registry", "find", "weather.today"],
                &["registry", "find", "no-such-thing"],
                &["registry", "show", "io.github.ada/weather"],
                &["registry", "show", "com.example/issues"],
                &["registry", "show", "io.github.eve/weather"],
                &["registry", "add", "io.github.ada/weather", "--dry-run"],
                &["registry", "add", "io.github.ada/weather"],
                &["registry", "add", "io.github.ada/weather"],
                &["registry", "add", "io.github.ada/weather", "--pin", "9"],
                &[
                    "registry",
                    "add",
                    "io.github.ada/weather",
                    "--name",
                    "sky",
                    "--via",
                    "nothing",
                ],
                &["registry", "add", "io.github.carol/desk"],
                &["registry", "add", "com.example/open-notes"],
            ],
        );
        let home = Home::new();
        home.configure("registry:\n  url: http://127.0.0.1:1\n");
        screen.types(
            &home,
            &[
                "registry search x",
                "registry search x --tools",
                "registry show x",
                "registry find x",
                "registry add x",
            ],
        );
    });
}
