//! Links of the documents lead to files and headings that are there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace;

/// The documents: those of the root, and the book.
fn documents() -> Vec<PathBuf> {
    let root = workspace::root();
    let mut found = Vec::new();
    for folder in [root.clone(), root.join("docs"), root.join("docs/adr")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// A text without what stands in fences.
fn prose(text: &str) -> String {
    let parts = text.split("\n```").step_by(2);
    parts.collect::<Vec<_>>().join("\n")
}

/// Where the links of a text lead, without addresses of the web.
fn links(text: &str) -> Vec<String> {
    let after = text.split("](").skip(1);
    let targets =
        after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned()));
    targets.filter(|target| !target.contains("://")).collect()
}

/// The names under which the headings of a text can be linked to.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

fn leads_somewhere(from: &Path, link: &str) -> bool {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let path = match file {
        "" => from.to_owned(),
        file => from.parent().unwrap().join(file),
    };
    if heading.is_empty() || path.extension().is_none_or(|end| end != "md") {
        return path.exists();
    }
    let Ok(text) = fs::read_to_string(&path) else {
        return false;
    };
    anchors(&prose(&text))
        .iter()
        .any(|anchor| anchor == heading)
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let mut count = 0;
    for document in documents() {
        let text = prose(&fs::read_to_string(&document).unwrap());
        for link in links(&text) {
            let place = workspace::relative(&document);
            assert!(leads_somewhere(&document, &link), "{place}: {link}");
            count += 1;
        }
    }
    assert!(count > 50, "{count} links");
    let readme = workspace::root().join("README.md");
    assert!(!leads_somewhere(&readme, "docs/nowhere.md"));
    assert!(!leads_somewhere(&readme, "docs/configuration.md#nowhere"));
    assert!(leads_somewhere(&readme, "docs/configuration.md#import"));
}
