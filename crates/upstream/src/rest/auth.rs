//! Credentials: which of an API's schemes they fit, and how they get onto a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use indexmap::IndexMap;
use toolcrib_core::secret::Secret;

use super::adapter::Api;
use super::failure::Failure;
use super::operation::{Operation, Spot};
use super::security::Scheme;
use super::style;
use super::wire::Outgoing;

/// What kind of credential one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A token.
    Bearer,
    /// A user name and a password.
    Basic,
    /// A key.
    ApiKey,
    /// A client that gets tokens.
    OAuth2,
    /// None is sent.
    None,
}

/// One credential, its secrets resolved.
#[derive(Clone, Debug, Default)]
pub struct Credential {
    /// The kind; the description decides where it is not given.
    pub kind: Option<Kind>,
    /// The token, password, key or client secret.
    pub secret: Option<Secret>,
    /// The user name.
    pub username: Option<Secret>,
    /// The name of the header, query parameter or cookie of a key.
    pub name: Option<String>,
    /// Where tokens are had; the description decides where it is not given.
    pub token_url: Option<String>,
    /// The client that gets tokens.
    pub client_id: Option<Secret>,
    /// A token that others are had for.
    pub refresh_token: Option<Secret>,
    /// The scopes that tokens are asked for.
    pub scopes: Vec<String>,
}

impl Credential {
    /// Whether its secrets are for the token endpoint, and never themselves for the API.
    pub fn gets_tokens(&self) -> bool {
        matches!(self.kind, None | Some(Kind::OAuth2))
            && (self.client_id.is_some() || self.refresh_token.is_some())
    }

    /// Where on a request it would stand for a scheme.
    fn place(&self, scheme: &Scheme) -> (Spot, String) {
        match scheme {
            Scheme::ApiKey { name, spot } => (
                *spot,
                self.name.as_ref().unwrap_or(name).to_ascii_lowercase(),
            ),
            _ => (Spot::Header, header::AUTHORIZATION.as_str().to_owned()),
        }
    }
}

/// All credentials for an API.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The one for every scheme that it fits.
    pub usual: Option<Credential>,
    /// Those for schemes by name.
    pub schemes: IndexMap<String, Credential>,
}

impl Credentials {
    fn all(&self) -> impl Iterator<Item = &Credential> {
        self.usual.iter().chain(self.schemes.values())
    }

    /// Every secret that must not come back in an answer, and what is made of it on the way.
    pub(super) fn secrets(&self) -> impl Iterator<Item = Secret> {
        self.all().flat_map(|credential| {
            let secret = credential.secret.iter();
            let pairs = secret.flat_map(|secret| {
                let users = [&credential.username, &credential.client_id];
                let users = users.into_iter().flatten().map(Secret::expose);
                let named = users.map(|user| format!("{user}:{}", secret.expose()));
                let lone = format!("{}:", secret.expose());
                named
                    .chain([lone])
                    .map(|pair| Secret::new(STANDARD.encode(pair)))
            });
            let plain = [&credential.secret, &credential.refresh_token];
            plain.into_iter().flatten().cloned().chain(pairs)
        })
    }

    /// The credential for a scheme, and whether it is the usual one.
    fn for_scheme(&self, name: &str, scheme: &Scheme) -> Option<(&Credential, bool)> {
        let named = self.schemes.get(name).map(|named| (named, false));
        let found = named.or_else(|| self.usual.as_ref().map(|usual| (usual, true)));
        found.filter(|(credential, _)| fits(credential, scheme))
    }

    /// The schemes to use for an operation with their credentials: the first alternative that there
    /// are credentials for, a password without a user name last. One secret is never put in two
    /// places: schemes that are needed together have each a secret of its own.
    pub(super) fn chosen<'a>(
        &'a self,
        api: &'a Api,
        operation: &Operation,
    ) -> Result<Vec<(String, Scheme, &'a Credential)>, Failure> {
        let mut best: Option<(bool, Vec<_>)> = None;
        let mut several = None;
        for alternative in operation.security.iter().filter(|any| !any.all.is_empty()) {
            let mut places = Vec::new();
            let found: Option<Vec<_>> = alternative
                .all
                .iter()
                .map(|need| {
                    let scheme = api.schemes.get(&need.scheme)?;
                    let (credential, usual) = self.for_scheme(&need.scheme, scheme)?;
                    places.extend(usual.then(|| credential.place(scheme)));
                    Some((need.scheme.clone(), scheme.clone(), credential))
                })
                .collect();
            let Some(found) = found else { continue };
            places.dedup();
            if places.len() > 1 {
                several.get_or_insert(alternative);
                continue;
            }
            let awkward = found
                .iter()
                .any(|(_, scheme, c)| *scheme == Scheme::Basic && c.username.is_none());
            if best.as_ref().is_none_or(|(worse, _)| *worse && !awkward) {
                best = Some((awkward, found));
            }
        }
        match (best, several) {
            (Some((_, found)), _) => Ok(found),
            (None, Some(several)) => {
                let names: Vec<&str> = several.all.iter().map(|n| n.scheme.as_str()).collect();
                Err(Failure::Configuration(format!(
                    "it wants several credentials together; set auth.schemes with one for each of {}",
                    super::library::brief(&names.join(", "))
                )))
            }
            (None, None) => Ok(self.stated(api, operation).into_iter().collect()),
        }
    }

    /// What the user says where the description is silent or of another opinion.
    fn stated(&self, api: &Api, operation: &Operation) -> Option<(String, Scheme, &Credential)> {
        let usual = self.usual.as_ref()?;
        let silent = operation.security.is_empty() && api.schemes.is_empty();
        let scheme = match usual.kind {
            Some(Kind::None) => return None,
            None if usual.gets_tokens() => token_scheme(usual),
            None if !silent => return None,
            None | Some(Kind::Bearer) => Scheme::Bearer,
            Some(Kind::Basic) => Scheme::Basic,
            Some(Kind::ApiKey) => Scheme::ApiKey {
                name: usual.name.clone().unwrap_or_else(|| "X-API-Key".to_owned()),
                spot: Spot::Header,
            },
            Some(Kind::OAuth2) => token_scheme(usual),
        };
        Some(("configured".to_owned(), scheme, usual))
    }
}

fn token_scheme(credential: &Credential) -> Scheme {
    Scheme::OAuth2 {
        token_url: credential.token_url.clone(),
        client_credentials: true,
    }
}

fn fits(credential: &Credential, scheme: &Scheme) -> bool {
    if credential.gets_tokens() {
        return matches!(scheme, Scheme::Bearer | Scheme::OAuth2 { .. });
    }
    match (credential.kind, scheme) {
        (Some(Kind::None), _) | (_, Scheme::Other) => false,
        (None, _)
        | (Some(Kind::Bearer | Kind::OAuth2), Scheme::Bearer | Scheme::OAuth2 { .. })
        | (Some(Kind::Basic), Scheme::Basic)
        | (Some(Kind::ApiKey), Scheme::ApiKey { .. }) => true,
        _ => false,
    }
}

/// Puts what a scheme wants onto a request. `token`: the access token, for schemes that take one.
pub(super) fn apply(
    request: &mut Outgoing,
    scheme: &Scheme,
    credential: &Credential,
    token: Option<&Secret>,
) -> Result<(), Failure> {
    let secret = credential.secret.as_ref().map_or("", Secret::expose);
    match scheme {
        Scheme::Bearer | Scheme::OAuth2 { .. } => {
            let token = token.map_or(secret, Secret::expose);
            set(
                &mut request.headers,
                header::AUTHORIZATION,
                &format!("Bearer {token}"),
            )
        }
        Scheme::Basic => {
            // With one secret and no user name, the secret is the user: so do APIs that take keys.
            let pair = match &credential.username {
                Some(user) => format!("{}:{secret}", user.expose()),
                None => format!("{secret}:"),
            };
            let value = format!("Basic {}", STANDARD.encode(pair));
            set(&mut request.headers, header::AUTHORIZATION, &value)
        }
        Scheme::ApiKey { name, spot } => {
            let name = credential.name.as_ref().unwrap_or(name);
            match spot {
                Spot::Query => {
                    let pair = format!("{}={}", style::escape_name(name), style::escape(secret));
                    let query = request.url.query().filter(|query| !query.is_empty());
                    let query = query.map_or_else(|| pair.clone(), |q| format!("{q}&{pair}"));
                    request.url.set_query(Some(&query));
                    Ok(())
                }
                Spot::Cookie => {
                    let pair = format!("{}={}", style::escape_name(name), style::escape(secret));
                    let known = request.headers.get(header::COOKIE);
                    let known = known.and_then(|value| value.to_str().ok());
                    let value = known.map_or_else(|| pair.clone(), |k| format!("{k}; {pair}"));
                    set(&mut request.headers, header::COOKIE, &value)
                }
                _ => {
                    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
                        Failure::Configuration("the name of its key is not legal".to_owned())
                    })?;
                    set(&mut request.headers, name, secret)
                }
            }
        }
        Scheme::Other => Ok(()),
    }
}

/// Sets a header that no log shows.
pub(super) fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), Failure> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Failure::Configuration(format!(
            "the secret for {name} holds a line break; check it"
        ))
    })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}
