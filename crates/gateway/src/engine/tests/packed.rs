//! Tools that an earlier process read and packed.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use toolcrib_config::load::Config;
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_core::policy::{Caller, Visibility, visible};
use toolcrib_store::approval::judgement::Standing;
use toolcrib_store::approval::observation::Observed;
use toolcrib_store::approval::{Target, Verdict};
use toolcrib_store::{SqliteOptions, Store};
use uuid::Uuid;

use crate::engine::ask::{Listing, Search};
use crate::engine::clock::Clock;
use crate::engine::connections::{Connections, Users};
use crate::engine::definition::raw;
use crate::engine::fixture::{keyed, tool};
use crate::engine::rack::Judged;
use crate::engine::upstream::Upstream;
use crate::engine::{Engine, pack_kept};
use crate::known;
use crate::loader::Loader;

const SERVERS: &str = "
servers:
  tracker: {command: tracker, description: Issues and code, aliases: [bugs]}
  notes-v2: {command: notes}
  mail: {command: mail}
";

/// A home in which the lists of three servers are kept.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let config = home.config("");
        let lists = known::kept_lists(&config, &home.surroundings());
        for (server, names) in config.servers.iter().zip([
            &["list_issues", "createIssue", "delete_repo", "frob"][..],
            &["add_note", "find-note"],
            &["send_mail", "read_mail"],
        ]) {
            let tools = names.iter().map(|name| {
                let mut tool = tool(name);
                tool["annotations"] = json!({"readOnlyHint": name.starts_with("read")});
                raw(&tool)
            });
            let (name, fingerprint) = (&server.name, server.fingerprint());
            let now_ms = Clock::system().now_ms();
            let kept = lists.store_tools(name, &fingerprint, tools.collect(), now_ms);
            kept.unwrap();
        }
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings::new(Os::Linux, self.path(), self.path(), |_| None)
    }

    fn config(&self, more: &str) -> Arc<Config> {
        let path = self.path().join("toolcrib.yaml");
        std::fs::write(&path, format!("{SERVERS}{more}")).unwrap();
        let loader = Loader::new(self.surroundings(), Some(path));
        Arc::new(loader.config().unwrap())
    }

    fn connections(&self) -> Connections {
        Connections::new(Users::One, self.surroundings(), None, Clock::system())
    }

    fn pack(&self, config: &Arc<Config>) {
        let connections = self.connections();
        connections.configure(config);
        pack_kept(config, &connections);
    }

    async fn open(&self, config: &Arc<Config>) -> Arc<Engine> {
        let store = SqliteOptions::new(self.path().join("store.db"));
        let store = Store::open_sqlite(store, Uuid::now_v7()).await.unwrap();
        let upstream = Arc::new(self.connections());
        let engine = Engine::open(
            Arc::clone(config),
            store,
            upstream,
            Clock::system(),
            crate::telemetry::Tracer::off(),
        );
        engine.await.unwrap()
    }
}

/// How many racks came packed, and how many definitions were read of those.
fn packed(engine: &Engine) -> (usize, usize) {
    let snapshot = engine.snapshot();
    let packed = || snapshot.racks().filter(|rack| rack.is_packed());
    (
        packed().count(),
        packed().filter(|rack| rack.is_read()).count(),
    )
}

/// Everything that a caller can find out.
async fn answers(engine: &Arc<Engine>, caller: &Caller) -> String {
    let mut said = vec![format!("{:?}", engine.list_servers(caller).await.unwrap())];
    let pattern = Search {
        pattern: Some("*_*".into()),
        ..Search::default()
    };
    let matching = engine.search_tools(caller, pattern).await.unwrap();
    said.push(format!("{:?}", matching.hits));
    for query in [
        "create an issue",
        "mail",
        "notes about something",
        "tracker:frob",
    ] {
        let search = Search {
            query: query.into(),
            include_disabled: true,
            ..Search::default()
        };
        let found = engine.search_tools(caller, search).await.unwrap();
        let hits = found.hits.iter().map(|hit| (&hit.entry, hit.relevance));
        let hits: Vec<_> = hits.collect();
        said.push(format!("{query}: {} {hits:?}", found.total));
    }
    for server in ["tracker", "bugs", "notes", "mail"] {
        let listing = Listing {
            server: server.into(),
            include_disabled: true,
            ..Listing::default()
        };
        said.push(format!("{:?}", engine.list_tools(caller, listing).await));
    }
    said.join("\n")
}

#[tokio::test]
async fn what_was_packed_answers_as_the_lists_do_and_is_read_when_looked_at() {
    for more in [
        "",
        "toolRules: [{pattern: ['send_*', 'frob'], enabled: false}]\n",
        "policy: {approval: all}\n",
        "policy: {approval: off, overrides: [{pattern: ['list_*'], risk: destructive}]}\n",
        "policy: {overrides: [{server: mail, pattern: ['*'], requiredScopes: ['post:office']}]}\n",
    ] {
        let home = Home::new();
        let config = home.config(more);
        let callers = [
            Caller::local(&config.settings.policy),
            keyed(&["tracker:read", "mail:*", "post:office"]),
            keyed(&["*:write"]),
        ];
        let from_lists = home.open(&config).await;
        assert_eq!(packed(&from_lists).0, 0);
        home.pack(&config);
        let from_kits = home.open(&config).await;
        assert_eq!(packed(&from_kits), (3, 0), "{more}");
        assert_eq!(
            from_kits.counts().tools_enabled,
            from_lists.counts().tools_enabled
        );
        for caller in &callers {
            from_kits.list_servers(caller).await.unwrap();
            assert_eq!(packed(&from_kits).1, 0, "a list of servers reads nothing");
        }
        let wish = Search {
            query: "add a note".into(),
            limit: Some(1),
            ..Search::default()
        };
        from_kits.search_tools(&callers[0], wish).await.unwrap();
        assert!(packed(&from_kits).1 <= 2, "only what was found is read");
        for caller in &callers {
            let expected = answers(&from_lists, caller).await;
            assert_eq!(answers(&from_kits, caller).await, expected, "{more}");
        }
        for rack in from_kits.snapshot().racks() {
            for entry in rack.entries() {
                let mark = rack.mark(entry.tool.id.tool()).unwrap();
                for caller in &callers {
                    assert_eq!(mark.visible(caller), visible(caller, &entry.subject()));
                }
            }
        }
    }
}

#[tokio::test]
async fn other_rules_hold_at_once_for_what_was_packed() {
    let home = Home::new();
    home.pack(&home.config(""));
    let config = home.config("toolRules: [{pattern: ['send_*'], enabled: false}]\n");
    let engine = home.open(&config).await;
    assert_eq!(packed(&engine), (3, 0));
    assert_eq!(engine.counts().tools_enabled, 7);
    let tagged = home.config("toolRules: [{pattern: ['send_*'], tags: [paperwork]}]\n");
    engine.reload(Arc::clone(&tagged)).await.unwrap();
    assert_eq!(packed(&engine), (2, 0), "a tag is a word to be found by");
    let search = Search {
        query: "paperwork".into(),
        ..Search::default()
    };
    let caller = Caller::local(&tagged.settings.policy);
    let found = engine.search_tools(&caller, search).await.unwrap();
    assert_eq!(found.hits[0].entry.tool.id.tool(), "send_mail");
    let trusted = SERVERS.replace("command: mail", "command: mail, trusted: true");
    let path = home.path().join("toolcrib.yaml");
    std::fs::write(&path, trusted).unwrap();
    let trusted = Loader::new(home.surroundings(), Some(path))
        .config()
        .unwrap();
    let engine = home.open(&Arc::new(trusted)).await;
    assert_eq!(
        packed(&engine),
        (2, 0),
        "what a trusted server says is read"
    );
}

#[tokio::test]
async fn what_a_person_settles_counts_for_what_was_packed() {
    let home = Home::new();
    let config = home.config("policy: {approval: all}\n");
    home.pack(&config);
    let engine = home.open(&config).await;
    let caller = Caller::local(&config.settings.policy);
    let shown = |engine: &Engine| {
        let snapshot = engine.snapshot();
        let marks = snapshot.racks().flat_map(|rack| rack.marks());
        marks
            .filter(|mark| mark.visible(&caller) == Visibility::Shown)
            .count()
    };
    assert_eq!((packed(&engine).0, shown(&engine)), (3, 0));
    let target = Target::Tool {
        server: "mail".into(),
        tool: "read_mail".into(),
    };
    let now_ms = engine.clock().now_ms();
    let settled = engine
        .store()
        .settle_approvals(&target, Verdict::Approve, "ann", now_ms)
        .await;
    assert_eq!(settled.unwrap().len(), 1);
    engine.list_servers(&caller).await.unwrap();
    assert_eq!((packed(&engine), shown(&engine)), ((3, 0), 1));
    let details = engine.tool_details(&caller, "mail", "read_mail").await;
    assert_eq!(details.unwrap().visibility, Visibility::Shown);
    assert!(
        engine
            .tool_details(&caller, "mail", "send_mail")
            .await
            .is_err()
    );
}

#[test]
fn only_where_each_definition_is_accepted_there_is_no_more_to_remember() {
    let observed = |standing, request: Option<&str>| Observed {
        tool: "t".into(),
        standing,
        request: request.map(str::to_owned),
    };
    let fine = || observed(Standing::Unchanged, None);
    let check = |list: Vec<Observed>, count: usize, accepted: bool| {
        let judged = Judged::of_observed(list.clone(), count);
        let expected = if accepted {
            Judged::Accepted
        } else {
            Judged::Observed(list)
        };
        assert_eq!(judged, expected);
    };
    check(vec![], 0, true);
    check(vec![fine(), observed(Standing::AcceptedNew, None)], 2, true);
    check(vec![fine()], 2, false);
    check(
        vec![fine(), observed(Standing::Unchanged, Some("t-1"))],
        2,
        false,
    );
    for waiting in [
        Standing::PendingNew,
        Standing::PendingChanged,
        Standing::Rejected,
    ] {
        check(vec![fine(), observed(waiting, None)], 2, false);
    }
}
