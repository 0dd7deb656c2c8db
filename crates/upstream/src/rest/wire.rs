//! Requests on the wire: addresses checked, redirects kept within the host, answers bounded.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderMap, Method, StatusCode, header};
use reqwest::redirect::Policy;
use toolcrib_core::limits::{ADAPTER_CONNECT_TIMEOUT_MS, ADAPTER_REDIRECTS_MAX};
use url::Url;

use super::failure::Failure;
use super::guard::{self, Lookup, Private, Resolver};

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Sends requests of one adapter.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    client: reqwest::Client,
    allow_private: bool,
}

impl Wire {
    /// `allow_private`: whether private and link-local addresses may be connected to.
    pub(super) fn new(allow_private: bool, lookup: Lookup) -> Result<Self, Failure> {
        let resolver = Resolver {
            lookup,
            allow_private,
        };
        // A proxy would connect in our place, and to what is not seen here.
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .dns_resolver(Arc::new(resolver))
            .connect_timeout(Duration::from_millis(ADAPTER_CONNECT_TIMEOUT_MS))
            .user_agent(concat!("toolcrib/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failure::Configuration(told(error)))?;
        Ok(Self {
            client,
            allow_private,
        })
    }

    /// Sends a request and reads at most `bytes_max` of its answer, unpacked, within `timeout`.
    pub(super) async fn send(
        &self,
        request: Outgoing,
        bytes_max: usize,
        timeout: Duration,
    ) -> Result<Incoming, Failure> {
        let exchange = self.exchange(request, bytes_max);
        match tokio::time::timeout(timeout, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure::TimedOut(timeout)),
        }
    }

    async fn exchange(&self, mut request: Outgoing, bytes_max: usize) -> Result<Incoming, Failure> {
        for _ in 0..=ADAPTER_REDIRECTS_MAX {
            if !self.allow_private {
                guard::check_literal(&request.url).map_err(|p| Failure::Private(p.host))?;
            }
            let mut sending = self
                .client
                .request(request.method.clone(), request.url.clone())
                .headers(request.headers.clone());
            if let Some(body) = &request.body {
                sending = sending.body(body.clone());
            }
            let answer = sending.send().await.map_err(failed)?;
            match onward(&request, answer.status(), answer.headers())? {
                Some(next) => request = next,
                None => return read(answer, bytes_max).await,
            }
        }
        Err(Failure::Elsewhere("itself again and again".to_owned()))
    }
}

/// The request that a redirect asks for; none where the answer is no redirect that can be followed.
fn onward(
    request: &Outgoing,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Outgoing>, Failure> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = headers.get(header::LOCATION).and_then(|l| l.to_str().ok());
    let Some(url) = location.and_then(|location| request.url.join(location).ok()) else {
        return Ok(None);
    };
    let stays = url.host() == request.url.host()
        && (url.port_or_known_default() == request.url.port_or_known_default()
            && url.scheme() == request.url.scheme()
            || url.scheme() == "https"
                && request.url.scheme() == "http"
                && url.port().is_none()
                && request.url.port().is_none());
    if !stays {
        let host = url.host_str().unwrap_or("another place");
        return Err(Failure::Elsewhere(host.to_owned()));
    }
    let mut next = request.clone();
    next.url = url;
    let safe = matches!(request.method, Method::GET | Method::HEAD);
    match status.as_u16() {
        303 if !safe => {
            next.method = Method::GET;
            next.body = None;
            next.headers.remove(header::CONTENT_TYPE);
        }
        // Whether the first request was carried out is not known: it is not sent as another one.
        301 | 302 if !safe => return Ok(None),
        _ => {}
    }
    Ok(Some(next))
}

async fn read(answer: reqwest::Response, bytes_max: usize) -> Result<Incoming, Failure> {
    let status = answer.status();
    let headers = answer.headers().clone();
    let mut body = Vec::new();
    let mut chunks = answer.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(failed)?;
        if body.len() + chunk.len() > bytes_max {
            return Err(Failure::TooLarge(bytes_max));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Incoming {
        status,
        headers,
        body,
    })
}

fn failed(error: reqwest::Error) -> Failure {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(private) = inner.downcast_ref::<Private>() {
            return Failure::Private(private.host.clone());
        }
        source = inner.source();
    }
    if error.is_builder() {
        return Failure::Arguments(told(error));
    }
    if error.is_connect() {
        return Failure::Unreachable(told(error));
    }
    Failure::Broken(told(error))
}

/// The innermost reason, without the address: its query may hold a key.
fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        told = inner.to_string();
        source = inner.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn redirects_stay_within_the_host() {
        let table = [
            ("GET", 302, "/b", Some("GET https://x.com/b")),
            ("GET", 301, "https://x.com/c", Some("GET https://x.com/c")),
            ("POST", 307, "/b", Some("POST https://x.com/b")),
            ("POST", 303, "/b", Some("GET https://x.com/b")),
            ("POST", 302, "/b", None),
            ("GET", 200, "/b", None),
        ];
        for (method, status, location, expected) in table {
            let next = onward(
                &request(method),
                StatusCode::from_u16(status).unwrap(),
                &to(location),
            );
            let next = next
                .unwrap()
                .map(|next| format!("{} {}", next.method, next.url));
            assert_eq!(next.as_deref(), expected, "{method} {status}");
        }
        for location in [
            "https://evil.com/",
            "http://x.com/",
            "//169.254.169.254/",
            "https://x.com:8443/",
        ] {
            let next = onward(&request("GET"), StatusCode::FOUND, &to(location));
            assert!(matches!(next, Err(Failure::Elsewhere(_))), "{location}");
        }
    }

    fn request(method: &str) -> Outgoing {
        Outgoing {
            method: method.parse().unwrap(),
            url: Url::parse("https://x.com/a").unwrap(),
            headers: HeaderMap::new(),
            body: None,
        }
    }

    fn to(location: &str) -> HeaderMap {
        let value = HeaderValue::from_str(location).unwrap();
        [(header::LOCATION, value)].into_iter().collect()
    }
}
