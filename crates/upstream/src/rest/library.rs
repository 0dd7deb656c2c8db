//! The files of an API description, and the way from a reference to what it names.

use std::collections::HashMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use toolcrib_core::limits::{ADAPTER_NODES_MAX, ADAPTER_REFERENCES_MAX};
use url::Url;

use super::yaml;

/// Where a file of a description is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A file, by its absolute path.
    File(PathBuf),
    /// An address, without its fragment.
    Address(Url),
}

impl Place {
    /// The place that a reference in a file at this place leads to.
    pub(super) fn join(&self, reference: &str) -> Option<Place> {
        let (reference, _) = reference.split_once('#').unwrap_or((reference, ""));
        if reference.starts_with("http://") || reference.starts_with("https://") {
            return Url::parse(reference).ok().map(Place::Address);
        }
        match self {
            Place::Address(url) => url.join(reference).ok().map(|mut url| {
                url.set_fragment(None);
                Place::Address(url)
            }),
            Place::File(path) => {
                let decoded = percent_encoding::percent_decode_str(reference);
                let decoded = decoded.decode_utf8().ok()?;
                let relative = decoded.strip_prefix("file://").unwrap_or(&decoded);
                let folder = path.parent().unwrap_or(Path::new("/"));
                Some(Place::File(plain(&folder.join(relative))))
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => write!(f, "{}", path.display()),
            Place::Address(url) => write!(f, "{url}"),
        }
    }
}

/// The path with `.` and `..` taken out, as text; links are not looked at.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Reads JSON or YAML, whichever the text is.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with(['{', '[']) {
        return yaml::read(text);
    }
    let separators = |byte: &u8| matches!(byte, b',' | b'{' | b'[');
    if text.bytes().filter(|byte| separators(byte)).count() > ADAPTER_NODES_MAX {
        return Err(format!("it holds more than {ADAPTER_NODES_MAX} values"));
    }
    // JSON with comments or trailing commas is YAML as often as not.
    serde_json::from_str(text)
        .or_else(|error| yaml::read(text).map_err(|_| format!("it is not JSON: {error}")))
}

/// One file.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) place: Place,
    pub(super) root: Value,
}

/// All files of a description; the first is the one that the user named.
#[derive(Debug, Default)]
pub(super) struct Library {
    documents: Vec<Document>,
    known: HashMap<Place, usize>,
}

/// A part of a description: in which file it stands, and the part itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    pub(super) document: usize,
    pub(super) value: &'a Value,
}

impl<'a> Spot<'a> {
    /// The part under a key, in the same file.
    pub(super) fn get(self, key: &str) -> Option<Spot<'a>> {
        self.value.get(key).map(|value| self.at(value))
    }

    /// Another part of the same file.
    pub(super) fn at(self, value: &'a Value) -> Spot<'a> {
        Spot {
            document: self.document,
            value,
        }
    }

    /// The text under a key.
    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        self.value.get(key).and_then(Value::as_str)
    }

    /// Whether the key holds `true`.
    pub(super) fn says(self, key: &str) -> bool {
        self.value.get(key) == Some(&Value::Bool(true))
    }

    /// The elements of the list under a key.
    pub(super) fn list(self, key: &str) -> impl Iterator<Item = Spot<'a>> {
        let list = self.value.get(key).and_then(Value::as_array);
        list.into_iter().flatten().map(move |value| self.at(value))
    }

    /// The entries of the map under a key.
    pub(super) fn entries(self, key: &str) -> impl Iterator<Item = (&'a str, Spot<'a>)> {
        let map = self.value.get(key).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .map(move |(key, value)| (key.as_str(), self.at(value)))
    }
}

/// What a reference names: the file and the way to the part in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Target {
    pub(super) document: usize,
    pub(super) pointer: String,
}

impl Library {
    pub(super) fn add(&mut self, place: Place, root: Value) {
        self.known.insert(place.clone(), self.documents.len());
        self.documents.push(Document { place, root });
    }

    pub(super) fn holds(&self, place: &Place) -> bool {
        self.known.contains_key(place)
    }

    pub(super) fn document(&self, index: usize) -> &Document {
        &self.documents[index]
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// The root of the file that the user named.
    pub(super) fn root(&self) -> Spot<'_> {
        Spot {
            document: 0,
            value: &self.documents[0].root,
        }
    }

    /// What a reference names, or why that is nothing.
    pub(super) fn follow(
        &self,
        document: usize,
        reference: &str,
    ) -> Result<(Target, Spot<'_>), String> {
        let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let document = if file.is_empty() {
            document
        } else {
            let place = self.documents[document].place.join(file);
            let known = place.and_then(|place| self.known.get(&place).copied());
            known.ok_or_else(|| format!("`{}` was not read", brief(reference)))?
        };
        let root = &self.documents[document].root;
        let decoded = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy();
        let value = if decoded.is_empty() || decoded.starts_with('/') {
            root.pointer(&decoded)
        } else {
            anchored(root, &decoded)
        };
        let value = value.ok_or_else(|| format!("`{}` names nothing", brief(reference)))?;
        let target = Target {
            document,
            pointer: decoded.into_owned(),
        };
        Ok((target, Spot { document, value }))
    }

    /// The part itself where a reference stands in its place, however many lead to each other.
    pub(super) fn settle<'a>(&'a self, spot: Spot<'a>) -> Result<Spot<'a>, String> {
        let mut spot = spot;
        for _ in 0..ADAPTER_REFERENCES_MAX {
            match spot.text("$ref") {
                Some(reference) => spot = self.follow(spot.document, reference)?.1,
                None => return Ok(spot),
            }
        }
        let shown = spot.text("$ref").map(brief).unwrap_or_default();
        Err(format!("`{shown}` leads on without end"))
    }

    /// The places outside `document` that its references lead to, each once.
    pub(super) fn outward(&self, document: usize) -> Vec<Place> {
        let mut found = Vec::new();
        let from = &self.documents[document];
        references(&from.root, &mut |reference| {
            if !reference.starts_with('#')
                && let Some(place) = from.place.join(reference)
                && !found.contains(&place)
            {
                found.push(place);
            }
        });
        found
    }
}

/// Where the keys are names that an author chose, whatever words they are.
const NAMED: [&str; 20] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
    "schemas",
    "responses",
    "parameters",
    "examples",
    "requestBodies",
    "headers",
    "securitySchemes",
    "links",
    "callbacks",
    "pathItems",
    "paths",
    "content",
    "encoding",
    "mediaTypes",
    "additionalOperations",
];

/// Calls `each` with every reference; examples and values may hold the word without meaning it.
fn references(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("$ref", Value::String(reference)) => each(reference),
                    ("example" | "default" | "enum" | "const" | "value", _)
                    | ("examples", Value::Array(_)) => {}
                    (name, Value::Object(named)) if NAMED.contains(&name) => {
                        if let Some(Value::String(reference)) = named.get("$ref") {
                            each(reference);
                        }
                        named.values().for_each(|part| references(part, each));
                    }
                    _ => references(value, each),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, each)),
        _ => {}
    }
}

fn anchored<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            let anchor = fields
                .get("$anchor")
                .or_else(|| fields.get("$dynamicAnchor"));
            if anchor.and_then(Value::as_str) == Some(name) {
                return Some(value);
            }
            fields.values().find_map(|value| anchored(value, name))
        }
        Value::Array(items) => items.iter().find_map(|value| anchored(value, name)),
        _ => None,
    }
}

/// A text short enough for a message.
pub(super) fn brief(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control()).take(120).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn library() -> Library {
        let mut library = Library::default();
        let main = json!({
            "a": {"$ref": "#/b"}, "b": {"$ref": "parts/x.yaml#/y~1z"}, "loop": {"$ref": "#/loop"},
            "named": {"$anchor": "here", "k": 1}, "c": {"$ref": "#here"}, "e": {"example": {"$ref": "no.yaml"}},
            "enc": {"$ref": "#/with%20space"}, "with space": {"k": 2},
        });
        library.add(Place::File("/work/project/api.yaml".into()), main);
        let part = json!({"y/z": {"back": {"$ref": "../api.yaml#/named"}}});
        library.add(Place::File("/work/project/parts/x.yaml".into()), part);
        library
    }

    #[test]
    fn references_lead_through_files_and_anchors() {
        let library = library();
        let settled = library.settle(library.root().get("a").unwrap()).unwrap();
        assert_eq!(settled.document, 1);
        let back = library.settle(settled.get("back").unwrap()).unwrap();
        assert_eq!(back.value["k"], 1);
        for (key, expected) in [("c", 1), ("enc", 2)] {
            let spot = library.settle(library.root().get(key).unwrap()).unwrap();
            assert_eq!(spot.value["k"], expected, "{key}");
        }
    }

    #[test]
    fn broken_references_say_what_they_lead_to() {
        let library = library();
        let at = |reference: &str| library.follow(0, reference).map(|_| ()).unwrap_err();
        assert!(at("#/nothing").contains("names nothing"));
        assert!(at("other.yaml#/x").contains("was not read"));
        let endless = library.settle(library.root().get("loop").unwrap());
        assert!(endless.unwrap_err().contains("without end"));
    }

    #[test]
    fn examples_are_no_references() {
        let expected = [Place::File("/work/project/parts/x.yaml".into())];
        assert_eq!(library().outward(0), expected);
    }

    #[test]
    fn names_that_are_keywords_elsewhere_are_followed() {
        let mut library = Library::default();
        let one = |name: &str| json!({"$ref": format!("{name}.yaml")});
        let main = json!({
            "properties": {"example": one("a"), "value": one("b"), "enum": {"properties": {"default": one("c")}}},
            "responses": {"default": one("d")}, "examples": {"const": one("e")},
            "schema": {"examples": [one("no")], "default": one("no"), "enum": [one("no")]},
        });
        library.add(Place::File("/work/project/api.yaml".into()), main);
        let mut found: Vec<String> = library.outward(0).iter().map(ToString::to_string).collect();
        found.sort();
        let expected = ["a", "b", "c", "d", "e"].map(|name| format!("/work/project/{name}.yaml"));
        assert_eq!(found, expected);
    }

    #[test]
    fn addresses_and_paths_are_joined() {
        let file = Place::File("/work/project/api.yaml".into());
        let web = Place::Address(Url::parse("https://api.example.com/v1/openapi.json").unwrap());
        let table = [
            (&file, "x.yaml#/a", "/work/project/x.yaml"),
            (&file, "./b%20c/../x.yaml", "/work/project/x.yaml"),
            (&file, "../../../etc/x", "/etc/x"),
            (&file, "https://example.com/x", "https://example.com/x"),
            (&web, "x.json#/a", "https://api.example.com/v1/x.json"),
            (&web, "//169.254.169.254/x", "https://169.254.169.254/x"),
            (&web, "file:///etc/passwd", "file:///etc/passwd"),
        ];
        for (from, reference, expected) in table {
            let joined = from.join(reference).map(|place| place.to_string());
            assert_eq!(joined.as_deref(), Some(expected), "{reference}");
        }
    }

    #[test]
    fn json_with_comments_is_read_too() {
        assert_eq!(read("{\"a\": 1}").unwrap(), json!({"a": 1}));
        assert_eq!(read("{\"a\": 1,}").unwrap(), json!({"a": 1}));
        assert!(read("{\"a\": ").unwrap_err().contains("not JSON"));
    }
}
