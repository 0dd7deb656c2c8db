//! `toolcrib adapter check`: what would become of API descriptions.

use clap::Args;
use serde_json::{Value, json};
use toolcrib_core::policy::risk::{Inputs, derive};
use toolcrib_upstream::rest::{Api, Operation};

use super::Reading;
use crate::cli::Context;
use crate::cli::shown::counted;
use crate::failure::Failure;
use crate::ui::{Line, Table, Tone};

/// Show what would become of API descriptions, without configuring them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib adapter check petstore.yaml
  toolcrib adapter check https://petstore3.swagger.io/api/v3/openapi.json

Exit codes: 0 every description can be used, 1 wrong arguments, or one cannot be read, 3 an address \
cannot be reached.")]
pub(super) struct Check {
    /// OpenAPI 2.0 or 3.x, or Postman collections 2.0 or 2.1; JSON or YAML; paths or addresses
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    #[command(flatten)]
    how: Reading,
}

impl Check {
    /// Runs the command.
    pub(super) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut reports = Vec::new();
        let mut failed = None;
        for (at, file) in self.files.iter().enumerate() {
            let loaded = super::load(context, file, &super::usual_name(file), &self.how);
            if !context.ui.is_json() && at > 0 {
                context.ui.gap();
            }
            match loaded {
                Ok(api) if context.ui.is_json() => reports.push(report(file, &api)),
                Ok(api) => {
                    show(context, file, &api, &self.how);
                    if let Some(said) = super::private_address(&api, &self.how) {
                        context.ui.note(said);
                    }
                }
                // One that cannot be read says nothing about the others.
                Err(failure) if self.files.len() > 1 => {
                    if context.ui.is_json() {
                        reports.push(json!({"file": file, "error": failure.to_string()}));
                    } else {
                        let line = Line::new().mark(false).text(" ").tone(Tone::Strong, file);
                        context.ui.line(line.text(format_args!(": {failure}")));
                    }
                    failed.get_or_insert((failure, 0_usize)).1 += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
        if context.ui.is_json() {
            context.ui.json(&json!({ "files": reports }));
            // What failed stands in it.
            context.ui.mute();
        }
        match failed {
            None => Ok(()),
            Some((first, count)) => Err(Failure {
                message: format!(
                    "{count} of {} descriptions cannot be used; the reasons stand beside their names",
                    self.files.len()
                ),
                ..first
            }),
        }
    }
}

fn report(file: &str, api: &Api) -> Value {
    let items: Vec<Value> = api
        .operations
        .iter()
        .map(|operation| row(operation))
        .collect();
    json!({
        "file": file,
        "format": api.format,
        "version": api.version,
        "title": api.title,
        "operations": api.counted,
        "tools": api.operations.len(),
        "authType": api.auth_type(),
        "warnings": api.warnings,
        "items": items,
    })
}

fn row(operation: &Operation) -> Value {
    let (risk, evidence) = derive(&Inputs::of(&operation.tool, true, None));
    let parameters: Vec<Value> = operation
        .inputs
        .iter()
        .map(|input| {
            json!({
                "argument": input.argument,
                "name": input.name,
                "in": input.spot,
                "required": input.required,
            })
        })
        .collect();
    json!({
        "method": operation.method(),
        "path": operation.path(),
        "operationId": operation.operation_id,
        "toolId": operation.tool.id,
        "parameters": parameters,
        "risk": risk,
        "evidence": evidence,
    })
}

fn show(context: &mut Context, file: &str, api: &Api, how: &Reading) {
    let whole = api.counted == api.operations.len();
    let mark = if whole {
        Line::new().mark(true)
    } else {
        Line::new().doubt()
    };
    context
        .ui
        .line(mark.text(" ").tone(Tone::Strong, file).text(format_args!(
            " ({} {}): {}, {}, {}",
            api.format,
            api.version,
            counted(api.counted, "operation"),
            counted(api.operations.len(), "tool"),
            counted(api.warnings.len(), "warning")
        )));
    for warning in &api.warnings {
        context
            .ui
            .line(Line::new().tone(Tone::Odd, "  warning: ").text(warning));
    }
    let mut table = Table::new(["METHOD", "PATH", "TOOL", "ARGUMENTS", "RISK", "BECAUSE OF"]);
    for operation in &api.operations {
        let (risk, evidence) = derive(&Inputs::of(&operation.tool, true, None));
        table.row([
            operation.method().to_owned(),
            operation.path().to_owned(),
            operation.tool.id.to_string(),
            format!(
                "{} ({} required)",
                operation.inputs.len(),
                operation.required().count()
            ),
            risk.to_string(),
            evidence.detail().to_owned(),
        ]);
    }
    context.ui.table(&table);
    if !api.operations.is_empty() {
        let is_private = how.allow_private || api.private_address().is_some();
        let allowed = if is_private { " --allow-private" } else { "" };
        let line =
            format!("`toolcrib adapter add {file}{allowed}` puts it into the configuration.");
        context.ui.note(Line::new().tone(Tone::Dim, line));
    }
}
