//! A parcel service: a REST API on a loopback port, described by OpenAPI, kept in memory.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// The description of the API.
pub const DESCRIPTION: &str = include_str!("parcels.yaml");

/// Cents that any parcel costs, and cents for each begun kilogram.
const BASE_CENTS: i64 = 390;
const KILOGRAM_CENTS: i64 = 150;

/// Parcels in the order in which they were booked; a number is never used twice.
#[derive(Debug, Default)]
struct Depot {
    booked: i64,
    parcels: Vec<Value>,
}

type Shared = Arc<Mutex<Depot>>;

/// What the API says to a request that went wrong.
type Refusal = (StatusCode, Json<Value>);

/// What is asked for a price.
#[derive(Debug, Deserialize)]
struct Weighed {
    country: String,
    grams: i64,
}

/// What is booked.
#[derive(Debug, Deserialize)]
struct Order {
    to: String,
    country: String,
    grams: i64,
}

/// The API while it runs; dropping it ends it.
#[derive(Debug)]
pub struct Api {
    address: SocketAddr,
    _open: oneshot::Sender<()>,
}

impl Api {
    /// Serves on a free loopback port, from a thread of its own.
    pub fn open() -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (open, closed) = oneshot::channel();
        std::thread::Builder::new()
            .name("parcels".into())
            .spawn(move || {
                runtime.block_on(async {
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                        return;
                    };
                    let serving = axum::serve(listener, router()).into_future();
                    tokio::select! {
                        _ = serving => {}
                        _ = closed => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            _open: open,
        })
    }

    /// Where it listens.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn router() -> Router {
    Router::new()
        .route("/rates", get(rate))
        .route("/parcels", get(list).post(book))
        .route("/parcels/{id}", get(track).delete(cancel))
        .with_state(Shared::default())
}

fn cents(grams: i64) -> i64 {
    BASE_CENTS + (grams.clamp(1, 30_000) + 999) / 1000 * KILOGRAM_CENTS
}

async fn rate(Query(weighed): Query<Weighed>) -> Json<Value> {
    Json(json!({
        "country": weighed.country,
        "grams": weighed.grams,
        "cents": cents(weighed.grams),
    }))
}

async fn list(State(depot): State<Shared>) -> Json<Value> {
    Json(json!({ "parcels": depot.lock().unwrap_or_else(PoisonError::into_inner).parcels }))
}

async fn book(State(depot): State<Shared>, Json(order): Json<Order>) -> (StatusCode, Json<Value>) {
    let mut depot = depot.lock().unwrap_or_else(PoisonError::into_inner);
    depot.booked += 1;
    let parcel = json!({
        "id": depot.booked,
        "to": order.to,
        "country": order.country,
        "cents": cents(order.grams),
        "state": "waiting for collection",
    });
    depot.parcels.push(parcel.clone());
    (StatusCode::CREATED, Json(parcel))
}

async fn track(State(depot): State<Shared>, Path(id): Path<i64>) -> Result<Json<Value>, Refusal> {
    let depot = depot.lock().unwrap_or_else(PoisonError::into_inner);
    let at = depot.at(id)?;
    Ok(Json(depot.parcels[at].clone()))
}

async fn cancel(State(depot): State<Shared>, Path(id): Path<i64>) -> Result<Json<Value>, Refusal> {
    let mut depot = depot.lock().unwrap_or_else(PoisonError::into_inner);
    let at = depot.at(id)?;
    let parcel = depot.parcels.remove(at);
    Ok(Json(json!({ "cancelled": parcel["id"] })))
}

impl Depot {
    fn at(&self, id: i64) -> Result<usize, Refusal> {
        let at = self.parcels.iter().position(|parcel| parcel["id"] == id);
        at.ok_or_else(|| {
            let error = format!("there is no parcel {id}");
            (StatusCode::NOT_FOUND, Json(json!({ "error": error })))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(method: reqwest::Method, url: String, body: Option<Value>) -> (u16, Value) {
        let mut request = reqwest::Client::new().request(method, url);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap())
    }

    #[tokio::test]
    async fn parcels_are_priced_booked_tracked_and_cancelled() {
        use reqwest::Method;
        let api = Api::open().unwrap();
        let at = |path: &str| format!("{}{path}", api.base_url());
        let (_, rate) = ask(Method::GET, at("/rates?country=NG&grams=1200"), None).await;
        assert_eq!(rate["cents"], 690);
        let order = json!({"to": "Ada, 1 Loop Lane", "country": "NG", "grams": 1200});
        let (status, parcel) = ask(Method::POST, at("/parcels"), Some(order)).await;
        assert_eq!(
            (status, &parcel["id"], &parcel["cents"]),
            (201, &json!(1), &json!(690))
        );
        let (_, tracked) = ask(Method::GET, at("/parcels/1"), None).await;
        assert_eq!(tracked, parcel);
        let (_, all) = ask(Method::GET, at("/parcels"), None).await;
        assert_eq!(all["parcels"], json!([parcel]));
        let (_, gone) = ask(Method::DELETE, at("/parcels/1"), None).await;
        assert_eq!(gone, json!({"cancelled": 1}));
        let (status, missing) = ask(Method::DELETE, at("/parcels/1"), None).await;
        assert_eq!(
            (status, missing),
            (404, json!({"error": "there is no parcel 1"}))
        );
    }
}
