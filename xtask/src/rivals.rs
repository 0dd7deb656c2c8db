//! `cargo xtask bench peers`: programs of the same kind, before the same servers, in the same run as ours.
//!
//! Every figure is the median over rounds in which the candidates take turns, so that what else the machine does falls on
//! all of them. The figures go to `bench/peers.json` and, as a table, into the README.

mod candidate;
mod figures;
mod finding;
mod tree;
mod wire;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::bench::Server;
use crate::machine::Machine;
use crate::{ui, workspace};
use candidate::{Behind, CANDIDATES, Candidate, Start};
pub(crate) use candidate::{built, install_own, install_shipped, shipped};
pub(crate) use figures::{Figures, Row, put_table, with_table};
pub(crate) use wire::Client;

/// How often everyone takes a turn.
const ROUNDS: usize = 3;
/// How many calls are timed one after another, for the processor's ticks to be small beside them, and after what time
/// a slow candidate is let off with fewer.
const CALLS: usize = 5_000;
const CALLS_TIME: Duration = Duration::from_secs(15);
const CALLS_MIN: usize = 1_000;
/// How long after its first list a candidate is idle.
const SETTLING: Duration = Duration::from_secs(1);
/// How many clients call at once, and for how long.
const CROWD: usize = 32;
const CROWD_TIME: Duration = Duration::from_secs(3);
/// How long a candidate may take to answer for the first time.
const START_TIME: Duration = Duration::from_mins(1);
/// The real servers whose tool lists are put behind each candidate to count the tokens of its surface.
const CATALOGS: [&str; 12] = [
    "airtable",
    "antv-chart",
    "atlassian",
    "chrome-devtools",
    "filesystem",
    "github-legacy",
    "grafana",
    "linear",
    "memory",
    "notion",
    "playwright",
    "slack-legacy",
];
/// The endpoint that all of them have.
const PATH: &str = "/mcp";
/// The word that tells the small server of this program from everything else.
const SERVER: &str = "workshop";

/// Measures everyone and writes the figures down.
pub(crate) fn run() -> Result<()> {
    install_own()?;
    candidate::install_shipped()?;
    candidate::install()?;
    let machine = Machine::now();
    let (mut direct, mut over_http) = (Vec::new(), Vec::new());
    let mut turns: Vec<Vec<Turn>> = CANDIDATES.iter().map(|_| Vec::new()).collect();
    for round in 1..=ROUNDS {
        ui::title(&format!("round {round} of {ROUNDS}"));
        direct.push(straight()?);
        over_http.push(straight_over_http()?);
        for (candidate, turns) in CANDIDATES.iter().zip(&mut turns) {
            let turn = take_turn(candidate).with_context(|| candidate.name)?;
            ui::line(&format!("{:<15} {turn:?}", candidate.name));
            turns.push(turn);
        }
    }
    let exposed = exposed()?;
    let mut rows = Vec::new();
    for (candidate, turns) in CANDIDATES.iter().zip(&turns) {
        let surface = match surface(candidate) {
            Ok(tokens) => Some(tokens),
            Err(error) => {
                ui::warn(&format!("{} shows no tools: {error:#}", candidate.name));
                None
            }
        };
        rows.push(Row {
            name: candidate.name.to_owned(),
            release: candidate::release(candidate.name)?,
            about: candidate.about.to_owned(),
            compact: candidate.compact,
            searches: candidate.searches,
            start_ms: middle(turns, |turn| turn.start_ms),
            latency_us: middle(turns, |turn| turn.latency_us),
            cpu_us: middle(turns, |turn| turn.cpu_us),
            calls_per_second: middle(turns, |turn| turn.calls_per_second),
            memory_idle_kib: Some(middle(turns, |turn| turn.memory_idle_kib)),
            memory_kib: middle(turns, |turn| turn.memory_kib),
            surface_tokens: surface,
            finding: finding::of(candidate.name)?,
        });
    }
    let figures = Figures {
        machine,
        load_after: crate::machine::load().unwrap_or_default(),
        direct_latency_us: middle(&direct, |took| *took),
        direct_http_us: middle(&over_http, |took| *took),
        exposed_tools: exposed.0,
        exposed_tokens: exposed.1,
        rows,
    };
    figures.save()?;
    ui::line(&figures.table());
    Ok(())
}

/// What one turn of a candidate gave.
#[derive(Debug)]
struct Turn {
    start_ms: u64,
    latency_us: u64,
    cpu_us: u64,
    calls_per_second: u64,
    memory_idle_kib: u64,
    memory_kib: u64,
}

fn middle<T>(turns: &[T], of: impl Fn(&T) -> u64) -> u64 {
    let mut values: Vec<u64> = turns.iter().map(of).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The server that is called in every turn.
fn notes() -> Behind {
    Behind {
        name: "notes".into(),
        program: built("toolcrib"),
        args: vec![SERVER.into(), "notes".into()],
    }
}

/// The call that is timed: it reads, and its answer is small.
const TOOL: &str = "search_notes";

/// Its arguments. No two calls are alike, so that nobody answers from what it heard before.
fn arguments() -> Value {
    static CALLS_MADE: AtomicU64 = AtomicU64::new(0);
    let number = CALLS_MADE.fetch_add(1, Ordering::Relaxed);
    json!({"query": format!("milk {number}")})
}

/// The tool that is timed and arguments for it, for who must not train on them.
#[cfg(test)]
pub(crate) fn timed() -> (&'static str, Value) {
    (TOOL, arguments())
}

/// The parameters of one more call through a candidate.
fn params(candidate: &Candidate) -> Value {
    let (name, arguments) = (candidate.call)("notes", TOOL, &arguments());
    json!({"name": name, "arguments": arguments})
}

/// A candidate while it runs; ended with this, and what it started as well.
struct Running {
    child: Child,
    address: String,
    start_ms: u64,
}

impl Running {
    fn start(candidate: &Candidate, behind: &[Behind]) -> Result<(Self, Vec<Value>)> {
        let home = workspace::scratch().join("rivals").join(candidate.name);
        let _ = std::fs::remove_dir_all(&home);
        std::fs::create_dir_all(&home)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let start = Start {
            home: &home,
            port,
            behind,
        };
        // Beside the home and not in it: who watches the home for changes of configuration would wake with every line.
        let written = home.with_extension("log");
        let log = std::fs::File::create(&written)?;
        let mut command = candidate.command(&start)?;
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let begun = Instant::now();
        let child = command.spawn().context("cannot be started")?;
        let mut running = Self {
            child,
            address: format!("127.0.0.1:{port}"),
            start_ms: 0,
        };
        loop {
            let said = Client::open(&running.address, PATH).and_then(|mut client| client.tools());
            match said {
                Ok(tools) if !tools.is_empty() => {
                    running.start_ms = millis(begun.elapsed());
                    return Ok((running, tools));
                }
                other if begun.elapsed() > START_TIME || running.ended() => {
                    let log = std::fs::read_to_string(&written).unwrap_or_default();
                    bail!("it does not answer: {other:?}\n{log}");
                }
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gently first, so that it ends the servers behind it.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        for _ in 0..100 {
            if self.ended() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn take_turn(candidate: &'static Candidate) -> Result<Turn> {
    let (running, _) = Running::start(candidate, &[notes()])?;
    let members = || tree::members(running.child.id(), SERVER);
    std::thread::sleep(SETTLING);
    let memory_idle_kib = tree::memory_kib(&members())?;
    let mut client = Client::open(&running.address, PATH)?;
    for _ in 0..20 {
        run_once(&mut client, &params(candidate))?;
    }
    let before = tree::ticks(&members());
    let mut times = Vec::with_capacity(CALLS);
    let started = Instant::now();
    while times.len() < CALLS_MIN || (times.len() < CALLS && started.elapsed() < CALLS_TIME) {
        let params = params(candidate);
        let begun = Instant::now();
        run_once(&mut client, &params)?;
        times.push(micros(begun.elapsed()));
    }
    let used_us = tree::cpu_us(&before, &tree::ticks(&members()))?;
    let calls_per_second =
        crowd(&running.address, PATH, CROWD, |_| params(candidate))?.calls_per_second;
    Ok(Turn {
        start_ms: running.start_ms,
        latency_us: middle(&times, |time| *time),
        cpu_us: used_us / times.len() as u64,
        calls_per_second,
        memory_idle_kib,
        memory_kib: tree::memory_kib(&members())?,
    })
}

fn run_once(client: &mut Client, params: &Value) -> Result<()> {
    let result = client.ask("tools/call", params)?;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    if result["isError"] == true || !text.contains("notes") {
        bail!("the call was answered with {result}");
    }
    Ok(())
}

/// What callers got in a while, each asking again as soon as it was answered.
#[derive(Debug)]
pub(crate) struct Crowd {
    pub(crate) calls: u64,
    pub(crate) calls_per_second: u64,
    /// The median over all of them.
    pub(crate) latency_us: u64,
}

/// Lets so many clients call at once; `params` gives those of a call by its number.
pub(crate) fn crowd<P>(
    address: &str,
    path: &'static str,
    callers: usize,
    params: P,
) -> Result<Crowd>
where
    P: Fn(usize) -> Value + Copy + Send + 'static,
{
    let begun = Instant::now();
    let call = move |address: &str, caller: usize| -> Result<Vec<u64>> {
        let mut client = Client::open(address, path)?;
        let mut times = Vec::new();
        while begun.elapsed() < CROWD_TIME {
            let params = params(times.len() * callers + caller);
            let asked = Instant::now();
            run_once(&mut client, &params)?;
            times.push(micros(asked.elapsed()));
        }
        Ok(times)
    };
    let others: Vec<_> = (1..callers)
        .map(|caller| {
            let address = address.to_owned();
            std::thread::spawn(move || call(&address, caller))
        })
        .collect();
    // The first calls from this thread, so that one alone does what calls one after another do elsewhere.
    let mut times = call(address, 0)?;
    for client in others {
        let Ok(outcome) = client.join() else {
            bail!("a client panicked");
        };
        times.extend(outcome?);
    }
    let calls = times.len() as u64;
    Ok(Crowd {
        calls,
        calls_per_second: calls * 1000 / millis(begun.elapsed()).max(1),
        latency_us: middle(&times, |time| *time),
    })
}

/// The same call without anybody between: microseconds over the server's own pipe.
fn straight() -> Result<u64> {
    let server = notes();
    let mut child = Command::new(&server.program)
        .args(&server.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no pipe")?;
    let mut output = BufReader::new(child.stdout.take().context("no pipe")?);
    let mut times = Vec::with_capacity(CALLS);
    for id in 0..CALLS {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                          "params": {"name": TOOL, "arguments": arguments()}});
        let mut line = String::new();
        let begun = Instant::now();
        input.write_all(format!("{body}\n").as_bytes())?;
        output.read_line(&mut line)?;
        times.push(micros(begun.elapsed()));
    }
    drop(input);
    child.wait()?;
    Ok(middle(&times, |time| *time))
}

/// The same over HTTP, to a server that does next to nothing.
fn straight_over_http() -> Result<u64> {
    let server = Server::start()?;
    let mut client = Client::open(&server.address, PATH)?;
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let params = json!({"name": TOOL, "arguments": arguments()});
        let begun = Instant::now();
        client.ask("tools/call", &params)?;
        times.push(micros(begun.elapsed()));
    }
    Ok(middle(&times, |time| *time))
}

/// How many tools the real servers have, and the tokens of showing them all.
fn exposed() -> Result<(usize, usize)> {
    let mut tools = Vec::new();
    for name in CATALOGS {
        tools.extend(catalog(name)?);
    }
    Ok((tools.len(), tokens(&Value::from(tools.clone()).to_string())))
}

fn catalog(name: &str) -> Result<Vec<Value>> {
    let shared = workspace::shared().context("there is no shared data beside the workspace")?;
    let path = shared.join("data/mcp-tools").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("no tools of {name}"))?;
    let list: Value = serde_json::from_str(&text)?;
    Ok(list["tools"].as_array().cloned().unwrap_or_default())
}

/// The tokens of what an agent sees with the real servers behind the candidate.
fn surface(candidate: &Candidate) -> Result<usize> {
    let place = workspace::scratch().join("rivals/catalogs");
    std::fs::create_dir_all(&place)?;
    let mut behind = Vec::new();
    for name in CATALOGS {
        let path: PathBuf = place.join(format!("{name}.json"));
        std::fs::write(&path, Value::from(catalog(name)?).to_string())?;
        behind.push(Behind {
            name: name.to_owned(),
            program: built("hostile"),
            args: vec!["--offer".into(), path.to_string_lossy().into_owned()],
        });
    }
    // One that passes a single server on is started once for each.
    let single = candidate.name == "mcp-proxy";
    let groups: Vec<&[Behind]> = if single {
        behind.chunks(1).collect()
    } else {
        vec![&behind]
    };
    let mut sum = 0;
    for group in groups {
        let (_running, tools) = Running::start(candidate, group)?;
        sum += tokens(&Value::from(tools).to_string());
    }
    Ok(sum)
}

/// Tokens as o200k counts them.
pub(crate) fn tokens(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
