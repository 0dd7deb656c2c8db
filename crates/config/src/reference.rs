//! The reference of the configuration as a Markdown page, generated from the schema.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

use crate::schema;

/// Where the committed copy stands, relative to the workspace.
pub const COMMITTED_PATH: &str = "docs/configuration-reference.md";

/// The page: one section for each object, in the order in which they are first mentioned.
pub fn markdown() -> String {
    let root = schema::value();
    let mut page = Page {
        root,
        text: String::new(),
        queue: Vec::new(),
        seen: BTreeSet::new(),
    };
    page.text.push_str(
        "# Configuration reference\n\n\
         Generated from the types in `crates/config/src/model` by `cargo xtask docs`; the same as JSON Schema is\n\
         [`toolcrib.schema.json`](toolcrib.schema.json). The page [Configuration](configuration.md) explains how files are found.\n\n",
    );
    page.section("Top level", root);
    while !page.queue.is_empty() {
        let name = page.queue.remove(0);
        let definition = &root["$defs"][&name];
        page.section(&title(&name), definition);
    }
    page.text
}

struct Page<'a> {
    root: &'a Json,
    text: String,
    queue: Vec<String>,
    seen: BTreeSet<String>,
}

impl Page<'_> {
    fn section(&mut self, heading: &str, definition: &Json) {
        let _ = writeln!(self.text, "## {heading}\n");
        if let Some(description) = definition["description"].as_str() {
            let _ = writeln!(self.text, "{description}\n");
        }
        if let Some(properties) = definition["properties"].as_object() {
            self.table(properties, definition);
        } else if definition["anyOf"].is_array() {
            let kind = self.kind(definition);
            let _ = writeln!(self.text, "Written as {kind}.\n");
        } else {
            self.words(definition);
        }
    }

    fn table(&mut self, properties: &Map<String, Json>, definition: &Json) {
        let required: Vec<&str> = definition["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        self.text
            .push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
        for (key, property) in properties {
            let kind = self.kind(property);
            let default = if required.contains(&key.as_str()) {
                "required".to_owned()
            } else {
                default_of(property)
            };
            let meaning = self.meaning(property);
            let _ = writeln!(self.text, "| `{key}` | {kind} | {default} | {meaning} |");
        }
        self.text.push('\n');
    }

    /// The words of an enumeration, each with its meaning.
    fn words(&mut self, definition: &Json) {
        for branch in definition["oneOf"].as_array().into_iter().flatten() {
            if let Some(word) = branch["const"].as_str() {
                let meaning = branch["description"].as_str().unwrap_or_default();
                let _ = writeln!(self.text, "- `{word}`: {}", one_line(meaning));
            }
        }
        for word in definition["enum"].as_array().into_iter().flatten() {
            let _ = writeln!(self.text, "- `{}`", word.as_str().unwrap_or_default());
        }
        self.text.push('\n');
    }

    fn meaning(&self, property: &Json) -> String {
        let text = property["description"].as_str().or_else(|| {
            let name = property["$ref"].as_str()?.rsplit('/').next()?;
            self.root["$defs"][name]["description"].as_str()
        });
        one_line(text.unwrap_or_default())
    }

    /// The kind of value in words, with links to the sections of objects.
    fn kind(&mut self, property: &Json) -> String {
        if let Some(reference) = property["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default().to_owned();
            return self.link(&name);
        }
        let union = property["anyOf"]
            .as_array()
            .or(property["oneOf"].as_array());
        if let Some(branches) = union {
            let kinds: Vec<String> = branches
                .iter()
                .filter(|b| b["type"] != "null")
                .map(|b| self.kind(b))
                .collect();
            return kinds.join(" or ");
        }
        let word = match &property["type"] {
            Json::String(word) => word.as_str(),
            Json::Array(words) => words
                .iter()
                .filter_map(Json::as_str)
                .find(|w| *w != "null")
                .unwrap_or_default(),
            _ => "",
        };
        match word {
            "array" => format!("list of {}", self.kind(&property["items"])),
            "object" if property["additionalProperties"].is_object() => {
                format!("map to {}", self.kind(&property["additionalProperties"]))
            }
            "object" => "object".to_owned(),
            "integer" | "number" => number(word, property),
            "string" => match property["format"].as_str() {
                Some("template") => "text, `${VAR}` expanded".to_owned(),
                Some("secret-template") => "secret, `${VAR}` expanded".to_owned(),
                Some("tool-pattern") => "pattern".to_owned(),
                _ => "text".to_owned(),
            },
            "boolean" => "true or false".to_owned(),
            _ => "any".to_owned(),
        }
    }

    fn link(&mut self, name: &str) -> String {
        if self.seen.insert(name.to_owned()) {
            self.queue.push(name.to_owned());
        }
        let title = title(name);
        let anchor = title.to_lowercase().replace(' ', "-");
        format!("[{title}](#{anchor})")
    }
}

fn number(word: &str, property: &Json) -> String {
    let noun = if word == "integer" {
        "whole number"
    } else {
        "number"
    };
    match (property["minimum"].as_f64(), property["maximum"].as_f64()) {
        (Some(low), Some(high)) => format!("{noun}, {low} to {high}"),
        (Some(low), None) if low > 0.0 => format!("{noun}, at least {low}"),
        (None, Some(high)) => format!("{noun}, at most {high}"),
        _ => noun.to_owned(),
    }
}

fn default_of(property: &Json) -> String {
    match &property["default"] {
        Json::Null => String::new(),
        Json::Object(map) if map.is_empty() => String::new(),
        Json::Array(list) if list.is_empty() => String::new(),
        Json::Object(_) => "see there".to_owned(),
        value => format!("`{value}`").replace('"', ""),
    }
}

/// `ServerEntry` as a heading: `Server entry`.
fn title(name: &str) -> String {
    let mut out = String::new();
    for (index, c) in name.chars().enumerate() {
        if index > 0 && c.is_uppercase() {
            out.push(' ');
            out.extend(c.to_lowercase());
        } else {
            out.push(c);
        }
    }
    out
}

fn one_line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_of_the_schema_has_its_section() {
        let page = markdown();
        let definitions = schema::value()["$defs"].as_object().unwrap();
        for name in definitions.keys() {
            assert!(page.contains(&format!("## {}\n", title(name))), "{name}");
        }
        assert!(page.contains("| `toolRules` | list of [Tool rule](#tool-rule) |"));
        assert!(page.contains("| `pattern` | list of pattern | required |"));
    }

    #[test]
    fn words_that_hold_where_nothing_is_said_are_the_defaults_of_the_page() {
        let page = markdown();
        let usual = crate::model::Settings::default();
        for (key, is) in [
            ("profile", format!("{:?}", usual.profile)),
            ("mode", format!("{:?}", usual.mode)),
            ("names", format!("{:?}", usual.names)),
            ("ruleStrategy", format!("{:?}", usual.rule_strategy)),
            ("level", format!("{:?}", usual.log.level)),
            ("format", format!("{:?}", usual.log.format)),
        ] {
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| `{key}` |")))
                .unwrap();
            let cell = row.split(" | ").nth(2).unwrap();
            let word = cell.trim_matches('`').replace('-', "");
            assert_eq!(word, is.to_lowercase(), "{row}");
        }
        assert!(page.contains("[Policy mode](#policy-mode)"));
    }
}
