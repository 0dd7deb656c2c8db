//! One function per file of cases: what the product does with a row, against what the row says.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use toolcrib_config::{Severity, file};
use toolcrib_core::pattern;
use toolcrib_core::pattern::rules::{DecidedBy, Rule, RuleSet, Strategy};
use toolcrib_core::policy::risk;

use super::Judgement;

/// What the row says Toolcrib does.
fn wanted(row: &Value) -> &Value {
    row.get("recommended").unwrap_or(&row["expected"])
}

fn compare(wanted: &Value, given: &Value) -> Judgement {
    if wanted == given {
        Judgement::Right
    } else {
        Judgement::Wrong(format!("{wanted} is right, {given} was given"))
    }
}

/// `{name, patterns}`: whether the name matches; an invalid pattern is an error.
pub(super) fn glob(row: &Value) -> Result<Judgement> {
    #[derive(Deserialize)]
    struct Input {
        name: String,
        patterns: Vec<String>,
    }
    let input = Input::deserialize(&row["input"])?;
    let wanted = wanted(row);
    Ok(
        match (
            pattern::matches(&input.name, &input.patterns),
            wanted.get("error"),
        ) {
            (Err(_), Some(_)) => Judgement::Right,
            (Err(error), None) => Judgement::Wrong(format!("{wanted} is right, but: {error}")),
            (Ok(given), _) => compare(wanted, &given.into()),
        },
    )
}

/// `{tools, rules}`: which tools are enabled, and their tags.
pub(super) fn rules(row: &Value) -> Result<Judgement> {
    #[derive(Deserialize)]
    struct Input {
        tools: Vec<Tool>,
        rules: Vec<Rule>,
    }
    #[derive(Deserialize)]
    struct Tool {
        server: String,
        name: String,
        #[serde(default)]
        tags: Vec<String>,
    }
    if row["area"] == "modelRules" {
        return one_name(row);
    }
    let input = Input::deserialize(&row["input"])?;
    let set = compiled(input.rules)?;
    let given = input.tools.iter().map(|tool| {
        let verdict = set.verdict(&tool.server, &tool.name, &tool.tags);
        serde_json::json!({
            "server": tool.server,
            "name": tool.name,
            "enabled": verdict.enabled,
            "tags": verdict.tags,
        })
    });
    Ok(compare(wanted(row), &given.collect()))
}

/// `{name, rules}`: whether the rules decide on a name, and how.
fn one_name(row: &Value) -> Result<Judgement> {
    let name = row["input"]["name"]
        .as_str()
        .context("the input has no `name`")?;
    let verdict = compiled(Vec::deserialize(&row["input"]["rules"])?)?.verdict("any", name, &[]);
    let decided = !matches!(verdict.decided_by, DecidedBy::Default { .. });
    let given = if decided {
        Value::from(verdict.enabled)
    } else {
        Value::Null
    };
    Ok(compare(&wanted(row)["enabled"], &given))
}

fn compiled(rules: Vec<Rule>) -> Result<RuleSet> {
    RuleSet::compile(rules, Strategy::FirstMatch).map_err(|errors| anyhow::anyhow!("{errors:?}"))
}

/// Rows on checking a configuration: whether it is valid, and whether every fault is named. The rest of the file is about
/// parts that are not built yet.
pub(super) fn misc(row: &Value) -> Result<Judgement> {
    if row["area"] != "config-validate" {
        return Ok(Judgement::Passed);
    }
    let found = file::validate_value(row.get("input").context("the row has no input")?);
    let said: Vec<String> = found
        .iter()
        .filter(|one| one.severity == Severity::Error)
        .map(|one| one.message.clone())
        .collect();
    let wanted = wanted(row);
    if wanted["valid"] != said.is_empty() {
        return Ok(Judgement::Wrong(format!(
            "{wanted} is right, but said was: {said:?}"
        )));
    }
    let named = wanted["errors_contain"].as_str().into_iter();
    let listed = wanted["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    // The wording is ours; the field at fault is the same.
    let fields = named
        .chain(listed)
        .filter_map(|text| text.split(' ').next());
    let missing: Vec<&str> = fields
        .filter(|field| !said.iter().any(|text| text.contains(field)))
        .collect();
    Ok(match missing.first() {
        Some(field) => Judgement::Wrong(format!("`{field}` is at fault, but said was: {said:?}")),
        None => Judgement::Right,
    })
}

/// `{tool, description}`: the risk; more than one answer may do.
pub(super) fn risk(row: &Value) -> Result<Judgement> {
    let text = |field: &str| {
        row["input"][field]
            .as_str()
            .with_context(|| format!("the input has no `{field}`"))
    };
    let inputs = risk::Inputs {
        configured: None,
        server: "acme",
        name: text("tool")?,
        description: text("description")?,
        method: None,
        path: None,
        extensions: &Value::Null,
        annotations: &Value::Null,
        trusted: false,
    };
    let given = Value::from(risk::derive(&inputs).0.as_str());
    let also = row["also_acceptable"].as_array();
    if also.is_some_and(|also| also.contains(&given)) {
        return Ok(Judgement::Right);
    }
    Ok(compare(wanted(row), &given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(judgement: &Judgement) -> bool {
        matches!(judgement, Judgement::Wrong(_))
    }

    #[test]
    fn what_is_recommended_overrules_what_is_expected() {
        let row = json!({"input": {"name": "cat", "patterns": ["c*"]}, "expected": false, "recommended": true});
        assert_eq!(glob(&row).unwrap(), Judgement::Right);
    }

    #[test]
    fn an_invalid_pattern_must_be_an_error() {
        let row = |expected: Value| json!({"input": {"name": "b", "patterns": ["/a/b"]}, "expected": expected});
        assert_eq!(
            glob(&row(json!({"error": "flags"}))).unwrap(),
            Judgement::Right
        );
        assert!(wrong(&glob(&row(json!(true))).unwrap()));
        assert!(glob(&json!({"input": {}})).is_err());
    }

    #[test]
    fn rules_are_judged_tool_by_tool() {
        let row = |enabled: bool| {
            json!({
                "area": "toolRules",
                "input": {"tools": [{"server": "s", "name": "t"}], "rules": [{"pattern": ["t"], "enabled": false, "tags": ["x"]}]},
                "expected": [{"server": "s", "name": "t", "enabled": enabled, "tags": ["x"]}],
            })
        };
        assert_eq!(rules(&row(false)).unwrap(), Judgement::Right);
        assert!(wrong(&rules(&row(true)).unwrap()));
        let name = json!({"area": "modelRules", "input": {"name": "x", "rules": [{"pattern": ["y"], "enabled": false}]}, "expected": {"enabled": null}});
        assert_eq!(rules(&name).unwrap(), Judgement::Right);
    }

    #[test]
    fn a_fault_must_be_named_by_its_field() {
        let row = |field: &str| json!({"area": "config-validate", "input": {"enabled": "yes"}, "expected": {"valid": false, "errors": [field]}});
        assert_eq!(
            misc(&row("enabled must be a boolean")).unwrap(),
            Judgement::Right
        );
        assert!(wrong(&misc(&row("toolRules must be an array")).unwrap()));
        assert_eq!(
            misc(&json!({"area": "rest-list"})).unwrap(),
            Judgement::Passed
        );
    }

    #[test]
    fn another_answer_does_where_the_row_says_so() {
        let row = |recommended: &str, also: Value| json!({"input": {"tool": "list-customers", "description": ""}, "recommended": recommended, "also_acceptable": also});
        assert_eq!(risk(&row("low", json!([]))).unwrap(), Judgement::Right);
        assert_eq!(
            risk(&row("high", json!(["low"]))).unwrap(),
            Judgement::Right
        );
        assert!(wrong(&risk(&row("high", json!(["medium"]))).unwrap()));
    }
}
