//! A crowd at the HTTP door: half of it well-behaved, half slow or broken. No good request may fail, and
//! memory must stay flat.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::args::Args;
use crate::served::{Build, Served};
use crate::ui;

/// How many clients there are, half of them good.
const CLIENTS: usize = 1_000;
/// How long the crowd stays unless told otherwise.
const SECONDS: u64 = 60;
/// How long a good client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a good client pauses between requests.
const PAUSE: Duration = Duration::from_millis(500);
/// By how much memory may grow once everybody is there, in KiB.
const GROWTH_KIB_MAX: u64 = 48 * 1024;
/// The stack of a client's thread.
const STACK_BYTES: usize = 128 * 1024;

/// `cargo xtask load`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let build = Build::named(args);
    let seconds = args.number("--seconds")?.unwrap_or(SECONDS);
    args.finish()?;
    ui::line(&check(build, seconds)?);
    Ok(())
}

/// Lets the crowd in for this long; gives the figures.
pub(crate) fn check(build: Build, seconds: u64) -> Result<String> {
    build.make()?;
    let server = Served::start(build, "load", &json!({}).to_string())?;
    let crowd = Arc::new(Crowd {
        address: server.address.clone(),
        until: Instant::now() + Duration::from_secs(seconds),
        over: AtomicBool::new(false),
        answered: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        slowest_ms: AtomicU64::new(0),
        misbehaved: AtomicU64::new(0),
    });
    let clients = (0..CLIENTS).map(|number| {
        let crowd = Arc::clone(&crowd);
        let client = move || match number % 10 {
            0 | 2 | 4 | 6 | 8 => crowd.good(),
            1 => crowd.bad(trickle),
            3 => crowd.bad(leave),
            5 => crowd.bad(babble),
            7 => crowd.bad(say_nothing),
            _ => crowd.bad(never_read),
        };
        thread::Builder::new().stack_size(STACK_BYTES).spawn(client)
    });
    let clients = clients.collect::<std::io::Result<Vec<_>>>()?;
    thread::sleep(Duration::from_secs(seconds) / 2);
    let middle = server.memory_kib()?;
    thread::sleep(crowd.until.saturating_duration_since(Instant::now()));
    let end = server.memory_kib()?;
    crowd.over.store(true, Ordering::Relaxed);
    for client in clients {
        let _ = client.join();
    }
    crowd.verdict(seconds, middle, end)
}

/// What the clients share.
struct Crowd {
    address: String,
    until: Instant,
    over: AtomicBool,
    answered: AtomicU64,
    failed: AtomicU64,
    slowest_ms: AtomicU64,
    misbehaved: AtomicU64,
}

impl Crowd {
    fn goes_on(&self) -> bool {
        Instant::now() < self.until && !self.over.load(Ordering::Relaxed)
    }

    /// Asks for the tools again and again, over one connection where it lasts.
    fn good(&self) {
        let mut connection = None;
        while self.goes_on() {
            let began = Instant::now();
            match self.ask(&mut connection) {
                Ok(()) => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                    self.slowest_ms.fetch_max(took, Ordering::Relaxed);
                }
                Err(error) => {
                    connection = None;
                    if self.failed.fetch_add(1, Ordering::Relaxed) == 0 {
                        ui::error(&format!("a good request failed: {error:#}"));
                    }
                }
            }
            thread::sleep(PAUSE);
        }
    }

    fn ask(&self, connection: &mut Option<TcpStream>) -> Result<()> {
        let stream = match connection {
            Some(stream) => stream,
            None => connection.insert(self.connect()?),
        };
        stream.write_all(request(&self.address).as_bytes())?;
        let answer = answer(stream)?;
        let tools = answer["result"]["tools"].as_array().map(Vec::len);
        if tools != Some(5) {
            bail!("the answer was {answer}");
        }
        Ok(())
    }

    fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect(&self.address).context("cannot connect")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Does something that no client should, again and again. What becomes of it does not matter.
    fn bad(&self, misbehave: fn(&Crowd, TcpStream) -> std::io::Result<()>) {
        while self.goes_on() {
            if let Ok(stream) = self.connect() {
                let _ = misbehave(self, stream);
                self.misbehaved.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(PAUSE);
        }
    }

    fn verdict(&self, seconds: u64, middle_kib: u64, end_kib: u64) -> Result<String> {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (answered, failed) = (get(&self.answered), get(&self.failed));
        let figures = format!(
            "{CLIENTS} clients for {seconds} s: {answered} good requests answered, {failed} failed, the slowest in {} ms; {} times misbehaved; memory {} MiB in the middle, {} MiB at the end",
            get(&self.slowest_ms),
            get(&self.misbehaved),
            middle_kib / 1024,
            end_kib / 1024,
        );
        if failed > 0 || answered == 0 {
            bail!("good requests failed: {figures}");
        }
        if end_kib > middle_kib + GROWTH_KIB_MAX {
            bail!("memory grows: {figures}");
        }
        Ok(figures)
    }
}

fn request(address: &str) -> String {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} } } })
    .to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads one answer, which says its length.
fn answer(stream: &mut TcpStream) -> Result<Value> {
    let mut text = Vec::new();
    let mut part = [0; 16 * 1024];
    loop {
        let read = stream.read(&mut part)?;
        if read == 0 {
            bail!("the connection ended: {}", String::from_utf8_lossy(&text));
        }
        text.extend_from_slice(&part[..read]);
        let whole = String::from_utf8_lossy(&text);
        let Some((head, body)) = whole.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().ok())?
        });
        let length = length.with_context(|| format!("no length: {head}"))?;
        if body.len() >= length {
            return serde_json::from_str(body).with_context(|| format!("{head}: {body}"));
        }
    }
}

/// Sends a request byte by byte.
fn trickle(crowd: &Crowd, mut stream: TcpStream) -> std::io::Result<()> {
    for byte in request(&crowd.address).bytes() {
        if !crowd.goes_on() {
            break;
        }
        stream.write_all(&[byte])?;
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Leaves in the middle of a request.
fn leave(crowd: &Crowd, mut stream: TcpStream) -> std::io::Result<()> {
    let request = request(&crowd.address);
    stream.write_all(&request.as_bytes()[..request.len() - 20])
}

/// Sends what is no HTTP, and no JSON.
fn babble(crowd: &Crowd, mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(&[0xff; 4096])?;
    let mut other = TcpStream::connect(&crowd.address)?;
    let wrong = request(&crowd.address).replace("\"jsonrpc\"", "'jsonrpc'");
    other.write_all(wrong.as_bytes())
}

/// Says nothing, or half of what HTTP/2 begins with, until it is shown out.
fn say_nothing(crowd: &Crowd, mut stream: TcpStream) -> std::io::Result<()> {
    if crowd.misbehaved.load(Ordering::Relaxed).is_multiple_of(2) {
        stream.write_all(b"PRI * HT")?;
    }
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    while crowd.goes_on() {
        match stream.read(&mut [0; 64]) {
            Ok(0) => break,
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Asks a hundred times and never reads.
fn never_read(crowd: &Crowd, mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nonblocking(true)?;
    for _ in 0..100 {
        match stream.write_all(request(&crowd.address).as_bytes()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            other => other?,
        }
    }
    let left = crowd.until.saturating_duration_since(Instant::now());
    thread::sleep(left.min(Duration::from_secs(5)));
    Ok(())
}
