//! What OpenAPI 2.0 has in a way of its own: addresses, lists, bodies and forms.

use serde_json::{Map, Value, json};

use super::super::flat::{Flat, Taken, TakenBody};
use super::super::library::Spot;
use super::super::operation::{self, Body, Field, Media, Shape, Style, Writing};
use super::super::schema::Way;
use super::super::server::Address;
use super::{Reader, body, example, remark};

/// The addresses, the safer scheme first.
pub(super) fn servers(root: Spot<'_>) -> Vec<Address> {
    let path = root.text("basePath").unwrap_or("/");
    let Some(host) = root.text("host") else {
        return vec![Address::fixed(path)];
    };
    let mut schemes: Vec<&str> = root
        .list("schemes")
        .filter_map(|scheme| scheme.value.as_str())
        .filter(|scheme| matches!(*scheme, "http" | "https"))
        .collect();
    schemes.sort_unstable_by_key(|scheme| *scheme != "https");
    if schemes.is_empty() {
        schemes.push("https");
    }
    let address = |scheme: &str| Address::fixed(format!("{scheme}://{host}{path}"));
    schemes.into_iter().map(address).collect()
}

/// How a parameter is written.
pub(super) fn writing(parameter: Spot<'_>, spot: operation::Spot) -> Writing {
    use operation::Spot::{Body, Cookie, Query};
    let named = matches!(spot, Query | Cookie | Body);
    let style = match parameter.text("collectionFormat") {
        Some("ssv") => Style::SpaceDelimited,
        Some("pipes") => Style::PipeDelimited,
        Some("tsv") => Style::TabDelimited,
        _ if named => Style::Form,
        _ => Style::Simple,
    };
    Writing {
        style,
        explode: parameter.text("collectionFormat") == Some("multi"),
        allow_reserved: false,
    }
}

impl<'a> Reader<'a> {
    /// Adds the body or the form of a 2.0 operation.
    pub(super) fn old_body(
        &mut self,
        operation: Spot<'a>,
        parameters: &[Spot<'a>],
        flat: &mut Flat,
    ) {
        let consumes = |part: Spot<'a>| -> Vec<&'a str> {
            let list = part.list("consumes");
            list.filter_map(|media| media.value.as_str()).collect()
        };
        let mut media = consumes(operation);
        if media.is_empty() {
            media = consumes(self.library.root());
        }
        if let Some(parameter) = parameters.iter().find(|p| p.text("in") == Some("body")) {
            self.whole_body(*parameter, &media, flat);
        }
        let form: Vec<Spot<'a>> = parameters
            .iter()
            .filter(|p| p.text("in") == Some("formData"))
            .copied()
            .collect();
        if !form.is_empty() {
            self.form(&form, &media, flat);
        }
    }

    fn whole_body(&mut self, parameter: Spot<'a>, media: &[&str], flat: &mut Flat) {
        let mut media: Vec<&str> = media.to_vec();
        media.sort_by_key(|name| body::media(name) as u8);
        let name = media.first().copied().unwrap_or("application/json");
        let place = parameter.get("schema");
        let schema = place.map_or(Value::Object(Map::new()), |place| {
            self.schemas.translate(place, Way::Request, &mut self.warn)
        });
        let example = place.and_then(|place| example(self.library, place));
        let taken = TakenBody {
            content_type: name.to_owned(),
            media: body::media(name),
            required: parameter.value.get("required").and_then(Value::as_bool),
            schema,
            description: parameter.text("description").map(str::to_owned),
            example,
            writings: Map::new(),
            content_types: Map::new(),
        };
        flat.add_body(taken, &self.schemas);
    }

    fn form(&mut self, form: &[Spot<'a>], media: &[&str], flat: &mut Flat) {
        let is_file = |p: &Spot<'a>| p.text("type") == Some("file");
        let only_multipart = !media.is_empty()
            && media
                .iter()
                .all(|name| body::media(name) == Media::Multipart);
        let multipart = form.iter().any(is_file) || only_multipart;
        let mut fields = indexmap::IndexMap::new();
        for parameter in form {
            let Some(name) = parameter.text("name") else {
                self.warn
                    .add("a field of its form has no name and is left out");
                continue;
            };
            let mut schema = self
                .schemas
                .translate(*parameter, Way::Request, &mut self.warn);
            if is_file(parameter) {
                schema = json!({"type": "string", "contentEncoding": "base64"});
                let field = Field {
                    content_type: None,
                    binary: true,
                };
                fields.insert(name.to_owned(), field);
            }
            remark(&mut schema, *parameter);
            flat.add(Taken {
                name: name.to_owned(),
                spot: operation::Spot::Body,
                required: parameter.says("required"),
                schema,
                writing: writing(*parameter, operation::Spot::Body),
                example: example(self.library, *parameter),
            });
        }
        let (content_type, media) = if multipart {
            ("multipart/form-data", Media::Multipart)
        } else {
            ("application/x-www-form-urlencoded", Media::Form)
        };
        flat.body = Some(Body {
            content_type: content_type.to_owned(),
            media,
            shape: Shape::Fields,
            required: false,
            open: false,
            fields,
        });
    }
}
