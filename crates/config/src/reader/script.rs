//! TypeScript and JavaScript, read statically and never run.
//!
//! What is read: the literals of the default export or of `module.exports`, bare or inside one call
//! such as `config({…})`; constants and spreads of the same file; text joined with `+` or in template
//! strings; `process.env.NAME`, which becomes the placeholder `${NAME}`. Whatever else the value
//! depends on would need running, and is an error that says so.

mod eval;
mod module;
mod refusal;
mod scan;
mod value;

use std::sync::Arc;
use std::thread;

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;
use toolcrib_core::limits::{CONFIG_SCRIPT_BYTES_MAX, CONFIG_SCRIPT_STACK_BYTES};

use crate::diagnostic::Diagnostic;
use crate::node::Node;
use crate::text::{Source, Span};

/// Reads the configuration that a script exports.
pub(super) fn read(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    if source.text().len() > CONFIG_SCRIPT_BYTES_MAX {
        let limit = CONFIG_SCRIPT_BYTES_MAX / (1024 * 1024);
        let message = format!("the script is larger than {limit} MiB");
        return Err(vec![
            Diagnostic::error(message)
                .about(source)
                .help("keep a configuration of this size in YAML, TOML or JSON"),
        ]);
    }
    scan::check(source).map_err(|diagnostic| vec![*diagnostic])?;
    // The parser and the reader of its tree recurse; the scan bounds how deep, and this thread has
    // the stack for that whatever the caller's has left.
    thread::scope(|scope| {
        let reading = thread::Builder::new()
            .name("toolcrib-script".to_owned())
            .stack_size(CONFIG_SCRIPT_STACK_BYTES)
            .spawn_scoped(scope, || parse(source));
        match reading.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            _ => Err(vec![
                Diagnostic::error("the script could not be read")
                    .about(source)
                    .help("write the configuration in YAML, TOML or JSON"),
            ]),
        }
    })
}

fn parse(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    let allocator = Allocator::default();
    // TypeScript is read whatever the name says: what a configuration needs of JavaScript is the
    // same in both.
    let parsed = Parser::new(&allocator, source.text(), SourceType::ts())
        .with_options(ParseOptions {
            preserve_parens: false,
            ..ParseOptions::default()
        })
        .parse();
    // What follows a syntax error is most often only its consequence.
    if let Some(error) = parsed.diagnostics.errors().next() {
        let span = error.labels.first().map(oxc_span::LabeledSpan::span);
        let span = span.unwrap_or_default();
        return Err(vec![refusal::syntax(source, &error.message, span)]);
    }
    if parsed.panicked {
        return Err(vec![refusal::syntax(source, "", oxc_span::Span::default())]);
    }
    let module = module::Module::of(source, &parsed.program)?;
    eval::Evaluator::new(source, &module.names).root(module.root)
}

/// The place of a piece of the parser's tree.
fn place(source: &Source, span: oxc_span::Span) -> Span {
    let end = source.boundary(span.end as usize);
    Span::new(source.boundary(span.start as usize).min(end), end)
}
