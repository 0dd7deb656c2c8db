//! Documents that are generated, committed, and checked for being stale.

use anyhow::{Context, Result, bail};
use toolcrib_config::{reference, schema};
use toolcrib_core::rest;

use crate::args::Args;
use crate::requirements::Table;
use crate::{bench, cases, rivals, ui, workspace};

/// A committed file and the function that gives its content.
struct Document {
    path: &'static str,
    generate: fn() -> Result<String>,
}

/// Every generated document. A new one is a line here.
const DOCUMENTS: &[Document] = &[
    Document {
        path: "README.md",
        generate: rivals::with_table,
    },
    Document {
        path: "docs/requirements.md",
        generate: || Ok(Table::load()?.to_markdown()),
    },
    Document {
        path: bench::MARKDOWN,
        generate: bench::markdown,
    },
    Document {
        path: "docs/cases.md",
        generate: || Ok(cases::markdown()),
    },
    Document {
        path: schema::COMMITTED_PATH,
        generate: || Ok(schema::text()),
    },
    Document {
        path: rest::COMMITTED_PATH,
        generate: || Ok(rest::text()),
    },
    Document {
        path: reference::COMMITTED_PATH,
        generate: || Ok(reference::markdown()),
    },
];

/// `cargo xtask docs`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let check = args.flag("--check");
    args.finish()?;
    let root = workspace::root();
    let mut stale = Vec::new();
    for document in DOCUMENTS {
        let fresh =
            (document.generate)().with_context(|| format!("cannot generate {}", document.path))?;
        let path = root.join(document.path);
        // A checkout with CRLF line ends is not stale.
        let there = std::fs::read_to_string(&path)
            .unwrap_or_default()
            .replace("\r\n", "\n");
        if there == fresh {
            continue;
        }
        if check {
            stale.push(document.path);
        } else {
            if let Some(dir) = path.parent() {
                std::fs::create_dir_all(dir)?;
            }
            std::fs::write(&path, fresh)
                .with_context(|| format!("cannot write {}", document.path))?;
            ui::line(&format!("wrote {}", document.path));
        }
    }
    if !stale.is_empty() {
        bail!(
            "stale: {}; run `cargo xtask docs` and commit the result",
            stale.join(", ")
        );
    }
    ui::line(&format!(
        "{} generated documents are up to date",
        DOCUMENTS.len()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_can_be_generated_and_stands_there_once() {
        for document in DOCUMENTS {
            assert!(
                !(document.generate)().unwrap().is_empty(),
                "{}",
                document.path
            );
            assert_eq!(
                DOCUMENTS
                    .iter()
                    .filter(|other| other.path == document.path)
                    .count(),
                1
            );
        }
    }
}
