//! `toolcrib adapter add`: an API description as an entry of the configuration.

use std::path::Path;

use clap::Args;
use serde_json::json;
use toolcrib_config::export::ExportError;
use toolcrib_config::export::addition::{self, NewAdapter};

use super::Reading;
use crate::cli::shown::counted;
use crate::cli::target::{self, Whose, target};
use crate::cli::{Context, export};
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// Put an API description into the configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib adapter add petstore.yaml --name pets --env PETS_TOKEN
  toolcrib adapter add http://localhost:8080/openapi.json --allow-private

Exit codes: 0 it is in the configuration, 1 wrong arguments, or the description cannot be read, 2 \
the configuration cannot be read or written, 3 an address cannot be reached.")]
pub(super) struct Add {
    /// Path or address of the description
    #[arg(value_name = "FILE|URL")]
    spec: String,
    /// What the adapter is called; its tools are NAME:TOOL
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The environment variable that holds the API's secret
    #[arg(long, value_name = "VARIABLE")]
    env: Option<String>,
    /// Base address of the API, where the description's own is not wanted
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    #[command(flatten)]
    how: Reading,
}

impl Add {
    /// Runs the command.
    pub(super) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| super::usual_name(&self.spec));
        let api = super::load(context, &self.spec, &name, &self.how)?;
        let auth = api.auth_type();
        let env = self.env.clone().or_else(|| {
            let variable = format!("{}_API_KEY", name.to_ascii_uppercase().replace('-', "_"));
            (auth != "none").then_some(variable)
        });
        let ref_folder = self.how.ref_folder.as_deref().map(Path::to_string_lossy);
        let ref_folder = ref_folder.map(|folder| absolute(context, &folder));
        let adapter = NewAdapter {
            name: &name,
            spec: &absolute(context, &self.spec),
            env: env.as_deref(),
            base_url: self.base_url.as_deref(),
            ref_folder: ref_folder.as_deref(),
            ref_hosts: &self.how.ref_hosts,
            allow_private_addresses: self.how.allow_private,
        };
        let target = target(context, Whose::InUse)?;
        write(context, &target, &adapter)?;
        let shown = context.surroundings.display(&target);
        if context.ui.is_json() {
            context.ui.json(&json!({
                "adapter": name,
                "tools": api.operations.len(),
                "operations": api.counted,
                "warnings": api.warnings,
                "authType": auth,
                "env": env,
                "written": target,
            }));
            return Ok(());
        }
        context.ui.line(Line::new().mark(true).text(format_args!(
            " {name} written to {shown}: {} of {}",
            counted(api.operations.len(), "tool"),
            counted(api.counted, "operation")
        )));
        if let Some(env) = env.filter(|env| context.surroundings.var(env).is_none()) {
            context.ui.note(format!(
                "The API wants credentials ({auth}); put the secret into the environment variable {env}."
            ));
        }
        let own_address = self.base_url.is_none();
        if let Some(said) = super::private_address(&api, &self.how).filter(|_| own_address) {
            context.ui.note(said);
        }
        let line = format!("`toolcrib tools {name}` lists its tools.");
        context.ui.note(Line::new().tone(Tone::Dim, line));
        Ok(())
    }
}

/// A file as the configuration names it: a path is absolute, so that it means the same file
/// wherever Toolcrib is started.
fn absolute(context: &Context, named: &str) -> String {
    if named.starts_with("http://") || named.starts_with("https://") {
        return named.to_owned();
    }
    let path = context.surroundings.cwd.join(named);
    let path = path.canonicalize().unwrap_or(path);
    path.to_string_lossy().into_owned()
}

/// Writes the entry; the file is read back before the edit counts.
fn write(context: &Context, target: &Path, adapter: &NewAdapter<'_>) -> Result<(), Failure> {
    let shown = context.surroundings.display(target);
    let refused = |error| match error {
        ExportError::Occupied { .. } if adapter.allow_private_addresses => Failure::usage(format!(
            "{shown} has an adapter {0} already; set `allowPrivateAddresses: true` under `adapters.{0}` there, or give another --name",
            adapter.name
        )),
        ExportError::Occupied { .. } => Failure::usage(format!(
            "{shown} has an adapter {} already; give another --name, or take it out of the file first",
            adapter.name
        )),
        error => export::refused(&error),
    };
    target::keep_trusted(context, target, || {
        addition::install_adapter(target, adapter, &target::backup_time()).map_err(refused)
    })
}
