//! What doors ask to find and look at tools. Every answer is filtered by the one policy.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::limits::{
    SEARCH_ALTERNATIVES, SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX, SEARCH_WAIT_MS,
};
use toolcrib_core::pattern::PatternList;
use toolcrib_core::policy::{Approval, Caller, Grant, Principal, Rulebook, Visibility, visible};
use toolcrib_core::search::{Filter, Hits, Lifts};
use toolcrib_core::{Code, ToolId};

use super::Engine;
use super::answer::{Details, Found, Hit, ServerRow, Servers, ToolPage};
use super::ask::{Listing, Search};
use super::asking::{About, View};
use super::discovery::DiscoveryError;
use super::error::{Error, Result};
use super::mark::Mark;
use super::rack::Rack;
use super::snapshot::{Entry, Snapshot};
use super::supplier::Supplier;
use super::upstream::{Health, Standing};

const SEARCH_WAIT: Duration = Duration::from_millis(SEARCH_WAIT_MS);

impl Engine {
    /// The servers that a caller may know of. Connects nothing.
    pub async fn list_servers(self: &Arc<Self>, caller: &Caller) -> Result<Servers> {
        self.require_on()?;
        self.see_settlements().await;
        let (snapshot, cache) = (self.snapshot(), self.cache.load_full());
        let (rights, now_ms) = (rights(caller), self.clock.now_ms());
        let rows = cache.get_server_list(&rights, now_ms).unwrap_or_else(|| {
            let known = |rack: &&Arc<Rack>| is_known_to(caller, rack, &snapshot.rulebook);
            let rows = snapshot.racks().filter(known).map(|rack| row(caller, rack));
            let rows: Arc<[ServerRow]> = rows.collect();
            cache.cache_server_list(&rights, Arc::clone(&rows), now_ms);
            rows
        });
        let servers = rows.iter().cloned().map(|mut row| {
            row.standing = self.standing(&row.name);
            // Why it failed may show paths and what its program printed.
            if caller.principal != Principal::Local {
                row.standing.reason = None;
            }
            row
        });
        let servers: Vec<ServerRow> = servers.collect();
        let unknown = servers.iter().filter(|row| row.enabled && !row.known);
        let (failed, pending): (Vec<&ServerRow>, Vec<&ServerRow>) = unknown.partition(|row| {
            row.standing.health == Health::Error && !self.asking.is_running(&row.name)
        });
        Ok(Servers {
            pending_servers: pending.len(),
            failed_servers: failed.len(),
            servers,
        })
    }

    /// Whether a caller may know that a server is there.
    pub fn shows(&self, caller: &Caller, server: &str) -> bool {
        let snapshot = self.snapshot();
        let rack = snapshot.rack(server);
        rack.is_some_and(|rack| is_known_to(caller, rack, &snapshot.rulebook))
    }

    /// Finds tools for a wish. Servers that the caller may know of and whose tools are not known are asked, and
    /// waited for a little.
    pub async fn search_tools(self: &Arc<Self>, caller: &Caller, search: Search) -> Result<Found> {
        self.require_on()?;
        if search.query.trim().is_empty() && search.pattern.is_none() {
            return Err(Error::new(Code::ValidationError, "`query` is empty.")
                .suggest("Say in a few words what is wanted"));
        }
        let pattern = pattern(search.pattern.as_deref())?;
        self.see_settlements().await;
        let server = match &search.server {
            Some(server) => Some(self.named_rack(caller, server)?.supplier.name.to_string()),
            None => None,
        };
        let patience = search.patience.unwrap_or(SEARCH_WAIT);
        let about = match &server {
            Some(name) => About::One(name),
            None => About::KnownTo(caller),
        };
        let view = self.view(about, patience).await;
        if let Some(name) = server.as_deref().filter(|_| view.failed > 0) {
            // Nothing found would say that the server has no such tool, which nobody knows.
            return Err(self.unreachable(name));
        }
        self.store.count("search", 1, self.clock.now_ms());
        let lifts = self.lifts(caller, &search.query).await;
        let scope = Scope {
            server: server.as_deref(),
            pattern: &pattern,
            lifts: &lifts,
        };
        let found = search_in(caller, &search, &scope, view);
        self.note_search(caller, &search.query, &found.hits);
        Ok(found)
    }

    /// The tools of one server.
    pub async fn list_tools(
        self: &Arc<Self>,
        caller: &Caller,
        listing: Listing,
    ) -> Result<ToolPage> {
        self.require_on()?;
        let pattern = pattern(listing.pattern.as_deref())?;
        self.see_settlements().await;
        let rack = self.stocked_rack(caller, &listing.server).await?;
        let mut page = ToolPage {
            server: rack.supplier.name.to_string(),
            tools: Vec::new(),
            total: 0,
            enabled_count: 0,
            disabled_count: 0,
            pending_count: 0,
            next_cursor: None,
            stale: self.wants_asking(&rack),
        };
        let mut listed = Vec::new();
        for entry in rack.entries() {
            let shown = match visible(caller, &entry.subject()) {
                Visibility::Hidden => continue,
                Visibility::Pending => {
                    page.pending_count += 1;
                    false
                }
                Visibility::Disabled => {
                    page.disabled_count += 1;
                    listing.include_disabled
                }
                Visibility::Shown => {
                    page.enabled_count += 1;
                    true
                }
            };
            let id = &entry.tool.id;
            if shown && pattern.matches(Some(id.server()), id.tool()) {
                listed.push(Arc::clone(entry));
            }
        }
        page.total = listed.len();
        turn_to(&mut page, listed, &listing)?;
        Ok(page)
    }

    /// One tool in full.
    pub async fn tool_details(
        self: &Arc<Self>,
        caller: &Caller,
        server: &str,
        tool: &str,
    ) -> Result<Details> {
        self.require_on()?;
        self.see_settlements().await;
        self.named_rack(caller, server)?;
        let (cache, now_ms) = (self.cache.load_full(), self.clock.now_ms());
        let entry = if let Some(entry) = cache.get_tool_details(server, tool, now_ms) {
            entry
        } else {
            let entry = self.resolve(caller, server, tool).await?;
            cache.cache_tool_details(server, tool, Arc::clone(&entry), now_ms);
            entry
        };
        let visibility = visible(caller, &entry.subject());
        match visibility {
            Visibility::Hidden => Err(self.no_tool(caller, server, tool)),
            Visibility::Pending => {
                let id = &entry.tool.id;
                let message = match entry.subject().approval {
                    Approval::Rejected => "This tool was rejected.",
                    _ => "This tool is new or changed and waits for approval.",
                };
                Err(Error::new(Code::ApprovalRequired, message)
                    .suggest(format!(
                        "A person can approve it: `toolcrib approvals approve {id}`"
                    ))
                    .of_tool(id.server(), id.tool()))
            }
            Visibility::Shown | Visibility::Disabled => Ok(Details {
                standing: self.standing(entry.tool.id.server()),
                entry,
                visibility,
            }),
        }
    }

    /// A tool by whatever spelling, whether or not anybody may run it: for the person whose tools these
    /// are, who wants to know why.
    pub async fn known_tool(self: &Arc<Self>, server: &str, tool: &str) -> Result<Arc<Entry>> {
        self.require_on()?;
        self.see_settlements().await;
        let person = Caller::local(&self.config().settings.policy);
        self.resolve(&person, server, tool).await
    }

    /// A tool by whatever spelling, whether or not the caller may run it; its server is asked first
    /// where that is needed to know.
    pub(super) async fn resolve(
        self: &Arc<Self>,
        caller: &Caller,
        server: &str,
        tool: &str,
    ) -> Result<Arc<Entry>> {
        let rack = self.stocked_rack(caller, server).await?;
        if let Some(entry) = rack.find(tool) {
            return Ok(Arc::clone(entry));
        }
        // Before it is said that there is no such tool, the list must be one that counts.
        let name = Arc::clone(&rack.supplier.name);
        if self.wants_asking(&rack)
            && let Some(attempt) = self.ask(&rack.supplier, super::upstream::Wish::Fresh)
        {
            self.upstream.hurry(&name);
            let _ = tokio::time::timeout(SEARCH_WAIT, super::asking::ended(attempt)).await;
        }
        let snapshot = self.snapshot();
        let found = snapshot.rack(&name).and_then(|rack| rack.find(tool));
        found
            .cloned()
            .ok_or_else(|| self.no_tool(caller, &name, tool))
    }

    /// The rack of a server after it was asked for its tools, where they were not known.
    async fn stocked_rack(self: &Arc<Self>, caller: &Caller, server: &str) -> Result<Arc<Rack>> {
        let rack = self.named_rack(caller, server)?;
        let name = Arc::clone(&rack.supplier.name);
        if !rack.supplier.enabled {
            return Err(Error::new(
                Code::ToolDisabled,
                format!("The server {name} is switched off."),
            )
            .suggest("Choose another server, or have it enabled in the configuration")
            .of_server(&name));
        }
        let patience = Duration::from_millis(rack.supplier.start_timeout_ms);
        let view = self.view(About::One(&name), patience).await;
        let rack = view.snapshot.rack(&name).cloned().unwrap_or(rack);
        if rack.is_known() {
            return Ok(rack);
        }
        Err(self.unreachable(&name))
    }

    fn unreachable(&self, server: &str) -> Box<Error> {
        let snapshot = self.snapshot();
        if let Some(unset) = snapshot.config.set_aside.get(server) {
            return Error::new(
                Code::ServerConnectionError,
                format!("The server {server} is set aside: {unset}."),
            )
            .suggest(format!(
                "Have it set where Toolcrib is started; `toolcrib doctor {server}` says more"
            ))
            .of_server(server);
        }
        let failed = self.asking.failure(server);
        // What is not installed is not there in a moment either.
        let advice = match failed.as_ref().map(|failed| &failed.error) {
            Some(DiscoveryError::StartFailed(_)) => {
                "Have its program installed, or what the configuration says of it corrected"
            }
            _ => "Try again in a moment",
        };
        let (code, why) = match &failed {
            Some(failed) => (failed.error.code(), said(&failed.error)),
            None => (
                Code::ServerConnectionError,
                "it has not said yet which tools it has",
            ),
        };
        Error::new(
            code,
            format!("The server {server} could not be asked for its tools: {why}."),
        )
        .suggest(format!(
            "{advice}; `toolcrib doctor {server}` says what is wrong"
        ))
        .of_server(server)
    }

    /// How things stand with a server, as connections and attempts say.
    pub(super) fn standing(&self, server: &str) -> Standing {
        let standing = self.upstream.standing(server);
        match self.asking.failure(server) {
            Some(failed) if standing.health == Health::Disconnected => Standing {
                health: Health::Error,
                reason: Some(failed.error.to_string()),
                since_ms: Some(failed.at_ms),
                ..standing
            },
            // It is there and does not say its tools: without them nothing of it can be used.
            Some(failed) if standing.health == Health::Connected => Standing {
                health: match self.snapshot().own_rack(server) {
                    Some(rack) if rack.is_known() => Health::Connected,
                    _ => Health::Error,
                },
                reason: Some(failed.error.to_string()),
                since_ms: Some(failed.at_ms),
                ..standing
            },
            _ => standing,
        }
    }

    fn named_rack(&self, caller: &Caller, server: &str) -> Result<Arc<Rack>> {
        let snapshot = self.snapshot();
        let rack = snapshot.rack(server);
        rack.filter(|rack| is_known_to(caller, rack, &snapshot.rulebook))
            .cloned()
            .ok_or_else(|| self.no_server(caller, server))
    }
}

/// Why a server could not be asked, in our own words: what it or the system said stays in the log.
fn said(error: &DiscoveryError) -> &'static str {
    match error {
        DiscoveryError::ConnectionFailed(_) | DiscoveryError::StartFailed(_) => {
            "it cannot be started or reached"
        }
        DiscoveryError::SessionInitFailed(_) => "it does not speak MCP",
        DiscoveryError::ToolsListFailed(_) => "it does not give its list",
        DiscoveryError::SchemaConversionFailed(_) => "one of its schemas cannot be used",
        DiscoveryError::RateLimited(_) => "it takes no more requests for now",
        DiscoveryError::AuthenticationFailed(_) => "it refuses the credentials",
        DiscoveryError::Timeout(..) => "it did not answer in time",
        DiscoveryError::Registry(_) => "the registry gives nothing",
    }
}

/// What callers that see the same tools have in common.
fn rights(caller: &Caller) -> String {
    let anonymous = caller.principal == Principal::Anonymous;
    let mut grants: Vec<&str> = caller.scopes.iter().map(Grant::as_str).collect();
    grants.sort_unstable();
    format!("{anonymous} {}", grants.join(" "))
}

/// Whether a caller may know of a server: of one whose tools are all hidden from it, or are certain to be, it may
/// not.
pub(super) fn is_known_to(caller: &Caller, rack: &Rack, rulebook: &Rulebook) -> bool {
    if caller.principal == Principal::Anonymous {
        return false;
    }
    if rack.marks().is_empty() {
        let Supplier { name, facts, .. } = &*rack.supplier;
        return rulebook.may_open(&caller.scopes, name, facts);
    }
    let hidden = |mark: &Mark| mark.visible(caller) == Visibility::Hidden;
    !rack.marks().iter().all(hidden)
}

fn row(caller: &Caller, rack: &Rack) -> ServerRow {
    let (mut all, mut enabled, mut pending) = (0, 0, 0);
    for mark in rack.marks() {
        let seen = mark.visible(caller);
        all += usize::from(seen != Visibility::Hidden);
        enabled += usize::from(seen == Visibility::Shown);
        pending += usize::from(seen == Visibility::Pending);
    }
    let supplier = &rack.supplier;
    ServerRow {
        name: supplier.name.to_string(),
        kind: supplier.kind,
        title: supplier.title.clone(),
        description: supplier.description.clone(),
        enabled: supplier.enabled,
        known: rack.is_known(),
        tool_count: all,
        enabled_count: enabled,
        pending_count: pending,
        standing: Standing::default(),
    }
}

fn pattern(text: Option<&str>) -> Result<PatternList> {
    let patterns: Vec<&str> = text.into_iter().collect();
    PatternList::new(&patterns).map_err(|error| {
        Error::new(
            Code::ValidationError,
            format!("`pattern` cannot be used: {error}."),
        )
        .suggest("Write a glob such as *issue*, or /a regular expression/i")
    })
}

/// Puts the page that is asked for into place.
fn turn_to(page: &mut ToolPage, listed: Vec<Arc<Entry>>, listing: &Listing) -> Result<()> {
    let start = match &listing.cursor {
        None => 0,
        Some(cursor) => {
            let before = listed.iter().position(|e| e.tool.id.tool() == cursor);
            let before = before.ok_or_else(|| {
                Error::new(
                    Code::ValidationError,
                    "`cursor` does not fit the list any more.",
                )
                .suggest("Begin again without a cursor")
            })?;
            before + 1
        }
    };
    let count = listing.limit.unwrap_or(usize::MAX).max(1);
    let more = listed.len().saturating_sub(start) > count;
    page.tools = listed.into_iter().skip(start).take(count).collect();
    page.next_cursor = match page.tools.last() {
        Some(last) if more => Some(last.tool.id.tool().to_owned()),
        _ => None,
    };
    Ok(())
}

/// Among which tools is searched, and what speaks for some of them beforehand.
struct Scope<'a> {
    server: Option<&'a str>,
    pattern: &'a PatternList,
    lifts: &'a Lifts,
}

fn search_in(caller: &Caller, search: &Search, scope: &Scope<'_>, view: View) -> Found {
    let server = scope.server;
    let snapshot = view.snapshot;
    let shows = |mark: &Mark| match mark.visible(caller) {
        Visibility::Shown => true,
        Visibility::Disabled => search.include_disabled,
        Visibility::Pending | Visibility::Hidden => false,
    };
    let allow = |id: &ToolId| {
        scope.pattern.matches(Some(id.server()), id.tool()) && snapshot.mark(id).is_some_and(shows)
    };
    let limit = search
        .limit
        .unwrap_or(SEARCH_LIMIT_DEFAULT)
        .min(SEARCH_LIMIT_MAX);
    let filter = Filter {
        server,
        allow: Some(&allow),
        limit: Some(limit.max(SEARCH_ALTERNATIVES)),
        lifts: Some(scope.lifts),
    };
    let why = |id: &ToolId| {
        if search.explain {
            snapshot.index.explain(&search.query, &filter, id)
        } else {
            Vec::new()
        }
    };
    let found = if search.query.trim().is_empty() {
        all_matching(&snapshot, server, &allow)
    } else {
        snapshot.index.search(&search.query, &filter)
    };
    let (total, mut close) = (found.total, found.close().len());
    let hit = |id: &ToolId, relevance: f32| {
        Some(Hit {
            entry: Arc::clone(snapshot.entry(id)?),
            relevance,
            why: why(id),
        })
    };
    let mut hits: Vec<Hit> = found
        .hits
        .iter()
        .filter_map(|h| hit(&h.id, h.relevance))
        .collect();
    let before = hits.len();
    put_named_first(&mut hits, &snapshot, search, server, &allow);
    close += hits.len() - before;
    let confidence = hits.first().map_or(0.0, |hit| hit.relevance);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a share needs no more digits"
    )]
    let least = snapshot.config.settings.search.min_confidence as f32;
    let alternatives = hits.iter().take(SEARCH_ALTERNATIVES).cloned().collect();
    hits.truncate(match search.limit {
        Some(_) => limit,
        None => limit.min(close),
    });
    let (mut matching, mut missed, mut unjudged) = (0, 0, 0);
    if hits.is_empty() {
        matching = all_matching(&snapshot, server, &allow).total;
        // What waits has a request that a person can settle; where the store could not be asked there is none.
        missed = waiting(caller, search, scope, &snapshot, true);
        unjudged = waiting(caller, search, scope, &snapshot, false);
    }
    Found {
        total: total.max(hits.len()),
        needs_selection: confidence < least,
        confidence,
        alternatives,
        hits,
        matching,
        waiting: missed,
        unjudged,
        pending_servers: view.pending,
        failed_servers: view.failed,
        snapshot: Arc::clone(&snapshot),
    }
}

/// How many tools would fit that are not approved, those with a request to settle or those without.
fn waiting(
    caller: &Caller,
    search: &Search,
    scope: &Scope<'_>,
    snapshot: &Snapshot,
    with_request: bool,
) -> usize {
    let waits = |mark: &Mark| mark.visible(caller) == Visibility::Pending;
    let has_request = |entry: &Arc<Entry>| entry.request.is_some() == with_request;
    let allow = |id: &ToolId| {
        scope.pattern.matches(Some(id.server()), id.tool())
            && snapshot.mark(id).is_some_and(waits)
            && snapshot.entry(id).is_some_and(has_request)
    };
    let filter = Filter {
        server: scope.server,
        allow: Some(&allow),
        ..Filter::default()
    };
    if search.query.trim().is_empty() {
        all_matching(snapshot, scope.server, &allow).total
    } else {
        snapshot.index.search(&search.query, &filter).total
    }
}

/// Every tool that a pattern names, where no words say which is wanted more.
fn all_matching(
    snapshot: &Snapshot,
    server: Option<&str>,
    allow: &dyn Fn(&ToolId) -> bool,
) -> Hits {
    let racks = snapshot
        .racks()
        .filter(|rack| server.is_none_or(|name| *rack.supplier.name == *name));
    let ids = racks.flat_map(|rack| rack.ids());
    let hits: Vec<_> = ids
        .filter(|id| allow(id))
        .map(|id| toolcrib_core::search::Hit {
            id: id.clone(),
            score: 0.0,
            relevance: 1.0,
        })
        .collect();
    Hits {
        total: hits.len(),
        hits,
    }
}

/// A query that is a tool's id, in whatever spelling, means that tool.
fn put_named_first(
    hits: &mut Vec<Hit>,
    snapshot: &Snapshot,
    search: &Search,
    server: Option<&str>,
    allow: &dyn Fn(&ToolId) -> bool,
) {
    let Some(id) = ToolId::parse(search.query.trim()) else {
        return;
    };
    let rack = snapshot.rack(id.server());
    let named = rack.and_then(|rack| rack.find(id.tool())).filter(|entry| {
        let id = &entry.tool.id;
        server.is_none_or(|name| name == id.server()) && allow(id)
    });
    let Some(named) = named else {
        return;
    };
    let at = hits
        .iter()
        .position(|hit| hit.entry.tool.id == named.tool.id);
    let mut hit = match at {
        Some(at) => hits.remove(at),
        None => Hit {
            entry: Arc::clone(named),
            relevance: 1.0,
            why: vec!["the query is its id".to_owned()],
        },
    };
    hit.relevance = 1.0;
    if !search.explain {
        hit.why.clear();
    }
    hits.insert(0, hit);
}
