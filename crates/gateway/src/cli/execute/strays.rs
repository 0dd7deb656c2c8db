//! Arguments that a tool does not have, and those that were perhaps meant.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;
use toolcrib_core::nearest::nearest;
use toolcrib_core::schema::outline::Reading;
use toolcrib_core::schema::{Violation, Violations};

use super::pairs::fields;

/// An argument that was given and that the schema does not have.
pub(super) struct Stray<'a> {
    name: &'a str,
    /// What was perhaps meant, of what was not given.
    near: Option<String>,
}

/// The names of arguments; none for what is no object.
pub(super) fn names(arguments: &RawValue) -> Vec<String> {
    let read: Result<BTreeMap<String, &RawValue>, _> = serde_json::from_str(arguments.get());
    read.unwrap_or_default().into_keys().collect()
}

/// The names that a schema does not have; where it takes any name, only those that are close to one of its own.
pub(super) fn strays<'a>(given: &'a [String], schema: &Value) -> Vec<Stray<'a>> {
    let outline = Reading::new(schema).outline();
    let known: Vec<&str> = fields(&outline).map(|field| field.name).collect();
    if known.is_empty() || outline.open {
        return Vec::new();
    }
    let others = outline.keyword("additionalProperties");
    let takes_others = others.is_some_and(|others| *others != Value::Bool(false))
        || outline.keyword("patternProperties").is_some();
    let strays = given.iter().filter(|name| !known.contains(&name.as_str()));
    let strays = strays.map(|name| {
        let left = known.iter().copied();
        let left = left.filter(|known| given.iter().all(|given| given != known));
        let near = nearest(name, left, 1)
            .first()
            .map(|near| (*near).to_owned());
        Stray { name, near }
    });
    strays
        .filter(|stray| stray.near.is_some() || !takes_others)
        .collect()
}

impl Stray<'_> {
    /// What is said of it beside an answer.
    pub(super) fn noted(&self, id: &str) -> String {
        let name = self.name;
        match &self.near {
            Some(near) => format!("{id} has no argument `{name}`; did you mean `{near}`?"),
            None => format!("{id} has no argument `{name}`; what it does with it is not known."),
        }
    }

    /// What is wrong with it, as far as nothing else says so.
    fn violation(&self, listed: &[Violation]) -> Option<Violation> {
        let name = self.name;
        let quoted = format!("`{name}`");
        let is_said = listed.iter().any(|other| other.message.contains(&quoted));
        let message = match (&self.near, is_said) {
            (Some(near), false) => format!("{quoted} is not known, perhaps `{near}` is meant"),
            (Some(near), true) => format!("perhaps `{near}` is meant by {quoted}"),
            (None, false) => format!("{quoted} is not known"),
            (None, true) => return None,
        };
        Some(Violation {
            path: String::new(),
            keyword: "properties".to_owned(),
            message,
        })
    }
}

/// Adds to what is wrong with arguments that some of them are not known.
pub(super) fn add_to(violations: &mut Violations, strays: &[Stray<'_>]) {
    for stray in strays {
        if let Some(violation) = stray.violation(&violations.listed) {
            violations.listed.push(violation);
            violations.total += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::definition::raw;

    fn check(arguments: &Value, schema: &Value, expected: &[&str]) {
        let given = names(&raw(arguments));
        let mut violations = Violations::default();
        add_to(&mut violations, &strays(&given, schema));
        let said = violations.listed.iter().map(ToString::to_string);
        assert_eq!(said.collect::<Vec<_>>(), expected, "{arguments}");
        assert_eq!(violations.total, expected.len());
    }

    const MEANT: &str = "`titel` is not known, perhaps `title` is meant";

    #[test]
    fn a_name_that_is_not_there_is_said_with_the_nearest_that_is_left() {
        let schema = json!({"properties": {"title": {}, "body": {}}});
        check(&json!({"title": 1, "body": 2}), &schema, &[]);
        check(&json!({"titel": 1}), &schema, &[MEANT]);
        let both = json!({"titel": 1, "title": 2});
        check(&both, &schema, &["`titel` is not known"]);
        check(&json!({"colour": 1}), &schema, &["`colour` is not known"]);
        check(&json!([1]), &schema, &[]);
    }

    #[test]
    fn a_schema_that_takes_other_names_makes_none_of_them_wrong() {
        for others in [
            json!({"additionalProperties": true}),
            json!({"additionalProperties": {"type": "string"}}),
            json!({"patternProperties": {"^x-": {}}}),
        ] {
            let mut schema = others;
            schema["properties"] = json!({"title": {}});
            check(&json!({"colour": 1}), &schema, &[]);
            check(&json!({"titel": 1}), &schema, &[MEANT]);
        }
        check(&json!({"a": 1}), &json!({"type": "object"}), &[]);
        check(&json!({"a": 1}), &json!({}), &[]);
    }

    #[test]
    fn what_is_said_already_is_not_said_again() {
        let schema = json!({"properties": {"title": {}}});
        for (name, expected) in [("titel", "perhaps `title` is meant by `titel`"), ("x", "")] {
            let mut violations = Violations::whole("x", format!("`{name}` not allowed"));
            add_to(&mut violations, &strays(&[name.to_owned()], &schema));
            let added = violations.listed.get(1);
            let added = added.map(ToString::to_string).unwrap_or_default();
            assert_eq!(added, expected);
        }
    }
}
