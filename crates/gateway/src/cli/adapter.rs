//! `toolcrib adapter`: what becomes of API descriptions, and putting one into the configuration.

mod add;
mod check;

use clap::{Args, Subcommand};
use toolcrib_core::Code;
use toolcrib_upstream::rest::{Api, LoadError, Source};

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

/// Reads a description that a person named by path or address.
fn load(context: &Context, spec: &str, name: &str) -> Result<Api, Failure> {
    let source = Source {
        adapter: name.to_owned(),
        place: Source::place(spec, &context.surroundings.cwd),
        ref_hosts: Vec::new(),
        ref_folder: None,
        allow_private: false,
    };
    let what = format!("reading {spec}");
    let loaded = running::runtime()?.block_on(doing(context, &what, source.load()));
    loaded.map_err(|error| match error {
        LoadError::Unreadable { .. } => {
            Failure::not_found(Code::ConfigurationError, error.to_string())
        }
        _ => Failure::configuration(error.to_string()),
    })
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
