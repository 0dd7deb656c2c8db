//! All files of a description: read, fetched where the user named the host, and nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, header};
use toolcrib_core::limits::{
    ADAPTER_FETCH_TIMEOUT_MS, ADAPTER_FILE_BYTES_MAX, ADAPTER_FILES_BYTES_MAX, ADAPTER_FILES_MAX,
};
use url::Url;

use super::adapter::{Api, LoadError};
use super::guard;
use super::library::{self, Library, Place};
use super::warning::Warning;
use super::wire::{Outgoing, Wire};

/// Where a description is, and what may be read for it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The server part of the tools' ids.
    pub adapter: String,
    /// The file or address that the user named.
    pub place: Place,
    /// Further hosts from which parts of it may be fetched.
    pub ref_hosts: Vec<String>,
    /// The folder in which all its files are; that of the description unless given.
    pub ref_folder: Option<PathBuf>,
    /// Whether names that lead to private addresses may be fetched from.
    pub allow_private: bool,
}

impl Source {
    /// Reads what a person wrote as a place: an address, or a path relative to `folder`.
    pub fn place(text: &str, folder: &Path) -> Place {
        match Url::parse(text) {
            Ok(mut url) if matches!(url.scheme(), "http" | "https") => {
                url.set_fragment(None);
                Place::Address(url)
            }
            _ => Place::File(folder.join(text)),
        }
    }

    /// Reads the description and makes its tools.
    pub async fn load(&self) -> Result<Api, LoadError> {
        let mut gathering = Gathering {
            source: self,
            library: Library::default(),
            warnings: Vec::new(),
            bytes: 0,
        };
        gathering.add(self.place.clone()).await?;
        gathering.follow().await;
        let Gathering {
            library, warnings, ..
        } = gathering;
        let adapter = self.adapter.clone();
        let place = self.place.to_string();
        tokio::task::spawn_blocking(move || Api::of(&adapter, library, warnings))
            .await
            .unwrap_or_else(|_| {
                let why = "reading it failed; this is a bug, please report it".to_owned();
                Err(LoadError::Malformed { place, why })
            })
    }

    /// Whether a part of the description may be read from a place.
    fn permits(&self, place: &Place) -> Result<(), String> {
        match (place, &self.place) {
            (Place::Address(url), entry) => {
                let host = url.host_str().unwrap_or_default();
                let own = matches!(entry, Place::Address(entry) if entry.origin() == url.origin());
                let named = self
                    .ref_hosts
                    .iter()
                    .any(|named| named.eq_ignore_ascii_case(host));
                if matches!(url.scheme(), "http" | "https") && (own || named) {
                    return Ok(());
                }
                Err(format!(
                    "the host {host} was not named; add it to refHosts if it is meant"
                ))
            }
            (Place::File(_), Place::Address(_)) => {
                Err("a description from the web cannot refer to files".to_owned())
            }
            (Place::File(path), Place::File(entry)) => {
                let own = || entry.parent().unwrap_or(Path::new("/"));
                let folder = self.ref_folder.as_deref().unwrap_or_else(own);
                // Links are followed: what counts is where the file is.
                let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
                if real(path).starts_with(real(folder)) {
                    return Ok(());
                }
                Err(match &self.ref_folder {
                    Some(_) => "it is not in refFolder".to_owned(),
                    None => "it is not in the folder of the description; name a folder that holds \
                             both as refFolder if it is meant"
                        .to_owned(),
                })
            }
        }
    }
}

struct Gathering<'a> {
    source: &'a Source,
    library: Library,
    warnings: Vec<Warning>,
    bytes: u64,
}

impl Gathering<'_> {
    async fn add(&mut self, place: Place) -> Result<(), LoadError> {
        let text = match &place {
            Place::File(path) => read(path).await,
            Place::Address(url) => self.fetch(url).await,
        };
        let shown = place.to_string();
        let unreadable = |why: String| LoadError::Unreadable {
            place: shown.clone(),
            why,
        };
        let text = text.map_err(unreadable)?;
        self.bytes += text.len() as u64;
        if self.bytes > ADAPTER_FILES_BYTES_MAX {
            let why = format!("all files together have more than {ADAPTER_FILES_BYTES_MAX} bytes");
            return Err(LoadError::Refused { place: shown, why });
        }
        let root =
            library::read(&text).map_err(|why| LoadError::Malformed { place: shown, why })?;
        self.library.add(place, root);
        Ok(())
    }

    /// Reads what the files refer to, as far as it may be read.
    async fn follow(&mut self) {
        let mut at = 0;
        while at < self.library.len() {
            for place in self.library.outward(at) {
                if self.library.holds(&place) {
                    continue;
                }
                if self.library.len() >= ADAPTER_FILES_MAX {
                    self.warn(&place, format!("only {ADAPTER_FILES_MAX} files are read"));
                    return;
                }
                let outcome = match self.source.permits(&place) {
                    Ok(()) => self.add(place.clone()).await.map_err(|e| e.to_string()),
                    Err(why) => Err(format!("it is not read: {why}")),
                };
                if let Err(why) = outcome {
                    self.warn(&place, why);
                }
            }
            at += 1;
        }
    }

    fn warn(&mut self, place: &Place, text: String) {
        let at = library::brief(&place.to_string());
        let warning = Warning { at, text };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    async fn fetch(&self, url: &Url) -> Result<String, String> {
        // An address that the user wrote in numbers, or as `localhost`, is meant.
        let entry = match &self.source.place {
            Place::Address(entry) => entry.host() == url.host(),
            Place::File(_) => false,
        };
        let plain = guard::check_literal(url).is_err() || url.host_str() == Some("localhost");
        let allow_private = self.source.allow_private || entry && plain;
        let wire = Wire::new(allow_private, guard::system()).map_err(|e| e.to_string())?;
        let accept = HeaderValue::from_static("application/json, application/yaml, */*;q=0.5");
        let request = Outgoing {
            method: Method::GET,
            url: url.clone(),
            headers: HeaderMap::from_iter([(header::ACCEPT, accept)]),
            body: None,
        };
        let most = usize::try_from(ADAPTER_FILE_BYTES_MAX).unwrap_or(usize::MAX);
        let timeout = Duration::from_millis(ADAPTER_FETCH_TIMEOUT_MS);
        let answer = wire
            .send(request, most, timeout)
            .await
            .map_err(|e| e.to_string())?;
        if !answer.status.is_success() {
            return Err(format!("it answered HTTP {}", answer.status.as_u16()));
        }
        let media = answer.headers.get(header::CONTENT_TYPE);
        if media.is_some_and(|media| media.as_bytes().starts_with(b"text/html")) {
            return Err("it answered with a web page; name the description itself".to_owned());
        }
        String::from_utf8(answer.body).map_err(|_| "it is not text".to_owned())
    }
}

async fn read(path: &Path) -> Result<String, String> {
    let said = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            "there is no such file; check the path, or name the address of the description"
                .to_owned()
        }
        _ => error.to_string(),
    };
    let size = tokio::fs::metadata(path).await.map_err(said)?;
    if !size.is_file() {
        return Err("it is not a file".to_owned());
    }
    if size.len() > ADAPTER_FILE_BYTES_MAX {
        return Err(format!("it has more than {ADAPTER_FILE_BYTES_MAX} bytes"));
    }
    let bytes = tokio::fs::read(path).await.map_err(said)?;
    String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())
}
