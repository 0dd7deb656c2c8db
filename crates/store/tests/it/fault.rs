//! The n-th call to the database fails, for every n.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolcrib_core::policy::ApprovalMode;
use toolcrib_core::secret::Secret;
use toolcrib_store::approval::observation::{Definition, Observation};
use toolcrib_store::approval::{Target, Verdict};
use toolcrib_store::audit::Outcome;
use toolcrib_store::audit::retention::Retention;
use toolcrib_store::backend::{Backend, Link, Pending, Presence, Role, Row, Session, Value};
use toolcrib_store::key::NewKey;
use toolcrib_store::sqlite::Sqlite;
use toolcrib_store::{Begin, Store, StoreError};
use uuid::Uuid;

use crate::fixture::{Home, NOW, answered, entry, refusal, tail};

/// What happens at each call to the database.
pub(crate) trait Hook: Send + Sync + 'static {
    /// Before the call; an error keeps it from being made.
    fn before(&self, call: &str) -> Result<(), StoreError>;
    /// After the call; an error hides that it was made.
    fn after(&self, call: &str) -> Result<(), StoreError>;
}

/// A backend that asks its hook at each call.
pub(crate) struct Hooked<H> {
    pub(crate) inner: Sqlite,
    pub(crate) hook: Arc<H>,
}

struct HookedLink<H> {
    inner: Box<dyn Link>,
    hook: Arc<H>,
}

async fn hooked<T>(
    hook: &impl Hook,
    call: &str,
    made: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    hook.before(call)?;
    let result = made.await?;
    hook.after(call)?;
    Ok(result)
}

impl<H: Hook> Session for HookedLink<H> {
    fn execute<'a>(&'a mut self, sql: &'static str, args: Vec<Value>) -> Pending<'a, u64> {
        Box::pin(hooked(&*self.hook, sql, self.inner.execute(sql, args)))
    }
    fn query<'a>(&'a mut self, sql: &'static str, args: Vec<Value>) -> Pending<'a, Vec<Row>> {
        Box::pin(hooked(&*self.hook, sql, self.inner.query(sql, args)))
    }
}

impl<H: Hook> Link for HookedLink<H> {
    fn begin(&mut self) -> Pending<'_, ()> {
        Box::pin(hooked(&*self.hook, "begin", self.inner.begin()))
    }
    fn commit(&mut self) -> Pending<'_, ()> {
        Box::pin(hooked(&*self.hook, "commit", self.inner.commit()))
    }
    fn rollback(&mut self) -> Pending<'_, ()> {
        Box::pin(hooked(&*self.hook, "rollback", self.inner.rollback()))
    }
    fn close(self: Box<Self>) -> Pending<'static, ()> {
        self.inner.close()
    }
}

impl<H: Hook> Backend for Hooked<H> {
    fn connect(&self, role: Role) -> Pending<'_, Box<dyn Link>> {
        Box::pin(hooked(&*self.hook, "connect", async move {
            let inner = self.inner.connect(role).await?;
            let hook = Arc::clone(&self.hook);
            Ok(Box::new(HookedLink { inner, hook }) as Box<dyn Link>)
        }))
    }
    fn announce<'a>(&'a self, writer_id: &'a str) -> Pending<'a, Box<dyn Presence>> {
        Box::pin(hooked(
            &*self.hook,
            "announce",
            self.inner.announce(writer_id),
        ))
    }
    fn is_alive<'a>(&'a self, writer_id: &'a str) -> Pending<'a, bool> {
        Box::pin(hooked(
            &*self.hook,
            "is_alive",
            self.inner.is_alive(writer_id),
        ))
    }
}

/// Which calls fail, and whether they are made all the same.
#[derive(Clone, Copy, Debug)]
struct Plan {
    first: usize,
    count: usize,
    made: bool,
}

struct Counter {
    plan: Plan,
    calls: AtomicUsize,
}

impl Counter {
    fn fails(&self, call: usize) -> Result<(), StoreError> {
        let Plan { first, count, .. } = self.plan;
        if (first..first.saturating_add(count)).contains(&call) {
            return Err(StoreError::Full);
        }
        Ok(())
    }
}

impl Hook for Counter {
    fn before(&self, _call: &str) -> Result<(), StoreError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if self.plan.made {
            Ok(())
        } else {
            self.fails(call)
        }
    }

    fn after(&self, _call: &str) -> Result<(), StoreError> {
        // One task at a time in these tests, so that the last call is this one.
        let call = self.calls.load(Ordering::SeqCst) - 1;
        if self.plan.made {
            self.fails(call)
        } else {
            Ok(())
        }
    }
}

/// What the outside world saw of a scenario.
#[derive(Default)]
struct Seen {
    /// Requests that reached the upstream, by key.
    effects: Vec<(String, String)>,
    /// Requests whose ending was acknowledged.
    acknowledged: Vec<String>,
    errors: usize,
}

impl Seen {
    fn note<T>(&mut self, result: Result<T, StoreError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let expected = matches!(error, StoreError::Full | StoreError::Failed { .. });
                assert!(expected, "{error:?}");
                self.errors += 1;
                None
            }
        }
    }
}

/// Six executions over three keys, each key tried again as a caller would.
async fn executions(store: &Store, seen: &mut Seen) {
    for number in 0..6 {
        let request = format!("r{number}");
        let key = format!("k{}", number % 3);
        let begun = store.begin_execution(entry(&request), Some(&key)).await;
        if let Some(Begin::Fresh(execution)) = seen.note(begun) {
            seen.effects.push((key, request.clone()));
            if seen.note(execution.finish(answered("42")).await).is_some() {
                seen.acknowledged.push(request);
            }
        }
        seen.note(store.recover(NOW).await);
    }
    seen.note(store.record(refusal("refused")).await);
}

/// Everything else that the store does.
async fn the_rest(store: &Store, seen: &mut Seen) {
    let tools = vec![Definition {
        tool: "a".into(),
        hash: "h".into(),
        definition: "d".into(),
    }];
    let observation = Observation {
        server: "gh".into(),
        tools,
        mode: ApprovalMode::All,
        first_list_accepted: true,
    };
    seen.note(store.observe(observation, NOW).await);
    let target = Target::Server("gh".into());
    let settled = store.settle_approvals(&target, Verdict::Approve, "ann", NOW);
    seen.note(settled.await);
    seen.note(store.show_approvals(&target, NOW).await);
    let new = NewKey {
        name: "ci".into(),
        scopes: Vec::new(),
        expires_ms: None,
    };
    seen.note(store.create_key(new, &[7; 32], NOW).await);
    let token = Secret::new("t");
    seen.note(store.save_token("i", "s", &token, None, NOW).await);
    seen.note(store.keep_result("h", "ann", "t", "x", NOW).await);
    store.count("calls", 1, NOW);
    let keep = Retention {
        age_ms_max: Some(1_000),
        size_bytes_max: Some(1_000_000),
    };
    seen.note(store.maintain(keep, NOW).await);
    seen.note(store.audit_verify().await);
}

/// Runs everything under a plan; gives what was seen and how many calls were made.
async fn play(home: &Home, plan: Plan) -> (Seen, usize) {
    let hook = Arc::new(Counter {
        plan,
        calls: AtomicUsize::new(0),
    });
    let backend = Hooked {
        inner: Sqlite::open(home.options()).await.unwrap(),
        hook: Arc::clone(&hook),
    };
    let mut seen = Seen::default();
    let opened = Store::open(Arc::new(backend), Uuid::now_v7()).await;
    if let Some(store) = seen.note(opened) {
        executions(&store, &mut seen).await;
        the_rest(&store, &mut seen).await;
        store.close().await;
    }
    (seen, hook.calls.load(Ordering::SeqCst))
}

/// What must hold whatever failed.
async fn check(home: &Home, seen: &Seen, plan: Plan) {
    let store = home.open().await;
    store.recover(NOW).await.unwrap();
    let verdict = store.audit_verify().await.unwrap();
    assert!(verdict.is_intact(), "{plan:?}: {:?}", verdict.problems);
    let records = tail(&store).await;
    for (key, request) in &seen.effects {
        let same_key = seen.effects.iter().filter(|(other, _)| other == key);
        assert_eq!(same_key.count(), 1, "{plan:?}: {key} has a second effect");
        let found: Vec<_> = records
            .iter()
            .filter(|found| found.record.request_id == *request)
            .collect();
        assert_eq!(found.len(), 1, "{plan:?}: {request}");
        if seen.acknowledged.contains(request) {
            assert_eq!(found[0].record.outcome, Outcome::Ok, "{plan:?}: {request}");
        }
        let again = store.begin_execution(entry("again"), Some(key)).await;
        match again.unwrap() {
            Begin::Replay { answer, .. } => assert_eq!(answer.as_deref(), Some("42")),
            Begin::Unknown(earlier) => assert_eq!(earlier.request_id, *request),
            other => panic!("{plan:?}: {other:?}"),
        }
    }
    store.close().await;
}

async fn every_call(count: usize, made: bool) {
    let (mut failures, mut plans) = (0, 0);
    for first in 0.. {
        let plan = Plan { first, count, made };
        let home = Home::swift();
        let (seen, calls) = play(&home, plan).await;
        check(&home, &seen, plan).await;
        if calls <= first {
            assert_eq!((seen.errors, seen.effects.len()), (0, 3), "without a fault");
            break;
        }
        plans += 1;
        failures += seen.errors;
    }
    assert!(plans > 100);
    println!(
        "database: {plans} places to fail ({count} in a row, made {made}), {failures} reported"
    );
}

#[tokio::test]
async fn one_call_that_fails_loses_nothing_wherever_it_is() {
    every_call(1, false).await;
}

#[tokio::test]
async fn one_call_whose_success_is_not_reported_has_no_second_effect() {
    every_call(1, true).await;
}

#[tokio::test]
async fn a_database_that_fails_for_a_while_loses_nothing() {
    every_call(9, false).await;
}
