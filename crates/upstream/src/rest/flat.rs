//! One flat list of arguments from everything that an operation takes.
//!
//! Names that clash are told apart by where the values go: a path parameter keeps its name, the
//! field of the body that is called the same becomes `body_NAME`.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use toolcrib_core::limits::ADAPTER_EXAMPLE_BYTES_MAX;

use super::operation::{Body, Field, Input, Media, Shape, Spot, Style, Writing};
use super::schema::Schemas;

/// One thing that an operation takes, before it has a name of its own.
pub(super) struct Taken {
    pub(super) name: String,
    pub(super) spot: Spot,
    pub(super) required: bool,
    pub(super) schema: Value,
    pub(super) writing: Writing,
    pub(super) example: Option<Value>,
}

/// A body, before its fields have names of their own.
pub(super) struct TakenBody {
    pub(super) content_type: String,
    pub(super) media: Media,
    pub(super) required: Option<bool>,
    pub(super) schema: Value,
    pub(super) description: Option<String>,
    pub(super) example: Option<Value>,
    /// How fields are written, where the description says so.
    pub(super) writings: Map<String, Value>,
    pub(super) content_types: Map<String, Value>,
}

/// What is said about a field of a form whose description is silent.
pub(super) const FORM: Writing = Writing {
    style: Style::Form,
    explode: true,
    allow_reserved: false,
};

/// The arguments of a tool, growing.
#[derive(Default)]
pub(super) struct Flat {
    pub(super) inputs: Vec<Input>,
    pub(super) body: Option<Body>,
    pub(super) given: Map<String, Value>,
    properties: Map<String, Value>,
    required: Vec<String>,
    constraints: Vec<Value>,
    dependent: Option<(Vec<String>, Vec<String>)>,
    additional: Option<Value>,
    taken: HashSet<String>,
}

impl Flat {
    /// Adds a parameter; a second one of the same name in the same place is left out.
    pub(super) fn add(&mut self, taken: Taken) {
        let known = |input: &Input| input.name == taken.name && input.spot == taken.spot;
        if self.inputs.iter().any(known) {
            return;
        }
        let argument = self.unique(&taken.name, taken.spot);
        if taken.required {
            self.required.push(argument.clone());
        }
        if let Some(example) = taken.example.filter(fits) {
            self.given.insert(argument.clone(), example);
        }
        self.properties.insert(argument.clone(), taken.schema);
        self.inputs.push(Input {
            argument,
            name: taken.name,
            spot: taken.spot,
            required: taken.required,
            writing: taken.writing,
        });
    }

    fn unique(&mut self, name: &str, spot: Spot) -> String {
        let mut argument = name.to_owned();
        if self.taken.contains(&argument) {
            argument = format!("{}_{name}", spot.as_str());
        }
        let base = argument.clone();
        let mut count = 1;
        while !self.taken.insert(argument.clone()) {
            count += 1;
            argument = format!("{base}_{count}");
        }
        argument
    }

    /// Adds a body: its fields where it is an object whose fields are known, else one argument.
    pub(super) fn add_body(&mut self, body: TakenBody, schemas: &Schemas<'_>) {
        let mut fields = Fields::default();
        let flat = matches!(body.media, Media::Json | Media::Form | Media::Multipart)
            && fields.gather(&body.schema, schemas, 0)
            && fields.named;
        if flat && self.would_rename(&fields) && !fields.constraints.is_empty() {
            return self.add_whole(body);
        }
        if flat {
            self.add_fields(body, fields, schemas);
        } else {
            self.add_whole(body);
        }
    }

    fn would_rename(&self, fields: &Fields) -> bool {
        fields
            .properties
            .keys()
            .any(|name| self.taken.contains(name))
    }

    fn add_fields(&mut self, body: TakenBody, fields: Fields, schemas: &Schemas<'_>) {
        if fields.properties.is_empty() && fields.additional.is_none() {
            // Nothing can be given, but a body that is needed is sent all the same.
            self.body = (body.required == Some(true)).then(|| Body {
                content_type: body.content_type,
                media: body.media,
                shape: Shape::Fields,
                required: true,
                open: false,
                fields: indexmap::IndexMap::new(),
            });
            return;
        }
        // Authors say `required: false` when they mean it, and often nothing when they do not.
        let optional = body.required == Some(false);
        let mut known = indexmap::IndexMap::new();
        let mut names = Vec::new();
        let mut needed = Vec::new();
        let examples = body.example.as_ref().and_then(Value::as_object);
        for (name, mut schema) in fields.properties {
            let required = fields.required.contains(&name);
            let content_type = body.content_types.get(&name).and_then(Value::as_str);
            let binary = body.media == Media::Multipart && is_binary(&schema, schemas, 0);
            if binary {
                schema = as_base64(schema, schemas);
            }
            if binary || content_type.is_some() {
                let content_type = content_type.map(str::to_owned);
                known.insert(
                    name.clone(),
                    Field {
                        content_type,
                        binary,
                    },
                );
            }
            if required && body.media == Media::Form {
                never_empty(&mut schema);
            }
            let writing = body.writings.get(&name).map_or(FORM, read_writing);
            let example = examples.and_then(|map| map.get(&name)).cloned();
            self.add(Taken {
                name,
                spot: Spot::Body,
                required: required && !optional,
                schema,
                writing,
                example,
            });
            let argument = self.inputs.last().map(|input| input.argument.clone());
            if let Some(argument) = argument {
                if required {
                    needed.push(argument.clone());
                }
                names.push(argument);
            }
        }
        if optional && !needed.is_empty() {
            self.dependent = Some((names, needed));
        }
        self.constraints.extend(fields.constraints);
        let open = fields.additional.is_some();
        self.additional = fields.additional;
        self.body = Some(Body {
            content_type: body.content_type,
            media: body.media,
            shape: Shape::Fields,
            required: body.required == Some(true),
            open,
            fields: known,
        });
    }

    fn add_whole(&mut self, body: TakenBody) {
        let mut schema = match body.media {
            Media::Text => json!({"type": "string"}),
            Media::Binary => json!({"type": "string", "contentEncoding": "base64"}),
            _ => body.schema,
        };
        if let (Value::Object(fields), Some(text)) = (&mut schema, body.description) {
            fields.entry("description").or_insert(text.into());
        }
        let required = body.required != Some(false);
        let example = body.example.filter(|example| {
            !matches!(body.media, Media::Text | Media::Binary) || example.is_string()
        });
        self.add(Taken {
            name: "body".to_owned(),
            spot: Spot::Body,
            required,
            schema,
            writing: FORM,
            example,
        });
        self.body = Some(Body {
            content_type: body.content_type,
            media: body.media,
            shape: Shape::Whole,
            required,
            open: false,
            fields: indexmap::IndexMap::new(),
        });
    }

    /// Lets calls do without some arguments.
    pub(super) fn relax(&mut self, which: impl Fn(&Input) -> bool) {
        for input in self.inputs.iter_mut().filter(|input| which(input)) {
            input.required = false;
            self.required.retain(|name| *name != input.argument);
        }
    }

    /// The schema of all arguments.
    pub(super) fn schema(&mut self) -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        let properties = std::mem::take(&mut self.properties);
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), json!(self.required));
        }
        if let Some((names, needed)) = self.dependent.take() {
            let each = names.into_iter().map(|name| (name, json!(needed)));
            let each: Map<String, Value> = each.collect();
            schema.insert("dependentRequired".to_owned(), Value::Object(each));
        }
        if !self.constraints.is_empty() {
            schema.insert("allOf".to_owned(), json!(self.constraints));
        }
        if let Some(additional) = self.additional.take() {
            schema.insert("additionalProperties".to_owned(), additional);
        }
        Value::Object(schema)
    }
}

fn fits(example: &Value) -> bool {
    let size = serde_json::to_string(example).map_or(usize::MAX, |text| text.len());
    size <= ADAPTER_EXAMPLE_BYTES_MAX
}

/// `{style, explode, allowReserved}` of an encoding.
pub(super) fn read_writing(encoding: &Value) -> Writing {
    let style = match encoding.get("style").and_then(Value::as_str) {
        Some("deepObject") => Style::DeepObject,
        Some("spaceDelimited") => Style::SpaceDelimited,
        Some("pipeDelimited") => Style::PipeDelimited,
        _ => Style::Form,
    };
    let explode = encoding.get("explode").and_then(Value::as_bool);
    Writing {
        style,
        explode: explode.unwrap_or(style == Style::Form),
        allow_reserved: encoding.get("allowReserved") == Some(&Value::Bool(true)),
    }
}

/// An object without fields leaves nothing in a form, so that one which is needed needs a field.
fn never_empty(schema: &mut Value) {
    let Value::Object(keywords) = schema else {
        return;
    };
    let is_object = keywords.get("type") == Some(&"object".into());
    let named = keywords.get("properties").and_then(Value::as_object);
    if is_object && named.is_some_and(|named| !named.is_empty()) {
        keywords.entry("minProperties").or_insert(1.into());
    }
}

/// Whether a body has a field that is a file.
pub(super) fn has_file(schema: &Value, schemas: &Schemas<'_>) -> bool {
    let mut fields = Fields::default();
    let files = |fields: &Fields| fields.properties.values().any(|f| is_binary(f, schemas, 0));
    fields.gather(schema, schemas, 0) && files(&fields)
}

/// Whether a part of a multipart body is a file, or a list of files.
fn is_binary(schema: &Value, schemas: &Schemas<'_>, depth: usize) -> bool {
    if depth >= NESTING_MAX {
        return false;
    }
    let inner = |part: &Value| is_binary(part, schemas, depth + 1);
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    // Without an encoding, what is not text is bytes.
    let bytes = |media: &str| !media.starts_with("text/") && !media.ends_with("json");
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let either = |parts: &Vec<Value>| {
        let mut parts = parts
            .iter()
            .filter(|part| part["type"] != "null")
            .peekable();
        parts.peek().is_some() && parts.all(inner)
    };
    text("format") == Some("binary")
        || text("contentEncoding").is_none() && text("contentMediaType").is_some_and(bytes)
        || schema.get("items").is_some_and(inner)
        || text("$ref")
            .and_then(|to| schemas.shared(to))
            .is_some_and(inner)
        || ["anyOf", "oneOf"]
            .iter()
            .filter_map(|key| list(key))
            .any(either)
        || list("allOf").is_some_and(|parts| parts.iter().any(inner))
}

/// The schema of a file as an argument: its bytes in base64.
fn as_base64(schema: Value, schemas: &Schemas<'_>) -> Value {
    let Value::Object(mut fields) = schema else {
        return schema;
    };
    let to = fields.get("$ref").and_then(Value::as_str);
    if let Some(Value::Object(named)) = to.and_then(|to| schemas.shared(to)) {
        let mut whole = named.clone();
        fields.shift_remove("$ref");
        whole.extend(fields);
        return as_base64(Value::Object(whole), schemas);
    }
    if let Some(items) = fields.get_mut("items") {
        *items = as_base64(std::mem::take(items), schemas);
        return Value::Object(fields);
    }
    let lists = ["anyOf", "oneOf", "allOf"];
    if let Some(Value::Array(parts)) = lists.iter().find_map(|key| fields.get(*key)).cloned() {
        // Whichever it is, it is given in the same way, and whatever it may be besides.
        let files = parts.iter().filter(|part| is_binary(part, schemas, 0));
        let files: Vec<Value> = files.map(|part| as_base64(part.clone(), schemas)).collect();
        for key in lists {
            fields.shift_remove(key);
        }
        let mut whole = match files.as_slice() {
            [Value::Object(only)] => only.clone(),
            _ => Map::from_iter([("anyOf".to_owned(), Value::Array(files))]),
        };
        whole.extend(fields);
        return Value::Object(whole);
    }
    fields.shift_remove("format");
    fields.insert("contentEncoding".to_owned(), "base64".into());
    Value::Object(fields)
}

/// The fields of an object that is put together from several schemas.
#[derive(Default)]
struct Fields {
    properties: Map<String, Value>,
    required: HashSet<String>,
    additional: Option<Value>,
    constraints: Vec<Value>,
    /// Whether some part names its properties.
    named: bool,
}

/// How deep references and `allOf` may nest in a body that is laid flat.
const NESTING_MAX: usize = 12;

impl Fields {
    /// Takes the fields of a schema in; `false` where it is not a plain object.
    fn gather(&mut self, schema: &Value, schemas: &Schemas<'_>, depth: usize) -> bool {
        let Some(fields) = schema.as_object().filter(|_| depth < NESTING_MAX) else {
            return false;
        };
        let is_object = match fields.get("type") {
            Some(Value::String(name)) => name == "object",
            Some(Value::Array(names)) => names.contains(&"object".into()),
            _ => true,
        };
        if !is_object || fields.contains_key("patternProperties") || fields.contains_key("const") {
            return false;
        }
        for (keyword, value) in fields {
            let taken = match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => schemas
                    .shared(reference)
                    .is_some_and(|part| self.gather(part, schemas, depth + 1)),
                ("allOf", Value::Array(parts)) => parts
                    .iter()
                    .all(|part| self.gather(part, schemas, depth + 1)),
                ("anyOf" | "oneOf", Value::Array(parts)) if parts.iter().all(only_requires) => {
                    self.constraints.push(json!({keyword: value}));
                    true
                }
                ("anyOf" | "oneOf" | "not" | "if" | "dependentSchemas" | "enum", _) => false,
                ("properties", Value::Object(properties)) => {
                    self.named = true;
                    for (name, part) in properties {
                        self.property(name, part);
                    }
                    true
                }
                ("required", Value::Array(names)) => {
                    let names = names.iter().filter_map(Value::as_str);
                    self.required.extend(names.map(str::to_owned));
                    true
                }
                ("additionalProperties", value) if value != &Value::Bool(false) => {
                    self.additional = Some(value.clone());
                    true
                }
                _ => true,
            };
            if !taken {
                return false;
            }
        }
        true
    }

    fn property(&mut self, name: &str, part: &Value) {
        match self.properties.get_mut(name) {
            Some(known) if known != part => {
                let both = json!([std::mem::take(known), part]);
                *known = json!({"allOf": both});
            }
            Some(_) => {}
            None => {
                self.properties.insert(name.to_owned(), part.clone());
            }
        }
    }
}

fn only_requires(schema: &Value) -> bool {
    schema.as_object().is_some_and(|fields| {
        fields.contains_key("required")
            && fields
                .keys()
                .all(|k| matches!(k.as_str(), "required" | "title" | "description"))
    })
}
