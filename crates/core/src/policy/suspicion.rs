//! Signs of deceit in what a server says about its tools.
//!
//! A description is read by a model, so it can carry orders to it; a name can be made to look like
//! another. Flags are shown to the person who approves a tool. They refuse nothing by themselves:
//! the same words can be meant well.

mod characters;
mod names;
mod orders;

use serde::Serialize;
use serde_json::Value;

pub use self::characters::written_out;
pub use self::names::Neighbours;
use crate::catalog::Tool;
use crate::limits::{SUSPICION_FLAGS_MAX, SUSPICION_TEXT_BYTES_MAX, SUSPICION_TEXTS_MAX};

/// What kind of sign it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Words that give orders to the model rather than describe the tool.
    Instructions,
    /// Characters that are not seen.
    Invisible,
    /// Characters that change the direction in which text is shown.
    Bidi,
    /// A name that is made to look like another, or mixes alphabets.
    LookAlike,
    /// A name that another server's tool has too.
    Shadow,
    /// A description that speaks about another server's tool.
    Mention,
}

/// One sign, where it is, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flag {
    /// What kind of sign.
    pub kind: Kind,
    /// Where: `name`, `title`, `description`, a JSON Pointer into the schema of the arguments, or one
    /// that begins with `outputSchema` or `annotations`.
    pub place: String,
    /// In words, with characters that are not seen written out.
    pub detail: String,
}

/// All signs in a tool's definition, given the other tools of the catalog.
pub fn inspect(tool: &Tool, neighbours: &Neighbours) -> Vec<Flag> {
    let mut flags = Vec::new();
    let name = tool.id.tool();
    flags.extend(characters::in_name(name));
    flags.extend(names::of_tool(&tool.id, neighbours));
    let mut texts = vec![("description".to_owned(), tool.description.as_str())];
    texts.extend(
        tool.title
            .as_deref()
            .map(|title| ("title".to_owned(), title)),
    );
    // Each has a bound of its own, so that a long one does not hide what stands in the next.
    let output = tool.output_schema.as_deref().unwrap_or(&Value::Null);
    for (value, place) in [
        (&*tool.input_schema, ""),
        (output, "outputSchema"),
        (&tool.annotations, "annotations"),
    ] {
        let mut inside = Vec::new();
        collect(value, place, &mut inside);
        texts.extend(inside);
    }
    for (place, text) in texts {
        let text = cut(text);
        let mut found: Vec<(Kind, String)> = characters::in_text(text).collect();
        let orders = orders::in_text(text).into_iter();
        found.extend(orders.map(|detail| (Kind::Instructions, detail)));
        if place.ends_with("description") {
            let mentions = names::mentioned(text, &tool.id, neighbours);
            found.extend(mentions.map(|detail| (Kind::Mention, detail)));
        }
        flags.extend(found.into_iter().map(|(kind, detail)| Flag {
            kind,
            place: place.clone(),
            detail,
        }));
        if flags.len() >= SUSPICION_FLAGS_MAX {
            break;
        }
    }
    flags.truncate(SUSPICION_FLAGS_MAX);
    flags
}

/// The signs in a server's name, given the names of the others.
pub fn inspect_server(name: &str, neighbours: &Neighbours) -> Vec<Flag> {
    let mut flags: Vec<Flag> = characters::in_name(name).collect();
    flags.extend(names::of_server(name, neighbours));
    flags
}

/// Every text of a schema that a model reads, property names included.
fn collect<'a>(value: &'a Value, pointer: &str, texts: &mut Vec<(String, &'a str)>) {
    if texts.len() >= SUSPICION_TEXTS_MAX {
        return;
    }
    match value {
        Value::String(text) => texts.push((pointer.to_owned(), text)),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, &format!("{pointer}/{at}"), texts);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                let shown = key.escape_debug().to_string();
                let step = shown.replace('~', "~0").replace('/', "~1");
                let inner = format!("{pointer}/{step}");
                texts.push((inner.clone(), key));
                collect(field, &inner, texts);
            }
        }
        _ => {}
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(SUSPICION_TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests;
