//! A way in which a server of the registry can be used.

use super::bundle::Bundle;
use super::entry::{Package, Remote};
use super::input::{Collector, Needed, Text, Undeclared};
use super::package;

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// A child process that speaks MCP on its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<Text>,
        /// Variables for it.
        env: Vec<(String, Text)>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: Text,
        /// Headers for every request.
        headers: Vec<(String, Text)>,
    },
    /// HTTP with server-sent events, the older transport.
    Sse {
        /// The address.
        url: Text,
        /// Headers for every request.
        headers: Vec<(String, Text)>,
    },
    /// A bundle, which says how it is run once it is there.
    Bundle(Bundle),
}

/// A way in which a server can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What it is: `npm @ada/tools 1.2.3`, `remote https://…`.
    pub label: String,
    /// How it is reached.
    pub way: Way,
    /// What the user may or must give.
    pub needed: Vec<Needed>,
    /// What has to be done once before it can run.
    pub preparation: Option<String>,
}

impl Offer {
    /// What the user must give.
    pub fn required(&self) -> impl Iterator<Item = &Needed> {
        self.needed.iter().filter(|needed| needed.required)
    }

    /// The command line or the address, variables as `${NAME}`.
    pub fn reached(&self) -> String {
        match &self.way {
            Way::Stdio { command, args, .. } => std::iter::once(command.clone())
                .chain(args.iter().map(ToString::to_string))
                .collect::<Vec<_>>()
                .join(" "),
            Way::Http { url, .. } | Way::Sse { url, .. } => url.to_string(),
            Way::Bundle(Bundle {
                address, sha256, ..
            }) => format!(
                "the bundle {address} with the SHA-256 {sha256}; what it needs is known once `add` has downloaded it"
            ),
        }
    }
}

/// A way that Toolcrib cannot use by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// What it is.
    pub label: String,
    /// Why it cannot be used, and what can be done.
    pub reason: String,
}

pub(super) fn of_remote(remote: &Remote, prefix: &str) -> Result<Offer, Unusable> {
    let label = format!("remote {}", remote.url);
    let fail = |reason: &str| {
        Err(Unusable {
            label: label.clone(),
            reason: reason.to_owned(),
        })
    };
    let lower = remote.url.to_ascii_lowercase();
    if !lower.starts_with("https://") && !lower.starts_with("http://") && !lower.starts_with('{') {
        return fail("its address does not begin with https://");
    }
    let mut collector = Collector::new(prefix);
    let url = collector.fill(
        &remote.url,
        &remote.variables,
        "address",
        Undeclared::Needed,
    );
    let mut headers = Vec::new();
    for header in &remote.headers {
        let value = collector.text(&header.input, &header.name, None, Undeclared::Needed);
        headers.extend(value.map(|value| (header.name.clone(), value)));
    }
    let way = match remote.kind.as_str() {
        "streamable-http" | "http" => Way::Http { url, headers },
        "sse" => Way::Sse { url, headers },
        other => return fail(&format!("its transport {other:?} is not known")),
    };
    Ok(Offer {
        label,
        way,
        needed: collector.needed,
        preparation: None,
    })
}

pub(super) fn of_package(package: &Package, prefix: &str) -> Result<Offer, Unusable> {
    let version = package.version.as_deref().unwrap_or_default();
    let label = format!("{} {} {version}", package.registry_type, package.identifier);
    let label = label.trim_end().to_owned();
    package::offer(package, prefix, &label).map_err(|reason| Unusable { label, reason })
}
