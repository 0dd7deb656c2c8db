//! A small JSON API on a loopback port, served from a thread of its own: what the demo calls as a REST API.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri};
use axum::{Json, Router};
use serde_json::Value;
use tokio::sync::oneshot;

/// What answers: method, path with its query, and the body as JSON give a status and a body.
pub type Answering = dyn Fn(&str, &str, &Value) -> (u16, Value) + Send + Sync;

/// The API while it runs; dropping it ends it.
#[derive(Debug)]
pub struct Stand {
    address: SocketAddr,
    _open: oneshot::Sender<()>,
}

impl Stand {
    /// Serves on a free port.
    pub fn open(answering: Arc<Answering>) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (open, closed) = oneshot::channel();
        let serve = move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                    return;
                };
                let answer = move |method: Method, uri: Uri, body: Bytes| async move {
                    let target = uri
                        .path_and_query()
                        .map_or("/", axum::http::uri::PathAndQuery::as_str);
                    let body = serde_json::from_slice(&body).unwrap_or_default();
                    let (status, said) = answering(method.as_str(), target, &body);
                    let status = StatusCode::from_u16(status).unwrap_or_default();
                    (status, Json(said))
                };
                let serving = axum::serve(listener, Router::new().fallback(answer));
                tokio::select! {
                    _ = serving.into_future() => {}
                    _ = closed => {}
                }
            });
        };
        std::thread::Builder::new()
            .name("stand".into())
            .spawn(serve)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn what_is_asked_reaches_the_answering_and_its_answer_the_caller() {
        let stand = Stand::open(Arc::new(|method, target, body| {
            (201, json!([method, target, body]))
        }))
        .unwrap();
        let answer = reqwest::Client::new()
            .put(format!("{}/a?b=c", stand.base_url()))
            .body("{\"d\":1}")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 201);
        let said: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(said, json!(["PUT", "/a?b=c", {"d": 1}]));
    }
}
