//! Hostile servers, and what is needed to watch them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;
use toolcrib_core::canon;
use toolcrib_core::catalog::{Tool, ToolId};
use toolcrib_core::policy::{
    Approval, Caller, Metadata, Outcome, Permit, PolicySettings, RateLimits, Request, ServerFacts,
    Subject, Validity, decide,
};
use toolcrib_core::rpc::Fault;
use toolcrib_upstream::mcp::client::Answer;
use toolcrib_upstream::mcp::{
    Call, CallError, Client, Command, Endpoint, EraMemory, Key, Options, Pool, Spawner,
    Surroundings, Way, Ways, http,
};

/// The hostile server, which is its own launcher too.
pub(crate) fn hostile() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| toolcrib_testkit::program("hostile"))
}

/// The hostile server with flags, separated by blanks.
pub(crate) fn server(flags: &str) -> Command {
    let program = hostile().to_str().unwrap().to_owned();
    flags
        .split_whitespace()
        .fold(Command::new(program), Command::arg)
}

/// Starts processes through the launcher.
pub(crate) fn spawner() -> Spawner {
    Spawner {
        launcher: Some(hostile().to_owned()),
        environment: std::env::vars_os().collect(),
    }
}

/// The surroundings of a pool: the real clock, and chance that is always in the middle.
pub(crate) fn surroundings() -> Surroundings {
    Surroundings {
        dialer: Arc::new(Ways {
            spawner: spawner(),
            http: http::Client::new(),
        }),
        memory: Arc::new(EraMemory::default()),
        now_ms: Arc::new(now_ms),
        random: Arc::new(|| 0.5),
    }
}

/// The time, which stands still where a test has paused it: a deadline that is decided at one moment and used at the next
/// is then as far away as it was.
pub(crate) fn now_ms() -> i64 {
    static BEGAN: LazyLock<(i64, Instant)> = LazyLock::new(|| {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap();
        (i64::try_from(since.as_millis()).unwrap(), Instant::now())
    });
    let (began_ms, began) = *BEGAN;
    let now = Instant::now();
    let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap();
    // Each runtime has a clock of its own, so that one may be behind.
    began_ms + millis(now.duration_since(began)) - millis(began.duration_since(now))
}

/// A server for a pool, under the name `s`.
pub(crate) fn endpoint(flags: &str) -> Endpoint {
    let mut endpoint = Endpoint::new("s", Way::Stdio(server(flags)));
    flags.clone_into(&mut endpoint.fingerprint);
    endpoint
}

/// A pool with one server.
pub(crate) fn pool(endpoint: Endpoint) -> Pool {
    let pool = Pool::new(surroundings());
    pool.configure(vec![endpoint]);
    pool
}

/// Leave to call a tool of server `s` with these arguments.
pub(crate) fn permit(tool: &str, arguments: &str, may_retry: bool, timeout: Duration) -> Permit {
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    let id = ToolId::new("s", tool);
    let settings = PolicySettings::default();
    let described = Tool::new(id.clone(), "", Value::Null);
    let mut metadata = Metadata::derive(
        &described,
        &ServerFacts::default(),
        &[],
        &RateLimits::default(),
    );
    metadata.idempotent = may_retry;
    metadata.confirmation_required = false;
    let subject = Subject {
        id: &id,
        enabled: true,
        rule: None,
        approval: Approval::Approved,
        metadata: &metadata,
    };
    let mut request = Request::plain(canon::params_hash(&arguments));
    request.validity = Validity::Valid;
    request.confirmed = true;
    request.idempotency_key = Some("k");
    request.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap());
    let decision = decide(&Caller::local(&settings), &subject, &request, now_ms());
    match decision.outcome {
        Outcome::Permitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

/// Calls a tool of server `s`, for twenty seconds at most, once.
pub(crate) async fn call(pool: &Pool, tool: &str, arguments: &str) -> Result<String, CallError> {
    call_with(pool, tool, arguments, false, |_| {}).await
}

/// Calls a tool of server `s` with changes to how it is called.
pub(crate) async fn call_with(
    pool: &Pool,
    tool: &str,
    arguments: &str,
    may_retry: bool,
    change: impl FnOnce(&mut Call<'_>),
) -> Result<String, CallError> {
    let text = raw(arguments);
    let mut call = Call::new(Key::Shared, &text);
    change(&mut call);
    let permit = permit(tool, arguments, may_retry, Duration::from_secs(20));
    pool.call(permit, call)
        .await
        .map(|result| result.get().to_owned())
}

/// Options with twenty seconds.
pub(crate) fn patient() -> Options {
    Options::within(Duration::from_secs(20))
}

/// JSON as text.
pub(crate) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// Whether a process is there, zombies not counted.
pub(crate) fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(')')
        .map_or("", |(_, rest)| rest.trim_start());
    !state.is_empty() && !state.starts_with('Z')
}

/// The numbers in a file, one on each line.
pub(crate) fn numbers(file: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Sends a signal to a process.
pub(crate) fn kill(pid: u32, signal: &str) {
    let status = std::process::Command::new("kill")
        .args(["-s", signal, &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// How long anything may take that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until something holds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while !holds() {
        assert!(
            std::time::Instant::now() < deadline,
            "it never came about that {what}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until so many calls of `never` or `again` are with the server, which writes them down there.
pub(crate) async fn arrived(effects: &Path, count: usize) {
    eventually("the call is with the server", || {
        let text = std::fs::read_to_string(effects).unwrap_or_default();
        text.lines().count() == count
    })
    .await;
}

/// A client that answers everything with its name, and writes down what it hears.
#[derive(Debug, Default)]
pub(crate) struct Person {
    pub(crate) heard: Mutex<Vec<String>>,
    pub(crate) silent: bool,
}

impl Client for Person {
    fn request<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> Answer<'a> {
        Box::pin(async move {
            self.heard
                .lock()
                .unwrap()
                .push(format!("{method} {}", params.map_or("", RawValue::get)));
            if self.silent {
                std::future::pending::<()>().await;
            }
            if method == "roots/list" {
                return Err(Fault::new(-1, "no roots for you"));
            }
            Ok(raw(r#"{"action":"accept","content":{"name":"Ada"}}"#))
        })
    }

    fn notify(&self, method: &str, params: Option<&RawValue>) {
        self.heard
            .lock()
            .unwrap()
            .push(format!("{method} {}", params.map_or("", RawValue::get)));
    }

    fn capabilities(&self) -> Box<RawValue> {
        raw(r#"{"elicitation":{},"sampling":{}}"#)
    }
}
