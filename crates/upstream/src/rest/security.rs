//! How an API wants its callers to authenticate, as its description says.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use super::library::{Library, Spot};
use super::operation;

/// One scheme of an API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum Scheme {
    /// `Authorization: Bearer …`, or another word in front of the token.
    Bearer,
    /// `Authorization: Basic …`.
    Basic,
    /// A key by its name in a header, in the query or in a cookie.
    ApiKey {
        /// The name.
        name: String,
        /// Where it stands.
        #[serde(rename = "in")]
        spot: operation::Spot,
    },
    /// A token from an authorization server.
    #[serde(rename = "oauth2")]
    OAuth2 {
        /// Where tokens are had, where the description says so.
        #[serde(skip_serializing_if = "Option::is_none")]
        token_url: Option<String>,
        /// Whether a client can have one without a person.
        client_credentials: bool,
    },
    /// One that is not spoken here, such as client certificates.
    Other,
}

impl Scheme {
    /// The word for it that callers see as `auth_type`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Scheme::Bearer => "bearer",
            Scheme::Basic => "basic",
            Scheme::ApiKey { .. } => "apikey",
            Scheme::OAuth2 { .. } => "oauth2",
            Scheme::Other => "other",
        }
    }
}

/// A scheme that an operation needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The name of the scheme.
    pub scheme: String,
    /// The provider's scopes that it must carry.
    pub scopes: Vec<String>,
}

/// Schemes that are needed together; without any, none is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alternative {
    /// All of these.
    pub all: Vec<Need>,
}

/// The schemes of an OpenAPI description.
pub(super) fn schemes(library: &Library, root: Spot<'_>) -> IndexMap<String, Scheme> {
    let components = root.get("components");
    let listed = components.iter().flat_map(|c| c.entries("securitySchemes"));
    let listed = listed.chain(root.entries("securityDefinitions"));
    listed
        .map(|(name, scheme)| {
            let read = library.settle(scheme).ok().and_then(scheme_of);
            (name.to_owned(), read.unwrap_or(Scheme::Other))
        })
        .collect()
}

fn scheme_of(scheme: Spot<'_>) -> Option<Scheme> {
    Some(match scheme.text("type")?.to_ascii_lowercase().as_str() {
        "basic" => Scheme::Basic,
        "http" => match scheme.text("scheme")?.to_ascii_lowercase().as_str() {
            "basic" => Scheme::Basic,
            "bearer" => Scheme::Bearer,
            _ => Scheme::Other,
        },
        "apikey" => Scheme::ApiKey {
            name: scheme.text("name")?.to_owned(),
            spot: match scheme.text("in")? {
                "query" => operation::Spot::Query,
                "cookie" => operation::Spot::Cookie,
                _ => operation::Spot::Header,
            },
        },
        "oauth2" => {
            let flows: Vec<(&str, Spot<'_>)> = scheme.entries("flows").collect();
            let client = flows.iter().find(|(name, _)| *name == "clientCredentials");
            let any = client.or_else(|| flows.iter().find(|(_, f)| f.text("tokenUrl").is_some()));
            let token_url = any.and_then(|(_, flow)| flow.text("tokenUrl"));
            let token_url = token_url.or_else(|| scheme.text("tokenUrl"));
            Scheme::OAuth2 {
                token_url: token_url.map(str::to_owned),
                client_credentials: client.is_some() || scheme.text("flow") == Some("application"),
            }
        }
        // What comes from discovery is a bearer token in the end.
        "openidconnect" => Scheme::Bearer,
        _ => Scheme::Other,
    })
}

/// The alternatives that a `security` list gives; `None` where there is no such list.
pub(super) fn alternatives(part: Spot<'_>) -> Option<Vec<Alternative>> {
    part.value.get("security")?.as_array()?;
    let alternatives = part.list("security").map(|alternative| {
        let fields = alternative.value.as_object();
        let all = fields.into_iter().flatten().map(|(scheme, scopes)| Need {
            scheme: scheme.clone(),
            scopes: texts(scopes),
        });
        Alternative { all: all.collect() }
    });
    Some(alternatives.collect())
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::library::Place;
    use super::*;

    #[test]
    fn every_kind_of_scheme_is_known() {
        let mut library = Library::default();
        let root = json!({"components": {"securitySchemes": {
            "b": {"type": "http", "scheme": "Bearer"},
            "p": {"type": "http", "scheme": "basic"},
            "d": {"type": "http", "scheme": "digest"},
            "k": {"type": "apiKey", "name": "X-Key", "in": "header"},
            "q": {"type": "apiKey", "name": "key", "in": "query"},
            "o": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://x/t"}}},
            "r": {"$ref": "#/components/securitySchemes/b"},
            "m": {"type": "mutualTLS"},
            "i": {"type": "openIdConnect"},
            "broken": {},
        }}, "securityDefinitions": {
            "old": {"type": "oauth2", "flow": "application", "tokenUrl": "https://y/t"},
            "basic": {"type": "basic"},
        }});
        library.add(Place::File("/x".into()), root);
        let schemes = schemes(&library, library.root());
        let words: Vec<&str> = schemes.values().map(Scheme::as_str).collect();
        let expected =
            "bearer basic other apikey apikey oauth2 bearer other bearer other oauth2 basic";
        assert_eq!(words.join(" "), expected);
        assert_eq!(
            schemes["o"],
            Scheme::OAuth2 {
                token_url: Some("https://x/t".into()),
                client_credentials: true
            }
        );
        assert_eq!(
            schemes["old"],
            Scheme::OAuth2 {
                token_url: Some("https://y/t".into()),
                client_credentials: true
            }
        );
    }

    #[test]
    fn alternatives_keep_and_and_or() {
        let value = json!({"security": [{"a": ["x"], "b": []}, {}]});
        let spot = Spot {
            document: 0,
            value: &value,
        };
        let read = alternatives(spot).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].all.len(), 2);
        assert_eq!(read[0].all[0].scopes, ["x"]);
        assert!(read[1].all.is_empty());
        let none = json!({});
        assert!(
            alternatives(Spot {
                document: 0,
                value: &none
            })
            .is_none()
        );
    }
}
