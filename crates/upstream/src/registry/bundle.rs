//! MCP bundles: a package that is one file, fetched, checked against its hash and unpacked.
//!
//! A bundle is a zip archive with a `manifest.json` that says how its server is run and what it needs.
//! Nothing of it is executed here.

mod archive;
mod manifest;

use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use toolcrib_core::limits::{
    BUNDLE_BYTES_MAX, BUNDLE_ENTRIES_MAX, BUNDLE_TIMEOUT_MS, BUNDLE_UNPACKED_BYTES_MAX,
};
use url::Url;

use super::entry::Package;
use super::input::{Needed, Text};
use super::offer::{Offer, Way};

pub use archive::Archive;
pub use manifest::Manifest;

/// The name of the file in a bundle that describes it.
pub const MANIFEST: &str = "manifest.json";

/// A bundle as an entry names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Where it is.
    pub address: Url,
    /// The SHA-256 of the file, in small hexadecimal digits.
    pub sha256: String,
    /// Arguments that the entry adds to those of the manifest.
    pub(super) args: Vec<Text>,
    /// Variables that the entry adds to those of the manifest.
    pub(super) env: Vec<(String, Text)>,
}

/// Where a bundle is to run.
#[derive(Clone, Debug)]
pub struct Host {
    /// The operating system as manifests call it: `linux`, `darwin` or `win32`.
    pub platform: &'static str,
    /// The user's home directory.
    pub home: PathBuf,
    /// The directory that the bundle is or will be unpacked into.
    pub directory: PathBuf,
}

/// Why a bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It cannot be fetched.
    #[error("the bundle cannot be downloaded: {0}; check the network and try again")]
    Unreachable(String),
    /// Its address answered with a status that is no answer.
    #[error("the bundle cannot be downloaded: its address answered HTTP {0}; try again later")]
    Status(u16),
    /// It did not come in time.
    #[error("the bundle was not downloaded within {} s; try again later", .0.as_secs())]
    TimedOut(Duration),
    /// It is larger than a bundle may be.
    #[error("the bundle is larger than {0} bytes; unpack it by hand and add its command")]
    TooLarge(u64),
    /// It is another file than the registry names.
    #[error(
        "the SHA-256 of the bundle is {found}, not {expected} as the registry says; do not use it"
    )]
    WrongHash {
        /// What it is.
        found: String,
        /// What it should be.
        expected: String,
    },
    /// It is no archive that can be read.
    #[error("the bundle is no zip archive that can be read: {0}; tell its authors")]
    NotArchive(String),
    /// It holds more files than a bundle may.
    #[error(
        "the bundle holds more than {BUNDLE_ENTRIES_MAX} files; unpack it by hand and add its command"
    )]
    TooMany,
    /// It holds more than a bundle may.
    #[error(
        "the bundle holds more than {BUNDLE_UNPACKED_BYTES_MAX} bytes; unpack it by hand and add its command"
    )]
    TooMuch,
    /// It holds a name that leads out of it.
    #[error("the bundle names {0:?}, which is not a file inside it; do not use it")]
    Outside(String),
    /// It holds something else than files and directories.
    #[error("the bundle holds {0:?}, which is a link or a device; do not use it")]
    NotFile(String),
    /// What it says of itself cannot be used.
    #[error("the manifest.json of the bundle cannot be used: {0}; tell its authors")]
    Manifest(String),
    /// It is for other machines.
    #[error("the bundle does not run on {platform}; it is for {made_for}")]
    Platform {
        /// This machine.
        platform: &'static str,
        /// What it is for.
        made_for: String,
    },
    /// It cannot be written.
    #[error("the bundle cannot be unpacked into {}: {reason}; mend that and try again", .path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// The bundle that a package is, or why it is none. `args` and `env` are what the entry adds.
pub(super) fn of_package(
    package: &Package,
    args: Vec<Text>,
    env: Vec<(String, Text)>,
) -> Result<Bundle, String> {
    let address = Url::parse(&package.identifier)
        .ok()
        .filter(|url| matches!(url.scheme(), "https" | "http") && url.host_str().is_some())
        .ok_or("it is a bundle whose address does not begin with https://")?;
    let Some(given) = package.file_sha256.as_deref() else {
        return Err(
            "it is a bundle without a SHA-256, so nobody can tell whether it is the right file; it is not downloaded"
                .to_owned(),
        );
    };
    let sha256 = given.to_ascii_lowercase();
    let is_hash = sha256.len() == 64 && sha256.chars().all(|c| c.is_ascii_hexdigit());
    if !is_hash {
        return Err(format!(
            "it is a bundle whose SHA-256 {given:?} is none; it is not downloaded"
        ));
    }
    Ok(Bundle {
        address,
        sha256,
        args,
        env,
    })
}

impl Bundle {
    /// The file, fetched and checked. Which redirects are followed is the client's business.
    pub async fn fetch(&self, http: &reqwest::Client) -> Result<Vec<u8>, BundleError> {
        let allowed = Duration::from_millis(BUNDLE_TIMEOUT_MS);
        let fetching = download(http, self.address.clone(), BUNDLE_BYTES_MAX);
        let bytes = tokio::time::timeout(allowed, fetching).await;
        let bytes = bytes.unwrap_or(Err(BundleError::TimedOut(allowed)))?;
        let found = hex(&Sha256::digest(&bytes));
        if found == self.sha256 {
            Ok(bytes)
        } else {
            Err(BundleError::WrongHash {
                found,
                expected: self.sha256.clone(),
            })
        }
    }

    /// How it is run, with what the user may or must give. `needed` is what the entry asks for,
    /// `prefix` begins the names of variables, `holds` tells whether a file is in the bundle.
    pub fn offer(
        &self,
        label: &str,
        needed: &[Needed],
        prefix: &str,
        manifest: &Manifest,
        host: &Host,
        holds: &dyn Fn(&str) -> bool,
    ) -> Result<Offer, BundleError> {
        let mut run = manifest.run(prefix, host, holds)?;
        run.args.extend(self.args.iter().cloned());
        for (name, value) in &self.env {
            if !run.env.iter().any(|(known, _)| known == name) {
                run.env.push((name.clone(), value.clone()));
            }
        }
        for one in needed {
            if !run.needed.iter().any(|n| n.variable == one.variable) {
                run.needed.push(one.clone());
            }
        }
        Ok(Offer {
            label: label.to_owned(),
            way: Way::Stdio {
                command: run.command,
                args: run.args,
                env: run.env,
            },
            needed: run.needed,
            preparation: None,
        })
    }
}

/// What stands at an address, up to a number of bytes.
async fn download(http: &reqwest::Client, url: Url, most: u64) -> Result<Vec<u8>, BundleError> {
    let mut response = http.get(url).send().await.map_err(unreached)?;
    if !response.status().is_success() {
        return Err(BundleError::Status(response.status().as_u16()));
    }
    if response
        .content_length()
        .is_some_and(|length| length > most)
    {
        return Err(BundleError::TooLarge(most));
    }
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unreached)? {
        if (bytes.len() + piece.len()) as u64 > most {
            return Err(BundleError::TooLarge(most));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn unreached(error: reqwest::Error) -> BundleError {
    BundleError::Unreachable(super::reason(&error.without_url()))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
