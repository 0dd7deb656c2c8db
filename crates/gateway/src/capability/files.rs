//! Capability files on disk: `<directory>/<server>/<tool>.rtfs`.
//!
//! Each file is written whole or not at all, the same manifest always gives the same bytes, and two
//! tools never share a file, on file systems without upper and lower case either.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use toolcrib_config::output::Destination;
use toolcrib_core::CapabilityManifest;
use toolcrib_core::limits::{CAPABILITY_FILES_MAX, CAPABILITY_NAME_BYTES_MAX, RTFS_TEXT_BYTES_MAX};
use toolcrib_core::rtfs::{Capability, Dialect};

/// Where exported capabilities go unless something else is said, below the working directory.
pub const PENDING: &str = "capabilities/servers/pending";

/// What the names of capability files end with.
const EXTENSION: &str = "rtfs";

/// What the names of half-written files begin with.
const TEMPORARY_PREFIX: &str = ".toolcrib-";

/// Digits of the hash that tells names apart which would be the same otherwise.
const HASH_DIGITS: usize = 8;

/// Names that mean a device on some systems, whatever follows a dot.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The directory of a server below the one of all.
pub fn directory_name(server: &str) -> String {
    let has_case = server.chars().any(char::is_uppercase);
    safe(server, has_case)
}

/// The file of each tool of one server. Names that differ in upper and lower case alone get a hash.
pub fn file_names<'a>(tools: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, String> {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for tool in tools {
        let group = groups.entry(safe(tool, false).to_lowercase()).or_default();
        if !group.contains(&tool) {
            group.push(tool);
        }
    }
    let named = groups.into_values().flat_map(|group| {
        let alike = group.len() > 1;
        group
            .into_iter()
            .map(move |tool| (tool, format!("{}.{EXTENSION}", safe(tool, alike))))
    });
    named.collect()
}

/// A name that every file system takes: ASCII letters, digits, `-`, `_` and inner dots stay, the rest
/// becomes `_`; where that changed something, digits of the hash of the whole are added.
fn safe(name: &str, hashed: bool) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '_'
            }
        })
        .take(CAPABILITY_NAME_BYTES_MAX)
        .collect();
    let stem = plain.split('.').next().unwrap_or_default().to_lowercase();
    let is_device = DEVICES.contains(&stem.as_str())
        || (stem.len() == 4 && (stem.starts_with("com") || stem.starts_with("lpt")));
    let is_whole =
        plain == name && !plain.is_empty() && !plain.starts_with('.') && !plain.ends_with('.');
    // A `~` never stays, so that no name looks like one that got a hash.
    if is_whole && !hashed && !is_device {
        return plain;
    }
    let hash = blake3::hash(name.as_bytes()).to_hex();
    let kept = plain.trim_matches('.');
    format!("{kept}~{}", &hash[..HASH_DIGITS])
}

/// Writes the file of every manifest of one server and gives the paths, in the order of the manifests.
pub fn write(
    directory: &Path,
    server: &str,
    manifests: &[CapabilityManifest],
    dialect: Dialect,
) -> io::Result<Vec<PathBuf>> {
    let directory = directory.join(directory_name(server));
    let names = file_names(manifests.iter().map(|m| m.provider.tool_name.as_str()));
    let mut written = Vec::new();
    for manifest in manifests {
        let name = &names[manifest.provider.tool_name.as_str()];
        let path = directory.join(name);
        LocalDisk.replace(&path, manifest.to_text(dialect).as_bytes())?;
        written.push(path);
    }
    Ok(written)
}

/// What a review asks of a disk. Each step is whole or not done at all.
pub trait Disk: Send + Sync {
    /// Puts a whole file in the place of another; readers see the one or the other and nothing between.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// The same, for a file that its owner alone may read.
    fn replace_private(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Removes a file; one that is not there is fine.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory)?;
        let path = match Destination::of(path)? {
            Destination::File(path) => path,
            Destination::Straight(mut straight) => return straight.write_all(bytes),
        };
        // A file that holds the bytes already is left alone, with its time.
        if std::fs::read(&path).is_ok_and(|now| now == bytes) {
            return Ok(());
        }
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_PREFIX).suffix(".tmp");
        // As any other file that the user makes: what others may do is for the umask to say.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    fn replace_private(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        toolcrib_config::trust::write_private(path, bytes)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// A capability file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub capability: Capability,
    /// How it says it.
    pub dialect: Dialect,
}

/// A file that should be one and is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it is.
    pub path: PathBuf,
    /// Why, in a sentence.
    pub reason: String,
}

/// The capability files of one server, by path; none where there is no such directory.
pub fn read(directory: &Path, server: &str) -> io::Result<(Vec<Found>, Vec<Unreadable>)> {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths(&directory.join(directory_name(server)))? {
        match read_file(&path) {
            Ok((capability, dialect)) => found.push(Found {
                path,
                capability,
                dialect,
            }),
            Err(reason) => unreadable.push(Unreadable { path, reason }),
        }
    }
    Ok((found, unreadable))
}

/// The paths of the capability files in a directory.
pub fn paths(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = Vec::new();
    for entry in entries.take(CAPABILITY_FILES_MAX) {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == EXTENSION)
            && path.is_file()
        {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn read_file(path: &Path) -> Result<(Capability, Dialect), String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let limit = RTFS_TEXT_BYTES_MAX as u64;
    let taken = file.take(limit + 1).read_to_string(&mut text);
    taken.map_err(|error| error.to_string())?;
    if text.len() > RTFS_TEXT_BYTES_MAX {
        return Err(format!("it is larger than {RTFS_TEXT_BYTES_MAX} bytes"));
    }
    // What the documents' dialect cannot say is an id in quotes beside `?` for optional keys.
    let read = Capability::parse(&text, Dialect::Document).map(|read| (read, Dialect::Document));
    read.or_else(|error| match Capability::parse(&text, Dialect::Ccos) {
        Ok(read) => Ok((read, Dialect::Ccos)),
        Err(_) => Err(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use toolcrib_core::{Tool, ToolId};

    use super::*;

    fn manifest(tool: &str, description: &str) -> CapabilityManifest {
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        let tool = Tool::new(ToolId::new("s", tool), description, schema);
        CapabilityManifest::new(&tool, "stdio:x")
    }

    #[test]
    fn plain_names_stay_and_others_are_told_apart() {
        let check = |tools: &[&str], expected: &[&str]| {
            let names = file_names(tools.iter().copied());
            let found: Vec<&str> = tools.iter().map(|tool| names[tool].as_str()).collect();
            assert_eq!(found, expected);
        };
        let hash = |name: &str| blake3::hash(name.as_bytes()).to_hex()[..HASH_DIGITS].to_owned();
        check(
            &["list_issues", "createIssue"],
            &["list_issues.rtfs", "createIssue.rtfs"],
        );
        check(
            &["List", "list"],
            &[
                &format!("List~{}.rtfs", hash("List")),
                &format!("list~{}.rtfs", hash("list")),
            ],
        );
        check(
            &["a/b", "a_b", "..", "nul", "a.b"],
            &[
                &format!("a_b~{}.rtfs", hash("a/b")),
                "a_b.rtfs",
                &format!("~{}.rtfs", hash("..")),
                &format!("nul~{}.rtfs", hash("nul")),
                "a.b.rtfs",
            ],
        );
        assert_eq!(directory_name("github"), "github");
        assert_eq!(
            directory_name("GitHub"),
            format!("GitHub~{}", hash("GitHub"))
        );
        assert_eq!(
            directory_name("../../etc"),
            format!("_.._etc~{}", hash("../../etc"))
        );
    }

    #[test]
    fn the_same_manifests_give_the_same_bytes_and_read_back() {
        let home = tempfile::tempdir().unwrap();
        let manifests = [
            manifest("one", "First."),
            manifest("two", "Second\") (evil"),
        ];
        for dialect in [Dialect::Document, Dialect::Ccos] {
            let directory = home.path().join(format!("{dialect:?}"));
            let written = write(&directory, "s", &manifests, dialect).unwrap();
            assert_eq!(written[0], directory.join("s/one.rtfs"));
            let bytes: Vec<_> = written
                .iter()
                .map(|path| std::fs::read(path).unwrap())
                .collect();
            assert_eq!(
                write(&directory, "s", &manifests, dialect).unwrap(),
                written
            );
            let again: Vec<_> = written
                .iter()
                .map(|path| std::fs::read(path).unwrap())
                .collect();
            assert_eq!(bytes, again);
            let (found, unreadable) = read(&directory, "s").unwrap();
            let read: Vec<Capability> = found.into_iter().map(|found| found.capability).collect();
            assert_eq!(
                read,
                manifests.each_ref().map(CapabilityManifest::capability)
            );
            assert_eq!(unreadable, []);
            let left: Vec<_> = std::fs::read_dir(directory.join("s")).unwrap().collect();
            assert_eq!(left.len(), 2, "nothing half-written stays");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_and_costs_itself_alone() {
        let home = tempfile::tempdir().unwrap();
        write(
            home.path(),
            "s",
            &[manifest("one", "First.")],
            Dialect::Document,
        )
        .unwrap();
        std::fs::write(home.path().join("s/bad.rtfs"), "(capability").unwrap();
        std::fs::write(home.path().join("s/note.txt"), "not ours").unwrap();
        let (found, unreadable) = read(home.path(), "s").unwrap();
        assert_eq!((found.len(), unreadable.len()), (1, 1));
        assert!(unreadable[0].path.ends_with("bad.rtfs"));
        assert_eq!(read(home.path(), "nobody").unwrap().0, []);
    }

    proptest! {
        #[test]
        fn names_are_safe_and_never_shared(
            names in prop::collection::hash_set("[aA./~_é ]{0,4}|.{0,120}", 1..20),
        ) {
            let files = file_names(names.iter().map(String::as_str));
            prop_assert_eq!(files.len(), names.len());
            let mut seen = std::collections::HashSet::new();
            for file in files.values() {
                prop_assert!(file.len() <= CAPABILITY_NAME_BYTES_MAX + 20);
                prop_assert!(!file.starts_with('.'));
                prop_assert!(file.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-~".contains(&b)));
                prop_assert!(seen.insert(file.to_lowercase()), "{}", file);
            }
        }
    }
}
