//! Files as they may stand at a path.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use toolcrib_config::Diagnostic;
use toolcrib_config::reader::{read_file, read_file_if_present, read_text};
use toolcrib_core::limits::CONFIG_FILE_BYTES_MAX;

struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory for the test"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("a file for the test");
        path
    }
}

fn label() -> &'static Path {
    Path::new("~/x")
}

/// The one finding says this and names the file by its label.
fn refused(path: &Path, words: &str) -> Diagnostic {
    let mut found = read_file(path, label()).expect_err(words);
    assert_eq!(found.len(), 1);
    let shown = found[0].to_string();
    assert!(shown.contains(words), "{words:?} is not in\n{shown}");
    assert!(shown.contains("--> ~/x"), "{shown}");
    found.remove(0)
}

#[test]
fn the_name_of_a_file_says_its_format() {
    let place = Place::new();
    for (name, text) in [
        ("a.json", "{\"a\": 1}"),
        ("a.jsonc", "{\"a\": 1,} // c"),
        ("a.yaml", "a: 1"),
        ("a.yml", "a: 1"),
        ("a.toml", "a = 1"),
        ("a.ts", "export default {a: 1}"),
        ("a.mjs", "export default {a: 1}"),
        ("a.cjs", "module.exports = {a: 1}"),
    ] {
        let (source, node) = read_file(&place.write(name, text), label()).unwrap();
        assert_eq!(node.to_json(), json!({"a": 1}), "{name}");
        assert_eq!(source.path(), label());
    }
    refused(&place.write("a.ini", "a=1"), "does not say its format");
    refused(&place.write("config", "a: 1"), "does not say its format");
}

#[test]
fn a_missing_file_is_not_a_broken_one() {
    let place = Place::new();
    let missing = place.path("none.yaml");
    assert_eq!(read_text(&missing, label()), Ok(None));
    assert!(read_file_if_present(&missing, label()).unwrap().is_none());
    refused(&missing, "there is no such file");
    let under_a_file = place.write("file", "x").join("none.yaml");
    assert_eq!(read_text(&under_a_file, label()), Ok(None));
}

#[test]
fn empty_files_are_empty_maps_where_the_format_allows() {
    let place = Place::new();
    for name in ["a.yaml", "a.toml"] {
        let (_, node) = read_file(&place.write(name, ""), label()).unwrap();
        assert_eq!(node.to_json(), json!({}), "{name}");
    }
    refused(&place.write("a.json", ""), "the file is empty");
}

#[test]
fn only_utf_8_is_read() {
    let place = Place::new();
    let (source, node) = read_file(&place.write("a.yaml", b"\xef\xbb\xbfa: 1"), label()).unwrap();
    assert_eq!(node.to_json(), json!({"a": 1}));
    assert_eq!(source.position(0), (1, 1));
    refused(&place.write("b.yaml", b"\xff\xfea\0"), "UTF-16");
    refused(&place.write("c.yaml", b"\xfe\xff\0a"), "UTF-16");
    let finding = refused(&place.write("d.yaml", b"a: 1\nb: \xe9x\n"), "byte 0xE9");
    assert_eq!(finding.position(), Some((2, 4)));
    let finding = refused(&place.write("e.yaml", b"\xef\xbb\xbfa: \xff"), "byte 0xFF");
    assert_eq!(finding.position(), Some((1, 4)));
}

#[test]
fn a_file_over_the_bound_is_refused_without_being_read() {
    let place = Place::new();
    let path = place.path("big.yaml");
    // A hole, not a hundred megabytes.
    fs::File::create(&path)
        .unwrap()
        .set_len(100 * 1024 * 1024)
        .unwrap();
    refused(&path, "larger than 8 MiB");
    let path = place.path("over.json");
    fs::File::create(&path)
        .unwrap()
        .set_len(CONFIG_FILE_BYTES_MAX + 1)
        .unwrap();
    refused(&path, "larger than 8 MiB");
}

#[test]
fn a_directory_is_not_a_file() {
    let place = Place::new();
    let path = place.path("toolcrib.yaml");
    fs::create_dir(&path).unwrap();
    refused(&path, "this is a directory, not a file");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn pipes_sockets_and_devices_are_refused_without_waiting() {
        let place = Place::new();
        let pipe = place.path("pipe.yaml");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        refused(&pipe, "a pipe, a socket or a device");
        let socket = place.path("socket.yaml");
        let _listener = UnixListener::bind(&socket).unwrap();
        refused(&socket, "a pipe, a socket or a device");
        let device = place.path("zero.yaml");
        symlink("/dev/zero", &device).unwrap();
        refused(&device, "a pipe, a socket or a device");
    }

    #[test]
    fn links_are_followed_and_may_be_broken() {
        let place = Place::new();
        let target = place.write("real.yaml", "a: 1");
        let link = place.path("link.yaml");
        symlink(&target, &link).unwrap();
        assert!(read_file(&link, label()).is_ok());
        let dangling = place.path("dangling.yaml");
        symlink(place.path("nowhere"), &dangling).unwrap();
        refused(&dangling, "a link to a file that does not exist");
        let circle = place.path("circle.yaml");
        symlink(&circle, &circle).unwrap();
        refused(&circle, "cannot be opened");
    }

    #[test]
    fn a_file_that_may_not_be_read_says_so() {
        let place = Place::new();
        let path = place.write("a.yaml", "a: 1");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser may read it all the same.
        if fs::File::open(&path).is_err() {
            refused(&path, "access is denied");
        }
    }
}
