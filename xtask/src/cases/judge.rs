//! One function per file of cases: what the product does with a row, against what the row says.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_config::file::{ConfigFile, Shape};
use toolcrib_config::reader::Format;
use toolcrib_config::{Severity, Source, file};
use toolcrib_core::catalog::Inference;
use toolcrib_core::pattern;
use toolcrib_core::pattern::rules::{DecidedBy, Rule, RuleSet, Strategy};
use toolcrib_core::policy::risk;
use toolcrib_core::rtfs::grammar::type_of_text;
use toolcrib_core::rtfs::{self, Dialect};

use super::{Judgement, elsewhere};

/// What the row says Toolcrib does.
pub(super) fn wanted(row: &Value) -> &Value {
    row.get("recommended").unwrap_or(&row["expected"])
}

pub(super) fn compare(wanted: &Value, given: &Value) -> Judgement {
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

/// What the fields of the expectation are once `value` is loaded.
fn loaded(row: &Value, value: &Value) -> Judgement {
    let Some(file) = parsed(value, Shape::Whole) else {
        return Judgement::Wrong("it does not load".into());
    };
    let settings = &file.settings;
    let cache = settings.cache.clone().unwrap_or_default();
    let given = json!({
        "enabled": settings.enabled.0,
        "cache": { "enabled": cache.enabled, "ttl": cache.ttl },
        "sources": vec![Value::Null; settings.sources.len()],
        "serverRules": vec![Value::Null; settings.server_rules.len()],
        "toolRules": vec![Value::Null; settings.tool_rules.len()],
    });
    let fields = wanted(row).as_object().into_iter().flatten();
    for (field, value) in fields {
        if given[field] != *value {
            return Judgement::Wrong(format!("{field} is {}, not {value}", given[field]));
        }
    }
    Judgement::Right
}

/// Servers that an `mcp` section lists: each becomes a server of its name.
fn mcp_array(row: &Value) -> Judgement {
    let Some(file) = parsed(&json!({ "mcp": row["input"] }), Shape::Section) else {
        return Judgement::Wrong("it does not load".into());
    };
    let given: Vec<&str> = file.servers.iter().map(|s| s.name.as_str()).collect();
    let names = wanted(row).as_object().into_iter().flatten();
    let right: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
    compare(&json!(right), &json!(given))
}

fn parsed(value: &Value, shape: Shape) -> Option<ConfigFile> {
    let source = Source::new("case.json", value.to_string());
    file::parse(&source, Format::Jsonc, shape).filter(|file| !file.is_broken())
}

/// Rows on checking a configuration: whether it is valid, and whether every fault is named. The rest of the file needs a
/// running engine or a door.
pub(super) fn misc(row: &Value) -> Result<Judgement> {
    match row["area"].as_str() {
        Some("config-validate") => {}
        Some("config-default") => return Ok(loaded(row, &json!({}))),
        Some("config-merge") => return Ok(loaded(row, &row["input"])),
        Some("config-mcp-array") => return Ok(mcp_array(row)),
        _ => return Ok(elsewhere::judge(row)),
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
    let fields = named.chain(listed);
    let missing: Vec<&str> = fields
        .filter(|field| !said.iter().any(|text| text.contains(field)))
        .collect();
    Ok(match missing.first() {
        Some(field) => {
            Judgement::Wrong(format!("`{field}` was to be said, but said was: {said:?}"))
        }
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
        scopes: &[],
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

/// `{server, tool}`, `{server}` or `{tool}`: what they are about.
pub(super) fn domain(row: &Value) -> Result<Judgement> {
    let known = Inference::default();
    let (server, tool) = names(row)?;
    let given = match row["area"].as_str() {
        Some("primary_domain") => known.primary_domain(server).into(),
        Some("sub_domain") => known.sub_domain(tool).into(),
        _ => json!(known.domains(server, tool)),
    };
    Ok(compare(wanted(row), &given))
}

/// `{tool}`: what kind of act it is.
pub(super) fn category(row: &Value) -> Result<Judgement> {
    let (server, tool) = names(row)?;
    let given = Inference::default().categories(server, tool);
    Ok(compare(wanted(row), &json!(given)))
}

fn names(row: &Value) -> Result<(&str, &str)> {
    let input = row["input"].as_object().context("a row without `input`")?;
    let name = |field: &str| input.get(field).and_then(Value::as_str).unwrap_or_default();
    Ok((name("server"), name("tool")))
}

/// A schema: the type that is written for it. Rows whose answer is a sentence, or none, bind nobody.
pub(super) fn schema_to_type(row: &Value) -> Result<Judgement> {
    let schema = row.get("input").context("a row without `input`")?;
    let given = rtfs::text::of_type(&rtfs::from_schema(schema), Dialect::Document);
    let told = row["seed004_expected"].as_str();
    let binding = told.filter(|text| text.starts_with([':', '[']) && !text.contains("per seed"));
    Ok(match binding {
        Some(wanted) => compare(&wanted.into(), &given.into()),
        None => Judgement::Passed,
    })
}

/// A value: the type that is inferred from it.
pub(super) fn value_to_type(row: &Value) -> Result<Judgement> {
    let input = row.get("input").context("a row without `input`")?;
    let given = rtfs::text::of_type(&rtfs::from_value(input), Dialect::Document);
    Ok(compare(wanted(row), &given.into()))
}

/// A text: whether the CCOS reader takes it.
pub(super) fn rtfs_text(row: &Value) -> Result<Judgement> {
    let text = row["input"].as_str().context("a row without a text")?;
    let (wanted, given) = match row.get("accepted_by_real_type_grammar") {
        Some(wanted) => (wanted, type_of_text(text, Dialect::Ccos).is_ok()),
        None => (
            &row["accepted_by_real_parser"],
            rtfs::capability::check(text, Dialect::Ccos).is_ok(),
        ),
    };
    Ok(compare(wanted, &given.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let default =
            json!({"area": "config-default", "expected": {"enabled": true, "sources": []}});
        assert_eq!(misc(&default).unwrap(), Judgement::Right);
        let list = json!({"area": "config-mcp-array", "input": [{"name": "a", "command": "x"}], "expected": {"b": {}}});
        assert!(wrong(&misc(&list).unwrap()));
        assert_eq!(
            misc(&json!({"id": "onasis-6", "area": "rest-list"})).unwrap(),
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
