//! The newest writer, noted in a file beside the database.
//!
//! A chain shows what is missing before something that is there. That the last of it is missing shows only
//! by something outside. The note is made after the writer is registered and never taken back, so it is
//! behind the database at times and never ahead of it, unless writers were taken out.

use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::file::open_options;
use crate::StoreError;
use crate::backend::Newest;

/// Most that a note can be long.
const NOTE_BYTES_MAX: u64 = 256;

/// Where the note of a database is.
pub(super) fn path(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push(".newest");
    database.with_file_name(name)
}

/// Notes a writer, unless a newer one is noted already.
pub(super) fn note(path: &Path, newest: &Newest) -> Result<(), StoreError> {
    let write = || -> std::io::Result<()> {
        let mut file = open_options(true).open(path)?;
        // Another process may have registered after this one and be here first.
        file.lock()?;
        let mut known = String::new();
        (&mut file)
            .take(NOTE_BYTES_MAX)
            .read_to_string(&mut known)?;
        if parse(&known).is_some_and(|known| known.ordinal >= newest.ordinal) {
            return Ok(());
        }
        file.rewind()?;
        let text = format!("{} {}\n", newest.ordinal, newest.genesis);
        file.write_all(text.as_bytes())?;
        file.set_len(u64::try_from(text.len()).unwrap_or(u64::MAX))
    };
    write().map_err(|error| StoreError::from_io(path, &error))
}

/// The writer that is noted; `None` where there is no note, or none that can be read.
pub(super) fn read(path: &Path) -> Option<Newest> {
    let file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    file.take(NOTE_BYTES_MAX).read_to_string(&mut text).ok()?;
    parse(&text)
}

fn parse(text: &str) -> Option<Newest> {
    let (ordinal, genesis) = text.trim_end().split_once(' ')?;
    Some(Newest {
        ordinal: ordinal.parse().ok()?,
        genesis: genesis.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(ordinal: i64) -> Newest {
        Newest {
            ordinal,
            genesis: format!("g{ordinal}"),
        }
    }

    #[test]
    fn a_note_only_ever_moves_on() {
        let home = tempfile::tempdir().unwrap();
        let path = path(&home.path().join("toolcrib.db"));
        assert_eq!(read(&path), None);
        for (noted, found) in [(9, 9), (10, 10), (8, 10), (100, 100), (11, 100)] {
            note(&path, &newest(noted)).unwrap();
            assert_eq!(read(&path), Some(newest(found)));
        }
        std::fs::write(&path, "not a note").unwrap();
        assert_eq!(read(&path), None);
        note(&path, &newest(3)).unwrap();
        assert_eq!(read(&path), Some(newest(3)));
    }
}
