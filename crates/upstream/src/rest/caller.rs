//! Calls to the operations of an API, each by a permit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue};
use indexmap::IndexMap;
use serde_json::Value;
use toolcrib_core::canon::params_hash;
use toolcrib_core::limits::ADAPTER_ANSWER_BYTES_MAX;
use toolcrib_core::policy::Permit;
use toolcrib_core::retry::{RetryPolicy, Trouble};
use toolcrib_core::secret::Secret;
use toolcrib_core::trace::{SpanContext, TRACEPARENT, TRACESTATE};

use super::adapter::{Api, LoadError};
use super::answer::Answer;
use super::auth::{self, Credentials};
use super::failure::Failure;
use super::guard::{self, Lookup};
use super::load::Source;
use super::mask::Masks;
use super::operation::Operation;
use super::tokens::Tokens;
use super::wire::{Outgoing, Wire};
use super::{idempotency, request};
use crate::sent::Sent;

/// How an API is called, as the configuration has it with its secrets resolved.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The base address, where the description's own is not wanted.
    pub base_url: Option<String>,
    /// Variables of the description's addresses.
    pub server_variables: IndexMap<String, String>,
    /// How requests authenticate.
    pub credentials: Credentials,
    /// Headers for every request.
    pub headers: Vec<(String, Secret)>,
    /// The header in which the API takes idempotency keys.
    pub idempotency_header: Option<String>,
    /// Whether private and link-local addresses may be called.
    pub allow_private: bool,
    /// How often what may be repeated is tried again.
    pub retries: RetryPolicy,
    /// The tokens that were had before; a description that is read anew keeps them.
    pub tokens: Arc<Tokens>,
}

/// The time of a call and a random number that spreads its delays, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Milliseconds since the epoch.
    pub now_ms: i64,
    /// The random number.
    pub random: f64,
}

/// An API, ready to be called.
#[derive(Debug)]
pub struct Adapter {
    api: Api,
    settings: Settings,
    wire: Wire,
}

impl Adapter {
    /// Reads a description and prepares calls to what it describes.
    pub async fn load(source: &Source, settings: Settings) -> Result<Self, LoadError> {
        let api = source.load().await?;
        Self::new(api, settings).map_err(|failure| LoadError::Refused {
            place: source.place.to_string(),
            why: failure.to_string(),
        })
    }

    /// Prepares calls to an API.
    pub fn new(api: Api, settings: Settings) -> Result<Self, Failure> {
        Self::with_lookup(api, settings, guard::system())
    }

    pub(super) fn with_lookup(
        api: Api,
        settings: Settings,
        lookup: Lookup,
    ) -> Result<Self, Failure> {
        let wire = Wire::new(settings.allow_private, lookup)?;
        Ok(Self {
            api,
            settings,
            wire,
        })
    }

    /// The API and its operations.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Whether the API keeps idempotency keys of an operation, so that a call with one may be
    /// repeated.
    pub fn honours_key(&self, operation: &Operation) -> bool {
        let base = self.base(operation).ok();
        let host = base.as_ref().and_then(|base| base.host_str()).unwrap_or("");
        self.key_header(operation, host).is_some()
    }

    /// The host and port that calls of a tool go to.
    pub fn host(&self, tool: &str) -> Option<(String, u16)> {
        let base = self.base(self.api.operation(tool)?).ok()?;
        Some((base.host_str()?.to_owned(), base.port_or_known_default()?))
    }

    /// Looks whether the address that calls go to may be connected to, and can be. Nothing is sent.
    pub async fn reach(&self) -> Result<(), Failure> {
        let Some(operation) = self.api.operations.first() else {
            return Ok(());
        };
        let base = self.base(operation).map_err(Failure::Configuration)?;
        guard::reach(&base, self.settings.allow_private).await
    }

    /// Makes the call that a permit allows. An answer of any status is an answer; a failure is when
    /// there is none. What the permit lets be repeated is tried again within its deadline. The API is
    /// told the trace that the call belongs to.
    pub async fn call(
        &self,
        permit: Permit,
        arguments: &Value,
        moment: Moment,
        trace: Option<&SpanContext>,
    ) -> Result<Answer, Failure> {
        let sent = Sent::default();
        self.call_counted(permit, arguments, moment, trace, &sent)
            .await
    }

    /// As [`Self::call`], and counts how often the request is sent.
    pub async fn call_counted(
        &self,
        permit: Permit,
        arguments: &Value,
        moment: Moment,
        trace: Option<&SpanContext>,
        sent: &Sent,
    ) -> Result<Answer, Failure> {
        let operation = self
            .api
            .operation(permit.tool().tool())
            .ok_or(Failure::Misused)?;
        let fits =
            *permit.tool() == operation.tool.id && permit.params_hash() == params_hash(arguments);
        let Some(fields) = arguments.as_object().filter(|_| fits) else {
            return Err(Failure::Misused);
        };
        let base = self.base(operation).map_err(Failure::Configuration)?;
        let mut plain = request::build(operation, &base, fields)?;
        self.own_headers(&mut plain)?;
        if let Some(trace) = trace {
            add_trace(&mut plain, trace);
        }
        if let Some(key) = permit.idempotency_key() {
            self.add_key(operation, &mut plain, key)?;
        }
        let started = Instant::now();
        let budget = permit.deadline_ms().saturating_sub(moment.now_ms);
        let budget = Duration::from_millis(u64::try_from(budget).unwrap_or(0));
        let mut attempt = 0;
        loop {
            let left = budget.saturating_sub(started.elapsed());
            sent.begin();
            let outcome = self.attempt(operation, &plain, moment.now_ms, left).await;
            if outcome.as_ref().is_err_and(Failure::was_not_delivered) {
                sent.take_back();
            }
            attempt += 1;
            let wait = self.wait(&outcome, attempt, moment.random);
            match wait
                .filter(|_| permit.may_retry() && attempt <= self.settings.retries.max_retries)
            {
                Some(wait) if started.elapsed() + wait < budget => tokio::time::sleep(wait).await,
                _ => return outcome,
            }
        }
    }

    /// How long to wait before trying again; none where that would not help.
    fn wait(
        &self,
        outcome: &Result<Answer, Failure>,
        attempt: u32,
        random: f64,
    ) -> Option<Duration> {
        let trouble = match outcome {
            Ok(answer) if answer.is_error() => Trouble::Status(answer.status),
            Ok(_) => return None,
            Err(Failure::TimedOut(_)) => Trouble::TimedOut,
            Err(Failure::Unreachable(_) | Failure::Broken(_)) => Trouble::Reset,
            Err(_) => Trouble::Lasting,
        };
        let policy = &self.settings.retries;
        if !policy.retries(trouble) {
            return None;
        }
        let own = Duration::from_millis(policy.jittered_delay_ms(attempt, random));
        let asked = outcome.as_ref().ok().and_then(|answer| answer.retry_after);
        Some(asked.unwrap_or(own).max(own))
    }

    /// One request with its credentials; a token that is refused is renewed once.
    async fn attempt(
        &self,
        operation: &Operation,
        plain: &Outgoing,
        now_ms: i64,
        timeout: Duration,
    ) -> Result<Answer, Failure> {
        let settings = &self.settings;
        let chosen = settings.credentials.chosen(&self.api, operation)?;
        if !chosen.is_empty() && plain.url.scheme() != "https" && !settings.allow_private {
            return Err(Failure::Configuration(
                "its address is not https, and credentials are not sent over it; set baseUrl, or allowPrivateAddresses for an API on a network of your own"
                    .to_owned(),
            ));
        }
        let base = self.base(operation).map_err(Failure::Configuration)?;
        let mut renewed = false;
        loop {
            let mut request = plain.clone();
            let mut secrets: Vec<Secret> = settings.credentials.secrets().collect();
            secrets.extend(
                settings
                    .headers
                    .iter()
                    .flat_map(|(_, value)| of_header(value)),
            );
            for (name, scheme, credential) in &chosen {
                let wanted = (name.as_str(), scheme, *credential);
                let tokens = &settings.tokens;
                let token = tokens.get(&self.wire, wanted, &base, now_ms).await?;
                auth::apply(&mut request, scheme, credential, token.as_ref())?;
                secrets.extend(token);
            }
            let incoming = self
                .wire
                .send(request, ADAPTER_ANSWER_BYTES_MAX, timeout)
                .await?;
            if incoming.status.as_u16() == 401 && !renewed {
                let forgotten = chosen
                    .iter()
                    .filter(|(name, ..)| settings.tokens.forget(name))
                    .count();
                if forgotten > 0 {
                    renewed = true;
                    continue;
                }
            }
            let masks = Masks::new(secrets.into_iter());
            return Ok(Answer::of(operation, incoming, &masks, now_ms));
        }
    }

    fn base(&self, operation: &Operation) -> Result<url::Url, String> {
        let settings = &self.settings;
        self.api.base(
            operation,
            settings.base_url.as_deref(),
            &settings.server_variables,
        )
    }

    fn key_header<'a>(&'a self, operation: &'a Operation, host: &str) -> Option<&'a str> {
        idempotency::header(operation, host, self.settings.idempotency_header.as_deref())
    }

    fn own_headers(&self, request: &mut Outgoing) -> Result<(), Failure> {
        for (name, value) in &self.settings.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
                Failure::Configuration(format!("the header name {name} is not legal"))
            })?;
            auth::set(&mut request.headers, name, value.expose())?;
        }
        Ok(())
    }

    fn add_key(
        &self,
        operation: &Operation,
        request: &mut Outgoing,
        key: &str,
    ) -> Result<(), Failure> {
        let host = request.url.host_str().unwrap_or("").to_owned();
        let Some(name) = self.key_header(operation, &host) else {
            return Ok(());
        };
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| Failure::Configuration(format!("the header name {name} is not legal")))?;
        if !request.headers.contains_key(&name) {
            let value = key.parse().map_err(|_| {
                Failure::Arguments("the idempotency key cannot stand in a header".to_owned())
            })?;
            request.headers.insert(name, value);
        }
        Ok(())
    }
}

/// The secrets of a configured header: its value, and the token after a word such as `Bearer`.
fn of_header(value: &Secret) -> impl Iterator<Item = Secret> {
    let token = value
        .expose()
        .split_once(' ')
        .map(|(_, token)| Secret::new(token));
    [value.clone()].into_iter().chain(token)
}

/// Says which trace a request belongs to. What the configuration sets as such a header stays.
fn add_trace(request: &mut Outgoing, trace: &SpanContext) {
    if request.headers.contains_key(TRACEPARENT) {
        return;
    }
    let parent = HeaderValue::from_str(&trace.traceparent());
    let state = trace.tracestate().map(HeaderValue::from_str).transpose();
    if let (Ok(parent), Ok(state)) = (parent, state) {
        request.headers.insert(TRACEPARENT, parent);
        request.headers.remove(TRACESTATE);
        if let Some(state) = state {
            request.headers.insert(TRACESTATE, state);
        }
    }
}
