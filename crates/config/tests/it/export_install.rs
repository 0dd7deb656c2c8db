//! Writing our entry into a client's file on disk: backups, undo, links and permissions.

use std::fs;
use std::path::PathBuf;

use toolcrib_config::export::client::target;
use toolcrib_config::export::install::{self, Undone, Written};
use toolcrib_config::export::{Entry, ExportError};
use toolcrib_config::{Os, Surroundings};

use crate::export::{client, exportable, file_of, fixture_of, ours};

#[test]
fn the_file_that_is_there_is_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let at = Surroundings::new(Os::Linux, folder.path(), folder.path().join("w"), |_| None);
    let windsurf = client("windsurf");
    let first = folder.path().join(".codeium/windsurf/mcp_config.json");
    let second = folder.path().join(".windsurf/mcp.json");
    assert_eq!(target(windsurf, &at, false), Some(first));
    fs::create_dir_all(second.parent().unwrap()).unwrap();
    fs::write(&second, "{}").unwrap();
    assert_eq!(target(windsurf, &at, false), Some(second));
    assert_eq!(target(windsurf, &at, true), None);
    assert_eq!(
        target(client("cursor"), &at, true),
        Some(at.cwd.join(".cursor/mcp.json"))
    );
    assert_eq!(target(client("continue"), &at, true), None);
}

#[test]
fn writing_makes_a_backup_and_undo_restores_every_byte() {
    for client in exportable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file_of(client).file_name().unwrap());
        let original = fixture_of(client).replace('\n', "\r\n");
        fs::write(&path, &original).unwrap();
        let entry = ours(client);
        let written = install::install(client, &path, &entry, "20260131T120000Z").unwrap();
        let Written::Changed(backup) = written else {
            panic!("{written:?}")
        };
        assert!(
            backup
                .to_string_lossy()
                .ends_with(".toolcrib-backup-20260131T120000Z")
        );
        assert_eq!(fs::read_to_string(&backup).unwrap(), original);
        assert_eq!(
            install::install(client, &path, &entry, "x").unwrap(),
            Written::Unchanged
        );
        assert_eq!(
            install::uninstall(client, &path, &entry).unwrap(),
            Undone::Restored
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            original,
            "{}",
            client.id
        );
        assert_eq!(install::backups(&path), [] as [PathBuf; 0]);
        assert_eq!(
            install::uninstall(client, &path, &entry).unwrap(),
            Undone::Nothing
        );
    }
}

#[test]
fn undo_after_other_changes_takes_out_only_our_entry() {
    let cline = client("cline");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cline_mcp_settings.json");
    fs::write(&path, "{\n  \"a\": 1\n}\n").unwrap();
    install::install(cline, &path, &ours(cline), "1").unwrap();
    let edited = fs::read_to_string(&path)
        .unwrap()
        .replace("\"a\": 1", "\"a\": 2");
    fs::write(&path, edited).unwrap();
    assert_eq!(
        install::uninstall(cline, &path, &ours(cline)).unwrap(),
        Undone::TakenOut
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"a\": 2\n}\n");
    assert_eq!(
        install::uninstall(cline, &path, &ours(cline)).unwrap(),
        Undone::Nothing
    );
    let kept = install::backups(&path);
    assert_eq!(kept.len(), 1, "the file did not go back to it");
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "{\n  \"a\": 1\n}\n");
    fs::write(&path, "{\n  \"mcpServers\": {}, \"a\": 1\n}\n").unwrap();
    install::install(cline, &path, &ours(cline), "1").unwrap();
    install::install(
        cline,
        &path,
        &Entry {
            command: "/new/toolcrib".into(),
            ..ours(cline)
        },
        "1",
    )
    .unwrap();
    assert_eq!(install::backups(&path).len(), 3);
    let edited = fs::read_to_string(&path)
        .unwrap()
        .replace("\"a\": 1", "\"a\": 2");
    fs::write(&path, edited).unwrap();
    assert_eq!(
        install::uninstall(cline, &path, &ours(cline)).unwrap(),
        Undone::TakenOut
    );
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n  \"mcpServers\": {}, \"a\": 2\n}\n"
    );
}

#[test]
fn a_file_that_we_made_is_taken_away_again() {
    let cursor = client("cursor");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/mcp.json");
    assert_eq!(
        install::uninstall(cursor, &path, &ours(cursor)).unwrap(),
        Undone::Nothing
    );
    assert_eq!(
        install::install(cursor, &path, &ours(cursor), "1").unwrap(),
        Written::Created
    );
    assert_eq!(
        install::uninstall(cursor, &path, &ours(cursor)).unwrap(),
        Undone::Deleted
    );
    assert!(!path.exists());
    install::install(cursor, &path, &ours(cursor), "1").unwrap();
    let edited = fs::read_to_string(&path)
        .unwrap()
        .replacen('{', "{\n  \"x\": 1,", 1);
    fs::write(&path, edited).unwrap();
    assert_eq!(
        install::uninstall(cursor, &path, &ours(cursor)).unwrap(),
        Undone::TakenOut
    );
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n  \"x\": 1,\n  \"mcpServers\": {}\n}\n"
    );
}

#[cfg(unix)]
#[test]
fn links_and_permissions_survive() {
    use std::os::unix::fs::PermissionsExt as _;
    let cursor = client("cursor");
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (
        folder.path().join("dotfiles.json"),
        folder.path().join("mcp.json"),
    );
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    install::install(cursor, &link, &ours(cursor), "1").unwrap();
    assert!(link.is_symlink());
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    let backups = install::backups(&real.canonicalize().unwrap());
    assert_eq!(
        fs::metadata(&backups[0]).unwrap().permissions().mode() & 0o777,
        0o640
    );
    fs::write(&real, b"{\"a\": \"\xff\"}").unwrap();
    assert!(matches!(
        install::install(cursor, &link, &ours(cursor), "1"),
        Err(ExportError::Broken { .. })
    ));
    let blocked = folder.path().join("mcp.json/below.json");
    assert!(matches!(
        install::install(cursor, &blocked, &ours(cursor), "1"),
        Err(ExportError::Disk { .. })
    ));
}

#[test]
fn a_file_that_we_made_is_taken_away_again_also_beside_the_backup_of_another_one() {
    let cursor = client("cursor");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    let backup = folder.path().join("mcp.json.toolcrib-backup-1");
    fs::write(&backup, "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}").unwrap();
    install::install(cursor, &path, &ours(cursor), "2").unwrap();
    assert_eq!(
        install::uninstall(cursor, &path, &ours(cursor)).unwrap(),
        Undone::Deleted
    );
    assert_eq!(install::backups(&path), [backup]);
}
