//! The answers of `gateway.adapters` and `gateway.tools`.

use std::ops::Range;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::definitions::{TOOLS_LIMIT_DEFAULT, TOOLS_LIMIT_MAX};
use super::{money, steps};
use crate::discovery::listing::{BadCursor, position};
use crate::discovery::prose;
use crate::limits::{LIST_TOKENS_MAX, TOOLS_ASKED_TOKENS_MAX};
use crate::nearest::fold;
use crate::policy::Risk;
use crate::tokens;

/// One adapter of the list. What nobody said is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Adapter {
    /// The name that ids and rules use.
    pub id: String,
    /// A title for people.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What kind of service it is.
    pub category: String,
    /// What it can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Countries it serves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supported_countries: Vec<String>,
    /// Currencies it handles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supported_currencies: Vec<String>,
    /// How many tools the caller can run.
    pub tool_count: usize,
    /// How many of them are about what.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub tool_categories: IndexMap<String, usize>,
    /// How it authenticates.
    pub auth_type: String,
    /// How things stand with it.
    pub status: String,
    /// Ids of tools to begin with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub common_operations: Vec<String>,
}

/// Which adapters are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Of this kind; `all` is any.
    pub category: Option<String>,
    /// That can do this.
    pub capability: Option<String>,
    /// That serve this country, by its code or its name.
    pub country: Option<String>,
}

impl Filters {
    fn applied(&self) -> Map<String, Value> {
        let given = [
            ("category", &self.category),
            ("capability", &self.capability),
            ("country", &self.country),
        ];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), Value::from(value.as_deref()?))));
        given.collect()
    }

    /// Whether an adapter is one of those.
    pub fn take(&self, adapter: &Adapter) -> bool {
        let category = self
            .category
            .as_deref()
            .is_none_or(|wanted| wanted == "all" || adapter.category.eq_ignore_ascii_case(wanted));
        let capability = self.capability.as_deref().is_none_or(|wanted| {
            let wanted = fold(wanted);
            let groups = adapter.tool_categories.keys();
            let mut all = adapter.capabilities.iter().chain(groups);
            all.any(|own| fold(own) == wanted)
        });
        let country = self.country.as_deref().is_none_or(|wanted| {
            let code = money::country_code(wanted).unwrap_or(wanted);
            let mut own = adapter.supported_countries.iter();
            own.any(|own| own.eq_ignore_ascii_case(code))
        });
        category && capability && country
    }
}

/// How much of each adapter is shown, from all to the least.
const ADAPTER_LEVELS: [(usize, usize, usize); 4] =
    [(160, 12, 3), (100, 6, 2), (60, 4, 1), (40, 0, 0)];

/// The adapters that fit, by pages that cost no more than they may.
pub fn adapters(
    rows: Vec<Adapter>,
    filters: &Filters,
    pending: usize,
    cursor: Option<&str>,
) -> Result<Value, BadCursor> {
    let rows: Vec<Adapter> = rows.into_iter().filter(|row| filters.take(row)).collect();
    let from = position(cursor, rows.len())?;
    let applied = filters.applied();
    let mut last = Value::Null;
    for level in ADAPTER_LEVELS {
        let short: Vec<Adapter> = rows.iter().map(|row| shortened(row, level)).collect();
        let written = |range: Range<usize>| {
            let (end, all) = (range.end, short.len());
            let mut page = json!({
                "total": all,
                "filters_applied": applied,
                "adapters": &short[range],
            });
            if end < all {
                page["next"] = end.to_string().into();
            }
            if pending > 0 {
                page["pending_servers"] = pending.into();
            }
            page["next_step"] = steps::EXPLORE.into();
            page
        };
        last = paged(from, short.len(), LIST_TOKENS_MAX, written);
        if last.get("next").is_none() {
            break;
        }
    }
    Ok(last)
}

fn shortened(row: &Adapter, (chars, groups, operations): (usize, usize, usize)) -> Adapter {
    let mut short = row.clone();
    short.description = prose::shorten(&row.description, chars).0.into_owned();
    short.tool_categories.truncate(groups);
    short.common_operations.truncate(operations);
    short
}

/// One tool of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tool {
    /// Its id.
    pub tool_id: String,
    /// A name for people.
    pub name: String,
    /// What it does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// The method of its HTTP request, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// What running it can do.
    pub risk_level: Risk,
    /// What a call needs.
    pub required_params: Vec<String>,
    /// How many more parameters it takes.
    pub optional_param_count: usize,
}

/// Which part of a list is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// How many, where that was said.
    pub limit: Option<usize>,
    /// From which on.
    pub offset: usize,
}

/// The tools of an adapter: how many it has, what they are about, and those that fit.
pub struct Shelf<'a> {
    /// The adapter.
    pub adapter: &'a str,
    /// How many tools of it the caller can run.
    pub total: usize,
    /// What they are about, most first.
    pub categories: Vec<String>,
    /// Those that were asked for.
    pub tools: Vec<Tool>,
}

/// Longest list of categories.
const CATEGORIES_MAX: usize = 24;

/// Characters of a description, from the most to the least.
const TEXTS: [usize; 4] = [120, 80, 50, 30];

/// A page of tools. A page of the usual length may end early, so that it costs no more than it may;
/// one of a length that was asked for says less about each tool instead.
pub fn tools(shelf: &Shelf<'_>, window: Window) -> Value {
    let all = shelf.tools.len();
    let limit = window
        .limit
        .unwrap_or(TOOLS_LIMIT_DEFAULT)
        .clamp(1, TOOLS_LIMIT_MAX);
    let from = window.offset.min(all);
    let until = from.saturating_add(limit).min(all);
    let most = match window.limit {
        None => LIST_TOKENS_MAX,
        Some(_) => TOOLS_ASKED_TOKENS_MAX,
    };
    let mut last = Value::Null;
    for chars in TEXTS {
        let short: Vec<Tool> = shelf.tools[from..until]
            .iter()
            .map(|tool| Tool {
                description: prose::shorten(&tool.description, chars).0.into_owned(),
                ..tool.clone()
            })
            .collect();
        let written = |range: Range<usize>| {
            let end = from + range.end;
            let mut page = json!({
                "adapter": shelf.adapter,
                "total_tools": shelf.total,
                "returned": range.len(),
                "offset": window.offset,
                "categories": &shelf.categories[..shelf.categories.len().min(CATEGORIES_MAX)],
                "tools": &short[range],
            });
            if all != shelf.total {
                page["matching"] = all.into();
            }
            if end < all {
                page["next_offset"] = end.into();
            }
            page["next_step"] = steps::FULL_SCHEMA.into();
            page
        };
        last = paged(0, short.len(), most, written);
        if last["returned"].as_u64() == u64::try_from(short.len()).ok() {
            break;
        }
    }
    last
}

/// As many rows as fit from `from` on, one at least where there is one.
fn paged(from: usize, all: usize, most: usize, written: impl Fn(Range<usize>) -> Value) -> Value {
    let fits = |end: usize| tokens::fits(&written(from..end).to_string(), most);
    let (mut low, mut high) = (from, all);
    if fits(all) {
        return written(from..all);
    }
    // The longest page that fits: pages only grow with their rows.
    while low + 1 < high {
        let middle = low.midpoint(high);
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    written(from..low.max((from + 1).min(all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(id: &str) -> Adapter {
        Adapter {
            id: id.into(),
            name: "Paystack".into(),
            description: "Payment processing for African markets".into(),
            category: "payments".into(),
            capabilities: vec!["card_payments".into()],
            supported_countries: vec!["NG".into(), "GH".into()],
            supported_currencies: vec!["NGN".into()],
            tool_count: 117,
            tool_categories: IndexMap::from([("transactions".into(), 15), ("customers".into(), 8)]),
            auth_type: "bearer".into(),
            status: "operational".into(),
            common_operations: vec!["paystack:initialize-transaction".into()],
        }
    }

    fn ids(answer: &Value) -> Vec<&str> {
        let rows = answer["adapters"].as_array().unwrap();
        rows.iter().map(|row| row["id"].as_str().unwrap()).collect()
    }

    #[test]
    fn adapters_have_the_documented_shape() {
        let filters = Filters {
            category: Some("payments".into()),
            country: Some("NG".into()),
            ..Filters::default()
        };
        let told = adapters(vec![adapter("paystack")], &filters, 0, None).unwrap();
        assert_eq!(told["total"], 1);
        assert_eq!(
            told["filters_applied"],
            json!({"category": "payments", "country": "NG"})
        );
        let row = told["adapters"][0].as_object().unwrap();
        let keys: Vec<&String> = row.keys().collect();
        assert_eq!(
            keys,
            [
                "id",
                "name",
                "description",
                "category",
                "capabilities",
                "supported_countries",
                "supported_currencies",
                "tool_count",
                "tool_categories",
                "auth_type",
                "status",
                "common_operations"
            ]
        );
        assert_eq!(
            told["next_step"],
            "Use gateway.intent with your task, or gateway.tools to explore an adapter"
        );
        assert_eq!(
            told["adapters"][0]["tool_categories"],
            json!({"transactions": 15, "customers": 8})
        );
    }

    #[test]
    fn filters_filter() {
        let other = Adapter {
            category: "storage".into(),
            capabilities: Vec::new(),
            supported_countries: Vec::new(),
            ..adapter("box")
        };
        let all = || vec![adapter("paystack"), other.clone()];
        for (category, capability, country, expect) in [
            (None, None, None, vec!["paystack", "box"]),
            (Some("all"), None, None, vec!["paystack", "box"]),
            (Some("storage"), None, None, vec!["box"]),
            (None, Some("Card Payments"), None, vec!["paystack"]),
            (None, Some("customers"), None, vec!["paystack", "box"]),
            (None, Some("teleport"), None, vec![]),
            (None, None, Some("Nigeria"), vec!["paystack"]),
            (None, None, Some("gh"), vec!["paystack"]),
            (None, None, Some("US"), vec![]),
        ] {
            let filters = Filters {
                category: category.map(str::to_owned),
                capability: capability.map(str::to_owned),
                country: country.map(str::to_owned),
            };
            let told = adapters(all(), &filters, 0, None).unwrap();
            assert_eq!(ids(&told), expect, "{filters:?}");
        }
    }

    #[test]
    fn many_adapters_come_by_pages_that_hold_them_all() {
        let rows: Vec<Adapter> = (0..60)
            .map(|at| adapter(&format!("adapter-{at}")))
            .collect();
        let mut seen = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let told = adapters(rows.clone(), &Filters::default(), 3, cursor.as_deref()).unwrap();
            assert!(tokens::fits(&told.to_string(), LIST_TOKENS_MAX));
            assert_eq!(
                (&told["total"], &told["pending_servers"]),
                (&json!(60), &json!(3))
            );
            seen.extend(ids(&told).into_iter().map(str::to_owned));
            cursor = told["next"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 60);
        assert!(adapters(rows, &Filters::default(), 0, Some("x")).is_err());
    }

    fn shelf(count: usize) -> Shelf<'static> {
        let tools = (0..count).map(|at| Tool {
            tool_id: format!("paystack:tool-{at}"),
            name: format!("Tool {at}"),
            description: "Starts a new payment transaction and says a good deal about it. "
                .repeat(3),
            category: "transactions".into(),
            method: Some("POST".into()),
            risk_level: Risk::Medium,
            required_params: vec!["amount".into(), "email".into()],
            optional_param_count: 12,
        });
        Shelf {
            adapter: "paystack",
            total: count,
            categories: vec!["transactions".into()],
            tools: tools.collect(),
        }
    }

    #[test]
    fn tools_have_the_documented_shape() {
        let told = tools(&shelf(2), Window::default());
        let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "adapter",
                "total_tools",
                "returned",
                "offset",
                "categories",
                "tools",
                "next_step"
            ]
        );
        let row = told["tools"][0].as_object().unwrap();
        let keys: Vec<&String> = row.keys().collect();
        assert_eq!(
            keys,
            [
                "tool_id",
                "name",
                "description",
                "category",
                "method",
                "risk_level",
                "required_params",
                "optional_param_count"
            ]
        );
        assert_eq!(
            told["next_step"],
            "Use gateway.intent with a tool_id for full schema"
        );
    }

    #[test]
    fn pages_hold_every_tool_once_and_no_more_than_fifty() {
        for limit in [None, Some(7), Some(5_000)] {
            let (mut seen, mut offset) = (Vec::new(), 0);
            let shelf = shelf(60);
            while offset < 60 {
                let told = tools(&shelf, Window { limit, offset });
                let returned = usize::try_from(told["returned"].as_u64().unwrap()).unwrap();
                assert!((1..=TOOLS_LIMIT_MAX).contains(&returned), "{limit:?}");
                if limit.is_none() {
                    assert!(tokens::fits(&told.to_string(), LIST_TOKENS_MAX));
                }
                let rows = told["tools"].as_array().unwrap();
                seen.extend(
                    rows.iter()
                        .map(|row| row["tool_id"].as_str().unwrap().to_owned()),
                );
                offset += returned;
                assert_eq!(told.get("next_offset").is_some(), offset < 60);
            }
            let expect: Vec<String> = shelf
                .tools
                .iter()
                .map(|tool| tool.tool_id.clone())
                .collect();
            assert_eq!(seen, expect, "{limit:?}");
        }
        assert_eq!(
            tools(
                &shelf(3),
                Window {
                    limit: None,
                    offset: 9
                }
            )["returned"],
            0
        );
    }
}
