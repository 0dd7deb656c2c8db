//! The n-th call to the database fails, for every n.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use toolcrib_core::limits::{STORE_GROUP_MAX, STORE_QUEUE_MAX};
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

use crate::fixture::{Home, NOW, answered, begin, entry, log, refusal, tail};

/// What happens at each call to the database.
pub(crate) trait Hook: Send + Sync + 'static {
    /// Before the call, which gets a number; an error keeps it from being made.
    fn before(&self, call: &str) -> Result<usize, StoreError>;
    /// After the call; an error hides that it was made.
    fn after(&self, number: usize) -> Result<(), StoreError>;
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
    let number = hook.before(call)?;
    let result = made.await?;
    hook.after(number)?;
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
    fn prepare(&mut self) -> Pending<'_, bool> {
        Box::pin(hooked(&*self.hook, "prepare", self.inner.prepare()))
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
    fn before(&self, _call: &str) -> Result<usize, StoreError> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        if !self.plan.made {
            self.fails(number)?;
        }
        Ok(number)
    }

    fn after(&self, number: usize) -> Result<(), StoreError> {
        if self.plan.made {
            self.fails(number)
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

/// Four callers at once, so that they share transactions that fail.
async fn together(store: &Store, seen: &mut Seen) {
    let one = async |number: usize| {
        let mut seen = Seen::default();
        let (request, key) = (format!("c{number}"), format!("c{}", number % 3));
        let begun = store.begin_execution(entry(&request), Some(&key)).await;
        if let Some(Begin::Fresh(execution)) = seen.note(begun) {
            seen.effects.push((key, request.clone()));
            if seen.note(execution.finish(answered("42")).await).is_some() {
                seen.acknowledged.push(request);
            }
        }
        seen
    };
    let (a, b, c, d) = tokio::join!(one(0), one(1), one(2), one(3));
    for part in [a, b, c, d] {
        seen.effects.extend(part.effects);
        seen.acknowledged.extend(part.acknowledged);
        seen.errors += part.errors;
    }
    seen.note(store.recover(NOW).await);
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
    seen.note(store.keep_result("h", "ann", "t", "x", NOW, 60_000).await);
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
        together(&store, &mut seen).await;
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
            assert_eq!((seen.errors, seen.effects.len()), (0, 6), "without a fault");
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

#[tokio::test]
async fn a_unit_that_cannot_be_done_takes_nobody_else_with_it() {
    let home = Home::new();
    let store = home.open().await;
    let open = begin(&store, entry("r1"), None).await;
    // All three wait for the writer at once and share a transaction.
    let (before, twice, after) = tokio::join!(
        store.record(refusal("r2")),
        store.begin_execution(entry("r1"), None),
        store.record(refusal("r3")),
    );
    assert!(matches!(twice, Err(StoreError::Failed { .. })));
    assert_eq!((before, after), (Ok(()), Ok(())));
    open.finish(answered("x")).await.unwrap();
    assert_eq!(log(&store).await, ["r2 refused", "r3 refused", "r1 ok"]);
    store.close().await;
}

/// Holds up the writer until it is let go.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, closed: bool) {
        *self.closed.lock().unwrap() = closed;
        self.opened.notify_all();
    }
}

impl Hook for Gate {
    fn before(&self, call: &str) -> Result<usize, StoreError> {
        let closed = self.closed.lock().unwrap();
        if call == "begin" {
            drop(self.opened.wait_while(closed, |closed| *closed).unwrap());
        }
        Ok(0)
    }

    fn after(&self, _number: usize) -> Result<(), StoreError> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_queue_refuses_to_begin_and_keeps_every_ending() {
    let home = Home::swift();
    let gate = Arc::new(Gate::default());
    let backend = Hooked {
        inner: Sqlite::open(home.options()).await.unwrap(),
        hook: Arc::clone(&gate),
    };
    let store = Store::open(Arc::new(backend), Uuid::now_v7())
        .await
        .unwrap();
    let ends_late = begin(&store, entry("ends late"), None).await;
    let cut_off = begin(&store, entry("cut off"), None).await;

    gate.set(true);
    // One group is in the writer's hands, the rest fills the queue.
    let callers = STORE_QUEUE_MAX + STORE_GROUP_MAX + 50;
    let tasks: Vec<_> = (0..callers)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let begun = store
                    .begin_execution(entry(&format!("r{number}")), None)
                    .await;
                match begun {
                    Ok(Begin::Fresh(execution)) => execution.finish(answered("x")).await.unwrap(),
                    Ok(other) => panic!("{other:?}"),
                    Err(error) => assert_eq!(error, StoreError::Overloaded),
                }
            })
        })
        .collect();
    while !tasks.iter().any(tokio::task::JoinHandle::is_finished) {
        tokio::task::yield_now().await;
    }
    drop(cut_off);
    let ending = tokio::spawn(ends_late.finish(answered("x")));
    gate.set(false);
    for task in tasks {
        task.await.unwrap();
    }
    ending.await.unwrap().unwrap();
    store.recover(NOW).await.unwrap();
    let verdict = store.audit_verify().await.unwrap();
    assert!(verdict.is_intact());
    let records = usize::try_from(verdict.records).unwrap();
    assert!(
        records > STORE_QUEUE_MAX && records < callers + 2,
        "{records}"
    );
    store.close().await;
}
