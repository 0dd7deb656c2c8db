//! A process that is killed in the middle of its work: nothing that reached a server is without its
//! record, and no key has a second effect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::home::{Home, PATIENCE};
use crate::stage::{effects, records, staged, tool};

/// How often the process is killed.
const CYCLES: u64 = 60;
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

fn ask(agent: &mut Agent, key: u64) -> u64 {
    let key = format!("k{key}");
    let arguments = json!({ "key": key }).to_string();
    agent.ask("effect", &arguments, &json!({ "idempotency_key": key }))
}

/// Waits until so many effects are there, or nothing more happens.
fn until(home: &Home, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    while effects(home).len() < count && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The keys that took effect, and how often.
fn counted(home: &Home) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for line in effects(home) {
        let key: String = serde_json::from_str(&line).unwrap();
        *counted.entry(key).or_default() += 1;
    }
    counted
}

/// The keys of the calls that were made, by how they are recorded.
fn made(records: &[Value]) -> BTreeMap<String, BTreeSet<String>> {
    let mut made: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in records {
        let parameters: Value =
            serde_json::from_str(record["parameters"].as_str().unwrap()).unwrap();
        let key = parameters["key"].as_str().unwrap().to_owned();
        let outcome = record["outcome"].as_str().unwrap().to_owned();
        made.entry(key).or_default().insert(outcome);
    }
    made
}

#[test]
fn killed_at_random_under_load_nothing_is_lost_and_nothing_happens_twice() {
    let home = staged(
        &json!([tool("effect", &json!({"key": {"type": "string"}}))]),
        "    rateLimit: {perSecond: 100000, burst: 100000}\n",
        "audit: {parameters: true}\npolicy: {rateLimits: {perServer: {requests: 100000, perSeconds: 1}}}\n",
    );
    assert_eq!(home.run(&["tools", "stage"]).code, Some(0));
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut newest = 0;
    for _ in 0..CYCLES {
        let mut agent = Agent::start(&home);
        let before = effects(&home).len();
        for n in 0..CALLS {
            let repeats = n < REPEATED && newest > 0;
            let key = if repeats { dice.below(newest) } else { newest };
            newest += u64::from(!repeats);
            ask(&mut agent, key);
        }
        let more = dice.below(CALLS - REPEATED + 1);
        until(&home, before + usize::try_from(more).unwrap());
        std::thread::sleep(Duration::from_micros(dice.below(3_000)));
        agent.kill();
    }
    // A call that was sent may still take effect while its server is being ended.
    let settled = || effects(&home).len();
    let mut before = usize::MAX;
    while before != settled() {
        before = settled();
        std::thread::sleep(Duration::from_millis(300));
    }

    let happened = counted(&home);
    let recorded = made(&records(&home));
    for (key, times) in &happened {
        assert_eq!(*times, 1, "{key} took effect more than once");
        let outcomes = recorded.get(key);
        let known = |outcome: &str| outcomes.is_some_and(|all| all.contains(outcome));
        assert!(known("ok") || known("unknown"), "{key}: {outcomes:?}");
    }
    let verdict = home.run(&["audit", "verify", "--json"]).json();
    assert_eq!(verdict["intact"], true, "{verdict}");

    let (answered, unknown) = ask_for_all(&home, newest, &happened);
    let again = counted(&home);
    for (key, times) in &again {
        assert_eq!(*times, 1, "{key} took effect again");
    }
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    println!(
        "killed {CYCLES} times under {CALLS} calls: {newest} keys, {} effects before the last kill, {} records of {} processes; asked again: {answered} answered, {unknown} not known, {} effects in all",
        happened.len(),
        verdict["records"],
        verdict["writers"],
        again.len(),
    );
}

/// Asks for every key once more, undisturbed: each is answered, or said to be unknown. Gives how many
/// of each there were.
fn ask_for_all(home: &Home, newest: u64, happened: &BTreeMap<String, usize>) -> (usize, usize) {
    let (mut answered, mut unknown) = (0, 0);
    let mut agent = Agent::start(home);
    for first in (0..newest).step_by(32) {
        let keys: Vec<u64> = (first..newest.min(first + 32)).collect();
        let asked: BTreeMap<u64, u64> = keys.iter().map(|k| (ask(&mut agent, *k), *k)).collect();
        for _ in &keys {
            let (id, said) = agent.answer();
            let key = format!("k{}", asked[&id]);
            if said["success"] == false || said.get("error").is_some() {
                assert_eq!(
                    said["error"]["code"], "IDEMPOTENCY_UNKNOWN",
                    "{key}: {said}"
                );
                unknown += 1;
            } else {
                answered += 1;
            }
        }
    }
    assert!(answered + unknown >= happened.len());
    assert_eq!(u64::try_from(answered + unknown).unwrap(), newest);
    (answered, unknown)
}
