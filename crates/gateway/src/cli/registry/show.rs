//! `toolcrib registry show`.

use serde_json::{Value, json};
use toolcrib_upstream::registry::{Entry, Needed, Status};

use super::{verb, way};
use crate::cli::Context;
use crate::engine::discovery::offered;
use crate::ui::{Line, Table, Tone};

/// Shows an entry and the versions that there are.
pub(super) fn show(context: &mut Context, entry: &Entry, versions: &[String]) {
    let prefix = prefix(&offered::short_name(&entry.name));
    let offers = entry.offers(&prefix);
    if context.ui.is_json() {
        let ways: Vec<Value> = offers.iter().map(way).collect();
        context.ui.json(&json!({
            "name": entry.name,
            "title": entry.title,
            "description": entry.description,
            "version": entry.version,
            "versions": versions,
            "status": entry.status.word(),
            "statusMessage": entry.status_message,
            "repository": entry.repository,
            "website": entry.website,
            "ways": ways,
        }));
        return;
    }
    let head = Line::new()
        .tone(Tone::Strong, &entry.name)
        .text(format_args!(" {}", entry.version));
    context.ui.line(match entry.status {
        Status::Active => head,
        other => head.tone(Tone::Odd, format_args!(" ({})", other.word())),
    });
    for text in [Some(&entry.description), entry.status_message.as_ref()] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            context.ui.line(text.as_str());
        }
    }
    let facts = [
        ("Source", entry.repository.clone()),
        ("Website", entry.website.clone()),
        ("Versions", Some(versions.join(", "))),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            context.ui.line(format!("{name}: {value}"));
        }
    }
    for offer in &offers {
        context.ui.gap();
        match offer {
            Ok(offer) => {
                context.ui.line(
                    Line::new()
                        .mark(true)
                        .text(format_args!(" {}", offer.label)),
                );
                let line = format!("  {} {}", verb(offer), offer.reached());
                context.ui.line(Line::new().whole(line));
                if let Some(first) = &offer.preparation {
                    context.ui.line(format!("  after `{first}`"));
                }
                needs(context, &offer.needed);
            }
            Err(unusable) => {
                context.ui.line(
                    Line::new()
                        .mark(false)
                        .text(format_args!(" {}", unusable.label)),
                );
                context.ui.line(format!("  {}", unusable.reason));
            }
        }
    }
    if offers.iter().any(Result::is_ok) && entry.status != Status::Deleted {
        context.ui.gap();
        let line = format!(
            "`toolcrib registry add {}` writes it into the configuration",
            entry.name
        );
        context.ui.line(line);
    }
}

/// The table of what has to be given.
pub(super) fn needs(context: &mut Context, needed: &[Needed]) {
    if needed.is_empty() {
        return;
    }
    let mut table = Table::new(["  VARIABLE", "NEEDED", "FOR", "MEANS"]);
    for one in needed {
        let mut means = one.description.clone().unwrap_or_default();
        if !one.choices.is_empty() {
            means = format!("{means} ({})", one.choices.join(", "));
        }
        table.row([
            format!("  {}", one.variable),
            match (one.required, one.secret, &one.default) {
                (true, true, _) => "yes, a secret".to_owned(),
                (true, false, _) => "yes".to_owned(),
                (false, _, Some(default)) => format!("no ({default})"),
                (false, _, None) => "no".to_owned(),
            },
            one.used_for.clone(),
            means,
        ]);
    }
    context.ui.table(&table);
}

/// What the names of variables begin with for a server of this name.
pub(super) fn prefix(name: &str) -> String {
    let capitals = name.chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
        _ => '_',
    });
    let capitals: String = capitals.collect();
    let trimmed = capitals.trim_matches('_');
    match trimmed.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => trimmed.to_owned(),
        _ => format!("SERVER_{trimmed}").trim_end_matches('_').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_begin_with_the_servers_name() {
        let check = |name: &str, expect: &str| assert_eq!(prefix(name), expect);
        check("weather", "WEATHER");
        check("my-docs.v2", "MY_DOCS_V2");
        check("7up", "SERVER_7UP");
        check("größe", "GR__E");
        check("日本", "SERVER");
    }
}
