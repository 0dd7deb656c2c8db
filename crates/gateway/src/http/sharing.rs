//! What browsers want to know before they let scripts of a page read answers.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use toolcrib_core::limits::HTTP_PREFLIGHT_SECONDS;

use super::guard::Guard;

/// What a script may read beside the body.
const EXPOSED: &str = "Mcp-Session-Id, WWW-Authenticate";
const METHODS: &str = "GET, POST, DELETE";

/// What a request says of the page that it comes from.
pub(super) struct Sharing {
    /// The origin of a page whose scripts may read the answer.
    origin: Option<HeaderValue>,
    varies: bool,
}

impl Sharing {
    pub(super) fn of(guard: &Guard, headers: &HeaderMap) -> Self {
        Self {
            origin: guard.shared_with(headers).cloned(),
            varies: guard.tells_origins_apart(),
        }
    }

    /// The answer to a browser that asks beforehand, where this is such a question and the page may. It comes
    /// without credentials.
    pub(super) fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Response> {
        let asks =
            *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !asks || self.origin.is_none() {
            return None;
        }
        let mut response = StatusCode::NO_CONTENT.into_response();
        let told = response.headers_mut();
        told.insert(
            ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static(METHODS),
        );
        // Names of parameters can be among them, so that there is no list of all.
        if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
            told.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        told.insert(
            ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from(HTTP_PREFLIGHT_SECONDS),
        );
        Some(response)
    }

    /// Says on an answer who may read it.
    pub(super) fn mark(self, headers: &mut HeaderMap) {
        if self.varies {
            headers.append(VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = self.origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(
                ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static(EXPOSED),
            );
        }
    }
}
