//! A running process: loads the configuration whole, keeps it current, answers the control socket,
//! and ends cleanly.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use tokio::sync::{oneshot, watch as channel};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_config::load::Config;
use toolcrib_config::model::settings::Mode;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_config::{Severity, validate};
use toolcrib_core::policy::Caller;
use toolcrib_core::{Code, limits};

use crate::capability::files::PENDING;
use crate::capability::review;
use crate::control::{Counts, Place, ServerState, Status, ToolCounts};
use crate::desk::keeper::Keeper;
use crate::doors::{self, Doors, Surfaces};
use crate::engine::answer::ServerRow;
use crate::engine::clock::Clock;
use crate::engine::connections::Users;
use crate::engine::{Engine, open_here};
use crate::failure::Failure;
use crate::finding::Finding;
use crate::http::Door;
use crate::http::api::Reload;
use crate::loader::Loader;
use crate::mcp::full::Full;
use crate::reload::queue::{Ending, queue};
use crate::reload::{Attempt, Cause, Live, Load, Report, Requests, watch};
use crate::signals::{Asked, Signals};
use crate::telemetry::{Found, Tracer};

/// How a process runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where its control socket goes.
    pub control: Place,
    /// Where it was started.
    pub surroundings: Surroundings,
    /// Whether it speaks MCP on its standard streams, and ends when its standard input is closed.
    pub stdio: bool,
    /// Where the HTTP door listens, whatever the configuration says.
    pub listen: Option<String>,
}

/// What a running process knows of itself.
#[derive(Debug)]
pub struct Process {
    live: Arc<Live<Arc<Config>>>,
    engine: Arc<Engine>,
    /// The generation that the engine has taken over.
    applied: channel::Receiver<u64>,
    /// The HTTP door, once it is open.
    door: OnceLock<Arc<Door>>,
    /// Where clients reach it, in words, once they can.
    reached: OnceLock<String>,
    requests: Requests,
    started: jiff::Timestamp,
    surroundings: Surroundings,
}

impl Process {
    /// What it runs on.
    pub fn status(&self) -> Status {
        let now = self.live.current();
        Status {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started.to_string(),
            directory: self.surroundings.cwd.display().to_string(),
            door: self.reached.get().cloned(),
            config: now.config.path.as_ref().map(|p| p.display().to_string()),
            generation: now.number,
            reload: self.requests.last().as_deref().cloned(),
        }
    }

    /// Lets the HTTP door go by the configuration in place.
    fn fit_door(&self) {
        let Some(door) = self.door.get() else { return };
        let config = self.engine.config();
        match doors::tokens(&config.settings, &self.base(&config)) {
            Ok(tokens) => door.put(&config.settings, tokens),
            Err(error) => tracing::error!(error, "the door stays as it was"),
        }
    }

    /// Where relative files of a configuration start.
    fn base(&self, config: &Config) -> PathBuf {
        let folder = config.path.as_deref().and_then(Path::parent);
        folder.unwrap_or(&self.surroundings.cwd).to_owned()
    }

    /// The engine that doors use.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// How many servers and tools it has.
    pub fn counts(&self) -> Counts {
        self.engine.counts()
    }

    /// How its servers stand, for who started it.
    pub async fn servers(&self) -> Vec<ServerState> {
        let caller = Caller::local(&self.engine.config().settings.policy);
        let found = self.engine.list_servers(&caller).await;
        let rows = found.map(|found| found.servers).unwrap_or_default();
        let state = |row: ServerRow| ServerState {
            tools: row.known.then_some(ToolCounts {
                total: row.tool_count,
                enabled: row.enabled_count,
                pending: row.pending_count,
            }),
            status: row.standing.health,
            reason: row.standing.reason,
            name: row.name,
        };
        rows.into_iter().map(state).collect()
    }

    /// Reads the configuration again, and gives the outcome once it holds.
    pub async fn reload(&self) -> Result<Arc<Report>, Ending> {
        let report = self.requests.reload(Cause::Request).await?;
        let mut applied = self.applied.clone();
        let holds = applied.wait_for(|number| *number >= report.generation);
        holds.await.map_err(|_| Ending)?;
        Ok(report)
    }
}

#[cfg(unix)]
impl crate::control::server::Service for Process {
    fn status(&self) -> Status {
        Process::status(self)
    }

    async fn counts(&self) -> Counts {
        Process::counts(self)
    }

    async fn servers(&self) -> Vec<ServerState> {
        Process::servers(self).await
    }

    async fn reload(&self) -> Result<Arc<Report>, Ending> {
        Process::reload(self).await
    }
}

/// What a process starts with.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Arc<Config>,
    /// The files that decided it.
    pub files: Vec<PathBuf>,
    /// When reading them began.
    pub read_at: SystemTime,
}

/// Reads the configuration that a process starts with.
pub fn load(loader: &Loader) -> Result<Loaded, Failure> {
    // One processor reads the configuration; another is free for what the first search needs.
    std::thread::spawn(toolcrib_core::search::prepare);
    let read_at = SystemTime::now();
    let Attempt { result, files } = loader.load();
    let config = result
        .map_err(|refusal| Failure::configuration(refusal.message).because(refusal.diagnostics))?;
    Ok(Loaded {
        config,
        files,
        read_at,
    })
}

/// Runs until a signal, or the end of standard input, asks for the end.
pub fn run(loader: Loader, start: Loaded, options: Options) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_all()
        .build()
        .map_err(|error| no_start(&error))?;
    let outcome = runtime.block_on(serve(Arc::new(loader), start, options));
    // Whatever still blocks, such as a file system that does not answer, must not hold up the end.
    runtime.shutdown_background();
    outcome
}

/// How many threads carry requests: half of the processors. The other half is for the store, whose
/// writer has a thread of its own, and for the servers behind us; each thread more than there is work
/// for is one more that is woken for nothing.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2))
}

fn no_start(error: &std::io::Error) -> Failure {
    Failure::new(
        Code::Overloaded,
        format!("the process cannot start: {error}"),
    )
}

async fn serve(
    loader: Arc<Loader>,
    Loaded {
        config,
        files,
        read_at,
    }: Loaded,
    options: Options,
) -> Result<(), Failure> {
    let mut signals = Signals::take().map_err(|error| no_start(&error))?;
    let ending = CancellationToken::new();
    let tasks = TaskTracker::new();
    let users = if options.stdio {
        Users::One
    } else {
        Users::Many
    };
    let tracer = tracer(&config, &options.surroundings);
    let engine = open_here(
        Arc::clone(&config),
        &options.surroundings,
        users,
        tracer.clone(),
    )
    .await?;
    load_capabilities(&engine, &config, &options.surroundings).await;
    engine.start();
    let live = Live::new(config);
    let (applied, taken_over) = channel::channel(live.current().number);
    let (requests, queue) = queue(loader, Arc::clone(&live), files);
    let process = Arc::new(Process {
        live: Arc::clone(&live),
        engine: Arc::clone(&engine),
        applied: taken_over,
        door: OnceLock::new(),
        reached: OnceLock::new(),
        requests: requests.clone(),
        started: jiff::Timestamp::now(),
        surroundings: options.surroundings,
    });
    tasks.spawn(watch::run(
        queue.files(),
        read_at,
        requests.clone(),
        move || live.current().config.settings.watch.0,
        ending.clone(),
    ));
    let looks = queue.looks();
    tasks.spawn(queue.run(ending.clone()));
    tasks.spawn(follow(Arc::clone(&process), applied, ending.clone()));
    let socket = open_control(&options.control, &process, &tasks, &ending);
    let opening = async {
        let surfaces = Surfaces::of(&process.engine)?;
        if let Some(desk) = &surfaces.desk {
            let keeper = Keeper {
                desk: Arc::clone(desk),
                surroundings: process.surroundings.clone(),
                live: Arc::clone(&process.live),
                applied: process.applied.clone(),
            };
            tasks.spawn(keeper.run(looks, ending.clone()));
        }
        let (stdio, listen) = (options.stdio, options.listen);
        open_doors(&process, surfaces, stdio, listen, &tasks, &ending).await
    };
    let closed = match opening.await {
        Ok(closed) => closed,
        Err(failure) => {
            ending.cancel();
            wind_up(&engine, &tasks, &tracer).await;
            return Err(failure);
        }
    };
    announce(&process, socket);
    let reason = until_asked(&mut signals, &requests, closed).await;
    tracing::info!(reason, "ending");
    ending.cancel();
    tokio::select! {
        () = wind_up(&engine, &tasks, &tracer) => {}
        // Whoever asks twice does not want to wait.
        _ = until_asked(&mut signals, &requests, None) => {}
    }
    Ok(())
}

/// Closes everything in order, once nothing new begins.
async fn wind_up(engine: &Engine, tasks: &TaskTracker, tracer: &Tracer) {
    tasks.close();
    let grace = Duration::from_millis(limits::SHUTDOWN_GRACE_MS);
    // The doors let calls under way end, cancel those that do not, and give them time to notice.
    let doors = grace + Duration::from_millis(limits::SHUTDOWN_DRAIN_MS);
    let _ = tokio::time::timeout(doors, tasks.wait()).await;
    engine.close(grace).await;
    engine.store().close().await;
    let flush = Duration::from_millis(limits::TRACE_FLUSH_MS_MAX);
    tracer.close(flush).await;
}

/// What sends traces, where the configuration or a variable names a collector.
fn tracer(config: &Config, here: &Surroundings) -> Tracer {
    let instance = uuid::Uuid::now_v7().to_string();
    let found = Found::of(
        &config.settings.telemetry,
        &|name| here.var(name),
        &instance,
    );
    for complaint in &found.complaints {
        tracing::warn!("{complaint}");
    }
    let Some(collector) = found.collector else {
        return Tracer::off();
    };
    let host = collector.url.host_str().unwrap_or_default().to_owned();
    match Tracer::to(collector, Clock::system()) {
        Ok(tracer) => {
            tracing::info!(host, "traces are sent to a collector");
            tracer
        }
        Err(why) => {
            tracing::warn!("Traces are not sent: {why}.");
            Tracer::off()
        }
    }
}

/// Registers the approved capability files. Without them everything still runs.
async fn load_capabilities(engine: &Arc<Engine>, config: &Arc<Config>, here: &Surroundings) {
    let (store, clock) = (engine.store().clone(), engine.clock().clone());
    let desk = review::Desk::new(store, clock, Arc::clone(config));
    let named = config.export_directory.clone();
    let pending = named.unwrap_or_else(|| here.cwd.join(PENDING));
    match desk.load(&pending).await {
        Ok(loaded) => {
            for left_out in &loaded.left_out {
                tracing::warn!(left_out, "a capability file is not loaded");
            }
            if loaded.capabilities > 0 {
                tracing::info!(
                    count = loaded.capabilities,
                    "approved capabilities are loaded"
                );
            }
        }
        Err(error) => tracing::warn!(%error, "approved capabilities are not loaded"),
    }
}

/// Hands every configuration that is put in place to the engine and the door.
async fn follow(process: Arc<Process>, applied: channel::Sender<u64>, ending: CancellationToken) {
    let mut changes = process.live.changes();
    while let Some((_, now)) = ending.run_until_cancelled(changes.next()).await {
        if let Err(error) = process.engine.reload(Arc::clone(&now.config)).await {
            tracing::error!(%error, "the configuration could not be taken over");
        }
        process.fit_door();
        applied.send_replace(now.number);
    }
}

/// Opens the control socket; a process without one still does its work.
#[cfg(unix)]
fn open_control(
    place: &Place,
    process: &Arc<Process>,
    tasks: &TaskTracker,
    ending: &CancellationToken,
) -> Option<PathBuf> {
    match crate::control::server::Listener::bind(place) {
        Ok(listener) => {
            let path = listener.path().to_owned();
            tasks.spawn(listener.run(Arc::clone(process), ending.clone()));
            Some(path)
        }
        Err(error) => {
            tracing::warn!(%error, "there is no control socket; commands cannot reach this process");
            None
        }
    }
}

#[cfg(not(unix))]
fn open_control(
    _place: &Place,
    _process: &Arc<Process>,
    _tasks: &TaskTracker,
    _ending: &CancellationToken,
) -> Option<PathBuf> {
    tracing::info!("the control socket is not available on this system");
    None
}

/// Opens the door that was asked for; on standard streams, says when the client has gone.
async fn open_doors(
    process: &Arc<Process>,
    surfaces: Surfaces,
    stdio: bool,
    listen: Option<String>,
    tasks: &TaskTracker,
    ending: &CancellationToken,
) -> Result<Option<oneshot::Receiver<()>>, Failure> {
    let config = process.engine.config();
    let mut settings = config.settings.clone();
    let doors = Doors {
        clock: process.engine.clock().clone(),
        ending: ending.clone(),
        gate: Arc::default(),
        tracer: process.engine.tracer().clone(),
        reload: Some(reloading(process)),
    };
    if !stdio {
        settings.http.listen = listen.unwrap_or(settings.http.listen);
        let (base, store) = (process.base(&config), process.engine.store());
        let opened = doors
            .http(&surfaces, &settings, store, &base, tasks)
            .await?;
        let _ = process.door.set(opened.door);
        // What was put in place while it was being opened holds too.
        process.fit_door();
        tracing::info!(address = %opened.address, "listening");
        let _ = process
            .reached
            .set(format!("http://{}/mcp", opened.address));
        return Ok(None);
    }
    let _ = process.reached.set("stdio".to_owned());
    let (gone, closed) = oneshot::channel();
    let engine = Arc::clone(&process.engine);
    let caller = move || Arc::new(Caller::local(&engine.config().settings.policy));
    tasks.spawn(async move {
        if let Err(error) = doors.stdio(&surfaces, Arc::new(caller)).await {
            tracing::warn!(%error, "the client cannot be reached any more");
        }
        let _ = gone.send(());
    });
    Ok(Some(closed))
}

fn announce(process: &Process, socket: Option<PathBuf>) {
    let now = process.live.current();
    // A pin that cannot be listed keeps nothing else from being served.
    let pins = validate::surface(&now.config);
    let warnings = now.config.diagnostics.iter().chain(&pins);
    for diagnostic in warnings.filter(|d| d.severity != Severity::Note) {
        let finding = Finding::from(diagnostic);
        tracing::warn!(
            file = finding.file.as_deref(),
            line = finding.line,
            column = finding.column,
            "{}",
            finding.message
        );
    }
    match now.config.settings.mode {
        Mode::Lazy => tracing::info!("MCP Discovery Layer: 5 meta-tools registered"),
        // How many there are is known once every server was asked.
        Mode::Full => drop(tokio::spawn(count_tools(Arc::clone(&process.engine)))),
        Mode::Flat => {}
    }
    tracing::info!(
        pid = std::process::id(),
        config = now.config.path.as_ref().map(|p| p.display().to_string()),
        servers = now.config.servers.len(),
        adapters = now.config.settings.adapters.len(),
        socket = socket.map(|p| p.display().to_string()),
        door = process.reached.get(),
        "ready"
    );
}

/// Reads the configuration again for whoever asks over HTTP.
fn reloading(process: &Arc<Process>) -> Reload {
    let process = Arc::downgrade(process);
    Arc::new(move || {
        let process = process.upgrade();
        Box::pin(async move {
            let report = process?.reload().await.ok()?;
            serde_json::to_value(&*report).ok()
        })
    })
}

/// Says how many tools full mode exposes to whoever started the process.
async fn count_tools(engine: Arc<Engine>) {
    let caller = Caller::local(&engine.config().settings.policy);
    let tools = Full::new(Arc::clone(&engine)).tools(&caller).await.len();
    tracing::info!("MCP Full Mode: {tools} tools registered");
}

/// Waits for the reason to end; signals that ask for a reload are passed on meanwhile.
async fn until_asked(
    signals: &mut Signals,
    requests: &Requests,
    closed: Option<oneshot::Receiver<()>>,
) -> &'static str {
    let closed = async {
        match closed {
            Some(closed) => drop(closed.await),
            None => std::future::pending().await,
        }
    };
    tokio::pin!(closed);
    loop {
        tokio::select! {
            asked = signals.next() => match asked {
                Asked::End(signal) => return signal,
                Asked::Reload => requests.ask(Cause::Signal),
            },
            () = &mut closed => return "standard input was closed",
        }
    }
}
