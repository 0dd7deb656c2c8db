//! The registry of operations: what the catalog holds, written down for others to read.
//!
//! The catalog is the truth. The file is written only when asked for and is never read back as tools;
//! it is held against the catalog, and what does not fit is named.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::policy::Risk;

/// The version of the file's shape.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// Most differences that are told at once.
const TOLD_MAX: usize = 20;

/// Every operation of a catalog.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Registry {
    /// [`SCHEMA_VERSION`].
    pub schema_version: &'static str,
    /// When the catalog was looked at.
    pub last_verified_at: String,
    /// How many operations there are.
    pub operation_count: usize,
    /// The operations by their ids.
    pub operations: BTreeMap<String, Operation>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a documented field of the file"
)]
pub struct Operation {
    /// Its adapter.
    pub adapter: String,
    /// Its name.
    pub tool: String,
    /// What it does.
    pub description: String,
    /// What it is about.
    pub tags: Vec<String>,
    /// The method of its request, where it is one of HTTP.
    pub method: Option<String>,
    /// The path of its request, likewise.
    pub path: Option<String>,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// What a call needs.
    pub required_params: Vec<String>,
    /// What a call may be given.
    pub optional_params: Vec<String>,
    /// What running it can do.
    pub risk_level: Risk,
    /// Whether repeating a call has no further effect.
    pub idempotent: bool,
    /// Whether what it does can be undone.
    pub reversible: bool,
    /// Whether it has to be confirmed.
    pub requires_confirmation: bool,
    /// Whether it needs a key.
    pub idempotency_required: bool,
    /// The scopes that a caller needs.
    pub required_scopes: Vec<String>,
    /// The bucket that its calls are taken from.
    pub rate_limit_bucket: String,
    /// Arguments that fit.
    pub example_request: Value,
    /// The failures that it documents.
    pub common_errors: Vec<String>,
}

impl Registry {
    /// A registry of these operations as they were at a time.
    pub fn new(at: String, operations: BTreeMap<String, Operation>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            last_verified_at: at,
            operation_count: operations.len(),
            operations,
        }
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The fields that an operation of a file must have.
const FIELDS: [&str; 7] = [
    "adapter",
    "tool",
    "description",
    "input_schema",
    "required_params",
    "optional_params",
    "tags",
];

/// The fields that tell what running it takes.
const RISK_FIELDS: [&str; 4] = [
    "risk_level",
    "idempotent",
    "reversible",
    "requires_confirmation",
];

/// Something in a file that does not fit the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drift {
    /// It is no registry at all.
    Unreadable(String),
    /// It has another shape.
    Version(String),
    /// An operation that the catalog does not have.
    Unknown(String),
    /// An operation that the file does not have.
    Absent(String),
    /// An operation lacks a field.
    Field(String, &'static str),
    /// An operation says nothing usable about its risk.
    Risk(String),
    /// An operation is not rated as the catalog rates it.
    Rated {
        /// The operation.
        id: String,
        /// What the file says.
        said: Risk,
        /// What the catalog says.
        live: Risk,
    },
    /// The count is not that of the catalog.
    Count {
        /// What the file says.
        said: u64,
        /// What there is.
        live: usize,
    },
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "it cannot be read: {why}"),
            Self::Version(said) => write!(f, "its schema_version is {said}, not {SCHEMA_VERSION}"),
            Self::Unknown(id) => write!(f, "{id} is not in the catalog"),
            Self::Absent(id) => write!(f, "{id} is in the catalog and not in the file"),
            Self::Field(id, field) => write!(f, "{id} has no {field}"),
            Self::Risk(id) => write!(f, "{id} says nothing usable about its risk"),
            Self::Rated { id, said, live } => {
                write!(f, "{id} is {said} in the file and {live} in the catalog")
            }
            Self::Count { said, live } => {
                write!(
                    f,
                    "operation_count is {said}, and there are {live} operations"
                )
            }
        }
    }
}

/// What of a file's text does not fit the catalog, at most some twenty findings; nothing where all does.
pub fn check(text: &str, live: &Registry) -> Vec<Drift> {
    let file: Value = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return vec![Drift::Unreadable(error.to_string())],
    };
    let Some(operations) = file["operations"].as_object() else {
        return vec![Drift::Unreadable("it has no operations".to_owned())];
    };
    let mut found = Vec::new();
    if file["schema_version"] != SCHEMA_VERSION {
        found.push(Drift::Version(file["schema_version"].to_string()));
    }
    let said = file["operation_count"].as_u64().unwrap_or(0);
    let count = live.operations.len();
    if usize::try_from(said) != Ok(count) || operations.len() != count {
        found.push(Drift::Count { said, live: count });
    }
    let mut ids: BTreeSet<&str> = operations.keys().map(String::as_str).collect();
    ids.extend(live.operations.keys().map(String::as_str));
    for id in ids {
        found.extend(compare(id, operations.get(id), live.operations.get(id)));
        if found.len() >= TOLD_MAX {
            found.truncate(TOLD_MAX);
            break;
        }
    }
    found
}

fn compare(id: &str, said: Option<&Value>, live: Option<&Operation>) -> Vec<Drift> {
    let (Some(said), Some(live)) = (said, live) else {
        let only = match said {
            Some(_) => Drift::Unknown(id.to_owned()),
            None => Drift::Absent(id.to_owned()),
        };
        return vec![only];
    };
    let missing = FIELDS.iter().filter(|field| said.get(**field).is_none());
    let mut found: Vec<Drift> = missing
        .map(|field| Drift::Field(id.to_owned(), field))
        .collect();
    let told = RISK_FIELDS
        .iter()
        .all(|field| said.get(*field).is_some_and(|value| !value.is_null()));
    let rated = said["risk_level"].as_str().and_then(|word| {
        let all = [Risk::Low, Risk::Medium, Risk::High, Risk::Destructive];
        all.into_iter().find(|risk| risk.to_string() == word)
    });
    match rated.filter(|_| told) {
        None => found.push(Drift::Risk(id.to_owned())),
        Some(said) if said != live.risk_level => found.push(Drift::Rated {
            id: id.to_owned(),
            said,
            live: live.risk_level,
        }),
        Some(_) => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operation(name: &str) -> Operation {
        Operation {
            adapter: "paystack".into(),
            tool: name.into(),
            description: "Charge a card".into(),
            tags: vec!["payments".into()],
            method: Some("POST".into()),
            path: Some("/charge".into()),
            input_schema: json!({"type": "object"}),
            required_params: vec!["amount".into()],
            optional_params: Vec::new(),
            risk_level: Risk::High,
            idempotent: false,
            reversible: false,
            requires_confirmation: false,
            idempotency_required: true,
            required_scopes: vec!["paystack:write".into()],
            rate_limit_bucket: "paystack_high".into(),
            example_request: json!({"amount": 1}),
            common_errors: vec!["400".into()],
        }
    }

    fn registry(names: &[&str]) -> Registry {
        let operations = names
            .iter()
            .map(|name| (format!("paystack:{name}"), operation(name)));
        Registry::new("2026-01-29T00:00:00Z".into(), operations.collect())
    }

    #[test]
    fn a_registry_has_the_documented_shape() {
        let file: Value = serde_json::from_str(&registry(&["charge"]).text()).unwrap();
        assert_eq!(file["schema_version"], "1.0.0");
        assert_eq!(file["last_verified_at"], "2026-01-29T00:00:00Z");
        assert_eq!(file["operation_count"], 1);
        let told = file["operations"]["paystack:charge"].as_object().unwrap();
        for field in [
            "adapter",
            "tool",
            "description",
            "tags",
            "method",
            "path",
            "input_schema",
            "required_params",
            "optional_params",
            "risk_level",
            "idempotent",
            "reversible",
            "requires_confirmation",
            "example_request",
            "common_errors",
        ] {
            assert!(told.contains_key(field), "{field}");
        }
    }

    #[test]
    fn what_was_just_written_fits() {
        let live = registry(&["a", "b"]);
        assert_eq!(check(&live.text(), &live), []);
    }

    #[test]
    fn every_kind_of_drift_is_named() {
        let live = registry(&["a", "b"]);
        let file: Value = serde_json::from_str(&live.text()).unwrap();
        let changed = |change: &dyn Fn(&mut Value)| {
            let mut file = file.clone();
            change(&mut file);
            let found = check(&file.to_string(), &live);
            let told: Vec<String> = found.iter().map(ToString::to_string).collect();
            told.join("; ")
        };
        let a = "/operations/paystack:a";
        for (change, expect) in [
            (
                &(|f: &mut Value| f["operation_count"] = json!(3)) as &dyn Fn(&mut Value),
                "operation_count is 3, and there are 2 operations",
            ),
            (
                &|f: &mut Value| {
                    f["operations"]["paystack:c"] = f["operations"]["paystack:a"].clone();
                },
                "operation_count is 2, and there are 2 operations; paystack:c is not in the catalog",
            ),
            (
                &|f: &mut Value| {
                    f["operations"]
                        .as_object_mut()
                        .unwrap()
                        .remove("paystack:b");
                },
                "operation_count is 2, and there are 2 operations; paystack:b is in the catalog and not in the file",
            ),
            (
                &|f: &mut Value| {
                    f.pointer_mut(a)
                        .unwrap()
                        .as_object_mut()
                        .unwrap()
                        .remove("input_schema");
                },
                "paystack:a has no input_schema",
            ),
            (
                &|f: &mut Value| f.pointer_mut(a).unwrap()["risk_level"] = Value::Null,
                "paystack:a says nothing usable about its risk",
            ),
            (
                &|f: &mut Value| f.pointer_mut(a).unwrap()["risk_level"] = json!("low"),
                "paystack:a is low in the file and high in the catalog",
            ),
            (
                &|f: &mut Value| f["schema_version"] = json!("2.0.0"),
                "its schema_version is \"2.0.0\", not 1.0.0",
            ),
        ] {
            assert_eq!(changed(change), expect);
        }
        assert!(matches!(check("{", &live)[..], [Drift::Unreadable(_)]));
        assert!(matches!(check("{}", &live)[..], [Drift::Unreadable(_)]));
        assert_eq!(check(&registry(&[]).text(), &registry(&["x"; 1])).len(), 2);
    }
}
