//! From an unknown server to approved files, with every step failing in turn.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_config::model::server::{Origin, Stdio, Transport};
use toolcrib_config::placeholder::Template;
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_store::SqliteOptions;
use toolcrib_store::cache::{CacheOptions, ListCache};
use toolcrib_upstream::mcp::CallError;

use super::*;
use crate::capability::market::Marketplace as _;
use crate::engine::definition::raw;
use crate::engine::discovery::{Lister, RawList, Visit, What};
use crate::loader::Loader;

/// A server that offers what it is told.
#[derive(Default)]
struct Offers(Mutex<Vec<Value>>);

impl Lister for Offers {
    fn list<'a>(
        &'a self,
        _: &'a Server,
        _: What,
        visit: Visit,
    ) -> BoxFuture<'a, Result<RawList, CallError>> {
        assert_eq!(visit, Visit::OneOff, "nothing stays connected");
        let items = self.0.lock().unwrap().iter().map(raw).collect();
        let list = RawList {
            items,
            ..RawList::default()
        };
        Box::pin(std::future::ready(Ok(list)))
    }
}

/// The real disk, until its steps run out.
struct Failing {
    left: AtomicUsize,
}

impl Failing {
    fn step(&self) -> io::Result<()> {
        let left = self.left.load(Ordering::SeqCst);
        if left == 0 {
            return Err(io::Error::other("the power failed"));
        }
        self.left.store(left - 1, Ordering::SeqCst);
        Ok(())
    }
}

impl Disk for Failing {
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        files::LocalDisk.replace(path, bytes)
    }

    fn replace_private(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        files::LocalDisk.replace_private(path, bytes)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        files::LocalDisk.remove(path)
    }
}

struct Scene {
    home: TempDir,
    offers: Arc<Offers>,
    service: DiscoveryService,
    desk: Desk,
    now: Arc<AtomicI64>,
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn config(home: &TempDir) -> Arc<Config> {
    let path = home.path().join("toolcrib.yaml");
    std::fs::write(&path, "imports: {auto: false}\n").unwrap();
    let surroundings = Surroundings::new(Os::Linux, home.path(), home.path(), |_| None);
    Arc::new(Loader::new(surroundings, Some(path)).config().unwrap())
}

impl Scene {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(home.path().join("t.db"));
        let store = Store::open_sqlite(options, uuid::Uuid::now_v7())
            .await
            .unwrap();
        let now = Arc::new(AtomicI64::new(1_000));
        let clock = Arc::clone(&now);
        let clock = Clock::new(move || clock.load(Ordering::SeqCst), |bytes| bytes.fill(7));
        let nowhere = CacheOptions {
            enabled: false,
            ..CacheOptions::new("")
        };
        let offers = Arc::new(Offers::default());
        let lister: Arc<dyn Lister> = Arc::<Offers>::clone(&offers);
        Self {
            service: DiscoveryService::new(lister, Arc::new(ListCache::new(nowhere))),
            desk: Desk::new(store, clock, config(&home)),
            home,
            offers,
            now,
        }
    }

    fn subject(&self) -> Subject {
        let origin = Origin {
            kind: registered::KIND.into(),
            path: "introspect".into(),
            line: 0,
        };
        let stdio = Stdio {
            command: Template::literal("notes-server"),
            args: Vec::new(),
            env: std::iter::empty().collect(),
            env_file: None,
            cwd: None,
            inherit_env: false,
        };
        Subject {
            server: Server::new("notes", Transport::Stdio(stdio), origin),
            directory: self.home.path().join("servers/pending"),
            dialect: Dialect::Document,
        }
    }

    async fn introspect(&self, tools: &[Value]) -> Review {
        *self.offers.0.lock().unwrap() = tools.to_vec();
        let subject = self.subject();
        let review = self.desk.introspect(&self.service, &subject, &[]).await;
        review.unwrap()
    }

    async fn settle(&self, verdict: Verdict) -> Result<Settled, ReviewError> {
        self.now.fetch_add(1, Ordering::SeqCst);
        let target = Target::Server("notes".into());
        let looked = self.desk.look(&target).await?;
        self.desk.settle(&looked, verdict, "ann").await
    }

    /// The files of a state, as `name: description`.
    fn files(&self, state: &str) -> Vec<String> {
        let directory = self.home.path().join("servers").join(state);
        let (found, unreadable) = files::read(&directory, "notes").unwrap();
        assert_eq!(unreadable, [], "nothing is ever half written");
        let told = found.iter();
        told.map(|one| {
            format!(
                "{}: {}",
                one.capability.tool_name, one.capability.description
            )
        })
        .collect()
    }

    fn entry(&self) -> String {
        let path = registered::path(&self.desk.config.places);
        std::fs::read_to_string(path).unwrap_or_default()
    }

    async fn market(&self) -> Vec<String> {
        let market = Shelf::new(self.desk.store.clone(), self.desk.clock.clone());
        let registered = market.registered().await.unwrap();
        registered
            .iter()
            .map(|m| format!("{}: {}", m.provider.tool_name, m.description))
            .collect()
    }
}

#[tokio::test]
async fn what_is_introspected_waits_and_what_is_approved_is_promoted() {
    let scene = Scene::new().await;
    let review = scene
        .introspect(&[
            tool("list", "One."),
            tool("delete", "Two."),
            json!({"name": 5}),
        ])
        .await;
    assert!(review.introduced.server_waits);
    assert_eq!((review.files.len(), review.warnings.len()), (2, 1));
    assert_eq!(review.dossier.assessment.risk, "destructive");
    assert_eq!(review.expires_ms, 1_000 + INTROSPECTION_WAIT_MS);
    assert_eq!(scene.files("pending"), ["delete: Two.", "list: One."]);
    assert_eq!(
        (scene.files("approved"), scene.entry()),
        (vec![], String::new())
    );
    assert_eq!(scene.market().await, Vec::<String>::new());
    let waits = scene.desk.register_server("notes").await;
    assert!(matches!(
        waits,
        Err(ReviewError::Waits {
            request: Some(_),
            ..
        })
    ));

    let settled = scene.settle(Verdict::Approve).await.unwrap();
    assert_eq!(settled.requests.len(), 3);
    assert!(settled.promoted[0].1.registered);
    assert_eq!(scene.files("approved"), ["delete: Two.", "list: One."]);
    assert_eq!(scene.files("pending"), Vec::<String>::new());
    assert_eq!(scene.market().await, ["delete: Two.", "list: One."]);
    assert!(scene.entry().contains("notes-server"));
    let again = scene.desk.register_server("notes").await.unwrap();
    assert_eq!(again, Promoted::default(), "there is nothing left to do");
}

#[tokio::test]
async fn a_changed_tool_replaces_the_approved_file_and_the_old_one_is_archived() {
    let scene = Scene::new().await;
    scene
        .introspect(&[tool("list", "One."), tool("get", "Same.")])
        .await;
    scene.settle(Verdict::Approve).await.unwrap();
    let review = scene
        .introspect(&[tool("list", "Other."), tool("get", "Same.")])
        .await;
    assert!(!review.introduced.server_waits);
    assert_eq!(scene.files("approved"), ["get: Same.", "list: One."]);
    let settled = scene.settle(Verdict::Approve).await.unwrap();
    assert_eq!(settled.promoted[0].1.archived.len(), 1);
    assert_eq!(scene.files("approved"), ["get: Same.", "list: Other."]);
    assert_eq!(scene.files("archive"), ["list: One."]);
    assert_eq!(scene.market().await, ["get: Same.", "list: Other."]);

    scene
        .introspect(&[tool("list", "Evil."), tool("get", "Same.")])
        .await;
    let settled = scene.settle(Verdict::Reject).await.unwrap();
    assert_eq!((settled.requests.len(), settled.promoted.len()), (1, 0));
    assert_eq!(scene.files("approved"), ["get: Same.", "list: Other."]);
}

#[tokio::test]
async fn what_is_rejected_or_expired_stays_out() {
    let scene = Scene::new().await;
    scene.introspect(&[tool("list", "One.")]).await;
    scene.settle(Verdict::Reject).await.unwrap();
    let refused = scene.desk.register_server("notes").await;
    assert!(matches!(
        refused,
        Err(ReviewError::Refused {
            state: "rejected",
            ..
        })
    ));
    assert_eq!(
        (scene.files("approved"), scene.entry()),
        (vec![], String::new())
    );

    scene.introspect(&[tool("list", "One.")]).await;
    scene.now.fetch_add(INTROSPECTION_WAIT_MS, Ordering::SeqCst);
    let late = scene.settle(Verdict::Approve).await.unwrap();
    assert_eq!(late.requests, []);
    let refused = scene.desk.register_server("notes").await;
    assert!(matches!(
        refused,
        Err(ReviewError::Refused {
            state: "expired",
            ..
        })
    ));
    assert_eq!(
        (scene.files("approved"), scene.entry()),
        (vec![], String::new())
    );
    let unknown = scene.desk.register_server("nobody").await;
    assert!(matches!(unknown, Err(ReviewError::Unknown(_))));
}

#[tokio::test]
async fn an_entry_with_a_secret_in_it_is_refused() {
    let scene = Scene::new().await;
    for arguments in [
        vec!["ghp_hush56789abcdefghijklmnopqrstuvwxyz"],
        vec!["--token=hush"],
        vec!["--token", "hush"],
        vec!["API_KEY=hush"],
    ] {
        let mut subject = scene.subject();
        let Transport::Stdio(stdio) = &mut subject.server.transport else {
            unreachable!()
        };
        stdio
            .args
            .extend(arguments.iter().copied().map(Template::literal));
        let refused = scene.desk.introspect(&scene.service, &subject, &[]).await;
        let said = refused.unwrap_err().to_string();
        assert!(
            said.contains("secret in plain letters") && !said.contains("hush"),
            "{said}"
        );
    }
}

/// Every step of a promotion fails in turn; whoever comes next finishes it.
#[tokio::test]
async fn a_promotion_that_is_killed_at_any_step_is_old_or_new() {
    let new = ["get: New.", "list: New."];
    let mut steps = 0;
    loop {
        let mut scene = Scene::new().await;
        scene
            .introspect(&[
                tool("list", "Old."),
                tool("get", "Old."),
                tool("gone", "Old."),
            ])
            .await;
        scene.settle(Verdict::Approve).await.unwrap();
        scene
            .introspect(&[
                tool("list", "New."),
                tool("get", "New."),
                tool("gone", "Old."),
            ])
            .await;
        let disk: Arc<dyn Disk> = Arc::new(Failing {
            left: AtomicUsize::new(steps),
        });
        let good = std::mem::replace(&mut scene.desk.disk, disk);
        let outcome = scene.settle(Verdict::Approve).await;
        let finished = outcome.is_ok();
        // What is accepted was decided in one step, before any file: the market is new.
        assert_eq!(
            scene.market().await,
            ["get: New.", "gone: Old.", "list: New."]
        );
        for file in scene.files("approved") {
            let (_, version) = file.split_once(": ").unwrap();
            assert!(["Old.", "New."].contains(&version), "{file}");
        }
        assert_eq!(
            scene.files("approved").len(),
            3,
            "no file is missing at step {steps}"
        );
        scene.desk.disk = good;
        let promoted = scene.desk.finish().await.unwrap();
        assert_eq!(
            promoted.is_empty(),
            finished,
            "what was left open is finished at step {steps}"
        );
        let approved = scene.files("approved");
        assert_eq!(
            approved
                .iter()
                .filter(|f| new.contains(&f.as_str()))
                .count(),
            2
        );
        assert_eq!(scene.files("archive"), ["get: Old.", "list: Old."]);
        assert_eq!(scene.files("pending"), Vec::<String>::new());
        assert!(scene.desk.finish().await.unwrap().is_empty());
        if finished {
            break;
        }
        steps += 1;
    }
    assert!(steps >= 4, "only {steps} steps were tried");
}

#[tokio::test]
async fn a_first_promotion_that_is_killed_leaves_nothing_that_can_be_used_by_halves() {
    for steps in 0..4 {
        let mut scene = Scene::new().await;
        scene
            .introspect(&[tool("list", "One."), tool("get", "Two.")])
            .await;
        let disk: Arc<dyn Disk> = Arc::new(Failing {
            left: AtomicUsize::new(steps),
        });
        let good = std::mem::replace(&mut scene.desk.disk, disk);
        assert!(scene.settle(Verdict::Approve).await.is_err());
        assert_eq!(scene.entry(), "", "the server is entered last");
        scene.desk.disk = good;
        scene.desk.finish().await.unwrap();
        assert_eq!(scene.files("approved"), ["get: Two.", "list: One."]);
        assert!(scene.entry().contains("notes-server"));
    }
}

#[tokio::test]
async fn approved_files_are_loaded_and_others_are_named() {
    let mut scene = Scene::new().await;
    scene.introspect(&[tool("list", "One.")]).await;
    let pending = scene.subject().directory;
    let loaded = scene.desk.load(&pending).await.unwrap();
    assert_eq!(
        loaded,
        crate::capability::loading::Loaded::default(),
        "pending files are not loaded"
    );
    scene.settle(Verdict::Approve).await.unwrap();
    scene.desk.config = config(&scene.home);
    assert_eq!(scene.desk.config.servers[0].origin.kind, registered::KIND);

    let approved = scene.home.path().join("servers/approved/notes");
    let file = approved.join("list.rtfs");
    let text = std::fs::read_to_string(&file).unwrap();
    let corrected = text.replace(
        ":provider",
        ":output-schema [:vector :int]\n  :metadata {:output-schema-source \"inferred\"}\n  :provider",
    );
    std::fs::write(
        &file,
        corrected.replace("[\"crud.read\"]", "[\"crud.read\" \"mine\"]"),
    )
    .unwrap();
    std::fs::write(approved.join("evil.rtfs"), text.replace("list", "evil")).unwrap();
    std::fs::write(approved.join("bad.rtfs"), "(capability").unwrap();
    let loaded = scene.desk.load(&pending).await.unwrap();
    assert_eq!(
        (loaded.capabilities, loaded.left_out.len()),
        (1, 2),
        "{loaded:?}"
    );
    let market = Shelf::new(scene.desk.store.clone(), scene.desk.clock.clone());
    let market = market.registered().await.unwrap();
    assert_eq!(market.len(), 1);
    assert_eq!(market[0].categories, ["crud.read", "mine"]);
    assert!(market[0].output_is_inferred());
}
