//! Which addresses may be connected to.
//!
//! The address itself is looked at when a connection is made, not the name before it: a name that
//! leads to a public address now may lead to a private one a moment later.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use toolcrib_core::limits::ADAPTER_CONNECT_TIMEOUT_MS;
use url::{Host, Url};

use super::failure::Failure;

/// A host that leads to an address which may not be connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host} leads to a private or link-local address")]
pub(super) struct Private {
    pub(super) host: String,
}

/// Whether an address belongs to the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match (a, b, c) {
        // This network, shared space of providers, protocol assignments, benchmarks, reserved.
        (0 | 240..=255, _, _) | (100, 64..=127, _) | (192, 0, 0) | (198, 18 | 19, _) => true,
        _ => false,
    };
    !(special
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4() {
        return is_public_v4(inner);
    }
    let parts = address.segments();
    let inner = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Addresses that wrap one of the older kind.
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => inner(high, low),
        [0x2001, 0 | 0x0db8, ..] => false,
        // Global unicast is all that is left.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

/// Refuses an address that is written as numbers; names are looked at when they are resolved.
pub(super) fn check_literal(url: &Url) -> Result<(), Private> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        _ => return Ok(()),
    };
    if is_public(address) {
        return Ok(());
    }
    Err(Private {
        host: address.to_string(),
    })
}

/// Opens a connection to the host of an address, and closes it.
pub(super) async fn reach(url: &Url, allow_private: bool) -> Result<(), Failure> {
    if !allow_private {
        check_literal(url).map_err(|private| Failure::Private(private.host))?;
    }
    let patience = Duration::from_millis(ADAPTER_CONNECT_TIMEOUT_MS);
    let connecting = connect(url, allow_private);
    match tokio::time::timeout(patience, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(Failure::TimedOut(patience)),
    }
}

async fn connect(url: &Url, allow_private: bool) -> Result<(), Failure> {
    let unreachable = |error: std::io::Error| Failure::Unreachable(error.to_string());
    let nowhere = || Failure::Configuration("its address names no host".to_owned());
    let port = url.port_or_known_default().ok_or_else(nowhere)?;
    let found = match url.host().ok_or_else(nowhere)? {
        Host::Ipv4(address) => vec![SocketAddr::new(address.into(), port)],
        Host::Ipv6(address) => vec![SocketAddr::new(address.into(), port)],
        Host::Domain(name) => {
            let found = tokio::net::lookup_host((name, port)).await;
            let found: Vec<SocketAddr> = found.map_err(unreachable)?.collect();
            let kept = found.iter().copied();
            let kept = kept.filter(|address| allow_private || is_public(address.ip()));
            let kept: Vec<SocketAddr> = kept.collect();
            if kept.is_empty() && !found.is_empty() {
                return Err(Failure::Private(name.to_owned()));
            }
            kept
        }
    };
    let connected = tokio::net::TcpStream::connect(&found[..]).await;
    connected.map(drop).map_err(unreachable)
}

/// The addresses of a name.
pub(super) type Looking = Pin<Box<dyn Future<Output = std::io::Result<Vec<SocketAddr>>> + Send>>;
/// What looks names up.
pub(super) type Lookup = Arc<dyn Fn(String) -> Looking + Send + Sync>;

/// Looks names up as the system does.
pub(super) fn system() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.collect())
        })
    })
}

/// Looks names up and keeps only addresses that may be connected to.
pub(super) struct Resolver {
    pub(super) lookup: Lookup,
    pub(super) allow_private: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let looking = (self.lookup)(host.clone());
        let allow_private = self.allow_private;
        Box::pin(async move {
            let found = looking.await?;
            let kept: Vec<SocketAddr> = found
                .iter()
                .copied()
                .filter(|address| allow_private || is_public(address.ip()))
                .collect();
            if kept.is_empty() && !found.is_empty() {
                return Err(Private { host }.into());
            }
            Ok(Box::new(kept.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn private_addresses_are_told_from_public_ones() {
        let table = [
            ("93.184.216.34", true),
            ("1.1.1.1", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:4700::1111", true),
            ("::1", false),
            ("::", false),
            ("fe80::1", false),
            ("fc00::1", false),
            ("ff02::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:1.1.1.1", true),
            ("64:ff9b::a00:1", false),
            ("64:ff9b::101:101", true),
            ("2002:7f00:1::", false),
            ("2001:db8::1", false),
            ("fd00:ec2::254", false),
        ];
        for (text, expected) in table {
            let address = IpAddr::from_str(text).unwrap();
            assert_eq!(is_public(address), expected, "{text}");
        }
    }

    #[test]
    fn numbers_in_every_spelling_are_looked_at() {
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://１２７.0.0.1/",
        ] {
            assert!(check_literal(&Url::parse(url).unwrap()).is_err(), "{url}");
        }
        assert!(check_literal(&Url::parse("http://example.com/").unwrap()).is_ok());
    }

    #[tokio::test]
    async fn what_may_not_be_connected_to_or_cannot_be_is_told_apart() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let check = async |host: &str, port: u16, allow: bool| {
            let url = Url::parse(&format!("http://{host}:{port}/v1")).unwrap();
            reach(&url, allow).await
        };
        for host in ["127.0.0.1", "localhost"] {
            assert_eq!(check(host, port, true).await, Ok(()), "{host}");
            let refused = check(host, port, false).await;
            assert_eq!(refused, Err(Failure::Private(host.to_owned())));
        }
        drop(listener);
        let gone = check("127.0.0.1", port, true).await;
        assert!(matches!(gone, Err(Failure::Unreachable(_))), "{gone:?}");
    }

    #[tokio::test]
    async fn a_name_that_turns_private_is_refused_at_the_next_connection() {
        let times = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&times);
        let lookup: Lookup = Arc::new(move |_| {
            let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            let address = if first {
                "93.184.216.34:0"
            } else {
                "127.0.0.1:0"
            };
            Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
        });
        let resolver = Resolver {
            lookup,
            allow_private: false,
        };
        let name = || Name::from_str("rebind.example").unwrap();
        assert_eq!(resolver.resolve(name()).await.unwrap().count(), 1);
        let error = resolver.resolve(name()).await.err().unwrap();
        assert!(error.downcast_ref::<Private>().is_some());
    }

    #[tokio::test]
    async fn of_mixed_addresses_only_public_ones_are_kept() {
        let lookup: Lookup = Arc::new(|_| {
            Box::pin(async {
                Ok(vec![
                    "10.0.0.1:0".parse().unwrap(),
                    "1.1.1.1:0".parse().unwrap(),
                ])
            })
        });
        for (allow_private, expected) in [(false, 1), (true, 2)] {
            let lookup = Arc::clone(&lookup);
            let resolver = Resolver {
                lookup,
                allow_private,
            };
            let kept = resolver.resolve(Name::from_str("x.example").unwrap()).await;
            assert_eq!(kept.unwrap().count(), expected);
        }
    }
}
