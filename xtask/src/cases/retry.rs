//! Cases on retries, rate limits and the names of cache files.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toolcrib_core::policy::bucket::{self, Rate, State};
use toolcrib_core::retry::{Attempts, RetryPolicy};
use toolcrib_store::cache::{CacheOptions, Kind, ListCache, file_name};

use super::Judgement;
use super::judge::{compare, wanted};

/// Rows by their area. Rows on export directories are about another part, and one on warming nothing needs
/// servers: `toolcrib::engine::discovery::tests::warming_nothing_gives_zeros` shows it.
pub(super) fn retry(row: &Value) -> Result<Judgement> {
    match row["area"].as_str() {
        Some("retry") => delays(row),
        Some("rate") => rates(row),
        Some("cache-key") => Ok(key(row)),
        Some("cache") => cache(row),
        _ => Ok(Judgement::Passed),
    }
}

fn number(value: &Value, field: &str) -> Result<u64> {
    value[field]
        .as_u64()
        .with_context(|| format!("the input has no number `{field}`"))
}

fn delays(row: &Value) -> Result<Judgement> {
    let input = &row["input"];
    if input == "aggressive" {
        let policy = RetryPolicy::aggressive();
        let given = json!({
            "max_retries": policy.max_retries,
            "initial_delay_ms": policy.initial_delay_ms,
            "max_delay_ms": policy.max_delay_ms,
            "multiplier": policy.backoff_multiplier,
            "extra_retryable": policy.extra_statuses,
        });
        return Ok(compare(wanted(row), &given));
    }
    if let Ok(max_retries) = number(input, "max_retries") {
        return Ok(attempts(u32::try_from(max_retries)?));
    }
    let policy = RetryPolicy {
        initial_delay_ms: number(input, "initial_delay_ms")?,
        max_delay_ms: number(input, "max_delay_ms")?,
        backoff_multiplier: input["multiplier"].as_f64().context("no multiplier")?,
        jitter_factor: 0.0,
        ..RetryPolicy::default()
    };
    if let Ok(attempt) = number(input, "attempt") {
        let given = policy.delay_ms(u32::try_from(attempt)?);
        return Ok(compare(wanted(row), &given.into()));
    }
    for (attempt, expect) in wanted(row).as_object().into_iter().flatten() {
        let given = Value::from(policy.delay_ms(attempt.parse()?));
        if given != *expect {
            return Ok(Judgement::Wrong(format!(
                "attempt {attempt} waits {expect} ms, not {given}"
            )));
        }
    }
    Ok(Judgement::Right)
}

/// So many retries are allowed, and not one more.
fn attempts(max_retries: u32) -> Judgement {
    let mut attempts = Attempts::new(RetryPolicy {
        max_retries,
        ..RetryPolicy::default()
    });
    for retry in 0..max_retries {
        if !attempts.can_retry() || attempts.next_delay_ms(0.5).is_none() {
            return Judgement::Wrong(format!("retry {} is refused", retry + 1));
        }
    }
    if attempts.can_retry() || attempts.next_delay_ms(0.5).is_some() {
        return Judgement::Wrong("one retry too many is allowed".into());
    }
    Judgement::Right
}

fn rates(row: &Value) -> Result<Judgement> {
    let input = &row["input"];
    let Ok(requests) = number(input, "rps") else {
        // Without a rate there is no bucket: `engine::discovery::limiter` has the test.
        return Ok(Judgement::Passed);
    };
    let requests = u32::try_from(requests)?;
    if let Some(tokens) = input["tokens"].as_f64() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a row's tokens are a small positive number"
        )]
        let milli_tokens = (tokens * 1_000.0).round() as u64;
        let state = State {
            milli_tokens,
            remainder: 0,
            at_ms: 0,
        };
        let given = bucket::take(Some(state), Rate::per_second(requests, 20), 0);
        let given = json!({ "wait_ms": given.err().and_then(|refused| refused.ms) });
        return Ok(compare(wanted(row), &given));
    }
    let burst = u32::try_from(number(input, "burst")?)?;
    let rate = Rate::per_second(requests, burst);
    let mut state = None;
    for taken in 0..burst {
        match bucket::take(state, rate, 0) {
            Ok(next) => state = Some(next),
            Err(_) => return Ok(Judgement::Wrong(format!("only {taken} pass at once"))),
        }
    }
    Ok(match bucket::take(state, rate, 0) {
        Err(refused) if refused.ms.is_some() => Judgement::Right,
        _ => Judgement::Wrong("one more than the burst passes, or no wait is given".into()),
    })
}

/// The name that a text has in a cache file. Where making it safe changed it, D29 adds a hash.
fn key(row: &Value) -> Judgement {
    let (Some(name), Some(expect)) = (row["input"].as_str(), wanted(row).as_str()) else {
        return Judgement::Wrong("the row has no text".into());
    };
    let file = file_name(Kind::Tools, name);
    let stem = file.trim_start_matches("tools_").trim_end_matches(".json");
    let hashed = stem
        .strip_prefix(expect)
        .and_then(|rest| rest.strip_prefix('_'));
    let fits = match hashed {
        Some(hash) => hash.len() == 8 && (name != expect || name.is_empty()),
        None => stem == expect && name == expect,
    };
    if fits {
        Judgement::Right
    } else {
        Judgement::Wrong(format!("{expect} is right, {stem} was given"))
    }
}

fn cache(row: &Value) -> Result<Judgement> {
    let input = &row["input"];
    if let Some(server) = input["server"].as_str() {
        // D29 takes the key of the document, not the file name of the original.
        let given = file_name(Kind::Tools, server);
        let expect = format!(
            "{}.json",
            wanted(row)["seed004_key"].as_str().context("no key")?
        );
        return Ok(compare(&expect.into(), &given.into()));
    }
    if let Some(query) = input["query"].as_str() {
        let given = file_name(Kind::Registry, query);
        return Ok(compare(&wanted(row)["file"], &given.into()));
    }
    memory_grows_old()
}

/// The original kept what was in memory for ever; D29 gives it a time to live.
fn memory_grows_old() -> Result<Judgement> {
    let directory = tempfile::tempdir()?;
    let options = CacheOptions::new(directory.path());
    let (ttl, cache) = (options.tool_ttl_ms, ListCache::new(options));
    cache.store_tools("s", "f", Vec::new(), 0)?;
    let stale = |now| cache.get_tools("s", "f", now).map(|kept| kept.stale);
    Ok(match (stale(ttl - 1), stale(ttl)) {
        (Some(false), Some(true)) => Judgement::Right,
        other => Judgement::Wrong(format!("what is kept does not grow old: {other:?}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(row: &Value) -> bool {
        matches!(retry(row).unwrap(), Judgement::Wrong(_))
    }

    fn right(row: &Value) -> bool {
        retry(row).unwrap() == Judgement::Right
    }

    #[test]
    fn delays_are_judged_attempt_by_attempt() {
        let row = |expected: Value| json!({"area": "retry", "expected": expected, "input": {"initial_delay_ms": 10, "multiplier": 2.0, "max_delay_ms": 15}});
        assert!(right(&row(json!({"0": 0, "1": 10, "2": 15}))));
        assert!(wrong(&row(json!({"2": 20}))));
        let one = |expected: u64| json!({"area": "retry", "expected": expected, "input": {"initial_delay_ms": 10, "multiplier": 2.0, "max_delay_ms": 15, "attempt": 9}});
        assert!(right(&one(15)) && wrong(&one(16)));
        assert!(right(
            &json!({"area": "retry", "input": {"max_retries": 2}, "expected": "…"})
        ));
        assert!(wrong(
            &json!({"area": "retry", "input": "aggressive", "expected": {}})
        ));
    }

    #[test]
    fn rates_are_judged_by_what_passes() {
        let row = |input: Value, expected: Value| json!({"area": "rate", "input": input, "expected": expected});
        assert!(right(&row(json!({"rps": 1000, "burst": 5}), json!("…"))));
        let quarter = json!({"tokens": 0.25, "rps": 10});
        assert!(right(&row(quarter.clone(), json!({"wait_ms": 75}))));
        assert!(wrong(&row(quarter, json!({"wait_ms": 100}))));
        assert_eq!(
            retry(&row(json!("disabled"), json!("…"))).unwrap(),
            Judgement::Passed
        );
    }

    #[test]
    fn names_are_judged_with_the_hash_that_a_change_brings() {
        let row = |input: &str, expected: &str| json!({"area": "cache-key", "input": input, "expected": expected});
        assert!(right(&row("a b", "a_b")) && right(&row("a_b", "a_b")) && right(&row("", "")));
        assert!(wrong(&row("a b", "a-b")) && wrong(&row("ab", "a")));
        assert!(right(
            &json!({"area": "cache", "input": {"server": "s"}, "expected": {"seed004_key": "tools_s"}})
        ));
        assert!(wrong(
            &json!({"area": "cache", "input": {"query": "q"}, "expected": {"file": "q.json"}})
        ));
        assert!(right(&json!({"area": "cache", "expected": "…"})));
        assert_eq!(retry(&json!({"area": "warm"})).unwrap(), Judgement::Passed);
    }
}
