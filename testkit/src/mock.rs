//! A REST API made of its own description: it holds every request to the letter of the file and says all that
//! is wrong with it.
//!
//! It shares nothing with the request builder that it judges: it reads the file, the styles of parameters,
//! forms with brackets and multipart bodies on its own, and leaves the schemas to a validator. Stricter than
//! the specification asks in one point: what stands in a query or a form and is not in the description is
//! refused too.

mod body;
mod document;
mod form;
mod judge;
mod reading;
mod route;
mod text;
mod yaml;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::api::Received;
use document::Document;
use route::Routes;

/// What the description says about a request.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The operation that the request is for: method and template.
    pub operation: String,
    /// The status of the answer.
    pub status: u16,
    /// Everything that is wrong, as `place: words`; empty where the request is accepted.
    pub against: Vec<String>,
    /// What a request that is accepted is answered.
    pub answer: Value,
}

impl Verdict {
    fn refused(status: u16, words: &str) -> Self {
        Self {
            operation: String::new(),
            status,
            against: vec![words.to_owned()],
            answer: Value::Null,
        }
    }
}

/// An API that validates what it is sent.
#[derive(Debug)]
pub struct Mock {
    document: Document,
    routes: Routes,
}

impl Mock {
    /// Reads a description of OpenAPI 2.0 to 3.2, JSON or YAML.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(text: &str) -> Result<Self> {
        let document = Document::read(text)?;
        let routes = Routes::of(&document);
        Ok(Self { document, routes })
    }

    /// Reads a description from its file.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path);
        Self::read(&text.with_context(|| format!("cannot read {}", path.display()))?)
    }

    /// How many operations the description has.
    pub fn operations(&self) -> usize {
        self.routes.all.len()
    }

    /// What the description says about a request.
    pub fn judge(&self, asked: &Received) -> Verdict {
        judge::judge(&self.document, &self.routes, asked)
    }

    /// Serves on a free port of the loopback address, for as long as the runtime lives.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn serve(self) -> Result<SocketAddr> {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(answer).with_state(Arc::new(self));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(address)
    }
}

async fn answer(
    State(mock): State<Arc<Mock>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let verdict = mock.judge(&Received::of(&method, &uri, &headers, &body));
    let status = StatusCode::from_u16(verdict.status).unwrap_or(StatusCode::OK);
    let body = if verdict.against.is_empty() {
        verdict.answer
    } else {
        json!({ "operation": verdict.operation, "violations": verdict.against })
    };
    if status == StatusCode::NO_CONTENT {
        return status.into_response();
    }
    let media = [(header::CONTENT_TYPE, "application/json")];
    (status, media, body.to_string()).into_response()
}

#[cfg(test)]
mod tests;
