//! Whether a request is meant for this door: a page from elsewhere must not speak through a browser
//! of this machine.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use toolcrib_config::model::settings::Http;
use url::{Host, Url};

/// Which hosts and origins may be named.
#[derive(Clone, Debug)]
pub struct Guard {
    origins: Vec<String>,
    hosts: Vec<String>,
    /// Whether any host may be named: where every caller shows credentials, a name proves nothing.
    any_host: bool,
}

impl Guard {
    /// What the settings allow; `open` is whether anybody may come in without credentials.
    pub fn new(settings: &Http, open: bool) -> Self {
        let lower = |names: &[String]| -> Vec<String> {
            let names = names
                .iter()
                .map(|name| name.trim_end_matches('/').to_ascii_lowercase());
            names.collect()
        };
        Self {
            origins: lower(&settings.allowed_origins),
            hosts: lower(&settings.allowed_hosts),
            any_host: !open && settings.allowed_hosts.is_empty(),
        }
    }

    /// Checks `Host` and `Origin`, or says what is wrong.
    pub fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), String> {
        let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str());
        match text(header::HOST) {
            Some(Ok(host)) => self.host(host)?,
            Some(Err(_)) => return Err("the Host header is not readable".to_owned()),
            None => match uri.authority() {
                Some(authority) => self.host(authority.as_str())?,
                None => return Err("the Host header is missing".to_owned()),
            },
        }
        match text(header::ORIGIN) {
            None => Ok(()),
            Some(Ok(origin)) => self.origin(origin),
            Some(Err(_)) => Err("the Origin header is not readable".to_owned()),
        }
    }

    /// Whether what is answered depends on the origin that a page names.
    pub fn tells_origins_apart(&self) -> bool {
        !self.origins.is_empty()
    }

    /// The origin of a page whose scripts may read what is answered: one that the settings name.
    pub fn shared_with<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        self.origins.contains(&text).then_some(origin)
    }

    fn host(&self, host: &str) -> Result<(), String> {
        let named: Option<Authority> = host.parse().ok();
        let name = named
            .as_ref()
            .map_or("", Authority::host)
            .to_ascii_lowercase();
        let allowed = self.any_host
            || is_loopback(&name)
            || self.hosts.contains(&name)
            || self.hosts.contains(&host.to_ascii_lowercase());
        if named.is_some() && allowed {
            return Ok(());
        }
        Err("this host is not served here; add it to http.allowedHosts".to_owned())
    }

    fn origin(&self, origin: &str) -> Result<(), String> {
        let lower = origin.to_ascii_lowercase();
        let local = Url::parse(&lower).ok().is_some_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(is_loopback)
        });
        if local || self.origins.contains(&lower) {
            return Ok(());
        }
        Err("pages of this origin may not connect; add it to http.allowedOrigins".to_owned())
    }
}

/// Whether a host is this machine: `localhost`, `127.0.0.0/8` or `[::1]`.
pub fn is_loopback(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Domain(name)) => name == "localhost",
        Ok(Host::Ipv4(address)) => address.is_loopback(),
        Ok(Host::Ipv6(address)) => address.is_loopback(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &Guard, host: Option<&str>, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(header::HOST, host.parse().unwrap());
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        guard.check(&headers, &Uri::from_static("/mcp")).is_ok()
    }

    #[test]
    fn only_this_machine_is_named_unless_configured() {
        let guard = Guard::new(&Http::default(), true);
        for host in [
            "localhost",
            "LOCALHOST:7332",
            "127.0.0.1:1",
            "127.8.9.1",
            "[::1]:7332",
        ] {
            assert!(check(&guard, Some(host), None), "{host}");
            assert!(
                check(&guard, Some(host), Some(&format!("http://{host}"))),
                "{host}"
            );
        }
        for host in [
            "evil.example.com",
            "localhost.evil.com",
            "10.0.0.1",
            "",
            "a b",
            "127.0.0.1.nip.io",
        ] {
            assert!(!check(&guard, Some(host), None), "{host}");
        }
        assert!(!check(&guard, None, None));
        for origin in [
            "http://evil.example.com",
            "null",
            "file://",
            "https://localhost.evil.com",
        ] {
            assert!(!check(&guard, Some("localhost"), Some(origin)), "{origin}");
        }
    }

    #[test]
    fn configured_names_are_let_in() {
        let settings = Http {
            allowed_hosts: vec!["Crib.example".into()],
            allowed_origins: vec!["https://App.example/".into()],
            ..Http::default()
        };
        let guard = Guard::new(&settings, false);
        assert!(check(
            &guard,
            Some("crib.example:443"),
            Some("https://app.example")
        ));
        assert!(!check(&guard, Some("other.example"), None));
        assert!(!check(
            &guard,
            Some("crib.example"),
            Some("http://app.example")
        ));
        let closed = Guard::new(&Http::default(), false);
        assert!(check(&closed, Some("any.example"), None));
        assert!(!check(
            &closed,
            Some("any.example"),
            Some("http://any.example")
        ));
    }
}
