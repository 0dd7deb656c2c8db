//! Zip archives made by tests, good and hostile ones.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use sha2::{Digest as _, Sha256};

/// One file as it will stand in an archive.
#[derive(Clone, Debug)]
struct File {
    name: String,
    content: Vec<u8>,
    mode: u32,
    deflated: bool,
    size: Option<u32>,
}

/// An archive in the making.
#[derive(Clone, Debug, Default)]
pub struct Zip {
    files: Vec<File>,
}

impl Zip {
    /// An archive with a manifest in it.
    pub fn with_manifest(manifest: &serde_json::Value) -> Self {
        Self::default().file("manifest.json", manifest.to_string())
    }

    /// Adds a file, deflated; a name that ends in `/` is a directory.
    #[must_use]
    pub fn file(self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        let mode = if name.ends_with('/') {
            0o040_755
        } else {
            0o100_644
        };
        self.entry(name, content, mode, true)
    }

    /// Adds a file as it is.
    #[must_use]
    pub fn stored(self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.entry(name, content, 0o100_644, false)
    }

    /// Adds a file with a Unix mode.
    #[must_use]
    pub fn with_mode(self, name: &str, content: impl Into<Vec<u8>>, mode: u32) -> Self {
        self.entry(name, content, mode, true)
    }

    /// Lets the directory lie about the size of the last file.
    #[must_use]
    pub fn claiming(mut self, size: u32) -> Self {
        if let Some(last) = self.files.last_mut() {
            last.size = Some(size);
        }
        self
    }

    fn entry(mut self, name: &str, content: impl Into<Vec<u8>>, mode: u32, deflated: bool) -> Self {
        self.files.push(File {
            name: name.to_owned(),
            content: content.into(),
            mode,
            deflated,
            size: None,
        });
        self
    }

    /// The archive.
    ///
    /// # Panics
    /// When it is larger than the format allows.
    pub fn build(&self) -> Vec<u8> {
        let (mut out, mut records) = (Vec::new(), Vec::new());
        for file in &self.files {
            let packed = if file.deflated {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&file.content).expect("it is memory");
                encoder.finish().expect("it is memory")
            } else {
                file.content.clone()
            };
            let mut crc = Crc::new();
            crc.update(&file.content);
            let length = |n: usize| u32::try_from(n).expect("it is small").to_le_bytes();
            let size = file
                .size
                .map_or_else(|| length(file.content.len()), u32::to_le_bytes);
            let name = u16::try_from(file.name.len()).expect("it is short");
            let at = length(out.len());
            let mut about = vec![
                20,
                0,
                0,
                8,
                if file.deflated { 8 } else { 0 },
                0,
                0,
                0,
                0,
                0,
            ];
            about.extend(crc.sum().to_le_bytes());
            about.extend(length(packed.len()));
            about.extend(size);
            about.extend(name.to_le_bytes());
            about.extend([0, 0]);
            out.extend(b"PK\x03\x04");
            out.extend(&about);
            out.extend(file.name.as_bytes());
            out.extend(packed);
            records.extend(b"PK\x01\x02\x14\x03");
            records.extend(&about);
            records.extend([0; 6]);
            records.extend((file.mode << 16).to_le_bytes());
            records.extend(at);
            records.extend(file.name.as_bytes());
        }
        let count = u16::try_from(self.files.len())
            .expect("there are few")
            .to_le_bytes();
        let start = u32::try_from(out.len()).expect("it is small").to_le_bytes();
        let size = u32::try_from(records.len())
            .expect("it is small")
            .to_le_bytes();
        out.extend(records);
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend(count);
        out.extend(count);
        out.extend(size);
        out.extend(start);
        out.extend([0, 0]);
        out
    }
}

/// The SHA-256 of a file in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
