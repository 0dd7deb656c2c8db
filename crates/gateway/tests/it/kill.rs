//! A process that is killed in the middle of its work: nothing that reached a server is without its
//! record, and no key has a second effect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, said};
use crate::children::{pids, runs};
use crate::home::{Home, PATIENCE, eventually};
use crate::stage::{STARTED, effects, records, staged, tool};

/// How many executions are asked for while processes are killed at one step after the other.
const STEPWISE: u64 = 500;
/// How many of them one process is asked for, one after the other.
const BATCH: u64 = 4;
/// How often a process is killed at random.
const CYCLES: u64 = 40;
/// How many calls are under way each time, some with keys of the time before.
const CALLS: u64 = 16;
/// How many of them repeat keys of the time before.
const REPEATED: u64 = 4;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// A home whose server counts how often each key took effect.
fn counting() -> Home {
    let home = staged(
        &json!([tool("effect", &json!({"key": {"type": "string"}}))]),
        "    rateLimit: {perSecond: 100000, burst: 100000}\n",
        "audit: {parameters: true}\npolicy: {rateLimits: {perServer: {requests: 100000, perSeconds: 1}}}\n",
    );
    assert_eq!(home.run(&["tools", "stage"]).code, Some(0));
    home
}

fn ask(agent: &mut Agent, key: u64) -> u64 {
    let key = format!("k{key}");
    let arguments = json!({ "key": key }).to_string();
    agent.ask("effect", &arguments, &json!({ "idempotency_key": key }))
}

/// Whether a key was answered; otherwise its effect must be said not to be known.
fn is_answered(key: &str, message: &Value) -> bool {
    let said = said(message);
    if said["success"] == true {
        return true;
    }
    assert_eq!(
        said["error"]["code"], "IDEMPOTENCY_UNKNOWN",
        "{key}: {said}"
    );
    false
}

/// How often each key took effect.
fn counted(home: &Home) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for line in effects(home) {
        let key: String = serde_json::from_str(&line).unwrap();
        *counted.entry(key).or_default() += 1;
    }
    counted
}

/// The outcomes that are recorded for each key.
fn recorded(home: &Home) -> BTreeMap<String, Vec<String>> {
    let mut recorded: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in records(home) {
        let parameters = record["parameters"].as_str().unwrap();
        let parameters: Value = serde_json::from_str(parameters).unwrap();
        let key = parameters["key"].as_str().unwrap().to_owned();
        let outcome = record["outcome"].as_str().unwrap().to_owned();
        recorded.entry(key).or_default().push(outcome);
    }
    recorded
}

/// Waits until nothing more takes effect: a call that was sent may still do so until its server has ended.
fn settle(home: &Home) {
    eventually("every server has ended", || {
        let started = pids(&home.path(STARTED));
        started.into_iter().all(|pid| !runs(pid)).then_some(())
    });
}

/// Checks everything that must hold after processes were killed, asks for every key once more, and
/// prints the figures.
#[expect(clippy::print_stdout, reason = "the figures are for whoever runs this")]
fn inspect(home: &Home, newest: u64, answered: &BTreeSet<u64>, what: &str) {
    settle(home);
    let (happened, recorded) = (counted(home), recorded(home));
    let made = |key: &str| -> Vec<&str> {
        let all = recorded.get(key).into_iter().flatten().map(String::as_str);
        all.filter(|outcome| !matches!(*outcome, "refused" | "replayed"))
            .collect()
    };
    for (key, times) in &happened {
        assert_eq!(*times, 1, "{key} took effect more than once");
        assert!(
            matches!(made(key)[..], ["ok" | "unknown"]),
            "{key}: {:?}",
            made(key)
        );
    }
    for key in answered {
        assert_eq!(made(&format!("k{key}")), ["ok"], "k{key} was answered");
    }
    let verdict = home.run(&["audit", "verify", "--json"]).json();
    assert_eq!(verdict["intact"], true, "{verdict}");

    let again = ask_for_all(home, newest);
    let finally = counted(home);
    let mut states = BTreeMap::<&str, usize>::new();
    for number in 0..newest {
        let key = format!("k{number}");
        let state = made(&key).first().copied().unwrap_or("never begun");
        let was_answered = again.contains(&number);
        // What was cut off is never run again; what never began is begun now.
        assert_eq!(was_answered, state != "unknown", "{key}: {state}");
        let times = finally.get(&key).copied().unwrap_or_default();
        let expected = match state {
            "unknown" => happened.get(&key).copied().unwrap_or_default(),
            _ => 1,
        };
        assert_eq!(times, expected, "{key}: {state}");
        *states.entry(state).or_default() += 1;
    }
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    println!(
        "{what}: {newest} keys, {} effects, {} records of {} processes, {} calls answered before a kill; state of the keys {states:?}; {} effects in all",
        happened.len(),
        verdict["records"],
        verdict["writers"],
        answered.len(),
        finally.len(),
    );
}

/// Asks for every key once more, undisturbed, and gives those that were answered.
fn ask_for_all(home: &Home, newest: u64) -> BTreeSet<u64> {
    let mut answered = BTreeSet::new();
    let mut agent = Agent::start(home, "lazy");
    for first in (0..newest).step_by(32) {
        let keys: Vec<u64> = (first..newest.min(first + 32)).collect();
        let asked: BTreeMap<u64, u64> = keys.iter().map(|k| (ask(&mut agent, *k), *k)).collect();
        for _ in &keys {
            let (id, message) = agent.answer();
            if is_answered(&format!("k{}", asked[&id]), &message) {
                answered.insert(asked[&id]);
            }
        }
    }
    answered
}

/// How often a process has written anything, to a file or a pipe; nothing where it is gone.
fn writes(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("syscw: "))?;
    line.parse().ok()
}

/// Asks for the keys one after the other until all are answered or the process has written so often;
/// gives the answers that came.
fn ask_until(agent: &mut Agent, keys: &[u64], most: u64) -> BTreeMap<u64, Value> {
    let mut answers = BTreeMap::new();
    let deadline = Instant::now() + PATIENCE;
    for key in keys {
        ask(agent, *key);
        let message = loop {
            if writes(agent.pid()).is_none_or(|writes| writes >= most) {
                return answers;
            }
            if let Some((_, message)) = agent.heard() {
                break message;
            }
            assert!(Instant::now() < deadline, "k{key} is never answered");
            std::hint::spin_loop();
        };
        answers.insert(*key, message);
    }
    answers
}

/// Where in its life a process is killed.
#[derive(Clone, Copy)]
enum Moment {
    /// After so many writes from its start: while it recovers what the one before left.
    Starting(u64),
    /// After so many writes from its greeting on: while it works.
    Working(u64),
}

/// Starts a process, asks it for the keys, and kills it; gives the answers that came.
fn cut_off(home: &Home, keys: &[u64], moment: Moment) -> BTreeMap<u64, Value> {
    let (mut agent, most) = match moment {
        Moment::Starting(writes) => (Agent::spawn(home, "lazy"), writes),
        Moment::Working(more) => {
            let agent = Agent::start(home, "lazy");
            let before = writes(agent.pid()).unwrap();
            (agent, before + more)
        }
    };
    let answers = ask_until(&mut agent, keys, most);
    agent.kill();
    answers
}

/// How often a process writes until it has greeted, and from then on for one batch.
fn writes_of_one(home: &Home) -> (u64, u64) {
    let mut agent = Agent::start(home, "lazy");
    let greeted = writes(agent.pid()).unwrap();
    let keys: Vec<u64> = (0..BATCH).collect();
    assert_eq!(ask_until(&mut agent, &keys, u64::MAX).len(), keys.len());
    let done = writes(agent.pid()).unwrap();
    agent.kill();
    (greeted, done - greeted)
}

#[test]
#[cfg_attr(
    not(target_os = "linux"),
    ignore = "only Linux says how often a process has written"
)]
fn killed_at_every_write_nothing_is_lost_and_nothing_happens_twice() {
    let home = counting();
    let (starting, working) = writes_of_one(&home);
    let (mut newest, mut answered) = (BATCH, (0..BATCH).collect::<BTreeSet<u64>>());
    let cycles = STEPWISE / BATCH;
    for cycle in 0..cycles {
        // Spread over all that a process writes; one in five times before it has begun to work.
        let moment = match cycle % 5 {
            4 => Moment::Starting(1 + cycle * starting / cycles),
            _ => Moment::Working(cycle * working / cycles),
        };
        // The key that was cut off last comes first.
        let keys: Vec<u64> = (newest - 1..newest + BATCH).collect();
        for (key, message) in cut_off(&home, &keys, moment) {
            if is_answered(&format!("k{key}"), &message) {
                answered.insert(key);
            }
        }
        newest += BATCH;
    }
    let what = format!(
        "killed {cycles} times, spread over {starting} writes before and {working} in {BATCH} calls"
    );
    inspect(&home, newest, &answered, &what);
}

#[test]
fn killed_at_random_under_load_nothing_is_lost_and_nothing_happens_twice() {
    let home = counting();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut newest, mut answered) = (0, BTreeSet::new());
    // It shares the store all the time, and asks for the same keys.
    let mut other = Agent::start(&home, "lazy");
    for cycle in 0..CYCLES {
        let mut agent = Agent::start(&home, "lazy");
        let before = effects(&home).len();
        let mut asked = BTreeMap::new();
        for n in 0..CALLS {
            let repeats = n < REPEATED && newest > 0;
            let key = if repeats { dice.below(newest) } else { newest };
            newest += u64::from(!repeats);
            asked.insert(ask(&mut agent, key), key);
        }
        let shared = [newest - 1, dice.below(newest)];
        let shared: BTreeMap<u64, u64> = shared.map(|key| (ask(&mut other, key), key)).into();
        let more = usize::try_from(dice.below(CALLS - REPEATED + 1)).unwrap();
        let deadline = Instant::now() + PATIENCE;
        // By turns, so many have taken effect, or so many are answered.
        let mut heard = Vec::new();
        let mut reached = |agent: &mut Agent| {
            heard.extend(std::iter::from_fn(|| agent.heard()));
            match cycle % 2 {
                0 => effects(&home).len() >= before + more,
                _ => heard.len() >= more,
            }
        };
        while !reached(&mut agent) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(dice.below(3_000)));
        reached(&mut agent);
        agent.kill();
        for (id, message) in heard {
            if is_answered(&format!("k{}", asked[&id]), &message) {
                answered.insert(asked[&id]);
            }
        }
        for _ in 0..shared.len() {
            let (id, message) = other.answer();
            if is_answered(&format!("k{}", shared[&id]), &message) {
                answered.insert(shared[&id]);
            }
        }
    }
    other.kill();
    inspect(
        &home,
        newest,
        &answered,
        &format!("killed {CYCLES} times under {CALLS} calls beside another process"),
    );
}
