//! `cargo xtask bench door`: the program as an agent has it, over its standard streams, before servers of the test kit that list
//! the tools of real ones.

mod answers;
mod stdio;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::recorder::Recorder;
use super::results::{PER_MILLE, PER_MILLE_OF_THE_BASE};
use crate::rivals::{built, install_own, install_shipped, shipped, tokens};
use crate::served::SETTINGS;
use crate::{process, ui, workspace};
pub(crate) use stdio::Door;

/// Numbers of servers that the start is timed with.
const SERVERS: [usize; 3] = [10, 100, 1_000];
/// How many tools each of them lists: ten thousand in all at the largest.
const TOOLS_EACH: usize = 10;
/// How many tools the largest server has.
const TOOLS_OF_ONE: usize = 1_000;
/// How often a start is repeated, and a request.
const STARTS: usize = 5;
const REQUESTS: usize = 200;
/// How long servers of which nothing is kept may take until all have answered.
const COLD_TIME: Duration = Duration::from_mins(2);

/// What must hold, in nanoseconds and KiB.
const WARM_START_NS: u64 = 100_000_000;
const SEARCH_NS: u64 = 150_000_000;
const LOOK_NS: u64 = 50_000_000;
const RUN_NS: u64 = 500_000_000;
const MEMORY_BYTES: u64 = 100_000_000;
/// Tool lists that are there when they are needed, of all that are.
const HIT_RATE_PER_MILLE: u64 = 800;
/// How often an agent starts anew while the hit rate is counted.
const SESSIONS: usize = 3;
/// Tokens of the five definitions.
const DEFINITIONS_TOKENS: u64 = 600;
/// Tokens of a flow in which one tool is found and run, and of one with two.
const ONE_TOOL_TOKENS: u64 = 950;
const TWO_TOOLS_TOKENS: u64 = 1_600;

/// What an agent might wish for.
const WISHES: [&str; 5] = [
    "create an issue about the broken login",
    "read a file",
    "send a message to the team channel",
    "take a screenshot of the page",
    "remember that Ada prefers tea",
];

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    let Some(shared) = workspace::shared() else {
        ui::line("no shared data beside the workspace: the door is not timed here");
        return Ok(());
    };
    install_own()?;
    install_shipped()?;
    let size = fs::metadata(shipped())?.len();
    recorder.value("size of the packaged program", size, "bytes");
    let tools = real_tools(&shared.join("data/mcp-tools"))?;
    for count in SERVERS {
        let stage = Stage::set(&tools, count, TOOLS_EACH)?;
        starts(recorder, &stage, count)?;
        if count == 100 {
            holding(recorder, &stage)?;
        }
        if count == 1_000 {
            requests(recorder, &stage)?;
            stage.nobody_started()?;
        }
    }
    let stage = Stage::set(&of_different_names(&tools), 1, TOOLS_OF_ONE)?;
    large(recorder, &stage)?;
    let stage = Stage::set(&tools, 100, TOOLS_EACH)?;
    stage.warm()?;
    caching(recorder, &stage)?;
    hit_rate(recorder, &tools)?;
    let stage = Stage::set(&tools, 100, TOOLS_EACH)?;
    stage.warm()?;
    running(recorder, &stage)?;
    flows(recorder, &stage)?;
    answers::run(recorder, &stage)
}

/// A home with servers that list slices of the real tools.
struct Stage {
    home: PathBuf,
    servers: Vec<String>,
}

impl Stage {
    /// So many servers, each with so many tools.
    fn set(tools: &[Value], count: usize, each: usize) -> Result<Self> {
        let home = workspace::scratch().join("door").join(count.to_string());
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(home.join("lists"))?;
        let mut servers = Map::new();
        for number in 0..count {
            let slice: Vec<&Value> = tools
                .iter()
                .cycle()
                .skip(number * each % tools.len())
                .take(each)
                .collect();
            let list = home.join("lists").join(format!("{number}.json"));
            fs::write(&list, json!(slice).to_string())?;
            let starts = home.join("starts");
            servers.insert(
                format!("server-{number}"),
                json!({"command": built("hostile"), "args": ["--offer", list, "--starts", starts]}),
            );
        }
        servers.insert(
            "notes".into(),
            json!({"command": built("toolcrib"), "args": ["workshop", "notes"]}),
        );
        let names = servers.keys().cloned().collect();
        let often = json!({"requests": 1_000_000});
        let config = json!({
            "servers": servers,
            "policy": {"rateLimits": {"perServer": often}},
        });
        let place = home.join(SETTINGS);
        fs::create_dir_all(&place)?;
        fs::write(place.join("toolcrib.json"), config.to_string())?;
        Ok(Self {
            home,
            servers: names,
        })
    }

    /// Has every server asked once, so that what it lists is kept on disk.
    fn warm(&self) -> Result<()> {
        self.command(&["cache", "warm", "--json"])?;
        let _ = fs::remove_file(self.home.join("starts"));
        Ok(())
    }

    /// Runs a command in the home and gives what it prints.
    fn command(&self, args: &[&str]) -> Result<String> {
        let mut command = process::program(shipped());
        command
            .args(args)
            .current_dir(&self.home)
            .env("HOME", &self.home)
            .env("XDG_RUNTIME_DIR", &self.home);
        process::output(&mut command)
    }

    fn nobody_started(&self) -> Result<()> {
        let started = fs::read_to_string(self.home.join("starts")).unwrap_or_default();
        if !started.is_empty() {
            bail!(
                "{} servers were started although their lists are kept",
                started.lines().count()
            );
        }
        Ok(())
    }

    fn open(&self, env: &[(&str, &str)]) -> Result<Door> {
        Door::open(&shipped(), &self.home, env)
    }
}

/// From nothing to the answer of a search.
fn starts(recorder: &mut Recorder, stage: &Stage, count: usize) -> Result<()> {
    let first = |stage: &Stage| -> Result<u64> {
        let begun = Instant::now();
        let mut door = stage.open(&[])?;
        door.call("search_tools", &json!({"query": WISHES[0]}))?;
        let took = nanoseconds(begun);
        door.close()?;
        Ok(took)
    };
    let cold = cold(stage)?;
    for (name, value, unit) in [
        ("start to first search", cold.first_ns, "ns"),
        (
            "servers that this search did not wait for",
            cold.pending,
            "servers",
        ),
        ("start to a search of all servers", cold.all_ns, "ns"),
    ] {
        recorder.value(
            &format!("{name}, {count} servers, nothing kept"),
            value,
            unit,
        );
    }
    stage.warm()?;
    let mut took = (0..STARTS)
        .map(|_| first(stage))
        .collect::<Result<Vec<_>>>()?;
    took.sort_unstable();
    recorder
        .value(
            &format!("start to first search, {count} servers, lists kept"),
            took[took.len() / 2],
            "ns",
        )
        .at_most(WARM_START_NS);
    Ok(())
}

/// The first searches of a process that knows nothing yet.
struct Cold {
    first_ns: u64,
    /// Servers that had not answered yet when the first search was.
    pending: u64,
    /// Until a search was answered for which none was pending.
    all_ns: u64,
}

/// Starts with nothing kept, and searches until every server has answered: a search waits a while for servers that
/// start, and then tells how many it did not wait for.
fn cold(stage: &Stage) -> Result<Cold> {
    let begun = Instant::now();
    let mut door = stage.open(&[])?;
    let mut search = || -> Result<u64> {
        let found = door.call("search_tools", &json!({"query": WISHES[0]}))?;
        Ok(found["pending_servers"].as_u64().unwrap_or_default())
    };
    let pending = search()?;
    let first_ns = nanoseconds(begun);
    let mut left = pending;
    while left > 0 {
        if begun.elapsed() > COLD_TIME {
            bail!("{left} servers are still pending");
        }
        std::thread::sleep(Duration::from_millis(5));
        left = search()?;
    }
    let all_ns = if pending > 0 {
        nanoseconds(begun)
    } else {
        first_ns
    };
    door.close()?;
    Ok(Cold {
        first_ns,
        pending,
        all_ns,
    })
}

/// What the process holds with a thousand tools once it has searched them.
fn holding(recorder: &mut Recorder, stage: &Stage) -> Result<()> {
    let mut door = stage.open(&[])?;
    for wish in WISHES {
        door.call("search_tools", &json!({ "query": wish }))?;
    }
    recorder
        .value(
            "memory with 100 servers and 1,000 tools",
            door.memory_kib()? * 1024,
            "bytes",
        )
        .at_most(MEMORY_BYTES);
    door.close()
}

/// One server with a thousand tools, nothing kept: until a search is answered, and how many are found to be there.
fn large(recorder: &mut Recorder, stage: &Stage) -> Result<()> {
    let begun = Instant::now();
    let mut door = stage.open(&[])?;
    door.call("search_tools", &json!({"query": WISHES[0]}))?;
    let took = nanoseconds(begun);
    let servers = door.call("list_mcp_servers", &json!({}))?;
    door.close()?;
    let servers = servers["servers"].as_array().context("no servers")?;
    let count = |server: &Value| server["toolCount"].as_u64();
    let most = servers.iter().filter_map(count).max();
    recorder.value(
        "start to first search, one server of 1,000 tools, nothing kept",
        took,
        "ns",
    );
    recorder
        .value("tools of one server", most.context("no counts")?, "tools")
        .at_least(TOOLS_OF_ONE as u64);
    Ok(())
}

/// What the five tools take with ten thousand tools behind them, and what the process holds.
fn requests(recorder: &mut Recorder, stage: &Stage) -> Result<()> {
    let mut door = stage.open(&[])?;
    let wish = |number: usize| json!({"query": WISHES[number % WISHES.len()]});
    let found = door.call("search_tools", &wish(0))?;
    let hit = &found["results"][0];
    let look = json!({"server": hit["server"], "tool": hit["tool"]});
    let mut time = |name: &str, tool: &str, most: u64, arguments: &dyn Fn(usize) -> Value| {
        let took = door.median(REQUESTS, tool, arguments)?;
        recorder
            .value(&format!("{tool}, {name}, over the door"), took, "ns")
            .at_most(most);
        anyhow::Ok(())
    };
    time("10,000 tools", "search_tools", SEARCH_NS, &wish)?;
    time("10,000 tools", "get_tool_details", LOOK_NS, &|_| {
        look.clone()
    })?;
    time("1,000 servers", "list_mcp_servers", LOOK_NS, &|_| json!({}))?;
    let listing = json!({"server": hit["server"]});
    time("1,000 servers", "list_tools", LOOK_NS, &|_| listing.clone())?;
    recorder
        .value(
            "memory with 1,000 servers and 10,000 tools",
            door.memory_kib()? * 1024,
            "bytes",
        )
        .at_most(MEMORY_BYTES);
    door.close()
}

/// The same requests with lists kept, and from a cache directory with nothing in it.
fn caching(recorder: &mut Recorder, stage: &Stage) -> Result<()> {
    let server = stage.servers.first().context("there is a server")?;
    let listing = json!({ "server": server });
    let search = json!({ "query": WISHES[0] });
    let start = |directory: Option<&Path>| -> Result<u64> {
        let directory = directory.and_then(Path::to_str);
        let env: Vec<(&str, &str)> = directory
            .map(|directory| ("TOOLCRIB_CACHE_DIR", directory))
            .into_iter()
            .collect();
        let begun = Instant::now();
        let mut door = stage.open(&env)?;
        door.call("search_tools", &search)?;
        door.call("list_tools", &listing)?;
        let took = nanoseconds(begun);
        door.close()?;
        Ok(took)
    };
    let (mut kept, mut anew) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        kept.push(start(None)?);
        let empty = stage.home.join("empty");
        let _ = fs::remove_dir_all(&empty);
        anew.push(start(Some(&empty))?);
    }
    let mut median = |name: &str, times: &mut Vec<u64>| {
        times.sort_unstable();
        let median = times[times.len() / 2];
        recorder.value(
            &format!("start, search and list_tools, 100 servers, {name}"),
            median,
            "ns",
        );
        median
    };
    let kept = median("lists kept", &mut kept);
    let anew = median("nothing kept", &mut anew);
    recorder
        .value(
            "start, search and list_tools, lists kept against nothing kept",
            kept * 1000 / anew.max(1),
            PER_MILLE_OF_THE_BASE,
        )
        .at_most(999);
    Ok(())
}

/// Some days of an agent, from nothing kept: how often tool lists were there when they were needed, as
/// `toolcrib stats` tells it.
fn hit_rate(recorder: &mut Recorder, tools: &[Value]) -> Result<()> {
    let stage = Stage::set(tools, 100, TOOLS_EACH)?;
    for _ in 0..SESSIONS {
        let mut door = stage.open(&[])?;
        for wish in WISHES {
            let found = door.call("search_tools", &json!({ "query": wish }))?;
            let hit = &found["results"][0];
            door.call("list_tools", &json!({"server": hit["server"]}))?;
            let look = json!({"server": hit["server"], "tool": hit["tool"]});
            door.call("get_tool_details", &look)?;
        }
        door.close()?;
    }
    let told = stage.command(&["stats", "--json"])?;
    let told: Value = serde_json::from_str(&told).context("stats tells no JSON")?;
    let count = |name: &str| told["cache"][name].as_u64().context("stats tells no cache");
    let (hits, misses) = (count("hits")?, count("misses")?);
    recorder
        .value(
            "tool lists that were there when they were needed",
            hits * 1000 / (hits + misses).max(1),
            PER_MILLE,
        )
        .at_least(HIT_RATE_PER_MILLE);
    Ok(())
}

/// A tool that does next to nothing, run through the door and without it.
fn running(recorder: &mut Recorder, stage: &Stage) -> Result<()> {
    let mut door = stage.open(&[])?;
    let call = json!({"server": "notes", "tool": "search_notes", "arguments": {"query": "milk"}});
    door.call("execute_tool", &call)?;
    let through = door.median(REQUESTS, "execute_tool", &|_| call.clone())?;
    door.close()?;
    let mut straight = Door::straight(&built("toolcrib"), &["workshop", "notes"])?;
    let direct = straight.median(REQUESTS, "search_notes", &|_| json!({"query": "milk"}))?;
    straight.close()?;
    recorder.value("a tool without us", direct, "ns");
    recorder
        .value("execute_tool, over the door", through, "ns")
        .at_most(RUN_NS);
    recorder
        .value(
            "what execute_tool adds",
            through.saturating_sub(direct),
            "ns",
        )
        .at_most(LOOK_NS);
    Ok(())
}

/// The tokens of an agent's way to one tool, and to two.
fn flows(recorder: &mut Recorder, stage: &Stage) -> Result<()> {
    let mut door = stage.open(&[])?;
    let definitions = tokens(&json!(door.tools()?).to_string()) as u64;
    let mut flow = |wish: &str| -> Result<u64> {
        let asked = json!({ "query": wish });
        let found = door.call("search_tools", &asked)?;
        let hit = &found["results"][0];
        let look = json!({"server": hit["server"], "tool": hit["tool"]});
        let details = door.call("get_tool_details", &look)?;
        let run =
            json!({"server": "notes", "tool": "search_notes", "arguments": {"query": "milk"}});
        let ran = door.call("execute_tool", &run)?;
        let said = [&asked, &found, &look, &details, &run, &ran];
        Ok(said
            .iter()
            .map(|part| tokens(&part.to_string()) as u64)
            .sum())
    };
    let mut flows = WISHES
        .iter()
        .map(|wish| flow(wish))
        .collect::<Result<Vec<_>>>()?;
    flows.sort_unstable();
    let one = flows[flows.len() / 2];
    recorder
        .value("tokens of the five definitions", definitions, "tokens")
        .at_most(DEFINITIONS_TOKENS);
    recorder
        .value(
            "tokens to find, look at and run one tool",
            definitions + one,
            "tokens",
        )
        .at_most(ONE_TOOL_TOKENS);
    recorder
        .value("tokens for two tools", definitions + 2 * one, "tokens")
        .at_most(TWO_TOOLS_TOKENS);
    door.close()
}

/// The first tool of each name: no server has two.
fn of_different_names(tools: &[Value]) -> Vec<Value> {
    let mut names = HashSet::new();
    let firsts = tools
        .iter()
        .filter(|tool| names.insert(tool["name"].as_str()));
    firsts.cloned().collect()
}

/// The tools of all real servers.
fn real_tools(place: &Path) -> Result<Vec<Value>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(place)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    paths.sort();
    let mut tools = Vec::new();
    for path in paths {
        let list: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
        tools.extend(list["tools"].as_array().cloned().unwrap_or_default());
    }
    Ok(tools)
}

pub(super) fn nanoseconds(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
