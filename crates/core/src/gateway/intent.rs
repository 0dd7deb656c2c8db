//! The answer of `gateway.intent`: one action that is ready to be executed, or what to choose from.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::parameters::{self, Checks, Level, Missing};
use super::values::{self, Taken, Wish};
use super::{rounded, steps};
use crate::limits::{INTENT_EXAMPLE_BYTES_MAX, INTENT_TOKENS_MAX};
use crate::policy::Risk;
use crate::schema::outline::Reading;
use crate::{search, tokens};

/// What was asked.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What is wanted, in plain words.
    pub query: &'a str,
    /// What is known beside it.
    pub context: &'a Map<String, Value>,
    /// Whether only one adapter was searched.
    pub scoped: bool,
}

/// A tool that may be meant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Its adapter.
    pub adapter: String,
    /// Its name.
    pub tool: String,
    /// Its id.
    pub tool_id: String,
    /// How likely it is to be what was meant, 0 to 1.
    #[serde(serialize_with = "two_digits")]
    pub confidence: f32,
    /// Why it was found.
    pub why: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn two_digits<S: serde::Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(rounded(*number))
}

/// What a call has to carry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Constraints {
    /// What running it can do.
    pub risk_level: Risk,
    /// Whether this caller needs an idempotency key for it.
    pub requires_idempotency: bool,
    /// Whether it has to be confirmed.
    pub requires_confirmation: bool,
    /// How often it may be called, such as `100 req/min`.
    pub rate_limit: String,
}

/// What is needed to make an action of a tool.
#[derive(Clone, Debug)]
pub struct Action<'a> {
    /// The schema of its arguments.
    pub schema: &'a Value,
    /// Arguments that fit, where any are known.
    pub example: Option<Value>,
    /// What a call has to carry.
    pub constraints: Constraints,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found<'a> {
    /// The tool that is meant, where that is sure enough.
    pub recommended: Option<(Choice, Action<'a>)>,
    /// What else may be meant.
    pub alternatives: Vec<Choice>,
    /// How many adapters have not said yet what they can do.
    pub pending: usize,
    /// How many adapters could not be asked what they can do.
    pub failed: usize,
}

/// From everything to the least that can be executed.
const LEVELS: [Level; 6] = [
    Level {
        optional: 40,
        chars: 200,
        depth: 3,
        values: 24,
    },
    Level {
        optional: 24,
        chars: 120,
        depth: 2,
        values: 12,
    },
    Level {
        optional: 12,
        chars: 100,
        depth: 2,
        values: 8,
    },
    Level {
        optional: 6,
        chars: 80,
        depth: 1,
        values: 6,
    },
    Level {
        optional: 0,
        chars: 80,
        depth: 1,
        values: 6,
    },
    Level {
        optional: 0,
        chars: 40,
        depth: 0,
        values: 3,
    },
];

/// Most names of optional parameters that are listed.
const OPTIONAL_NAMES_MAX: usize = 40;

/// The answer, of as many tokens as it may have.
pub fn answer(asked: &Asked<'_>, found: &Found<'_>) -> Value {
    let Some((choice, action)) = &found.recommended else {
        return undecided(asked, found);
    };
    let reading = Reading::new(action.schema);
    let outline = reading.outline();
    let checks = Checks::new(action.schema);
    let taken = values::take(&Wish {
        query: asked.query,
        context: asked.context,
        tool: &choice.tool,
        arguments: &outline,
        fits: &|field, value| checks.takes(field, value),
    });
    let (required, optional) = parameters::names(&outline);
    let mut missing: Vec<Missing> = Vec::new();
    for name in &required {
        match taken.iter().find(|taken| taken.field == *name) {
            None => missing.push(parameters::question(&outline, name)),
            Some(taken) => missing.extend(doubt(taken)),
        }
    }
    let doubtful = taken
        .iter()
        .filter(|t| !required.contains(&t.field.as_str()));
    missing.extend(doubtful.filter_map(doubt));
    let written = |level: &Level| {
        let (schemas, cut) = parameters::schemas(&outline, level);
        let mut ready = json!({
            "tool_id": choice.tool_id,
            "required_params": required,
            "optional_params": &optional[..optional.len().min(OPTIONAL_NAMES_MAX)],
            "param_schemas": schemas,
        });
        if let Some(example) = action
            .example
            .as_ref()
            .filter(|e| e.to_string().len() <= INTENT_EXAMPLE_BYTES_MAX)
        {
            ready["example"] = example.clone();
        }
        if !taken.is_empty() {
            let params = taken.iter().map(|t| (t.field.clone(), t.value.clone()));
            let stood = taken
                .iter()
                .map(|t| (t.field.clone(), Value::from(t.from.as_str())));
            ready["params"] = Value::Object(params.collect());
            ready["params_from"] = Value::Object(stood.collect());
        }
        ready["constraints"] = json!(action.constraints);
        if cut || optional.len() > OPTIONAL_NAMES_MAX {
            ready["truncated"] = true.into();
        }
        json!({
            "recommended": choice,
            "ready_to_execute": ready,
            "missing_inputs": missing,
            "next_step": steps::EXECUTE,
            "alternatives": found.alternatives,
            "search_context": search_context(asked, found),
        })
    };
    let fits = |value: &Value| tokens::fits(&value.to_string(), INTENT_TOKENS_MAX);
    let all = LEVELS.iter().map(written);
    let mut last = Value::Null;
    for answer in all {
        if fits(&answer) {
            return answer;
        }
        last = answer;
    }
    last
}

fn doubt(taken: &Taken) -> Option<Missing> {
    let question = taken.doubt.clone()?;
    Some(Missing {
        field: taken.field.clone(),
        question,
    })
}

/// Nothing is sure enough: what to choose from, or that there is nothing.
fn undecided(asked: &Asked<'_>, found: &Found<'_>) -> Value {
    let any = !found.alternatives.is_empty();
    let names: Vec<&str> = found
        .alternatives
        .iter()
        .map(|c| c.tool_id.as_str())
        .collect();
    let missing = any.then(|| Missing {
        field: "tool_id".to_owned(),
        question: format!("Which tool is meant: {}?", names.join(", ")),
    });
    let next = match (any, found.pending, found.failed) {
        (true, ..) => steps::CHOOSE,
        (false, 0, 0) => steps::REPHRASE,
        (false, 0, _) => steps::UNHEARD,
        (false, ..) => steps::WAIT,
    };
    let mut answer = json!({
        "recommended": null,
        "missing_inputs": missing.into_iter().collect::<Vec<_>>(),
        "next_step": next,
        "alternatives": found.alternatives,
        "search_context": search_context(asked, found),
    });
    if any {
        answer["needs_selection"] = true.into();
    }
    answer
}

fn search_context(asked: &Asked<'_>, found: &Found<'_>) -> Value {
    let mut matched: Vec<&str> = Vec::new();
    let first = found.recommended.iter().map(|(choice, _)| choice);
    for choice in first.chain(&found.alternatives) {
        if !matched.contains(&choice.adapter.as_str()) {
            matched.push(&choice.adapter);
        }
    }
    let mut context = json!({
        "mode": if asked.scoped { "adapter-specific" } else { "global" },
        "matched_adapters": matched,
        "query_interpreted": interpreted(asked),
    });
    if found.pending > 0 {
        context["pending_servers"] = found.pending.into();
    }
    if found.failed > 0 {
        context["failed_servers"] = found.failed.into();
    }
    context
}

/// The words that were searched for and what the context adds, in the order in which they came.
fn interpreted(asked: &Asked<'_>) -> String {
    let mut said: Vec<String> = Vec::new();
    let context = asked
        .context
        .values()
        .filter_map(Value::as_str)
        .map(str::to_owned);
    for word in search::meaning_words(asked.query)
        .into_iter()
        .chain(context)
    {
        if !said.iter().any(|known| known.eq_ignore_ascii_case(&word)) {
            said.push(word);
        }
    }
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    fn choice(tool: &str, confidence: f32) -> Choice {
        Choice {
            adapter: "paystack".into(),
            tool: tool.into(),
            tool_id: format!("paystack:{tool}"),
            confidence,
            why: "\"charge\" in its name".into(),
        }
    }

    fn action(schema: &Value) -> Action<'_> {
        Action {
            schema,
            example: schema::sample(schema),
            constraints: Constraints {
                risk_level: Risk::High,
                requires_idempotency: true,
                requires_confirmation: false,
                rate_limit: "100 req/min".into(),
            },
        }
    }

    fn charge() -> Value {
        json!({"type": "object", "properties": {
            "amount": {"type": "integer", "description": "Amount in kobo"},
            "email": {"type": "string", "format": "email"},
            "currency": {"type": "string"},
        }, "required": ["amount", "email"]})
    }

    fn asked<'a>(query: &'a str, context: &'a Map<String, Value>) -> Asked<'a> {
        Asked {
            query,
            context,
            scoped: false,
        }
    }

    #[test]
    fn an_answer_holds_everything_that_execution_needs() {
        let schema = charge();
        let context = json!({"currency": "NGN", "use_case": "one-time"});
        let found = Found {
            recommended: Some((choice("charge", 0.953), action(&schema))),
            alternatives: vec![choice("refund", 0.2)],
            ..Found::default()
        };
        let told = answer(
            &asked("charge ada@example.com", context.as_object().unwrap()),
            &found,
        );
        assert_eq!(
            told["recommended"],
            json!({"adapter": "paystack", "tool": "charge", "tool_id": "paystack:charge", "confidence": 0.95, "why": "\"charge\" in its name"})
        );
        let ready = &told["ready_to_execute"];
        assert_eq!(ready["tool_id"], "paystack:charge");
        assert_eq!(ready["required_params"], json!(["amount", "email"]));
        assert_eq!(ready["optional_params"], json!(["currency"]));
        assert_eq!(
            ready["param_schemas"]["amount"],
            json!({"type": "integer", "description": "Amount in kobo"})
        );
        assert_eq!(ready["param_schemas"]["email"]["format"], "email");
        assert_eq!(
            ready["constraints"],
            json!({"risk_level": "high", "requires_idempotency": true, "requires_confirmation": false, "rate_limit": "100 req/min"})
        );
        assert_eq!(
            ready["params"],
            json!({"email": "ada@example.com", "currency": "NGN"})
        );
        assert_eq!(
            ready["params_from"],
            json!({"email": "query at 7: ada@example.com", "currency": "context.currency"})
        );
        assert_eq!(
            told["missing_inputs"],
            json!([{"field": "amount", "question": "What should `amount` be? Amount in kobo"}])
        );
        assert_eq!(
            told["next_step"],
            "Call gateway.execute with tool_id and params"
        );
        assert_eq!(told["alternatives"][0]["tool_id"], "paystack:refund");
        assert_eq!(
            told["search_context"],
            json!({"mode": "global", "matched_adapters": ["paystack"], "query_interpreted": "charge, NGN, one-time"})
        );
        assert!(told.get("needs_selection").is_none());
        let mut filled = ready["example"].clone();
        for (name, value) in ready["params"].as_object().unwrap() {
            filled[name] = value.clone();
        }
        let compiled = schema::compile(&schema).unwrap();
        assert!(
            compiled.check(&filled, schema::Unknown::Refuse).is_ok(),
            "{filled}"
        );
    }

    #[test]
    fn what_is_not_sure_is_asked_and_not_guessed() {
        let context = Map::new();
        let found = Found {
            alternatives: vec![choice("a", 0.3), choice("b", 0.2)],
            ..Found::default()
        };
        let told = answer(&asked("x", &context), &found);
        assert_eq!(told["recommended"], Value::Null);
        assert_eq!(told["needs_selection"], true);
        assert_eq!(
            told["missing_inputs"],
            json!([{"field": "tool_id", "question": "Which tool is meant: paystack:a, paystack:b?"}])
        );
        assert_eq!(told["next_step"], steps::CHOOSE);
        assert!(told.get("ready_to_execute").is_none());
        let none = answer(&asked("x", &context), &Found::default());
        assert_eq!(
            (&none["alternatives"], &none["missing_inputs"]),
            (&json!([]), &json!([]))
        );
        assert_eq!(none["next_step"], steps::REPHRASE);
        let pending = Found {
            pending: 2,
            ..Found::default()
        };
        let told = answer(
            &Asked {
                scoped: true,
                ..asked("x", &context)
            },
            &pending,
        );
        assert_eq!(told["next_step"], steps::WAIT);
        assert_eq!(told["search_context"]["mode"], "adapter-specific");
        assert_eq!(told["search_context"]["pending_servers"], 2);
        assert_eq!(told["search_context"].get("failed_servers"), None);
        let failed = Found {
            failed: 1,
            ..Found::default()
        };
        let told = answer(&asked("x", &context), &failed);
        assert_eq!(told["next_step"], steps::UNHEARD);
        assert_eq!(told["search_context"]["failed_servers"], 1);
    }

    #[test]
    fn an_amount_in_another_unit_is_asked_for_though_it_was_copied() {
        let schema = charge();
        let context = Map::new();
        let found = Found {
            recommended: Some((choice("charge", 0.9), action(&schema))),
            ..Found::default()
        };
        let told = answer(&asked("charge 5000 NGN", &context), &found);
        assert_eq!(told["ready_to_execute"]["params"]["amount"], 5000);
        let fields: Vec<&Value> = told["missing_inputs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| &m["field"])
            .collect();
        assert_eq!(fields, ["amount", "email"]);
    }

    #[test]
    fn a_large_tool_costs_no_more_than_it_may_and_keeps_what_is_required() {
        let mut properties = Map::new();
        for at in 0..300 {
            let text = format!("Parameter {at} has much to say about itself. ").repeat(12);
            properties.insert(
                format!("parameter_{at}"),
                json!({"type": "string", "description": text}),
            );
        }
        let schema =
            json!({"type": "object", "properties": properties, "required": ["parameter_7"]});
        let context = Map::new();
        let found = Found {
            recommended: Some((choice("huge", 0.9), action(&schema))),
            ..Found::default()
        };
        let told = answer(&asked("huge", &context), &found);
        assert!(tokens::fits(&told.to_string(), INTENT_TOKENS_MAX));
        assert_eq!(told["ready_to_execute"]["truncated"], true);
        assert!(told["ready_to_execute"]["param_schemas"]["parameter_7"].is_object());
    }
}
