//! The REST APIs of a configuration, as the engine reaches them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;
use toolcrib_config::load::Config;
use toolcrib_config::model::adapter::{Adapter as Described, AdapterAuth, AuthKind, SecretSource};
use toolcrib_core::limits::CONFIG_FILE_BYTES_MAX;
use toolcrib_core::policy::Permit;
use toolcrib_core::retry::RetryPolicy;
use toolcrib_core::secret::Secret;
use toolcrib_upstream::mcp::{CallError, Failure, breaker};
use toolcrib_upstream::rest::auth::Kind;
use toolcrib_upstream::rest::tokens::Tokens;
use toolcrib_upstream::rest::{
    self, Adapter, Answer, Credential, Credentials, Moment, Settings, Source,
};

use super::endpoint::Resolver;
use crate::engine::clock::Clock;
use crate::engine::definition::raw;
use crate::engine::discovery::DiscoveryError;
use crate::engine::upstream::{Breaker, Call, Health, List, Listed, Offer, Said, Standing};
use crate::veil::cover;

/// How long a command that prints a secret may take.
const SECRET_COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// An API: what the configuration says, and what it was read into.
#[derive(Clone)]
struct Mounted {
    described: Described,
    /// Where the file stands that describes it.
    folder: Option<PathBuf>,
    state: State,
    course: Arc<Mutex<Course>>,
    /// Kept when the description is read anew: a refresh token that was replaced is known only here.
    tokens: Arc<Tokens>,
}

impl Mounted {
    fn new(described: Described, folder: Option<PathBuf>) -> Self {
        Self {
            described,
            folder,
            state: State::Unread,
            course: Arc::default(),
            tokens: Arc::default(),
        }
    }
}

/// How calls to an API went. They are let through all the same: that one of its operations fails says
/// nothing about the others.
#[derive(Default)]
struct Course {
    breaker: breaker::Breaker,
    trouble: Option<(String, i64)>,
}

impl Course {
    /// Takes the outcome of a call in: no connection, no answer in time and a failure of the API
    /// itself are failures, a refusal is none.
    fn saw(&mut self, outcome: &Result<Answer, rest::Failure>, moment: Moment) {
        let trouble = match outcome {
            Ok(answer) if answer.status >= 500 => format!("it answered HTTP {}", answer.status),
            Ok(_) => {
                *self = Self::default();
                return;
            }
            Err(
                failure @ (rest::Failure::Unreachable(_)
                | rest::Failure::Broken(_)
                | rest::Failure::TimedOut(_)),
            ) => failure.to_string(),
            Err(_) => return,
        };
        self.breaker.failed(Instant::now(), moment.random);
        let since_ms = self
            .trouble
            .take()
            .map_or(moment.now_ms, |(_, since_ms)| since_ms);
        self.trouble = Some((trouble, since_ms));
    }

    fn standing(&self) -> Standing {
        let breaker = match self.breaker.state(Instant::now()) {
            breaker::State::Closed => Breaker::Closed,
            breaker::State::HalfOpen => Breaker::HalfOpen,
            breaker::State::Open => Breaker::Open,
        };
        let trouble = self.trouble.clone().filter(|_| breaker != Breaker::Closed);
        let (reason, since_ms) = trouble.unzip();
        Standing {
            health: Health::Connected,
            breaker,
            reason: reason.map(|reason| cover(&reason)),
            since_ms,
        }
    }
}

#[derive(Clone)]
enum State {
    Unread,
    Read(Arc<Adapter>),
    Failed { why: String, at_ms: i64 },
}

/// The APIs of a configuration; each is read when its tools are first wanted.
#[derive(Default)]
pub(super) struct Adapters {
    mounted: Mutex<HashMap<String, Mounted>>,
}

impl Adapters {
    /// Puts the APIs of a configuration in place; one that is as it was stays read.
    pub(super) fn configure(&self, config: &Config) {
        let mut mounted = self.lock();
        let mut next = HashMap::new();
        let folder = config.path.as_deref().and_then(Path::parent);
        for (name, described) in &config.settings.adapters {
            let taken = config.servers.iter().any(|server| server.name == *name);
            if !described.enabled.0 || taken {
                continue;
            }
            let is_same = |m: &Mounted| m.described == *described && m.folder.as_deref() == folder;
            let known = mounted.remove(name).filter(is_same);
            let new = || Mounted::new(described.clone(), folder.map(Path::to_owned));
            let entry = known.unwrap_or_else(new);
            next.insert(name.clone(), entry);
        }
        *mounted = next;
    }

    /// Whether an API has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }

    /// Reads an API anew and lists its operations.
    pub(super) async fn list(
        &self,
        name: &str,
        resolver: &Resolver,
        clock: &Clock,
    ) -> Result<Listed, DiscoveryError> {
        let mounted = self.lock().get(name).cloned();
        let gone = || DiscoveryError::ConnectionFailed("it is not configured any more".to_owned());
        let Mounted {
            described,
            folder,
            tokens,
            ..
        } = mounted.ok_or_else(gone)?;
        let loaded = load(name, &described, folder.as_deref(), tokens, resolver).await;
        let at_ms = clock.now_ms();
        let state = match &loaded {
            Ok(adapter) => State::Read(Arc::clone(adapter)),
            Err(why) => State::Failed {
                why: why.clone(),
                at_ms,
            },
        };
        if let Some(mounted) = self
            .lock()
            .get_mut(name)
            .filter(|m| m.described == described)
        {
            mounted.state = state;
        }
        let adapter = loaded.map_err(DiscoveryError::ConnectionFailed)?;
        for warning in &adapter.api().warnings {
            tracing::warn!(server = name, %warning, "an API description is not as it should be");
        }
        let operations = adapter.api().operations.iter();
        let tools = operations.map(|operation| Offer {
            tool: operation.tool.clone(),
            definition: raw(&operation.definition()),
            honours_key: adapter.honours_key(operation),
        });
        Ok(Listed {
            list: List::Operations(tools.collect()),
            said: Said::at(at_ms),
            stale: false,
        })
    }

    /// Makes a call; the description is read first where it was not.
    pub(super) async fn call(
        &self,
        permit: Permit,
        call: Call,
        resolver: &Resolver,
        clock: &Clock,
    ) -> Result<Box<RawValue>, CallError> {
        let name = permit.tool().server().to_owned();
        if self.read(&name).is_none() {
            let listed = self.list(&name, resolver, clock).await;
            listed.map_err(|error| Failure::NotStarted(error.to_string()))?;
        }
        let missing = || Failure::NotStarted("it is not configured any more".to_owned());
        let adapter = self.read(&name).ok_or_else(missing)?;
        let arguments: Value = serde_json::from_str(call.arguments.get())
            .map_err(|error| Failure::NotMcp(format!("the arguments are not JSON: {error}")))?;
        let moment = Moment {
            now_ms: clock.now_ms(),
            random: clock.fraction(),
        };
        let trace = call.trace.as_ref();
        let calling = adapter.call_counted(permit, &arguments, moment, trace, &call.sent);
        let outcome = tokio::select! {
            () = call.cancel.cancelled() => return Err(Failure::Cancelled.into()),
            outcome = calling => outcome,
        };
        if let Some(mounted) = self.lock().get(&name) {
            let mut course = mounted
                .course
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            course.saw(&outcome, moment);
        }
        let answer = outcome.map_err(Failure::from)?;
        Ok(raw(&answer.result()))
    }

    /// How things stand with an API; none where it is not one of these.
    pub(super) fn standing(&self, name: &str) -> Option<Standing> {
        let mounted = self.lock();
        let mounted = mounted.get(name)?;
        Some(match &mounted.state {
            State::Unread => Standing::default(),
            State::Read(_) => {
                let course = mounted.course.lock();
                course.unwrap_or_else(PoisonError::into_inner).standing()
            }
            State::Failed { why, at_ms } => Standing {
                health: Health::Error,
                reason: Some(why.clone()),
                since_ms: Some(*at_ms),
                ..Standing::default()
            },
        })
    }

    /// An API whose description was read.
    pub(super) fn read(&self, name: &str) -> Option<Arc<Adapter>> {
        match &self.lock().get(name)?.state {
            State::Read(adapter) => Some(Arc::clone(adapter)),
            State::Unread | State::Failed { .. } => None,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Mounted>> {
        self.mounted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The path that an adapter names: one that is relative starts at the file that describes the adapter, and where
/// nothing stands there, at the directory of this process.
fn resolved(named: &str, folder: Option<&Path>, resolver: &Resolver) -> Option<PathBuf> {
    let here = resolver.surroundings().resolve(named)?;
    let is_relative = here == resolver.surroundings().cwd.join(named);
    let beside = folder.filter(|_| is_relative).map(|f| f.join(named));
    Some(beside.filter(|path| path.exists()).unwrap_or(here))
}

async fn load(
    name: &str,
    described: &Described,
    beside: Option<&Path>,
    tokens: Arc<Tokens>,
    resolver: &Resolver,
) -> Result<Arc<Adapter>, String> {
    let spec = resolver.filled(&described.spec)?;
    let spec = spec.expose();
    let is_address = spec.starts_with("http://") || spec.starts_with("https://");
    let folder = resolver.surroundings().cwd.clone();
    let place = match resolved(spec, beside, resolver) {
        Some(path) if !is_address => Source::place(&path.to_string_lossy(), &folder),
        _ => Source::place(spec, &folder),
    };
    let ref_folder = described.ref_folder.as_ref();
    let ref_folder = ref_folder.map(|named| resolver.filled(named)).transpose()?;
    let ref_folder = ref_folder.map(|named| {
        let named = named.expose();
        resolved(named, beside, resolver).unwrap_or_else(|| folder.join(named))
    });
    let source = Source {
        adapter: name.to_owned(),
        place,
        ref_hosts: described.ref_hosts.clone(),
        ref_folder,
        allow_private: described.allow_private_addresses,
    };
    let settings = settings(described, tokens, resolver).await?;
    let adapter = Adapter::load(&source, settings).await;
    adapter.map(Arc::new).map_err(|error| error.to_string())
}

async fn settings(
    described: &Described,
    tokens: Arc<Tokens>,
    resolver: &Resolver,
) -> Result<Settings, String> {
    let base_url = described
        .base_url
        .as_ref()
        .map(|url| resolver.filled(url))
        .transpose()?;
    let mut headers = Vec::new();
    for (name, value) in &described.headers {
        headers.push((name.clone(), resolver.filled(&value.0)?));
    }
    let credentials = match &described.auth {
        Some(auth) => credentials(auth, resolver).await?,
        None => Credentials::default(),
    };
    Ok(Settings {
        base_url: base_url.map(|url| url.expose().to_owned()),
        server_variables: described.server_variables.clone(),
        credentials,
        headers,
        idempotency_header: described.idempotency_header.clone(),
        allow_private: described.allow_private_addresses,
        retries: RetryPolicy::default(),
        tokens,
    })
}

async fn credentials(auth: &AdapterAuth, resolver: &Resolver) -> Result<Credentials, String> {
    let mut schemes = indexmap::IndexMap::new();
    for (name, auth) in &auth.schemes {
        schemes.insert(name.clone(), credential(auth, resolver).await?);
    }
    let usual = credential(auth, resolver).await?;
    // Where only schemes are given there is nothing to send for the others.
    let says = usual.kind.is_some()
        || usual.secret.is_some()
        || usual.username.is_some()
        || usual.gets_tokens();
    Ok(Credentials {
        usual: Some(usual).filter(|_| says),
        schemes,
    })
}

async fn credential(auth: &AdapterAuth, resolver: &Resolver) -> Result<Credential, String> {
    let username = auth
        .username
        .as_ref()
        .map(|user| resolver.filled(&user.0))
        .transpose()?;
    let client_id = auth
        .client_id
        .as_ref()
        .map(|client| resolver.filled(&client.0))
        .transpose()?;
    let refresh_token = match &auth.refresh_token {
        Some(source) => secret(source, resolver).await?,
        None => None,
    };
    Ok(Credential {
        kind: auth.kind.map(|kind| match kind {
            AuthKind::Bearer => Kind::Bearer,
            AuthKind::Basic => Kind::Basic,
            AuthKind::ApiKey => Kind::ApiKey,
            AuthKind::Oauth2 => Kind::OAuth2,
            AuthKind::None => Kind::None,
        }),
        secret: secret(&auth.source(), resolver).await?,
        username,
        name: auth.name.clone(),
        token_url: auth.token_url.clone(),
        client_id,
        refresh_token,
        scopes: auth.scopes.clone(),
    })
}

/// The secret from its variable, its file or its command, whichever is configured.
async fn secret(source: &SecretSource, resolver: &Resolver) -> Result<Option<Secret>, String> {
    if let Some(name) = &source.env {
        let value = resolver.surroundings().var(name);
        let value = value.ok_or_else(|| format!("the environment variable {name} is not set"))?;
        return Ok(Some(Secret::new(value)));
    }
    if let Some(file) = &source.file {
        let path = resolver.surroundings().resolve(file);
        let path = path.ok_or("the file of its secret cannot be found out")?;
        let wrong = |why: String| format!("the file of its secret cannot be read: {why}");
        let size = tokio::fs::metadata(&path)
            .await
            .map_err(|e| wrong(e.to_string()))?;
        if size.len() > CONFIG_FILE_BYTES_MAX {
            return Err(wrong("it is too large".to_owned()));
        }
        let text = tokio::fs::read_to_string(&path)
            .await
            .map_err(|e| wrong(e.to_string()))?;
        return Ok(Some(Secret::new(text.trim())));
    }
    let Some((program, arguments)) = source.command.as_ref().and_then(|c| c.split_first()) else {
        return Ok(None);
    };
    let running = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let wrong = |why: &str| format!("the command of its secret, {program}, {why}");
    match tokio::time::timeout(SECRET_COMMAND_TIMEOUT, running).await {
        Err(_) => Err(wrong("does not end")),
        Ok(Err(error)) => Err(wrong(&format!("cannot be run: {error}"))),
        Ok(Ok(output)) if !output.status.success() => Err(wrong("failed")),
        Ok(Ok(output)) => {
            let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Ok(Some(Secret::new(text)))
        }
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_config::surroundings::{Os, Surroundings};
    use toolcrib_core::limits::{BREAKER_FAILURES, BREAKER_OPEN_MS};

    use super::*;

    const SPEC: &str = "openapi: 3.0.0
servers: [{url: https://api.example.com}]
paths: {/orders: {get: {operationId: listOrders}}}
";

    fn resolver(folder: &std::path::Path) -> Resolver {
        let variable = |name: &str| (name == "TOKEN").then(|| "t0ken".to_owned());
        let surroundings = Surroundings::new(Os::current(), folder, folder, variable);
        Resolver::new(surroundings, None)
    }

    fn adapters(entry: &Value) -> Adapters {
        let described: Described = serde_json::from_value(entry.clone()).unwrap();
        let mounted = Mounted::new(described, None);
        let adapters = Adapters::default();
        adapters.lock().insert("shop".to_owned(), mounted);
        adapters
    }

    #[tokio::test]
    async fn an_api_is_read_when_it_is_listed_and_its_standing_follows() {
        let folder = tempfile::tempdir().unwrap();
        let (resolver, clock) = (resolver(folder.path()), Clock::system());
        let adapters = adapters(&serde_json::json!({"spec": "shop.yaml"}));
        let health = || adapters.standing("shop").unwrap().health;
        assert_eq!(health(), Health::Disconnected);
        let missing = adapters.list("shop", &resolver, &clock).await;
        assert!(missing.is_err());
        assert_eq!(health(), Health::Error);
        std::fs::write(folder.path().join("shop.yaml"), SPEC).unwrap();
        let listed = adapters.list("shop", &resolver, &clock).await.unwrap();
        assert_eq!(health(), Health::Connected);
        let List::Operations(tools) = listed.list else {
            panic!("operations are no definitions");
        };
        assert_eq!(tools[0].tool.id.to_string(), "shop:list-orders");
        assert!(
            tools[0]
                .definition
                .get()
                .contains("\"name\":\"list-orders\"")
        );
        assert!(adapters.has("shop") && !adapters.has("other"));
        assert!(adapters.standing("other").is_none());
    }

    #[tokio::test]
    async fn schemes_and_refresh_tokens_have_secrets_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("refresh"), "r3fresh\n").unwrap();
        let resolver = resolver(folder.path());
        let read = async |auth: Value| {
            let auth: AdapterAuth = serde_json::from_value(auth).unwrap();
            credentials(&auth, &resolver).await
        };
        let several = serde_json::json!({"schemes": {
            "key": {"env": "TOKEN", "name": "X-Key"},
            "client": {"clientId": "crib", "refreshToken": {"file": "refresh"}}}});
        let several = read(several).await.unwrap();
        assert!(several.usual.is_none(), "nothing is sent for other schemes");
        let exposed = |secret: &Option<Secret>| secret.as_ref().map(|s| s.expose().to_owned());
        assert_eq!(
            exposed(&several.schemes["key"].secret).as_deref(),
            Some("t0ken")
        );
        let refresh = exposed(&several.schemes["client"].refresh_token);
        assert_eq!(refresh.as_deref(), Some("r3fresh"));
        let missing = read(serde_json::json!({"refreshToken": {"env": "NONE"}})).await;
        assert!(missing.unwrap_err().contains("NONE is not set"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_that_cannot_be_reached_is_down_and_then_degraded() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shop.yaml"), SPEC).unwrap();
        let (resolver, clock) = (resolver(folder.path()), Clock::system());
        let adapters = adapters(&serde_json::json!({"spec": "shop.yaml"}));
        adapters.list("shop", &resolver, &clock).await.unwrap();
        let moment = Moment {
            now_ms: 7,
            random: 0.5,
        };
        let away = Err(rest::Failure::Unreachable("connection refused".to_owned()));
        let see = |outcome: &Result<Answer, rest::Failure>| {
            let course = Arc::clone(&adapters.lock()["shop"].course);
            course.lock().unwrap().saw(outcome, moment);
            adapters.standing("shop").unwrap()
        };
        for _ in 1..BREAKER_FAILURES {
            assert_eq!(see(&away).breaker, Breaker::Closed);
        }
        let down = see(&away);
        assert_eq!(down.breaker, Breaker::Open);
        assert!(down.reason.unwrap().contains("connection refused"));
        let misused = see(&Err(rest::Failure::Misused));
        assert_eq!(misused.breaker, Breaker::Open, "that was no call");
        tokio::time::advance(Duration::from_millis(BREAKER_OPEN_MS)).await;
        assert_eq!(
            adapters.standing("shop").unwrap().breaker,
            Breaker::HalfOpen
        );
        let answered = |status| Answer {
            status,
            content: rest::answer::Content::Nothing,
            next: None,
            retry_after: None,
            error: None,
        };
        assert_eq!(see(&Ok(answered(503))).breaker, Breaker::Open);
        let refused = see(&Ok(answered(404)));
        assert_eq!((refused.breaker, refused.reason), (Breaker::Closed, None));
    }

    #[tokio::test]
    async fn secrets_come_from_variable_file_or_command() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "from-file\n").unwrap();
        let resolver = resolver(folder.path());
        let table = [
            (serde_json::json!({"env": "TOKEN"}), Ok(Some("t0ken"))),
            (serde_json::json!({"env": "NONE"}), Err("NONE is not set")),
            (serde_json::json!({"file": "secret"}), Ok(Some("from-file"))),
            (serde_json::json!({"file": "none"}), Err("cannot be read")),
            (
                serde_json::json!({"command": ["echo", "printed"]}),
                Ok(Some("printed")),
            ),
            (serde_json::json!({"command": ["false"]}), Err("failed")),
            (serde_json::json!({}), Ok(None)),
        ];
        for (auth, expected) in table {
            let read: AdapterAuth = serde_json::from_value(auth.clone()).unwrap();
            let found = credential(&read, &resolver).await.map(|c| c.secret);
            match expected {
                Ok(text) => assert_eq!(found.unwrap().as_ref().map(Secret::expose), text, "{auth}"),
                Err(part) => assert!(found.unwrap_err().contains(part), "{auth}"),
            }
        }
    }
}
