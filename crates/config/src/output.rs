//! Where a command writes what it was told to: a file is put in place whole, what is no file is
//! written straight into.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many links are followed to a file that is not there yet.
const LINKS_MAX: usize = 40;

/// What a path leads to.
#[derive(Debug)]
pub enum Destination {
    /// A file, or none yet; links were followed, so that what they lead to is replaced and they stay.
    File(PathBuf),
    /// A pipe, a terminal or another device, open for writing.
    Straight(File),
}

impl Destination {
    /// Looks where a path leads. A pipe is opened once somebody reads from it.
    pub fn of(path: &Path) -> io::Result<Self> {
        let place = followed(path);
        if is_of_system(&place) {
            return open(&place).map(Self::Straight);
        }
        match fs::metadata(&place) {
            Ok(about) if about.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(about) if !about.is_file() => open(&place).map(Self::Straight),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(Self::File(place)),
        }
    }
}

/// Where a path leads, links followed, also where nothing is there yet.
pub(crate) fn followed(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&place) {
            Ok(target) if !is_of_system(&place) => {
                place = place.parent().unwrap_or(Path::new("")).join(target);
            }
            _ => break,
        }
    }
    place
}

/// Whether a path is a name that the system gives to what a process has open.
fn is_of_system(path: &Path) -> bool {
    let names = ["/dev/stdout", "/dev/stderr"];
    names.iter().any(|name| path == Path::new(name))
        || ["/dev/fd", "/proc"].iter().any(|at| path.starts_with(at))
}

/// Opens what is no file. Of a file behind a name of the system nothing is overwritten.
fn open(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    if let Some(stream) = standard(path) {
        return stream.map(File::from);
    }
    OpenOptions::new().append(true).open(path)
}

/// A standard stream of this process, which goes on where it stands, unlike one that is opened anew.
#[cfg(unix)]
fn standard(path: &Path) -> Option<io::Result<std::os::fd::OwnedFd>> {
    use std::os::fd::AsFd;
    let is_any = |names: [&str; 3]| names.iter().any(|name| path == Path::new(name));
    if is_any(["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]) {
        Some(io::stdout().as_fd().try_clone_to_owned())
    } else if is_any(["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"]) {
        Some(io::stderr().as_fd().try_clone_to_owned())
    } else {
        None
    }
}

/// What may be in the place of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Former {
    /// It is replaced.
    Replaced,
    /// There must be none, also at the very end.
    None,
}

/// Something that is being written. A file has its old content until [`Output::finish`], and is
/// readable by the user alone.
#[derive(Debug)]
pub enum Output {
    /// A file, and where it is made.
    File(PathBuf, tempfile::NamedTempFile),
    /// What is no file.
    Straight(File),
}

impl Output {
    /// Begins to write to a path.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(match Destination::of(path)? {
            Destination::Straight(file) => Self::Straight(file),
            Destination::File(path) => {
                let file = tempfile::NamedTempFile::new_in(folder(&path))?;
                Self::File(path, file)
            }
        })
    }

    /// Puts a file in its place.
    pub fn finish(self, former: Former) -> io::Result<()> {
        match self {
            Self::File(path, file) => {
                file.as_file().sync_all()?;
                match former {
                    Former::Replaced => file.persist(path)?,
                    Former::None => file.persist_noclobber(path)?,
                };
                Ok(())
            }
            Self::Straight(mut file) => file.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(_, file) => file.write(bytes),
            Self::Straight(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(_, file) => file.flush(),
            Self::Straight(file) => file.flush(),
        }
    }
}

/// Writes a text to a path, whole or not at all where that is a file; its folder is made.
pub fn write(path: &Path, text: &str, former: Former) -> io::Result<()> {
    fs::create_dir_all(folder(path))?;
    let mut output = Output::open(path)?;
    output.write_all(text.as_bytes())?;
    output.finish(former)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{FileTypeExt, symlink};

    use super::*;

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("there"), "old").unwrap();
        for (link, target) in [("a", "there"), ("b", "not-yet"), ("c", "b")] {
            symlink(target, at(link)).unwrap();
            write(&at(link), link, Former::Replaced).unwrap();
            assert_eq!(fs::read_link(at(link)).unwrap(), Path::new(target));
            assert_eq!(fs::read_to_string(at(link)).unwrap(), link);
        }
        assert_eq!(fs::read_to_string(at("not-yet")).unwrap(), "c");
        symlink("loop", at("loop")).unwrap();
        assert!(write(&at("loop"), "x", Former::Replaced).is_err());
        assert!(write(dir.path(), "x", Former::Replaced).is_err());
    }

    #[test]
    fn a_pipe_stays_one_and_gets_what_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write(&pipe, "text", Former::Replaced).unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_file_that_came_in_between_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/file");
        write(&path, "first", Former::None).unwrap();
        let second = write(&path, "second", Former::None).unwrap_err();
        assert_eq!(second.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }
}
