//! `toolcrib inspect`: one tool in full.

use clap::Args;
use serde_json::{Map, Value, json};
use toolcrib_core::policy::Visibility;
use toolcrib_core::schema::outline::Reading;
use toolcrib_core::schema::sample::sample;
use toolcrib_core::schema::signature::{Detail, field_type};
use toolcrib_core::{CapabilityManifest, rtfs};
use toolcrib_store::capability::{Filter, State};

use super::Context;
use super::counter::{asking, explained, local, named, one_tool, with_engine_to_look};
use crate::capability::market::Shelf;
use crate::engine::Engine;
use crate::engine::answer::Details;
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// How much of a parameter's type is shown.
const DETAIL: Detail = Detail {
    depth: 1,
    values: 12,
};

/// Show one tool in full
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib inspect github create_issue
  toolcrib inspect github:create_issue                     as `toolcrib search` prints it
  toolcrib inspect github create_issue --examples --json

Exit codes: 0 the tool is shown, 1 wrong arguments, 2 there is no such server or tool, or the \
configuration does not load, 3 the server cannot be asked, or the store cannot be used.")]
pub struct Inspect {
    /// The server, or the tool as SERVER:TOOL
    #[arg(add = super::completions::server_or_id())]
    server: String,
    /// The tool
    #[arg(add = super::completions::tool())]
    tool: Option<String>,
    /// Show an example call
    #[arg(long)]
    examples: bool,
}

impl Inspect {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let (server, tool) =
            named(&self.server, self.tool.as_deref()).ok_or_else(|| one_tool("inspect"))?;
        with_engine_to_look(context, async |context, engine| {
            let caller = local(engine);
            let details = engine.tool_details(&caller, server, tool);
            let details = match asking(context, engine, details).await {
                Ok(details) => details,
                Err(error) => return Err(explained(engine, &caller, error).await),
            };
            let output = output(engine, &details).await;
            if context.ui.is_json() {
                let mut shown = details_json(&details, self.examples);
                if let Some(output) = &output {
                    shown["outputType"] = json!(output.text);
                    shown["outputInferred"] = json!(output.inferred);
                }
                context.ui.json(&shown);
            } else {
                show(context, &details, output.as_ref(), self.examples);
            }
            Ok(())
        })
    }
}

/// The shape of what a tool answers.
struct OutputType {
    text: String,
    inferred: bool,
}

/// What is known of a tool's answer: declared by its server, or seen in an answer of this definition.
async fn output(engine: &Engine, details: &Details) -> Option<OutputType> {
    let tool = &details.entry.tool;
    let seen = if tool.output_schema.is_some() {
        CapabilityManifest::new(tool, "")
    } else {
        let shelf = Shelf::new(engine.store().clone(), engine.clock().clone());
        let of_server = Filter {
            server: Some(tool.id.server().to_owned()),
            state: Some(State::Approved),
            ..Filter::default()
        };
        // What cannot be read is not shown; the tool is.
        let known = shelf.find(&of_server).await.unwrap_or_default();
        let same = |manifest: &CapabilityManifest| {
            manifest.provider.tool_name == tool.id.tool()
                && manifest.definition == details.entry.hash
        };
        known.into_iter().map(|(manifest, _)| manifest).find(same)?
    };
    let capability = seen.capability();
    let shape = capability.output.as_ref()?;
    Some(OutputType {
        text: rtfs::text::of_type(shape, rtfs::Dialect::Document),
        inferred: capability.output_inferred,
    })
}

fn show(context: &mut Context, details: &Details, output: Option<&OutputType>, examples: bool) {
    let (tool, metadata) = (&details.entry.tool, &details.entry.metadata);
    context
        .ui
        .line(Line::new().text("Tool: ").tone(Tone::Strong, &tool.id));
    if details.visibility == Visibility::Disabled {
        let rule = &details.entry.rule;
        context.ui.line(
            Line::new()
                .mark(false)
                .text(format_args!(" disabled: {rule}")),
        );
    }
    context.ui.gap();
    context.ui.line("Description:");
    for line in tool.description.trim().lines() {
        context.ui.line(format!("  {line}"));
    }
    context.ui.gap();
    context.ui.line("Parameters:");
    let reading = Reading::new(&tool.input_schema);
    let outline = reading.outline();
    if outline.fields.is_empty() {
        context.ui.line("  none");
    }
    for (at, field) in outline.fields.iter().enumerate() {
        if at > 0 {
            context.ui.gap();
        }
        let need = if field.required {
            "required"
        } else {
            "optional"
        };
        let kind = field_type(field, DETAIL);
        context.ui.line(
            Line::new()
                .text("  ")
                .tone(Tone::Strong, field.name)
                .text(format_args!(" ({kind}, {need})")),
        );
        for line in field.outline.description().unwrap_or_default().lines() {
            context.ui.line(format!("    {line}"));
        }
    }
    if examples {
        context.ui.gap();
        context.ui.line("Examples:");
        show_example(context, example(&tool.input_schema));
    }
    // What a server declares stands in its definition; what was learnt stands nowhere else.
    if let Some(output) = output.filter(|output| output.inferred) {
        context.ui.gap();
        let lead = Line::new().text("Output (seen in an answer): ");
        context.ui.line(lead.whole(&output.text));
    }
    context.ui.gap();
    context.ui.line(format!(
        "Risk: {} ({})",
        metadata.risk,
        metadata.evidence.detail()
    ));
}

/// What the one example is: as few arguments as the tool takes.
const EXAMPLE: &str = "minimal";

fn show_example(context: &mut Context, arguments: Option<Map<String, Value>>) {
    let Some(arguments) = arguments else {
        return context.ui.line("  none");
    };
    context.ui.line(format!("  {EXAMPLE}:"));
    if arguments.is_empty() {
        context.ui.line("    (no arguments)");
    }
    for (name, value) in arguments {
        let line = format!("    {name}: {value}");
        context.ui.line(Line::new().whole(line));
    }
}

/// The example call of a tool, where its schema allows one to be made.
fn example(schema: &Value) -> Option<Map<String, Value>> {
    match sample(schema) {
        Some(Value::Object(arguments)) => Some(arguments),
        _ => None,
    }
}

fn details_json(details: &Details, examples: bool) -> Value {
    let (tool, metadata) = (&details.entry.tool, &details.entry.metadata);
    let mut shown = json!({
        "server": tool.id.server(),
        "tool": tool.id.tool(),
        "title": tool.title,
        "description": tool.description,
        "enabled": tool.enabled,
        "tags": tool.tags,
        "domains": tool.domains,
        "categories": tool.categories,
        "risk": metadata.risk.as_str(),
        "inputSchema": *tool.input_schema,
        "outputSchema": tool.output_schema.as_deref(),
        "annotations": tool.annotations,
        "status": details.standing.health,
    });
    if examples {
        let example = example(&tool.input_schema);
        let told = example.map(|made| json!({ "description": EXAMPLE, "parameters": made }));
        shown["examples"] = told.into_iter().collect();
    }
    shown
}
