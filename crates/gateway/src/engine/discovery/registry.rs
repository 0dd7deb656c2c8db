//! The public registry: searched, remembered for an hour, and its servers asked what they offer.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use serde_json::value::RawValue;
use tokio_util::task::TaskTracker;
use toolcrib_config::model::Server;
use toolcrib_core::limits::{REGISTRY_DISCOVERIES_MAX, REGISTRY_STALE_PATIENCE_MS};
use toolcrib_core::policy::bucket::Rate;
use toolcrib_core::retry::{Attempts, RetryPolicy};
use toolcrib_store::cache::ListCache;
use toolcrib_upstream::registry::{
    Answer, Entry, Offer, Reading, RegistryClient, RegistryError, Status, Way, entries,
};
use url::Url;

use super::{
    Clock, DiscoveryError, DiscoveryOptions, DiscoveryService, Listing, Random, RateLimiter,
};
use super::{offered, random};

/// The public registry, with what it answered in the last hour. Clones share everything.
#[derive(Clone)]
pub struct RegistryCatalog {
    client: RegistryClient,
    cache: Arc<ListCache>,
    limiter: Arc<RateLimiter>,
    retries: RetryPolicy,
    clock: Clock,
    random: Random,
    tasks: TaskTracker,
}

/// What is asked of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// Servers whose names hold a text.
    Search,
    /// Every version of a name.
    Versions,
}

impl RegistryCatalog {
    /// A registry whose answers are kept in `cache`.
    pub fn new(client: RegistryClient, cache: Arc<ListCache>) -> Self {
        Self {
            client,
            cache,
            limiter: Arc::default(),
            retries: RetryPolicy::default(),
            clock: Arc::new(|| jiff::Timestamp::now().as_millisecond()),
            random: Arc::new(random),
            tasks: TaskTracker::new(),
        }
    }

    /// How often and how soon it is asked again.
    #[must_use]
    pub fn with_retries(mut self, retries: RetryPolicy) -> Self {
        self.retries = retries;
        self
    }

    /// Another clock (milliseconds since the epoch) and another source of numbers from 0 to 1.
    #[must_use]
    pub fn with_chance(
        mut self,
        clock: impl Fn() -> i64 + Send + Sync + 'static,
        random: impl Fn() -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.clock = Arc::new(clock);
        self.random = Arc::new(random);
        self
    }

    /// The newest version of every server whose name holds a text.
    pub async fn search(&self, query: &str, use_cache: bool) -> Result<Reading, RegistryError> {
        let query = query.trim().to_lowercase();
        let reading = self.answer(Question::Search, &query, use_cache).await?;
        Ok(reading.latest())
    }

    /// Every version of a server.
    pub async fn versions(&self, name: &str, use_cache: bool) -> Result<Reading, RegistryError> {
        self.answer(Question::Versions, name, use_cache).await
    }

    /// An answer that was kept and is fresh, else a new one. While a new one is slow to come, or when
    /// none comes, an old one answers.
    async fn answer(
        &self,
        question: Question,
        text: &str,
        use_cache: bool,
    ) -> Result<Reading, RegistryError> {
        if !use_cache {
            return Ok(read(&self.ask(question, text).await?));
        }
        let old = match self.kept(question, text).await {
            Some((items, false)) => return Ok(read(&items)),
            Some((items, true)) => Some(items),
            None => None,
        };
        let (catalog, owned) = (self.clone(), text.to_owned());
        let asking = self.tasks.spawn(async move {
            let items = catalog.ask(question, &owned).await?;
            catalog.keep(question, &owned, items.clone()).await;
            Ok(items)
        });
        let Some(old) = old else {
            let broken = |_| Err(RegistryError::Broken("the request was given up".to_owned()));
            return Ok(read(&asking.await.unwrap_or_else(broken)?));
        };
        let patience = Duration::from_millis(REGISTRY_STALE_PATIENCE_MS);
        match tokio::time::timeout(patience, asking).await {
            Ok(Ok(Ok(new))) => Ok(read(&new)),
            Ok(Ok(Err(error))) => {
                let mut reading = read(&old);
                let warning = format!("This is what the registry said earlier: {error}.");
                reading.warnings.push(warning);
                Ok(reading)
            }
            _ => Ok(read(&old)),
        }
    }

    /// Asks the registry, again where that may help.
    async fn ask(
        &self,
        question: Question,
        text: &str,
    ) -> Result<Arc<[Box<RawValue>]>, RegistryError> {
        let patience = Duration::from_millis(self.retries.max_delay_ms);
        let mut attempts = Attempts::new(self.retries);
        loop {
            let rate = Some(Rate::default());
            let _ = self.limiter.acquire("registry", rate, patience).await;
            let asked = match question {
                Question::Search => self.client.search(text).await,
                Question::Versions => self.client.versions(text).await,
            };
            let error = match asked {
                Ok(Answer { items, complete }) => {
                    if !complete {
                        tracing::warn!(query = text, "the registry has more than is shown");
                    }
                    return Ok(items.into());
                }
                Err(error) => error,
            };
            let (trouble, asked) = error.trouble();
            let asked_ms = asked.map(|asked| u64::try_from(asked.as_millis()).unwrap_or(u64::MAX));
            let Some(delay_ms) = attempts.after(trouble, asked_ms, (self.random)()) else {
                return Err(error);
            };
            tracing::debug!(%error, delay_ms, "asking the registry again");
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
    }

    /// What a question is known by in the cache: answers of another registry do not count.
    fn fingerprint(&self, question: Question) -> String {
        format!("{question:?} {}", self.client.address())
    }

    async fn kept(&self, question: Question, text: &str) -> Option<(Arc<[Box<RawValue>]>, bool)> {
        let (cache, now) = (Arc::clone(&self.cache), (self.clock)());
        let (text, fingerprint) = (text.to_owned(), self.fingerprint(question));
        let reading =
            tokio::task::spawn_blocking(move || cache.get_registry(&text, &fingerprint, now));
        let cached = reading.await.ok().flatten()?;
        Some((cached.items, cached.stale))
    }

    async fn keep(&self, question: Question, text: &str, items: Arc<[Box<RawValue>]>) {
        let (cache, now) = (Arc::clone(&self.cache), (self.clock)());
        let (text, fingerprint) = (text.to_owned(), self.fingerprint(question));
        let writing = tokio::task::spawn_blocking(move || {
            cache.store_registry(&text, &fingerprint, items.to_vec(), now)
        });
        if let Ok(Err(error)) = writing.await {
            tracing::warn!(%error, "the registry's answer was not kept");
        }
    }

    /// Whether the registry is one of this machine's own.
    fn is_local(&self) -> bool {
        Url::parse(&self.client.address()).is_ok_and(|url| is_this_machine(&url))
    }

    /// Whether something that an entry names may be fetched from an address: a public one, or one of
    /// this machine where the registry is here too.
    pub fn permits(&self, url: &Url) -> bool {
        permitted(url, self.is_local())
    }
}

fn read(items: &[Box<RawValue>]) -> Reading {
    entries(items.iter().map(|item| &**item))
}

/// What discovery over the registry came to.
#[derive(Debug, Default)]
pub struct RegistryDiscovery {
    /// Servers and their tools.
    pub found: Vec<(Server, Listing)>,
    /// Servers that gave none, or were not asked.
    pub skipped: Vec<Skipped>,
    /// How many there are beside those.
    pub more: usize,
    /// What was wrong with the registry's answer.
    pub warnings: Vec<String>,
}

/// A server of the registry that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its name in the registry.
    pub name: String,
    /// Why, in one sentence.
    pub reason: String,
}

/// A server that may have a capability.
#[derive(Clone, Debug)]
pub enum Candidate {
    /// One that the configuration has.
    Configured(Box<Server>),
    /// One that the registry has; `toolcrib registry add` would configure it.
    Published(Box<Entry>),
}

impl DiscoveryService {
    /// The registry that servers are looked up in.
    #[must_use]
    pub fn with_registry(mut self, registry: RegistryCatalog) -> Self {
        self.registry = Some(registry);
        self
    }

    fn registry(&self) -> Result<&RegistryCatalog, RegistryError> {
        let missing = || RegistryError::Address(String::new());
        self.registry.as_ref().ok_or_else(missing)
    }

    /// The servers of the registry whose names hold a text, the newest version of each.
    pub async fn search_registry_for_capability(
        &self,
        query: &str,
        use_cache: bool,
    ) -> Result<Reading, DiscoveryError> {
        Ok(self.registry()?.search(query, use_cache).await?)
    }

    /// Searches the registry and asks what the servers found there offer, several at once; one that
    /// fails costs only itself.
    ///
    /// Only addresses are asked that need nothing of the user. A package is never started, no
    /// credentials are sent, and no address on this machine or in a private network is contacted,
    /// since whoever published an entry is a stranger.
    pub async fn discover_from_registry(
        &self,
        query: &str,
        options: &DiscoveryOptions,
    ) -> Result<RegistryDiscovery, DiscoveryError> {
        let registry = self.registry()?;
        let reading = registry.search(query, options.use_cache).await?;
        let mut outcome = RegistryDiscovery {
            warnings: reading.warnings,
            ..RegistryDiscovery::default()
        };
        let mut servers = Vec::new();
        let most = options.max_registry_servers;
        outcome.more = reading.entries.len().saturating_sub(most);
        for entry in reading.entries.iter().take(most) {
            let asked = if servers.len() < REGISTRY_DISCOVERIES_MAX {
                askable(entry, registry.is_local())
            } else {
                Err(
                    "there are more than can be asked at once; search for something narrower"
                        .into(),
                )
            };
            match asked {
                Ok(server) => servers.push(server),
                Err(reason) => outcome.skipped.push(Skipped {
                    name: entry.name.clone(),
                    reason,
                }),
            }
        }
        let options = DiscoveryOptions {
            auth_headers: None,
            keep_session: false,
            ..options.clone()
        };
        let anonymous = Self {
            auth_headers: None,
            ..self.clone()
        };
        let outcomes = anonymous.discover_each(servers, &options);
        let mut outcomes = std::pin::pin!(outcomes);
        while let Some((server, listed)) = outcomes.next().await {
            match listed {
                Ok(listing) => outcome.found.push((server, listing)),
                Err(error) => outcome.skipped.push(Skipped {
                    name: server.name,
                    reason: error.to_string(),
                }),
            }
        }
        outcome.found.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        outcome.skipped.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(outcome)
    }

    /// Servers that may have a capability such as `github.list_issues`: those of the configuration
    /// that have it, by their names or by the tools that are known of them; only where there are
    /// none, those of the registry.
    pub async fn find_servers_for_capability(
        &self,
        name: &str,
        options: &DiscoveryOptions,
    ) -> Result<Vec<Candidate>, DiscoveryError> {
        let wanted = Wanted::of(name);
        let configured = self.configured_servers();
        let local: Vec<Candidate> = configured
            .iter()
            .filter(|server| server.enabled && self.has(server, &wanted))
            .map(|server| Candidate::Configured(Box::new(server.clone())))
            .collect();
        if !local.is_empty() {
            return Ok(local);
        }
        let found = self
            .search_registry_for_capability(&wanted.subject, options.use_cache)
            .await?;
        let usable = found.entries.into_iter();
        Ok(usable
            .filter(|entry| entry.status != Status::Deleted)
            .map(|entry| Candidate::Published(Box::new(entry)))
            .collect())
    }

    fn has(&self, server: &Server, wanted: &Wanted) -> bool {
        let mut names = std::iter::once(&server.name).chain(&server.aliases);
        if names.any(|name| wanted.names(name)) {
            return true;
        }
        let declared = server.tools.iter().any(|tool| wanted.is_tool(&tool.name));
        declared
            || self.kept_tools(server).is_some_and(|kept| {
                let names = kept.items.iter().filter_map(|item| name_of(item));
                names.into_iter().any(|name| wanted.is_tool(&name))
            })
    }
}

/// A capability taken apart: `mcp.github.list_issues` is about `github` and is `list_issues`.
struct Wanted {
    whole: String,
    subject: String,
    last: String,
}

impl Wanted {
    fn of(name: &str) -> Self {
        let lower = name.trim().to_lowercase();
        let whole = lower.strip_prefix("mcp.").unwrap_or(&lower).to_owned();
        let mut parts = whole.split(['.', ':', '/']).filter(|part| !part.is_empty());
        let subject = parts.next().unwrap_or_default().to_owned();
        let last = parts.next_back().unwrap_or(&subject).to_owned();
        Self {
            whole,
            subject,
            last,
        }
    }

    /// Whether a server's name is the subject, or has it as a whole word.
    fn names(&self, server: &str) -> bool {
        let server = server.to_lowercase();
        !self.subject.is_empty()
            && (server == self.whole
                || server
                    .split(|c: char| !c.is_alphanumeric())
                    .any(|word| word == self.subject))
    }

    fn is_tool(&self, tool: &str) -> bool {
        let tool = tool.to_lowercase();
        tool == self.whole || tool == self.last
    }
}

/// The name in a tool definition, whatever else is wrong with it.
fn name_of(item: &RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }
    let named: Named = serde_json::from_str(item.get()).ok()?;
    Some(named.name)
}

/// The server to ask for an entry of the registry, or why it is not asked.
fn askable(entry: &Entry, registry_is_local: bool) -> Result<Server, String> {
    if entry.status == Status::Deleted {
        return Err("it was taken back by its authors".to_owned());
    }
    let mut reason = "it has no address; `toolcrib registry add` can configure it".to_owned();
    for offer in entry.offers("IT").into_iter().flatten() {
        match may_be_asked(&offer, registry_is_local) {
            Ok(()) => {
                if let Some(server) = offered::definition(&entry.name, entry, &offer) {
                    return Ok(server);
                }
            }
            Err(Some(why)) => reason = why,
            Err(None) => {}
        }
    }
    Err(reason)
}

/// Whether an offer can be asked as it is; where not, why, if that is worth telling.
fn may_be_asked(offer: &Offer, registry_is_local: bool) -> Result<(), Option<String>> {
    let (Way::Http { url, .. } | Way::Sse { url, .. }) = &offer.way else {
        return Err(None);
    };
    if let Some(needed) = offer.required().next() {
        return Err(Some(format!(
            "it needs {}; `toolcrib registry add` configures it",
            needed.used_for
        )));
    }
    let url = url.to_string();
    let url = Url::parse(&url).ok();
    if url.is_some_and(|url| permitted(&url, registry_is_local)) {
        Ok(())
    } else {
        Err(Some("its address is not a public one".to_owned()))
    }
}

fn permitted(url: &Url, registry_is_local: bool) -> bool {
    is_public(url) || (registry_is_local && is_this_machine(url))
}

/// Whether an address is one of this machine.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether an address is one that anybody can reach, over TLS.
fn is_public(url: &Url) -> bool {
    url.scheme() == "https"
        && match url.host() {
            Some(url::Host::Domain(name)) => {
                let internal = [".local", ".localhost", ".internal", ".lan", ".home.arpa"];
                name.contains('.') && !internal.iter().any(|end| name.ends_with(end))
            }
            // Nobody publishes a server under a bare number.
            _ => false,
        }
}

impl std::fmt::Debug for RegistryCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryCatalog")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
