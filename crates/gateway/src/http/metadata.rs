//! Where credentials are to be had: RFC 9728, and what a refusal says.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::Door;
use super::identity::Refused;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Where the metadata is asked for.
pub(super) const PATHS: [&str; 2] = [WELL_KNOWN, "/.well-known/oauth-protected-resource/{*path}"];

/// Says who issues tokens for this door.
pub(super) async fn show(State(door): State<Arc<Door>>, headers: HeaderMap, uri: Uri) -> Response {
    let Some(tokens) = door.identity.tokens() else {
        return (
            StatusCode::NOT_FOUND,
            "API keys are accepted here, tokens are not\n",
        )
            .into_response();
    };
    let path = uri.path().strip_prefix(WELL_KNOWN).unwrap_or("");
    let path = if path.is_empty() { "/mcp" } else { path };
    let resource = match url::Url::parse(tokens.audience()) {
        Ok(_) => tokens.audience().to_owned(),
        Err(_) => format!("{}{path}", base(&headers, &uri)),
    };
    Json(json!({
        "resource": resource,
        "authorization_servers": [tokens.issuer()],
        "bearer_methods_supported": ["header"],
        "resource_name": "Toolcrib",
    }))
    .into_response()
}

/// Tells a caller that it was not let in, and how to be.
pub(super) fn refusal(door: &Door, headers: &HeaderMap, uri: &Uri, refused: &Refused) -> Response {
    let why = refused.why();
    let error = match refused {
        Refused::Unavailable => {
            return (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response();
        }
        Refused::Missing => None,
        Refused::Invalid(_) => Some("invalid_token"),
    };
    let mut challenge = "Bearer realm=\"toolcrib\"".to_owned();
    if let Some(error) = error {
        let quoted: String = why
            .chars()
            .filter(|c| c.is_ascii_graphic() || *c == ' ')
            .collect();
        let quoted = quoted.replace(['"', '\\'], "'");
        let _ = write!(
            challenge,
            ", error=\"{error}\", error_description=\"{quoted}\""
        );
    }
    if door.identity.tokens().is_some() {
        let base = base(headers, uri);
        let _ = write!(
            challenge,
            ", resource_metadata=\"{base}{WELL_KNOWN}{}\"",
            uri.path()
        );
    }
    let mut response = (StatusCode::UNAUTHORIZED, format!("{why}\n")).into_response();
    if let Ok(challenge) = HeaderValue::from_str(&challenge) {
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// The address under which the door was reached.
fn base(headers: &HeaderMap, uri: &Uri) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = match text("x-forwarded-proto") {
        Some("https") => "https",
        _ => "http",
    };
    let host = text("host").or_else(|| uri.authority().map(axum::http::uri::Authority::as_str));
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}
