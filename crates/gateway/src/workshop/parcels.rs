//! A parcel service: a REST API described by OpenAPI, kept in memory.

use serde_json::{Value, json};
use url::form_urlencoded;

/// The description of the API.
pub const DESCRIPTION: &str = include_str!("parcels.yaml");

/// Cents that any parcel costs, and cents for each begun kilogram.
const BASE_CENTS: i64 = 390;
const KILOGRAM_CENTS: i64 = 150;

/// Parcels in the order in which they were booked; a number is never used twice.
#[derive(Debug, Default)]
pub struct Depot {
    booked: i64,
    parcels: Vec<Value>,
}

impl Depot {
    /// Answers a request: the status, and the body.
    pub fn answer(&mut self, method: &str, target: &str, body: &Value) -> (u16, Value) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match (method, parts.as_slice()) {
            ("GET", ["rates"]) => (200, rate(query)),
            ("GET", ["parcels"]) => (200, json!({ "parcels": self.parcels })),
            ("POST", ["parcels"]) => (201, self.book(body)),
            ("GET", ["parcels", id]) => match self.at(id) {
                Some(at) => (200, self.parcels[at].clone()),
                None => missing(id),
            },
            ("DELETE", ["parcels", id]) => match self.at(id) {
                Some(at) => (200, json!({ "cancelled": self.parcels.remove(at)["id"] })),
                None => missing(id),
            },
            _ => (404, json!({ "error": "there is no such operation" })),
        }
    }

    fn book(&mut self, order: &Value) -> Value {
        self.booked += 1;
        let parcel = json!({
            "id": self.booked,
            "to": order["to"],
            "country": order["country"],
            "cents": cents(order["grams"].as_i64().unwrap_or_default()),
            "state": "waiting for collection",
        });
        self.parcels.push(parcel.clone());
        parcel
    }

    fn at(&self, id: &str) -> Option<usize> {
        let id: i64 = id.parse().ok()?;
        self.parcels.iter().position(|parcel| parcel["id"] == id)
    }
}

fn rate(query: &str) -> Value {
    let value = |name: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    let grams: i64 = value("grams").parse().unwrap_or_default();
    json!({ "country": value("country"), "grams": grams, "cents": cents(grams) })
}

fn cents(grams: i64) -> i64 {
    BASE_CENTS + (grams.clamp(1, 30_000) + 999) / 1000 * KILOGRAM_CENTS
}

fn missing(id: &str) -> (u16, Value) {
    (404, json!({ "error": format!("there is no parcel {id}") }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parcels_are_priced_booked_tracked_and_cancelled() {
        let mut depot = Depot::default();
        let mut ask = |method, target, body: Value| depot.answer(method, target, &body);
        let none = Value::Null;
        let (_, rate) = ask("GET", "/rates?country=NG&grams=1200", none.clone());
        assert_eq!(rate, json!({"country": "NG", "grams": 1200, "cents": 690}));
        let order = json!({"to": "Ada, 1 Loop Lane", "country": "NG", "grams": 1200});
        let (status, parcel) = ask("POST", "/parcels", order);
        assert_eq!((status, &parcel["id"]), (201, &json!(1)));
        assert_eq!(parcel["cents"], 690);
        assert_eq!(ask("GET", "/parcels/1", none.clone()).1, parcel);
        let all = ask("GET", "/parcels", none.clone()).1;
        assert_eq!(all["parcels"], json!([parcel]));
        let gone = ask("DELETE", "/parcels/1", none.clone()).1;
        assert_eq!(gone, json!({"cancelled": 1}));
        let again = ask("DELETE", "/parcels/1", none.clone());
        assert_eq!(again, (404, json!({"error": "there is no parcel 1"})));
        assert_eq!(ask("GET", "/parcels/x", none.clone()).0, 404);
        assert_eq!(ask("PATCH", "/parcels", none).0, 404);
    }
}
