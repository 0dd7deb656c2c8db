use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Every page of a value.
fn walk(value: &Value, tokens_max: usize) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let page = page(value, at, tokens_max).expect("a page that was named is there");
        from = page.next;
        pages.push(page);
    }
    pages
}

/// Leaves with their paths, items of arrays without their places: what pages must keep.
fn leaves(value: &Value, path: &str, into: &mut Vec<(String, String)>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                leaves(item, &format!("{path}/#"), into);
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            for (name, item) in fields {
                leaves(item, &format!("{path}/{name}"), into);
            }
        }
        other => into.push((path.to_owned(), other.to_string())),
    }
}

#[test]
fn a_value_that_fits_is_one_page() {
    let value = json!({"a": [1, 2, 3]});
    assert_eq!(
        page(&value, 0, 100),
        Some(Page {
            value: value.clone(),
            next: None,
            total: 1
        })
    );
    assert_eq!(page(&value, 1, 100), None);
}

#[test]
fn arrays_are_cut_between_whole_items() {
    let item = |n: usize| json!({"id": n, "name": format!("the item with number {n}")});
    let value: Value = (0..200).map(item).collect();
    let pages = walk(&value, 300);
    assert!(pages.len() > 5);
    let mut all = Vec::new();
    for page in &pages {
        assert!(tokens::at_most(&page.value.to_string()) <= 300);
        assert_eq!(page.total, 200);
        all.extend(page.value.as_array().unwrap().clone());
    }
    assert_eq!(Value::Array(all), value);
}

#[test]
fn the_small_fields_of_an_object_come_on_the_first_page() {
    let items: Vec<Value> = (0..300)
        .map(|n| json!(format!("word number {n}")))
        .collect();
    let value = json!({"items": items, "count": 300, "kind": "list"});
    let first = page(&value, 0, 200).unwrap();
    assert_eq!(
        (&first.value["count"], &first.value["kind"]),
        (&json!(300), &json!("list"))
    );
    assert!(!first.value["items"].as_array().unwrap().is_empty());
    let second = page(&value, first.next.unwrap(), 200).unwrap();
    assert_eq!(second.value.as_object().unwrap().len(), 1);
}

#[test]
fn texts_are_cut_between_paragraphs_then_lines_then_words() {
    let text = "One paragraph of words.\nIts second line.\n\n".repeat(60);
    let read: String = walk(&json!(text), 100)
        .iter()
        .map(|p| p.value.as_str().unwrap())
        .collect();
    assert_eq!(read, text);
    for page in walk(&json!(text), 100) {
        assert!(page.value.as_str().unwrap().ends_with("\n\n"));
    }
    for long in ["word ".repeat(900), "日本語".repeat(400), "x".repeat(3_000)] {
        let pages = walk(&json!(long), 60);
        let read: String = pages.iter().map(|p| p.value.as_str().unwrap()).collect();
        assert_eq!(read, long);
        assert!(
            pages
                .iter()
                .all(|p| tokens::at_most(p.value.as_str().unwrap()) <= 60)
        );
    }
}

#[test]
fn a_place_beyond_the_end_is_no_page() {
    let value: Value = (0..500).collect();
    assert_eq!(page(&value, 500, 50), None);
    assert_eq!(page(&value, usize::MAX, 50), None);
    assert_eq!(page(&value, 499, 50).unwrap().value, json!([499]));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(|n| json!(n)),
        "[a-z ]{0,40}".prop_map(|s| json!(s)),
        Just(json!(null)),
        Just(json!({})),
        Just(json!([])),
    ];
    leaf.prop_recursive(4, 120, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::Array),
            prop::collection::btree_map("[a-f]{1,3}", inner, 0..8)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn all_pages_together_hold_every_leaf_once(value in values(), tokens_max in 12_usize..120) {
        let (mut whole, mut paged) = (Vec::new(), Vec::new());
        leaves(&value, "", &mut whole);
        for page in walk(&value, tokens_max) {
            leaves(&page.value, "", &mut paged);
        }
        // Texts may be cut: compare what they hold together.
        let join = |mut all: Vec<(String, String)>| {
            all.sort_by(|a, b| a.0.cmp(&b.0));
            all.chunk_by(|a, b| a.0 == b.0).map(|group| {
                let mut chars: Vec<char> = group.iter().flat_map(|(_, v)| v.chars()).filter(|c| *c != '"').collect();
                chars.sort_unstable();
                (group[0].0.clone(), chars)
            }).collect::<Vec<_>>()
        };
        prop_assert_eq!(join(whole), join(paged));
    }
}
