//! A bundle made ready: downloaded, checked and unpacked, so that it can be written as a command.

use std::path::Path;

use reqwest::redirect::Policy;
use toolcrib_config::places::Places;
use toolcrib_config::surroundings::Os;
use toolcrib_core::Code;
use toolcrib_core::limits::{BUNDLE_MANIFEST_BYTES_MAX, BUNDLE_REDIRECTS_MAX};
use toolcrib_upstream::registry::{
    Archive, Bundle, BundleError, Host, MANIFEST, Manifest, Offer, Way,
};

use super::{Market, show};
use crate::cli::Context;
use crate::cli::counter::doing;
use crate::failure::Failure;

/// What a terminal shows while a bundle is waited for.
const DOWNLOADING: &str = "downloading the bundle";

/// An offer that can be written: of a bundle that which its manifest makes, any other as it is. Where
/// `keep` is not set, nothing is unpacked.
pub(super) fn ready(
    context: &Context,
    market: &Market,
    offer: Offer,
    name: &str,
    keep: bool,
) -> Result<Offer, Failure> {
    let Way::Bundle(bundle) = &offer.way else {
        return Ok(offer);
    };
    let surroundings = &context.surroundings;
    let directory = Places::of(surroundings).data.join("bundles");
    let host = Host {
        platform: match surroundings.os {
            Os::Linux => "linux",
            Os::MacOs => "darwin",
            Os::Windows => "win32",
        },
        home: surroundings.home.clone(),
        directory: directory.join(&bundle.sha256),
    };
    let made = |manifest: &Manifest, holds: &dyn Fn(&str) -> bool| {
        let prefix = show::prefix(name);
        let made = bundle.offer(&offer.label, &offer.needed, &prefix, manifest, &host, holds);
        made.map_err(|error| failure(&error))
    };
    let read = |text: &[u8]| Manifest::read(text).map_err(|error| failure(&error));
    if let Some(text) = unpacked(&host.directory) {
        let holds = |name: &str| host.directory.join(name).is_file();
        return made(&read(&text)?, &holds);
    }
    let bytes = fetched(context, market, bundle)?;
    let archive = Archive::read(bytes).map_err(|error| failure(&error))?;
    let manifest = read(&archive.manifest().map_err(|error| failure(&error))?)?;
    let made = made(&manifest, &|name| archive.holds(name))?;
    if keep {
        let unpacking = archive.unpack(&host.directory, &manifest.programs(&host));
        unpacking.map_err(|error| failure(&error))?;
    }
    Ok(made)
}

/// The manifest of a bundle that was unpacked before.
fn unpacked(directory: &Path) -> Option<Vec<u8>> {
    let path = directory.join(MANIFEST);
    let size = std::fs::metadata(&path).ok()?.len();
    if size > BUNDLE_MANIFEST_BYTES_MAX as u64 {
        return None;
    }
    std::fs::read(path).ok()
}

/// The file, from a public address or a test's own.
fn fetched(context: &Context, market: &Market, bundle: &Bundle) -> Result<Vec<u8>, Failure> {
    let refused = |address: &str| {
        let message = format!(
            "the bundle is at {address}, which is not a public address that begins with https://; it is not downloaded"
        );
        Failure::new(Code::ServerConnectionError, message)
    };
    if !market.catalog.permits(&bundle.address) {
        return Err(refused(bundle.address.as_str()));
    }
    let catalog = market.catalog.clone();
    let policy = Policy::custom(move |attempt| {
        if attempt.previous().len() > BUNDLE_REDIRECTS_MAX {
            attempt.error("it redirects too often")
        } else if catalog.permits(attempt.url()) {
            attempt.follow()
        } else {
            attempt.error("it redirects to an address that is not public")
        }
    });
    let http = super::client(policy)?;
    let fetching = doing(context, DOWNLOADING, bundle.fetch(&http));
    let fetched = market.runtime.block_on(fetching);
    fetched.map_err(|error| failure(&error))
}

fn failure(error: &BundleError) -> Failure {
    Failure::new(Code::ServerConnectionError, error.to_string())
}
