//! One operation of an API: what a caller gives, where each value goes, and what is known about it.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value};
use toolcrib_core::{Tool, schema};

use super::parts::Parts;
use super::security::Alternative;
use super::server::Address;

/// Where a value stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Spot {
    /// In the path.
    Path,
    /// After the `?`.
    Query,
    /// In a header.
    Header,
    /// In a cookie.
    Cookie,
    /// In the body.
    Body,
}

impl Spot {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Spot::Path => "path",
            Spot::Query => "query",
            Spot::Header => "header",
            Spot::Cookie => "cookie",
            Spot::Body => "body",
        }
    }
}

/// How lists and objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `a,b` or `a=1&a=2`.
    Form,
    /// `a,b`.
    Simple,
    /// `.a.b`.
    Label,
    /// `;x=a,b`.
    Matrix,
    /// `a b`.
    SpaceDelimited,
    /// `a|b`.
    PipeDelimited,
    /// Values parted by tabs, which only OpenAPI 2.0 has.
    TabDelimited,
    /// `x[a]=1`.
    DeepObject,
    /// `a=1; a=2`, in a cookie and with nothing escaped.
    Cookie,
    /// As JSON.
    Json,
}

/// How one value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// The style.
    pub style: Style,
    /// Whether each element stands for itself.
    pub explode: bool,
    /// Whether reserved characters stay as they are.
    pub allow_reserved: bool,
}

/// One argument of a tool and where it goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The name of the argument, unique in the tool.
    pub argument: String,
    /// The name that the API has for it.
    pub name: String,
    /// Where it goes.
    pub spot: Spot,
    /// Whether a call needs it.
    pub required: bool,
    /// How it is written; of no meaning in a JSON body.
    pub writing: Writing,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// JSON.
    Json,
    /// `a=1&b=2`.
    Form,
    /// Parts with headers of their own.
    Multipart,
    /// Text as it is.
    Text,
    /// Bytes, given in base64.
    Binary,
}

/// What the arguments make up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An object of the arguments that go into the body.
    Fields,
    /// The one argument that is the body.
    Whole,
}

/// How a field of a form or of a multipart body is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Field {
    /// Its media type, where the description gives one.
    pub content_type: Option<String>,
    /// Whether its value is bytes, given in base64.
    pub binary: bool,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// The media type that is sent.
    pub content_type: String,
    /// How it is written.
    pub media: Media,
    /// What the arguments make up.
    pub shape: Shape,
    /// Whether a request without any of its arguments has a body all the same.
    pub required: bool,
    /// Whether arguments that are not named go into it too.
    pub open: bool,
    /// What is known about its fields.
    pub fields: IndexMap<String, Field>,
}

/// A failure that the API documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DocumentedError {
    /// `404`, `4XX` or `default`.
    pub status: String,
    /// What it means, in the words of the description.
    pub meaning: String,
}

/// An operation of an API as a tool.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The tool: id, title, description, input schema, method, path, tags, `x-` fields.
    pub tool: Tool,
    /// Its name in the description, where it has one.
    pub operation_id: Option<String>,
    /// The group that the description puts it in.
    pub category: Option<String>,
    /// Whether the provider advises against it.
    pub deprecated: bool,
    /// The arguments, in the order of the input schema.
    pub inputs: Vec<Input>,
    /// The body, where it has one.
    pub body: Option<Body>,
    /// The failures that are documented.
    pub errors: Vec<DocumentedError>,
    /// The provider's own page about it.
    pub documentation: Option<String>,
    /// The ways to authenticate, any of which will do; none where it needs none.
    pub security: Vec<Alternative>,
    /// Its own addresses, where they are not those of the API.
    pub servers: Vec<Address>,
    /// The media types that it answers with, best first.
    pub accepts: Vec<String>,
    pub(super) given: Map<String, Value>,
    pub(super) output: Option<Value>,
    pub(super) parts: Arc<Parts>,
}

impl Operation {
    /// The method in capitals.
    pub fn method(&self) -> &str {
        self.tool.method.as_deref().unwrap_or("GET")
    }

    /// The path template.
    pub fn path(&self) -> &str {
        self.tool.path.as_deref().unwrap_or("/")
    }

    /// The arguments that a call needs.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.inputs.iter().filter(|input| input.required);
        required.map(|input| input.argument.as_str())
    }

    /// The arguments that a call may do without.
    pub fn optional(&self) -> impl Iterator<Item = &str> {
        let optional = self.inputs.iter().filter(|input| !input.required);
        optional.map(|input| input.argument.as_str())
    }

    /// The scopes of the provider's that the operation names, each once.
    pub fn scopes(&self) -> Vec<&str> {
        let mut scopes: Vec<&str> = Vec::new();
        for need in self.security.iter().flat_map(|any| &any.all) {
            for scope in &need.scopes {
                if !scopes.contains(&scope.as_str()) {
                    scopes.push(scope);
                }
            }
        }
        scopes
    }

    /// The schema of a successful answer. It is put together when it is asked for: answers are most
    /// of the bytes of a description, and most are never asked for.
    pub fn output_schema(&self) -> Option<Value> {
        self.output.as_ref().map(|root| self.parts.whole(root))
    }

    /// The values that the description gives as examples, by argument.
    pub fn given(&self) -> &Map<String, Value> {
        &self.given
    }

    /// The tool as an MCP server would define it.
    pub fn definition(&self) -> Value {
        let mut definition = Map::new();
        definition.insert("name".to_owned(), self.tool.id.tool().into());
        if let Some(title) = &self.tool.title {
            definition.insert("title".to_owned(), title.as_str().into());
        }
        definition.insert(
            "description".to_owned(),
            self.tool.description.as_str().into(),
        );
        definition.insert("inputSchema".to_owned(), (*self.tool.input_schema).clone());
        Value::Object(definition)
    }

    /// Arguments for a call that fit the input schema: those of the description where they do, the
    /// required rest made from the schema. `None` where nothing that fits is found.
    pub fn example(&self) -> Option<Value> {
        let mut schema = (*self.tool.input_schema).clone();
        if let Value::Object(fields) = &mut schema {
            // What a description shows of a file is the file, not its base64.
            let is_bytes = |argument: &str| {
                let part = fields.get("properties").and_then(|all| all.get(argument));
                part.is_some_and(|part| part["contentEncoding"] == "base64")
            };
            let given = self.given.iter().filter(|(name, _)| !is_bytes(name));
            let given: Map<String, Value> = given
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            let whole = Value::Array(vec![Value::Object(given.clone())]);
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                for (argument, value) in &given {
                    if let Some(Value::Object(part)) = properties.get_mut(argument) {
                        part.insert("examples".to_owned(), Value::Array(vec![value.clone()]));
                    }
                }
            }
            if !given.is_empty() {
                fields.insert("examples".to_owned(), whole);
            }
        }
        schema::sample(&schema).or_else(|| schema::sample(&self.tool.input_schema))
    }
}
