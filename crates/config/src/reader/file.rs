//! The text of a file, under a bound, whatever stands at its path.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use toolcrib_core::limits::CONFIG_FILE_BYTES_MAX;

use crate::diagnostic::Diagnostic;
use crate::text::{Source, Span};

/// Reads the text of the file at `path`; messages name it `label`. `None`: there is no such file.
///
/// Only regular files of at most [`CONFIG_FILE_BYTES_MAX`] bytes of UTF-8 are read; a pipe or a device
/// is refused without waiting for it.
pub fn read_text(path: &Path, label: &Path) -> Result<Option<Arc<Source>>, Box<Diagnostic>> {
    let whole = |message: String, help: &str| {
        Box::new(
            Diagnostic::error(message)
                .about(&Source::new(label, ""))
                .help(help),
        )
    };
    let bytes = match bytes_of(path) {
        Ok(bytes) => bytes,
        Err(Refusal::Missing) => return Ok(None),
        Err(Refusal::Dangling) => {
            return Err(whole(
                "this is a link to a file that does not exist".to_owned(),
                "make the link point at a file, or remove it",
            ));
        }
        Err(Refusal::NotAFile(kind)) => {
            return Err(whole(
                format!("this is {kind}, not a file"),
                "give the path of a configuration file",
            ));
        }
        Err(Refusal::TooLarge) => {
            let limit = CONFIG_FILE_BYTES_MAX / (1024 * 1024);
            return Err(whole(
                format!("the file is larger than {limit} MiB"),
                "check that it is a configuration file, and split it if it is",
            ));
        }
        Err(Refusal::Failed(error)) => {
            return Err(whole(
                format!("the file cannot be opened: {}", plain(&error)),
                "check that the file can be read by this user",
            ));
        }
    };
    decode(bytes, label).map(Some)
}

enum Refusal {
    Missing,
    Dangling,
    NotAFile(&'static str),
    TooLarge,
    Failed(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Failed(error),
        }
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Refusal> {
    let before = match fs::metadata(path) {
        Err(error)
            if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_ok() =>
        {
            return Err(Refusal::Dangling);
        }
        other => other?,
    };
    refuse_other_than_files(&before)?;
    let file = open(path)?;
    // What stands at the path may have been exchanged since it was looked at.
    refuse_other_than_files(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(CONFIG_FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > CONFIG_FILE_BYTES_MAX {
        return Err(Refusal::TooLarge);
    }
    Ok(bytes)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Without this flag, opening a pipe waits for a writer.
        options.custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    }
    options.open(path)
}

fn refuse_other_than_files(metadata: &Metadata) -> Result<(), Refusal> {
    if metadata.is_file() && metadata.len() > CONFIG_FILE_BYTES_MAX {
        Err(Refusal::TooLarge)
    } else if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(Refusal::NotAFile("a directory"))
    } else {
        Err(Refusal::NotAFile("a pipe, a socket or a device"))
    }
}

fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "access is denied".to_owned(),
        kind => kind.to_string(),
    }
}

fn decode(bytes: Vec<u8>, label: &Path) -> Result<Arc<Source>, Box<Diagnostic>> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Diagnostic::error("the file is UTF-16 text")
            .about(&Source::new(label, ""))
            .help("save it as UTF-8")
            .into());
    }
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(Source::new(label, text)),
        Err(error) => error,
    };
    let valid = error.utf8_error().valid_up_to();
    let bytes = error.as_bytes();
    let byte = bytes.get(valid).copied().unwrap_or_default();
    let source = Source::new(label, String::from_utf8_lossy(bytes));
    // The text before the first bad byte is the same in both, but for a mark that is left out.
    let mark = if bytes.starts_with("\u{feff}".as_bytes()) {
        3
    } else {
        0
    };
    let start = source.boundary(valid.saturating_sub(mark));
    let end = (start + char::REPLACEMENT_CHARACTER.len_utf8()).min(source.text().len());
    Err(
        Diagnostic::error(format!("the byte 0x{byte:02X} is not UTF-8 text"))
            .at(&source, Span::new(start, end))
            .help("save the file as UTF-8")
            .into(),
    )
}
