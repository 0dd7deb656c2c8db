//! Toolcrib in the place of a client's servers, and everything back again.

use std::fs;
use std::path::{Path, PathBuf};

use toolcrib_config::export::record::{Change, Record, Reverted};
use toolcrib_config::export::takeover::Takeover;
use toolcrib_config::export::{Entry, ExportError};
use toolcrib_config::import::{self, Client, Scope};
use toolcrib_config::{Os, Source, Surroundings};

use crate::export::{client, exportable, fixture_of};
use crate::import::show;

const TIME: &str = "20260131T120000Z";

/// A home in which every variable is set.
fn home(folder: &Path) -> Surroundings {
    Surroundings::new(Os::Linux, folder, folder.join("w"), |name| {
        let place = ["XDG_CONFIG_HOME", "CODEX_HOME", "COPILOT_HOME"].contains(&name)
            || name == "CLAUDE_CONFIG_DIR";
        (!place).then(|| "set".to_owned())
    })
}

fn entry(client: &Client) -> Entry {
    Entry::own(client, "/opt/toolcrib/bin/toolcrib")
}

fn servers(client: &'static Client, path: &Path, at: &Surroundings) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let read = import::read(client, &Source::new(path, text), Scope::User, at);
    let mut shown: Vec<String> = read.servers.iter().map(show).collect();
    shown.sort();
    shown
}

/// Writes a client's file and takes its servers over.
fn taken_over(
    client: &'static Client,
    text: &str,
    at: &Surroundings,
) -> (PathBuf, Takeover, Record) {
    let path = Takeover::look(client, at).unwrap().unwrap().path;
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let takeover = Takeover::look(client, at).unwrap().unwrap();
    let mut record = Record::open(at.home.join("setup.json")).unwrap();
    let names: Vec<String> = takeover
        .moving
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    let change = Change {
        client: Some(client),
        path: &takeover.path,
        old: takeover.text.as_deref(),
        new: &takeover.result(&entry(client)).unwrap(),
        entry: "toolcrib",
        taken: &names,
    };
    let backup = record.make(&change, TIME).unwrap();
    assert!(
        backup.is_some_and(|backup| backup.exists()),
        "{}",
        client.id
    );
    (takeover.path.clone(), takeover, record)
}

#[test]
fn every_clients_servers_move_and_every_byte_comes_back() {
    let mut moved = 0;
    for client in exportable() {
        let folder = tempfile::tempdir().unwrap();
        let at = home(&folder.path().canonicalize().unwrap());
        let original = fixture_of(client).replace('\n', "\r\n");
        let (path, takeover, mut record) = taken_over(client, &original, &at);
        let left = Takeover::look(client, &at).unwrap().unwrap();
        assert_eq!(left.moving.len(), 0, "{}: {:?}", client.id, left.moving);
        moved += takeover.moving.len();
        let staying = |takeover: &Takeover| -> Vec<String> {
            let names = takeover.staying.iter().map(|(name, _)| name.clone());
            names.filter(|name| name != "toolcrib").collect()
        };
        assert_eq!(staying(&left), staying(&takeover), "{}", client.id);
        let (_, reverted) = record.revert(|_| true).unwrap();
        assert_eq!(reverted.unwrap(), Reverted::Restored, "{}", client.id);
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            original,
            "{}",
            client.id
        );
        assert!(record.revert(|_| true).is_none());
        let beside = fs::read_dir(path.parent().unwrap()).unwrap();
        let backups = beside.filter(|file| {
            let name = file.as_ref().unwrap().file_name();
            name.to_string_lossy().contains("toolcrib-backup")
        });
        assert_eq!(backups.count(), 0, "{}", client.id);
    }
    assert!(moved > 20, "{moved}");
}

#[test]
fn a_file_that_was_edited_since_loses_our_entry_and_gets_its_servers_back() {
    for client in exportable() {
        let folder = tempfile::tempdir().unwrap();
        let at = home(&folder.path().canonicalize().unwrap());
        let original = fixture_of(client);
        let (path, takeover, mut record) = taken_over(client, &original, &at);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n")).unwrap();
        let (step, reverted) = record.revert(|_| true).unwrap();
        let Reverted::TakenOut {
            entry: true,
            back,
            missing,
        } = reverted.unwrap()
        else {
            panic!("{}", client.id)
        };
        let names: Vec<String> = takeover
            .moving
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        assert_eq!((back, missing), (names, Vec::new()), "{}", client.id);
        assert!(step.backup.unwrap().exists(), "{}", client.id);
        let after = servers(client, &path, &at);
        fs::write(&path, &original).unwrap();
        // Lines differ, what is run does not.
        assert_eq!(after, servers(client, &path, &at), "{}", client.id);
    }
}

#[test]
fn what_cannot_be_taken_over_stays_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = Surroundings::new(Os::Linux, folder.path(), folder.path().join("w"), |_| None);
    let file = folder.path().join(".codeium/windsurf/mcp_config.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = r#"{"mcpServers": {
        "a": {"command": "a"},
        "off": {"command": "b", "disabled": true},
        "secret": {"command": "c", "env": {"TOKEN": "${env:NOT_SET}"}},
        "odd": 7
    }}"#;
    fs::write(&file, text).unwrap();
    let takeover = Takeover::look(client("windsurf"), &at).unwrap().unwrap();
    let moving: Vec<&str> = takeover.moving.iter().map(|(name, _)| &**name).collect();
    assert_eq!(moving, ["a"]);
    let reasons: Vec<&str> = takeover.staying.iter().map(|(_, why)| &**why).collect();
    assert_eq!(reasons[0], "it is switched off");
    assert_eq!(reasons[1], "it needs NOT_SET, which is not set here");
    assert!(reasons[2].contains("odd"), "{reasons:?}");
    assert!(takeover.is_here(&at));
    let zed = Takeover::look(client("zed"), &at).unwrap().unwrap();
    assert!(
        !zed.is_here(&at),
        "neither its file nor its folder is there"
    );
    assert!(Takeover::look(client("docker-mcp"), &at).unwrap().is_none());
    fs::write(&file, "{").unwrap();
    let refused = Takeover::look(client("windsurf"), &at).unwrap_err();
    assert!(matches!(refused, ExportError::Broken { .. }));
}

#[test]
fn servers_of_a_project_of_claude_code_stay_there() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().join("w");
    let at = Surroundings::new(Os::Linux, folder.path(), &cwd, |_| None);
    let text = serde_json::json!({
        "mcpServers": {"everywhere": {"command": "a"}},
        "projects": {cwd.to_str().unwrap(): {"mcpServers": {"here": {"command": "b"}}}},
    });
    fs::write(folder.path().join(".claude.json"), text.to_string()).unwrap();
    let takeover = Takeover::look(client("claude-code"), &at).unwrap().unwrap();
    let moving: Vec<&str> = takeover.moving.iter().map(|(name, _)| &**name).collect();
    assert_eq!(moving, ["everywhere"]);
    let result = takeover.result(&entry(client("claude-code"))).unwrap();
    assert!(
        result.contains("\"here\"") && !result.contains("everywhere"),
        "{result}"
    );
}

#[test]
fn steps_are_taken_back_newest_first_and_files_of_ours_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    let mut record = Record::open(folder.path().join("data/setup.json")).unwrap();
    let change = |old, new| Change {
        client: None,
        path: &path,
        old,
        new,
        entry: "",
        taken: &[],
    };
    assert_eq!(record.make(&change(None, "one\n"), TIME).unwrap(), None);
    record.make(&change(Some("one\n"), "two\n"), TIME).unwrap();
    let mut record = Record::open(folder.path().join("data/setup.json")).unwrap();
    assert_eq!(record.steps().len(), 2);
    let mut next = || record.revert(|_| true).unwrap().1.unwrap();
    assert_eq!(next(), Reverted::Restored);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    assert_eq!(next(), Reverted::Deleted);
    assert!(!path.exists());
    let left = |path: &Path| fs::read_dir(path).unwrap().count();
    assert_eq!(left(folder.path()), 1, "only the folder of the record");
    assert_eq!(left(&folder.path().join("data")), 0);
    let mut record = Record::open(folder.path().join("data/setup.json")).unwrap();
    record.make(&change(None, "one\n"), TIME).unwrap();
    fs::write(&path, "edited\n").unwrap();
    assert_eq!(record.revert(|_| true).unwrap().1.unwrap(), Reverted::Kept);
    assert_eq!(fs::read_to_string(&path).unwrap(), "edited\n");
    fs::write(folder.path().join("data/setup.json"), "[7]").unwrap();
    Record::open(folder.path().join("data/setup.json")).unwrap_err();
}

#[test]
fn a_change_that_never_happened_is_taken_back_as_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    fs::write(&path, "{}").unwrap();
    let mut record = Record::open(folder.path().join("setup.json")).unwrap();
    let change = Change {
        client: Some(client("cursor")),
        path: &path,
        old: Some("{}"),
        new: "{ }",
        entry: "toolcrib",
        taken: &[],
    };
    record.make(&change, TIME).unwrap();
    // As if the process had ended between the record and the file.
    fs::write(&path, "{}").unwrap();
    assert_eq!(
        record.revert(|_| true).unwrap().1.unwrap(),
        Reverted::Nothing
    );
    fs::remove_file(&path).unwrap();
    record
        .make(
            &Change {
                old: None,
                ..change
            },
            TIME,
        )
        .unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(
        record.revert(|_| true).unwrap().1.unwrap(),
        Reverted::Nothing
    );
}

#[test]
fn what_a_client_wrote_meanwhile_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    let mut record = Record::open(folder.path().join("setup.json")).unwrap();
    let change = |old| Change {
        client: Some(client("cursor")),
        path: &path,
        old,
        new: "{ }",
        entry: "toolcrib",
        taken: &[],
    };
    let mut refused = |old| {
        let error = record.make(&change(old), TIME).unwrap_err();
        assert!(matches!(error, ExportError::Changed { .. }), "{error}");
        assert!(error.to_string().contains("run the command again"));
        assert_eq!(record.steps(), [], "nothing is to be taken back");
    };
    refused(Some("{}"));
    assert!(!path.exists());
    fs::write(&path, "{\"new\": 1}").unwrap();
    refused(Some("{}"));
    refused(None);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"new\": 1}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no backup");
    assert!(!record.has(&path));
    record.make(&change(Some("{\"new\": 1}")), TIME).unwrap();
    assert!(record.has(&path));
}
