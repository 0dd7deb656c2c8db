//! `toolcrib adapter`: what becomes of API descriptions, and putting one into the configuration.

mod add;
mod check;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use toolcrib_core::Code;
use toolcrib_upstream::rest::{Api, LoadError, Place, Source};

use super::counter::doing;
use super::{Context, running};
use crate::failure::Failure;

/// Turn REST APIs into tools
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib adapter check petstore.yaml
  toolcrib adapter add petstore.yaml --name pets --env PETS_TOKEN")]
pub struct Adapter {
    #[command(subcommand)]
    command: AdapterCommand,
}

#[derive(Debug, Subcommand)]
enum AdapterCommand {
    /// Show what would become of API descriptions, without configuring them
    Check(check::Check),
    /// Put an API description into the configuration
    Add(add::Add),
}

impl Adapter {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self.command {
            AdapterCommand::Check(command) => command.run(context),
            AdapterCommand::Add(command) => command.run(context),
        }
    }
}

/// How a description is read.
#[derive(Debug, Args)]
struct Reading {
    /// Folder that holds all files of the description; its own folder unless given
    #[arg(long, value_name = "DIR")]
    ref_folder: Option<PathBuf>,
    /// Further host from which parts of the description may be fetched; may be given several times
    #[arg(long = "ref-host", value_name = "HOST")]
    ref_hosts: Vec<String>,
    /// Allow private and link-local addresses, such as those of this machine
    #[arg(long)]
    allow_private: bool,
}

/// Reads a description that a person named by path or address.
fn load(context: &Context, spec: &str, name: &str, how: &Reading) -> Result<Api, Failure> {
    let cwd = &context.surroundings.cwd;
    let source = Source {
        adapter: name.to_owned(),
        place: Source::place(spec, cwd),
        ref_hosts: how.ref_hosts.clone(),
        ref_folder: how.ref_folder.as_ref().map(|folder| cwd.join(folder)),
        allow_private: how.allow_private,
    };
    let is_file = matches!(source.place, Place::File(_));
    let what = format!("reading {spec}");
    let loaded = running::runtime()?.block_on(doing(context, &what, source.load()));
    loaded.map_err(|error| match error {
        LoadError::Unreadable { .. } if !is_file => {
            Failure::new(Code::ServerConnectionError, error.to_string())
        }
        _ => Failure::usage(error.to_string()),
    })
}

/// What is said where calls of an API would be refused for its address.
fn private_address(api: &Api, how: &Reading) -> Option<String> {
    let address = api.private_address().filter(|_| !how.allow_private)?;
    Some(format!(
        "The API is at {address}, and calls to addresses of this machine or its network are refused \
         unless the entry says allowPrivateAddresses: true; --allow-private writes that."
    ))
}

/// The name of an adapter that a description is called by: that of its file, or of its host.
fn usual_name(spec: &str) -> String {
    let bare = spec
        .split(['?', '#'])
        .next()
        .unwrap_or(spec)
        .trim_end_matches('/');
    let last = bare.rsplit(['/', '\\']).next().unwrap_or(bare);
    let stem = last.split('.').next().unwrap_or(last);
    let general = [
        "openapi", "swagger", "spec", "spec3", "api", "index", "api-docs", "v1", "v2", "v3",
    ];
    let host = bare
        .split_once("://")
        .and_then(|(_, rest)| rest.split(['/', ':']).next());
    let named = match host {
        Some(host) if general.contains(&stem) || stem == host.split('.').next().unwrap_or("") => {
            let labels: Vec<&str> = host
                .split('.')
                .filter(|l| !matches!(*l, "api" | "www"))
                .collect();
            labels.first().copied().unwrap_or(host)
        }
        _ => stem,
    };
    let mut name = String::new();
    for c in named.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() {
        "api".to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_its_adapter() {
        let table = [
            ("paystack.yaml", "paystack"),
            ("./specs/Stripe API.json", "stripe-api"),
            ("https://api.example.com/openapi.json", "example"),
            ("https://petstore.swagger.io/v2/swagger.json", "petstore"),
            ("https://raw.example.com/x/ngrok.yaml?ref=main", "ngrok"),
            ("twilio.postman_collection.json", "twilio"),
            ("日本.yaml", "api"),
        ];
        for (spec, expected) in table {
            assert_eq!(usual_name(spec), expected, "{spec}");
        }
    }
}
