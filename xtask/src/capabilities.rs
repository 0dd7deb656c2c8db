//! Every real tool as a capability file, in both dialects: what is written reads back equal, and a
//! grammar that shares no code with the writer accepts it.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use toolcrib_core::catalog::Inference;
use toolcrib_core::rtfs::{Capability, Dialect, from_arguments_schema, from_schema};

use crate::{ui, workspace};

/// `cargo xtask eval capabilities`
pub(crate) fn run(args: &[String]) -> Result<()> {
    if let Some(unknown) = args.first() {
        bail!("the capability files take no arguments, but `{unknown}` was given");
    }
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: capability files are not written here");
        return Ok(());
    };
    let (mut tools, mut wrong) = (0, Vec::new());
    for capability in real(&shared.join("data/mcp-tools"))? {
        tools += 1;
        for dialect in [Dialect::Document, Dialect::Ccos] {
            let text = capability.to_text(dialect);
            if Capability::parse(&text, dialect).as_ref() != Ok(&capability) {
                wrong.push(format!(
                    "{} does not read back equal ({dialect:?})",
                    capability.id
                ));
            }
            if let Err(at) = accepts(&text, dialect) {
                wrong.push(format!(
                    "{} is not of the grammar: {at} ({dialect:?})",
                    capability.id
                ));
            }
        }
    }
    ui::line(&format!(
        "{tools} tools written in 2 dialects, {} wrong",
        wrong.len()
    ));
    match wrong.first() {
        Some(first) => bail!("{first}, and {} more", wrong.len() - 1),
        None if tools == 0 => bail!("no tool was found"),
        None => Ok(()),
    }
}

fn real(folder: &Path) -> Result<Vec<Capability>> {
    let known = Inference::default();
    let mut files: Vec<_> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "json"));
    files.sort();
    let mut capabilities = Vec::new();
    for path in files {
        let list: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let server = list["server"].as_str().context("a list without `server`")?;
        for tool in list["tools"].as_array().into_iter().flatten() {
            let text = |field: &str| tool[field].as_str().unwrap_or_default().to_owned();
            let name = text("name");
            capabilities.push(Capability {
                id: format!("mcp.{server}.{name}"),
                version: "1.0.0".to_owned(),
                description: text("description"),
                input: from_arguments_schema(&tool["inputSchema"]),
                output: tool.get("outputSchema").map(from_schema),
                server_url: format!("stdio:{server}"),
                domains: known.domains(server, &name),
                categories: known.categories(server, &name),
                tool_name: name,
            });
        }
    }
    Ok(capabilities)
}

/// An independent reading of the grammar: one pass over the bytes with a stack of open brackets, and the
/// words of a type checked by hand. It says where the text leaves the grammar.
fn accepts(text: &str, dialect: Dialect) -> Result<(), String> {
    let head = match dialect {
        Dialect::Document => ["(capability :", "(capability \""],
        Dialect::Ccos => ["(capability \"", "(capability \""],
    };
    if !head.iter().any(|head| text.starts_with(head)) || !text.ends_with(")\n") {
        return Err("it is no capability".to_owned());
    }
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let wrong = |why: &str| {
            Err(format!(
                "{why} at {:?}",
                rest.chars().take(30).collect::<String>()
            ))
        };
        let taken = match c {
            ' ' | '\n' => 1,
            '(' | '[' | '{' => {
                open.push(c);
                1
            }
            ')' | ']' | '}' => {
                let fits = matches!(
                    (open.pop(), c),
                    (Some('('), ')') | (Some('['), ']') | (Some('{'), '}')
                );
                if !fits {
                    return wrong("a bracket that closes another");
                }
                1
            }
            '"' => match string_length(rest) {
                Some(length) => length,
                None => return wrong("a text without an end"),
            },
            ':' => match word_length(&rest[1..]) {
                0 => return wrong("a colon without a word"),
                length => length + 1,
            },
            't' if dialect == Dialect::Document && rest.starts_with("true}") => 4,
            '?' if dialect == Dialect::Ccos && rest.starts_with("?]") => 1,
            'c' if rest.starts_with("capability ") && open == ['('] => "capability".len(),
            _ => return wrong("a character out of place"),
        };
        rest = &rest[taken..];
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err("brackets are left open".to_owned())
    }
}

fn string_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' if b"ntr\\\"".contains(bytes.get(at + 1)?) => at += 2,
            b'\n' | b'\\' => return None,
            _ => at += 1,
        }
    }
}

fn word_length(text: &str) -> usize {
    let first = |b: u8| b.is_ascii_alphabetic() || b"_$*+".contains(&b);
    let more = |b: u8| first(b) || b.is_ascii_digit() || b"-./:?!#".contains(&b);
    match text.bytes().next() {
        Some(b) if first(b) => text.bytes().take_while(|b| more(*b)).count(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_refuses_what_leaves_it() {
        let good = "(capability \"a\" :x [:map [:k :int ?]])\n";
        assert_eq!(accepts(good, Dialect::Ccos), Ok(()));
        for bad in [
            "(capability \"a\" :x [:map)\n",
            "(capability \"a\" :x \"b)\n",
            "(capability \"a\" : [])\n",
            "(capability \"a\" evil)\n",
            "(other \"a\")\n",
            "(capability \"a\" [)\n",
            "(capability \"a\" :x {:optional true})\n",
        ] {
            assert!(accepts(bad, Dialect::Ccos).is_err(), "{bad}");
        }
    }
}
