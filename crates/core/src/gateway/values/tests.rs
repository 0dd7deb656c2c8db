use serde_json::json;

use super::*;
use crate::schema::outline::Reading;

fn taken(query: &str, context: &Value, tool: &str, schema: &Value) -> Vec<Taken> {
    let reading = Reading::new(schema);
    let outline = reading.outline();
    let compiled = crate::gateway::parameters::Checks::new(schema);
    let empty = Map::new();
    take(&Wish {
        query,
        context: context.as_object().unwrap_or(&empty),
        tool,
        arguments: &outline,
        fits: &|field, value| compiled.takes(field, value),
    })
}

fn check(query: &str, context: &Value, tool: &str, schema: &Value, expect: &Value) {
    let found: Map<String, Value> = taken(query, context, tool, schema)
        .into_iter()
        .map(|taken| (taken.field, taken.value))
        .collect();
    assert_eq!(&Value::Object(found), expect, "{query}");
}

fn charge() -> Value {
    json!({
        "type": "object",
        "properties": {
            "amount": {"type": "integer", "description": "Amount in kobo. Whole numbers only."},
            "email": {"type": "string", "format": "email"},
            "authorization_code": {"type": "string"},
            "reference": {"type": "string"},
            "currency": {"type": "string", "enum": ["NGN", "GHS"]},
        },
        "required": ["amount", "email", "authorization_code"],
    })
}

#[test]
fn amounts_addresses_and_codes_are_copied_as_they_stand() {
    check(
        "charge 5000 NGN to ada@example.com with AUTH_8dfhjjdt",
        &json!({}),
        "charge-authorization",
        &charge(),
        &json!({"amount": 5000, "email": "ada@example.com", "authorization_code": "AUTH_8dfhjjdt", "currency": "NGN"}),
    );
    check(
        "charge a card in Nigeria",
        &json!({}),
        "charge-authorization",
        &charge(),
        &json!({}),
    );
    check(
        "verify with reference T685312322670591",
        &json!({}),
        "verify-transaction",
        &json!({"properties": {"reference": {"type": "string"}}, "required": ["reference"]}),
        &json!({"reference": "T685312322670591"}),
    );
}

#[test]
fn a_value_says_where_it_stood_and_a_unit_in_doubt_is_asked_for() {
    let found = taken("charge 5000 NGN", &json!({}), "charge", &charge());
    assert_eq!(found[0].from, "query at 7: 5000 NGN");
    assert_eq!(found[0].value, json!(5000), "never converted");
    let doubt = found[0].doubt.as_deref().unwrap();
    assert!(doubt.contains("Amount in kobo."), "{doubt}");
    let other =
        json!({"properties": {"amount": {"type": "number", "description": "In full units"}}});
    assert_eq!(
        taken("pay $20.50", &json!({}), "pay", &other)[0].value,
        json!(20.5)
    );
    assert_eq!(taken("pay $20", &json!({}), "pay", &other)[0].doubt, None);
}

#[test]
fn an_amount_in_a_lower_denomination_is_asked_about_however_it_is_said() {
    let with = |said: &str| {
        let mut schema = charge();
        schema["properties"]["amount"]["description"] = said.into();
        schema
    };
    let asked = "charge authorization AUTH_abc123 for 5000 NGN, email ada@example.com";
    for said in [
        "How much, in the lower denomination of the currency",
        "How much. In the lowest denomination. More",
        "How much, in the smallest unit of the currency",
        "How much, in minor units",
        "How much, in sub-units",
        "How much, in US cents",
    ] {
        let found = taken(asked, &json!({}), "charge-authorization", &with(said));
        let amount = found.iter().find(|taken| taken.field == "amount").unwrap();
        assert_eq!(amount.value, json!(5000), "{said}");
        assert!(amount.doubt.is_some(), "{said}");
    }
    for said in [
        "How much, in full units",
        "In naira, not below the lower bound",
    ] {
        let found = taken(asked, &json!({}), "charge-authorization", &with(said));
        assert!(found.iter().all(|taken| taken.doubt.is_none()), "{said}");
    }
    let second = taken(
        asked,
        &json!({}),
        "charge",
        &with("How much. It is in kobo. Whole."),
    );
    let doubt = second[0].doubt.as_deref().unwrap();
    assert!(doubt.contains("says: It is in kobo. Which"), "{doubt}");
}

#[test]
fn a_unit_that_the_request_names_is_not_asked_for_and_one_that_nobody_names_is() {
    let asked = |query: &str, amount: Value| {
        let schema = json!({"properties": {"amount": amount}});
        let found = taken(query, &json!({}), "refund", &schema);
        assert_eq!(found[0].value, json!(100), "{query}");
        found[0].doubt.clone()
    };
    let whole = |said: &str| json!({"type": "integer", "description": said});
    let parts = "Amount in the smallest denomination";
    assert_eq!(asked("refund 100 kobo", whole(parts)), None);
    assert_eq!(asked("refund 100 cents", whole(parts)), None);
    assert!(asked("refund 100 GHS", whole(parts)).is_some());
    let doubt = asked("refund 100 GHS", whole("Amount to be refunded")).unwrap();
    assert_eq!(
        doubt,
        "`amount` is 100 as it stands in the request; there it is 100 GHS, and its description does not say that it counts in that unit. Which number is meant?"
    );
    assert!(asked("refund $100", json!({"type": "integer"})).is_some());
    assert!(asked("refund 100 kobo", whole("Amount in naira")).is_some());
    assert!(asked("refund 100 kobo", json!({"type": "number"})).is_some());
    assert_eq!(asked("refund 100 naira", whole("Amount in naira")), None);
    assert_eq!(asked("refund 100 USD", whole("Amount in USD")), None);
    assert_eq!(asked("refund 100 USD", json!({"type": "number"})), None);
    assert_eq!(asked("refund amount 100", whole("How much")), None);
}

#[test]
fn amounts_are_read_with_their_thousands_and_go_into_amounts_only() {
    for asked in [
        "charge 5,000 NGN",
        "charge ₦5,000",
        "charge 5000 naira",
        "charge NGN 5,000",
        "charge authorization ₦5,000",
        "charge authorization code 5000 naira",
    ] {
        let found = taken(asked, &json!({}), "charge-authorization", &charge());
        let fields: Vec<(&str, &Value)> = found
            .iter()
            .filter(|taken| taken.field != "currency")
            .map(|taken| (taken.field.as_str(), &taken.value))
            .collect();
        assert_eq!(fields, [("amount", &json!(5000))], "{asked}");
    }
    let none = json!({"properties": {"customer_id": {"type": "integer"}, "authorization_code": {"type": "string"}}});
    check(
        "charge customer 5000 naira",
        &json!({}),
        "charge",
        &none,
        &json!({}),
    );
    let text = json!({"properties": {"amount": {"type": "string", "description": "In kobo"}}});
    let found = taken("pay ₦5,000", &json!({}), "pay", &text);
    assert_eq!(found[0].value, json!("5000"));
    assert!(found[0].doubt.is_some());
}

#[test]
fn context_fills_what_it_names_where_it_fits() {
    let schema = json!({"properties": {
        "currency": {"type": "string", "enum": ["NGN"]},
        "countryCode": {"type": "string", "minLength": 2, "maxLength": 2},
    }});
    check(
        "x",
        &json!({"currency": "NGN", "country": "NG", "use_case": "one-time"}),
        "t",
        &schema,
        &json!({"currency": "NGN", "countryCode": "NG"}),
    );
    check(
        "x",
        &json!({"currency": "USD", "country": "Nigeria"}),
        "t",
        &schema,
        &json!({}),
    );
    let found = taken("x", &json!({"currency": "NGN"}), "t", &schema);
    assert_eq!(found[0].from, "context.currency");
}

#[test]
fn names_before_values_decide_and_ties_fill_nothing() {
    let schema = json!({"properties": {
        "from": {"type": "string", "format": "date"},
        "to": {"type": "string", "format": "date"},
        "customer_id": {"type": "string"},
        "id": {"type": "string"},
        "title": {"type": "string"},
        "page": {"type": "integer"},
    }});
    check(
        "orders from 2026-01-01 to 2026-02-01 of customer 42 page 3",
        &json!({}),
        "list-orders",
        &schema,
        &json!({"from": "2026-01-01", "to": "2026-02-01", "customer_id": "42", "page": 3}),
    );
    check(
        "get order 1234",
        &json!({}),
        "get-order",
        &schema,
        &json!({"id": "1234"}),
    );
    check(
        "title \"a b\"",
        &json!({}),
        "x",
        &schema,
        &json!({"title": "a b"}),
    );
    check(
        "title=short",
        &json!({}),
        "x",
        &schema,
        &json!({"title": "short"}),
    );
    let two = json!({"properties": {"email": {"type": "string"}, "from_email": {"type": "string"}},
        "required": ["email", "from_email"]});
    check("write ada@example.com", &json!({}), "x", &two, &json!({}));
}

#[test]
fn listed_values_and_countries_are_taken_where_they_are_needed() {
    let schema = json!({"properties": {
        "status": {"type": "string", "enum": ["active", "closed"]},
        "channel": {"type": "string", "enum": ["card"]},
        "country": {"type": "string"},
    }, "required": ["status"]});
    check(
        "list active cards in South Africa, card only",
        &json!({}),
        "list",
        &schema,
        &json!({"status": "active", "country": "South Africa"}),
    );
    check("active or closed", &json!({}), "list", &schema, &json!({}));
}
