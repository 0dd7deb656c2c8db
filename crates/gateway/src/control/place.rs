//! Where control sockets are kept: a directory of the user's own, first of the candidates that will do.

use std::path::{Path, PathBuf};

/// The candidates, best first. A process takes the first that works; a command looks into all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    candidates: Vec<PathBuf>,
}

/// Longest path of a socket: what the strictest system takes, its terminating byte left out.
pub const SOCKET_PATH_BYTES_MAX: usize = 103;

/// Why a directory will not do.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The directory belongs to someone else.
    #[error("{} belongs to another user; remove it or set TOOLCRIB_RUNTIME_DIR", .0.display())]
    Foreign(PathBuf),
    /// A link or a file stands where the directory should be.
    #[error("{} is not a directory; remove it or set TOOLCRIB_RUNTIME_DIR", .0.display())]
    NotADirectory(PathBuf),
    /// The path is too long for a socket.
    #[error("{} is too long for a socket; set TOOLCRIB_RUNTIME_DIR to a shorter path", .0.display())]
    TooLong(PathBuf),
    /// The system refused.
    #[error("{} cannot be used: {error}", .path.display())]
    System {
        /// The directory.
        path: PathBuf,
        /// What it said.
        error: std::io::Error,
    },
    /// There is no candidate at all.
    #[error("there is no directory for the control socket; set TOOLCRIB_RUNTIME_DIR")]
    Nowhere,
    /// This system has no Unix sockets.
    #[error("the control socket is not available on this system")]
    Unavailable,
}

impl Place {
    /// The candidates that the environment gives: a directory in `TOOLCRIB_RUNTIME_DIR`, and where
    /// that is set no other; else in `XDG_RUNTIME_DIR`, then in the user's data directory of Toolcrib,
    /// then one of the user's own among the temporary files, `temporary` being where those are.
    pub fn of(
        environment: &dyn Fn(&str) -> Option<String>,
        data_directory: Option<&Path>,
        temporary: &Path,
    ) -> Self {
        let absolute = |name: &str| {
            environment(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .map(|path| path.join("toolcrib"))
        };
        if let Some(own) = absolute("TOOLCRIB_RUNTIME_DIR") {
            return Self {
                candidates: vec![own],
            };
        }
        let runtime = absolute("XDG_RUNTIME_DIR");
        let data = data_directory.map(|path| path.join("run"));
        #[cfg(unix)]
        let shared = Some(temporary.join(format!("toolcrib-{}", owner())));
        #[cfg(not(unix))]
        let shared = None;
        Self {
            candidates: runtime.into_iter().chain(data).chain(shared).collect(),
        }
    }

    /// The candidates, best first.
    pub fn candidates(&self) -> &[PathBuf] {
        &self.candidates
    }

    /// The first candidate that is, or can be made, a directory that only this user may enter and
    /// whose path is short enough for a socket.
    #[cfg(unix)]
    pub fn prepare(&self) -> Result<PathBuf, PlaceError> {
        let mut first = None;
        for path in &self.candidates {
            match prepare(path) {
                Ok(()) => return Ok(path.clone()),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or(PlaceError::Nowhere))
    }

    /// This system has no Unix sockets.
    #[cfg(not(unix))]
    pub fn prepare(&self) -> Result<PathBuf, PlaceError> {
        Err(PlaceError::Unavailable)
    }

    /// The sockets in all candidates that are safe to look into, with the process id of each name.
    pub fn sockets(&self) -> Vec<(u32, PathBuf)> {
        let mut sockets: Vec<_> = self
            .candidates
            .iter()
            .filter(|path| is_own_directory(path))
            .filter_map(|path| std::fs::read_dir(path).ok())
            .flatten()
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                Some((process_id(&path)?, path))
            })
            .collect();
        sockets.sort();
        sockets
    }
}

/// The name of the `n`-th socket for a process id; several only where processes of different
/// containers, that count alike, share a directory.
pub(super) fn socket_name(pid: u32, n: u32) -> String {
    if n == 0 {
        format!("{pid}.sock")
    } else {
        format!("{pid}-{n}.sock")
    }
}

fn process_id(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_suffix(".sock")?;
    name.split('-').next()?.parse().ok()
}

/// The user whose process this is.
#[cfg(unix)]
pub(super) fn owner() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(unix)]
fn is_own_directory(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && m.uid() == owner())
}

#[cfg(not(unix))]
fn is_own_directory(_path: &Path) -> bool {
    false
}

#[cfg(unix)]
fn prepare(path: &Path) -> Result<(), PlaceError> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};

    let longest = path.join(socket_name(u32::MAX, 9));
    if longest.as_os_str().as_bytes().len() > SOCKET_PATH_BYTES_MAX {
        return Err(PlaceError::TooLong(path.to_owned()));
    }
    let system = |error| PlaceError::System {
        path: path.to_owned(),
        error,
    };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    match builder.create(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(system(error));
        }
        _ => {}
    }
    // Another user could have made it first, or put a link in its place.
    let metadata = std::fs::symlink_metadata(path).map_err(system)?;
    if !metadata.is_dir() {
        return Err(PlaceError::NotADirectory(path.to_owned()));
    }
    if metadata.uid() != owner() {
        return Err(PlaceError::Foreign(path.to_owned()));
    }
    if metadata.mode() & 0o777 != 0o700 {
        let permissions = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(path, permissions).map_err(system)?;
    }
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn one(path: PathBuf) -> Place {
        Place {
            candidates: vec![path],
        }
    }

    #[test]
    fn the_environment_decides_the_order_of_candidates() {
        let uid = owner();
        let check = |variables: &[(&str, &str)], expected: &[&str]| {
            let environment = |name: &str| {
                variables
                    .iter()
                    .find(|(n, _)| *n == name)
                    .map(|(_, v)| (*v).to_owned())
            };
            let place = Place::of(
                &environment,
                Some(Path::new("/home/u/.local/share/toolcrib")),
                Path::new("/tmp"),
            );
            let expected: Vec<_> = expected
                .iter()
                .map(|p| PathBuf::from(p.replace("UID", &uid.to_string())))
                .collect();
            assert_eq!(place.candidates(), expected, "{variables:?}");
        };
        check(
            &[],
            &["/home/u/.local/share/toolcrib/run", "/tmp/toolcrib-UID"],
        );
        check(
            &[("XDG_RUNTIME_DIR", "/run/user/7")],
            &[
                "/run/user/7/toolcrib",
                "/home/u/.local/share/toolcrib/run",
                "/tmp/toolcrib-UID",
            ],
        );
        check(
            &[("XDG_RUNTIME_DIR", "relative")],
            &["/home/u/.local/share/toolcrib/run", "/tmp/toolcrib-UID"],
        );
        check(
            &[
                ("TOOLCRIB_RUNTIME_DIR", "/x"),
                ("XDG_RUNTIME_DIR", "/run/user/7"),
            ],
            &["/x/toolcrib"],
        );
    }

    /// A directory whose path leaves room for a socket's, whatever `TMPDIR` says.
    fn short() -> tempfile::TempDir {
        tempfile::tempdir_in("/tmp").unwrap()
    }

    #[test]
    fn a_directory_is_made_for_the_user_alone() {
        let dir = short();
        let path = dir.path().join("a/b");
        assert_eq!(one(path.clone()).prepare().unwrap(), path);
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn an_own_directory_that_others_may_enter_is_closed() {
        let dir = short();
        let path = dir.path().join("a");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        one(path.clone()).prepare().unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn links_and_files_in_place_of_the_directory_are_refused_and_the_next_candidate_taken() {
        let dir = short();
        let target = dir.path().join("target");
        fs::create_dir(&target).unwrap();
        let link = dir.path().join("link");
        symlink(&target, &link).unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [&link, &file] {
            let error = one(path.clone()).prepare().unwrap_err();
            assert!(matches!(error, PlaceError::NotADirectory(_)), "{error}");
        }
        let good = dir.path().join("good");
        let place = Place {
            candidates: vec![link, file, good.clone()],
        };
        assert_eq!(place.prepare().unwrap(), good);
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_refused() {
        let dir = short();
        let path = dir.path().join("x".repeat(100));
        let error = one(path.clone()).prepare().unwrap_err();
        assert!(matches!(error, PlaceError::TooLong(_)), "{error}");
        assert!(!path.exists());
        let none = Place {
            candidates: Vec::new(),
        };
        assert!(matches!(none.prepare(), Err(PlaceError::Nowhere)));
    }

    #[test]
    fn a_directory_below_a_file_is_an_error_that_names_the_path() {
        let dir = short();
        fs::write(dir.path().join("file"), "").unwrap();
        let error = one(dir.path().join("file/run")).prepare().unwrap_err();
        assert!(error.to_string().contains("file/run"), "{error}");
    }

    #[test]
    fn only_names_of_sockets_are_listed() {
        let dir = short();
        for name in [
            "12.sock", "7-1.sock", "x.sock", "9.txt", ".5.new", "-1.sock",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let pids: Vec<_> = one(dir.path().to_owned())
            .sockets()
            .into_iter()
            .map(|(pid, _)| pid)
            .collect();
        assert_eq!(pids, [7, 12]);
        assert!(one(dir.path().join("missing")).sockets().is_empty());
    }
}
