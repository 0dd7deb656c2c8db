//! `toolcrib login` and `toolcrib logout` with a stand-in for the server and its authorization server.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::json;
use tokio::runtime::Runtime;
use toolcrib_testkit::issuer::{self, Issuer};
use toolcrib_testkit::remote::{Remote, Settings};

use super::home::{Home, Said};

pub(crate) struct World {
    runtime: Runtime,
    issuer: Issuer,
    pub(crate) home: Home,
    _remote: Remote,
}

impl World {
    pub(crate) fn new(settings: issuer::Settings) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (issuer, remote) = runtime.block_on(async {
            let issuer = Issuer::start(settings).await.unwrap();
            let settings = Settings {
                tokens: vec!["access-1".to_owned()],
                challenge: Some(issuer.challenge()),
                ..Settings::default()
            };
            let remote = Remote::start(settings).await.unwrap();
            issuer.protect(&format!("{}/mcp", remote.origin));
            (issuer, remote)
        });
        let home = Home::new();
        home.configure(&format!(
            "servers:\n  files:\n    url: {}/mcp\n  local:\n    command: cat\n",
            remote.origin
        ));
        Self {
            runtime,
            issuer,
            home,
            _remote: remote,
        }
    }

    /// Starts a login and gives it with the address that it wants opened.
    fn begin(&self, arguments: &[&str]) -> (Child, String) {
        let mut all = vec!["login", "files", "--no-browser", "--json"];
        all.extend(arguments);
        let mut command = self.home.command(&all);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
        let address = lines.find_map(|line| line.ok().filter(|line| line.starts_with("http")));
        (child, address.unwrap())
    }

    /// Does what a browser does: opens an address and goes where it is sent.
    pub(crate) fn browse(&self, address: &str) -> u16 {
        self.runtime.block_on(async {
            let browser = reqwest::Client::new();
            browser.get(address).send().await.unwrap().status().as_u16()
        })
    }
}

fn end(child: Child) -> Said {
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_login_waits_for_the_browser_and_keeps_the_tokens_until_logout() {
    let world = World::new(issuer::Settings::default());
    let (child, address) = world.begin(&["--scope", "read write"]);
    assert_eq!(world.browse(&address), 200);
    let said = end(child);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let expected = json!({
        "server": "files",
        "issuer": world.issuer.origin,
        "scopes": ["read", "write", "offline_access"],
    });
    assert_eq!(said.json(), expected);
    assert!(!said.err.contains("access-1"));
    let said = world.home.run(&["logout", "files", "--json"]);
    assert_eq!(said.json(), json!({"server": "files", "removed": 1}));
    let said = world.home.run(&["logout", "files"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(0), "There were no tokens of files.\n")
    );
}

#[test]
fn a_device_shows_a_code_where_the_server_has_them() {
    let settings = issuer::Settings {
        device: true,
        ..issuer::Settings::default()
    };
    let world = World::new(settings);
    let said = world.home.run(&["login", "files", "--no-browser"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(0), "Logged in to files.\n"),
        "{}",
        said.err
    );
    assert!(said.err.contains("WDJB-MJHT"), "{}", said.err);
}

#[test]
fn what_cannot_be_logged_in_to_says_why() {
    let settings = issuer::Settings {
        registration: issuer::Registration::None,
        ..issuer::Settings::default()
    };
    let world = World::new(settings);
    let check = |arguments: &[&str], code: i32, part: &str| {
        let said = world.home.run(arguments);
        assert_eq!(said.code, Some(code), "{}", said.err);
        assert!(said.err.contains(part), "{}", said.err);
    };
    check(&["login", "files", "--no-browser"], 3, "--client-id");
    check(&["login", "local"], 1, "nothing to log in to");
    check(&["login", "nobody"], 2, "SERVER_NOT_FOUND");
    check(&["logout", "nobody"], 2, "SERVER_NOT_FOUND");
    let secretive = [
        "login",
        "files",
        "--client-id",
        "x",
        "--client-secret-env",
        "NO_SUCH",
    ];
    check(&secretive, 1, "NO_SUCH is not set");
}

#[test]
fn a_server_that_is_nearly_right_is_suggested() {
    let home = Home::new();
    home.configure("servers:\n  notes: {url: 'https://example.com/mcp'}\n");
    for command in ["login", "logout"] {
        let said = home.run(&[command, "note"]);
        assert_eq!(said.code, Some(2), "{command}: {}", said.err);
        assert!(
            said.err.contains("Did you mean notes?"),
            "{command}: {}",
            said.err
        );
    }
}
