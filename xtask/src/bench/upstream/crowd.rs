//! Calls through the HTTP door, one after another and many at once, beside the same calls to the server itself, and what
//! the process holds before and after.

use anyhow::Result;
use serde_json::{Value, json};

use super::server::{self, Server};
use super::{arguments, processor_ns, wrapped};
use crate::bench::recorder::Recorder;
use crate::rivals::{Crowd, crowd};
use crate::served::{Build, Served};

/// What a call goes through here.
const PATH: &str = "HTTP door, server over HTTP";
/// How many call at once. One alone calls from this thread with the same client as the direct calls beside the other door.
const CALLERS: [usize; 2] = [1, 32];
/// What the process may hold while nobody calls, and after the crowd, bytes.
const MEMORY_BYTES: u64 = 50_000_000;

pub(super) fn run(recorder: &mut Recorder, server: &Server) -> Result<()> {
    let often = json!({"requests": 1_000_000});
    let config = json!({
        "servers": {"notes": {"url": format!("http://{}{}", server.address, server::PATH)}},
        "policy": {"rateLimits": {"perServer": often, "perPrincipal": often}},
    });
    let program = Served::start(Build::Shipped, "upstream-crowd", &config.to_string())?;
    let idle = program.memory_kib()? * 1024;
    recorder
        .value(&format!("{PATH}: memory, idle"), idle, "bytes")
        .at_most(MEMORY_BYTES);
    let address = &program.address;
    for callers in CALLERS {
        let direct = crowd(&server.address, server::PATH, callers, straight)?;
        let before = processor_ns(program.id())?;
        let through = crowd(address, server::PATH, callers, through)?;
        let cpu_ns = (processor_ns(program.id())? - before) / through.calls.max(1);
        told(recorder, callers, &direct, &through, cpu_ns);
    }
    let after = program.memory_kib()? * 1024;
    recorder
        .value(&format!("{PATH}: memory, after the crowd"), after, "bytes")
        .at_most(MEMORY_BYTES);
    Ok(())
}

fn told(recorder: &mut Recorder, callers: usize, direct: &Crowd, through: &Crowd, cpu_ns: u64) {
    let mut value = |what: &str, value: u64, unit: &'static str| {
        recorder.value(&format!("{PATH}: {what}, {callers} at once"), value, unit);
    };
    value("calls a second, direct", direct.calls_per_second, "calls");
    value("calls a second", through.calls_per_second, "calls");
    let added = through.latency_us.saturating_sub(direct.latency_us);
    value("latency of a call", through.latency_us * 1_000, "ns");
    value("latency that is added", added * 1_000, "ns");
    value("processor time of a call", cpu_ns, "ns");
}

fn straight(number: usize) -> Value {
    json!({"name": server::TOOL, "arguments": arguments(number)})
}

fn through(number: usize) -> Value {
    json!({"name": "execute_tool", "arguments": wrapped(number)})
}
