//! `cargo xtask bench upstream`: what a call through the program costs beside the same call without it, to a server on
//! a pipe and to one over HTTP, in one run.

mod crowd;
mod server;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::door::{Door, nanoseconds};
use super::recorder::Recorder;
use super::results::PER_MILLE_OF_THE_BASE;
use crate::rivals::{Client, built, install_own, install_shipped, shipped};
use crate::served::SETTINGS;
use crate::{process, ui, workspace};
pub(crate) use server::Server;

/// How many calls are timed in one round, and how many rounds there are; direct and proxied calls take turns.
const CALLS: usize = 500;
const ROUNDS: usize = 5;
/// Calls of the two runs that are counted under valgrind; what the shorter one allocates is the start.
const COUNTED: [usize; 2] = [100, 300];

/// Where the called server is.
#[derive(Clone, Copy)]
enum Way {
    Pipe,
    Http,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Pipe => "stdio",
            Self::Http => "HTTP",
        }
    }

    /// What a call goes through: how it comes in, and where it goes.
    fn path(self) -> &'static str {
        match self {
            Self::Pipe => "stdio door, server on a pipe",
            Self::Http => "stdio door, server over HTTP",
        }
    }
}

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    install_own()?;
    install_shipped()?;
    let server = server::Server::start()?;
    for way in [Way::Pipe, Way::Http] {
        let home = home(way, &server)?;
        let taken = (0..ROUNDS)
            .map(|_| round(way, &home, &server))
            .collect::<Result<Vec<_>>>()?;
        let middle = |of: fn(&Taken) -> u64| {
            let mut values: Vec<u64> = taken.iter().map(of).collect();
            values.sort_unstable();
            values[values.len() / 2]
        };
        let path = way.path();
        let (direct, through) = (middle(|t| t.direct), middle(|t| t.through));
        recorder.value(&format!("{path}: a call, direct"), direct, "ns");
        recorder.value(&format!("{path}: a call, through us"), through, "ns");
        recorder.value(
            &format!("{path}: latency of a call against direct"),
            middle(|t| t.through * 1000 / t.direct.max(1)),
            PER_MILLE_OF_THE_BASE,
        );
        recorder.value(
            &format!("{path}: processor time of a call, ours"),
            middle(|t| t.cpu),
            "ns",
        );
        recorder.value(
            &format!("{path}: processor time of ours against the direct call"),
            middle(|t| t.cpu * 1000 / t.direct.max(1)),
            PER_MILLE_OF_THE_BASE,
        );
        counts(recorder, way, &home)?;
    }
    crowd::run(recorder, &server)
}

/// How often a call asks for memory and how many instructions it takes, where valgrind is there to count.
fn counts(recorder: &mut Recorder, way: Way, home: &Path) -> Result<()> {
    if !process::quietly(process::program("valgrind").arg("--version")) {
        ui::line("no valgrind here: allocations and instructions are not counted");
        return Ok(());
    }
    let path = way.path();
    let through = |program: &Path| {
        per_call(|calls| {
            let mut door = Door::wrapped(under_valgrind(home, program, &[]), home)?;
            door.median(calls, "execute_tool", &wrapped)?;
            door.close()?;
            read_counts(&fs::read_to_string(counts_of(home))?)
        })
    };
    // What is packaged has no names by which the allocator could be known.
    let ours = Counted {
        allocations: through(&built("toolcrib"))?.allocations,
        ..through(&shipped())?
    };
    // The same call made directly costs what the server does for it.
    let direct = per_call(|calls| {
        let mut server = Door::start(under_valgrind(
            home,
            &built("toolcrib"),
            &["workshop", "notes"],
        ))?;
        server.median(calls, server::TOOL, &arguments)?;
        server.close()?;
        read_counts(&fs::read_to_string(counts_of(home))?)
    })?;
    for (what, ours, direct) in [
        ("allocations", ours.allocations, direct.allocations),
        ("instructions", ours.instructions, direct.instructions),
    ] {
        recorder.value(&format!("{path}: {what} of a call, ours"), ours, what);
        recorder.value(
            &format!("{path}: {what} of a call against direct"),
            ours * 1000 / direct.max(1),
            PER_MILLE_OF_THE_BASE,
        );
    }
    Ok(())
}

/// What one call takes: the difference between a longer and a shorter run, so that the start is in neither.
fn per_call(mut run: impl FnMut(usize) -> Result<Counted>) -> Result<Counted> {
    let [few, many] = [run(COUNTED[0])?, run(COUNTED[1])?];
    let calls = (COUNTED[1] - COUNTED[0]) as u64;
    Ok(Counted {
        allocations: many.allocations.saturating_sub(few.allocations) / calls,
        instructions: many.instructions.saturating_sub(few.instructions) / calls,
    })
}

/// What one round gave, in nanoseconds.
struct Taken {
    direct: u64,
    through: u64,
    cpu: u64,
}

/// A home whose only server is the one that is called.
fn home(way: Way, server: &server::Server) -> Result<std::path::PathBuf> {
    let home = workspace::scratch().join("upstream").join(way.name());
    let _ = fs::remove_dir_all(&home);
    let place = home.join(SETTINGS);
    fs::create_dir_all(&place)?;
    let behind = match way {
        Way::Pipe => json!({"command": built("toolcrib"), "args": ["workshop", "notes"]}),
        Way::Http => json!({"url": format!("http://{}{}", server.address, server::PATH)}),
    };
    let often = json!({"requests": 1_000_000});
    let config = json!({
        "servers": {"notes": behind},
        "policy": {"rateLimits": {"perServer": often, "perPrincipal": often}},
    });
    fs::write(place.join("toolcrib.json"), config.to_string())?;
    Ok(home)
}

fn round(way: Way, home: &Path, server: &server::Server) -> Result<Taken> {
    let direct = match way {
        Way::Pipe => {
            let mut straight = Door::straight(&built("toolcrib"), &["workshop", "notes"])?;
            let took = straight.median(CALLS, server::TOOL, &arguments)?;
            straight.close()?;
            took
        }
        Way::Http => straight_http(server, CALLS)?,
    };
    let mut door = Door::open(&shipped(), home, &[])?;
    door.median(20, "execute_tool", &wrapped)?;
    let before = processor_ns(door.id())?;
    let through = door.median(CALLS, "execute_tool", &wrapped)?;
    let cpu = (processor_ns(door.id())? - before) / CALLS as u64;
    door.close()?;
    Ok(Taken {
        direct,
        through,
        cpu,
    })
}

/// The median time of a call of the server over HTTP itself, nanoseconds.
fn straight_http(server: &server::Server, calls: usize) -> Result<u64> {
    let mut client = Client::open(&server.address, server::PATH)?;
    let mut times = Vec::with_capacity(calls);
    for number in 0..calls {
        let params = json!({"name": server::TOOL, "arguments": arguments(number)});
        let begun = Instant::now();
        client.ask("tools/call", &params)?;
        times.push(nanoseconds(begun));
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

fn arguments(number: usize) -> Value {
    json!({"query": format!("milk {number}")})
}

fn wrapped(number: usize) -> Value {
    json!({"server": "notes", "tool": server::TOOL, "arguments": arguments(number)})
}

/// Nanoseconds that the threads of a process have run.
fn processor_ns(pid: u32) -> Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end between its name and its figures.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else {
            continue;
        };
        let figure = text.split(' ').next().unwrap_or_default();
        sum += figure
            .parse::<u64>()
            .context("the system does not say how long a thread ran")?;
    }
    Ok(sum)
}

/// What callgrind counted from the start of the program to its end.
#[derive(Debug, PartialEq)]
struct Counted {
    allocations: u64,
    instructions: u64,
}

/// A program with these arguments, so that valgrind counts what it does.
fn under_valgrind(home: &Path, program: &Path, args: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!(
            "--callgrind-out-file={}",
            counts_of(home).display()
        ))
        .arg(program)
        .args(args);
    command
}

fn counts_of(home: &Path) -> std::path::PathBuf {
    home.join("callgrind.out")
}

/// The calls of the allocator and all instructions in callgrind's file.
fn read_counts(text: &str) -> Result<Counted> {
    // A name stands beside its number once; later only the number.
    let mut allocator = HashSet::new();
    let mut called = None;
    let mut counted = Counted {
        allocations: 0,
        instructions: 0,
    };
    for line in text.lines() {
        if let Some(of) = line
            .strip_prefix("cfn=")
            .or_else(|| line.strip_prefix("fn="))
        {
            let (number, name) = of.split_once(' ').unwrap_or((of, ""));
            if ["__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc"]
                .iter()
                .any(|end| name.ends_with(end))
            {
                allocator.insert(number);
            }
            called = line.starts_with("cfn=").then_some(number);
        } else if let Some(times) = line.strip_prefix("calls=") {
            if called.is_some_and(|number| allocator.contains(number)) {
                let times = times.split(' ').next().unwrap_or_default();
                counted.allocations += times.parse::<u64>().context("a count of calls")?;
            }
        } else if let Some(sum) = line
            .strip_prefix("totals: ")
            .or_else(|| line.strip_prefix("summary: "))
        {
            counted.instructions = sum.trim().parse().context("a sum of instructions")?;
        }
    }
    if counted.instructions == 0 {
        bail!("callgrind did not say how many instructions ran");
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_callgrinds_file() {
        let text = "fn=(1) main\n1 5\ncfn=(2) __rustc::__rust_alloc\ncalls=3 0\n1 9\ncfn=(3) other\ncalls=7 0\n1 1\n\
                    fn=(3)\ncfn=(2)\ncalls=4 0\n2 2\ntotals: 1234\n";
        let expected = Counted {
            allocations: 7,
            instructions: 1_234,
        };
        assert_eq!(read_counts(text).unwrap(), expected);
        assert!(read_counts("nothing").is_err());
    }

    #[test]
    fn this_process_has_run() {
        assert!(processor_ns(std::process::id()).unwrap() > 0);
    }

    #[test]
    fn the_server_answers_what_a_client_asks() {
        let server = server::Server::start().unwrap();
        let mut client = Client::open(&server.address, server::PATH).unwrap();
        assert_eq!(client.tools().unwrap().len(), 1);
        let params = json!({"name": server::TOOL, "arguments": arguments(1)});
        let answer = client.ask("tools/call", &params).unwrap();
        assert_eq!(answer["structuredContent"], json!({"notes": []}));
    }
}
