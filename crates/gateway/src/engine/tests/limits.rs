//! Each bound of `limits` that the engine holds, at work.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::Code;
use toolcrib_core::policy::{Bucket, Caller, Check};
use toolcrib_store::Tokens;

use super::child;
use crate::engine::Engine;
use crate::engine::answer::Outcome;
use crate::engine::ask::{CallOptions, Listing};
use crate::engine::fixture::{Answers, SERVERS, Still, Workshop, refused};
use crate::engine::upstream::Health;

#[tokio::test(start_paused = true)]
async fn a_call_takes_no_longer_than_calls_may() {
    let _still = Still::new();
    let limits = "limits: {callTimeoutMs: 700, startTimeoutMs: 200}\n";
    let shop = Workshop::open(&format!("{SERVERS}{limits}")).await;
    shop.puppets.answer("github:list_issues", Answers::Hangs);
    let title = r#"{"title": "x"}"#;
    let call = shop.run("github:list_issues", title, CallOptions::default());
    tokio::pin!(call);
    let begun = async {
        while shop.calls().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = &mut call => panic!("nobody answers"),
        () = begun => {}
    }
    // The server has to be started first, which has a time of its own.
    tokio::time::advance(Duration::from_millis(880)).await;
    tokio::select! {
        biased;
        _ = &mut call => panic!("its time is not over"),
        () = tokio::task::yield_now() => {}
    }
    tokio::time::advance(Duration::from_millis(30)).await;
    assert_eq!(refused(call.await).code, Code::ToolExecutionTimeout);
}

/// How many of the servers run.
async fn running(engine: &Arc<Engine>, caller: &Caller) -> usize {
    let servers = engine.list_servers(caller).await.unwrap().servers;
    let runs = |health| health == Health::Connected;
    servers
        .iter()
        .filter(|row| runs(row.standing.health))
        .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_servers_run_than_may_at_once() {
    for (most, expect) in [(1, 1), (2, 2), (9, 3)] {
        let home = tempfile::tempdir().unwrap();
        let yaml = format!(
            "servers: {{a: {{command: HOSTILE}}, b: {{command: HOSTILE}}, c: {{command: HOSTILE}}}}\n\
             limits: {{children: {most}}}\n"
        );
        let engine = child::open(home.path(), &yaml).await;
        let local = Caller::local(&engine.config().settings.policy);
        for server in ["a", "b", "c"] {
            let listing = Listing {
                server: server.into(),
                ..Listing::default()
            };
            engine.list_tools(&local, listing).await.unwrap();
        }
        assert_eq!(running(&engine, &local).await, expect, "of {most}");
        child::close(&engine).await;
    }
}

#[tokio::test]
async fn how_long_a_server_may_be_silent_goes_with_the_call() {
    let shop = Workshop::open(SERVERS).await;
    for idle_timeout_ms in [None, Some(250)] {
        let options = CallOptions {
            idle_timeout_ms,
            ..CallOptions::default()
        };
        let call = shop.run("github:list_issues", r#"{"title": "x"}"#, options);
        call.await.unwrap();
    }
    let idles = shop.puppets.idles.lock().unwrap().clone();
    assert_eq!(idles, [None, Some(Duration::from_millis(250))]);
}

#[tokio::test]
async fn a_rehearsal_sees_what_other_processes_took_from_a_slow_bucket() {
    let limits =
        "policy: {rateLimits: {perPrincipal: {requests: 1, perSeconds: 3600, burst: 1}}}\n";
    let shop = Workshop::open(&format!("{SERVERS}{limits}")).await;
    let rehearse = async || {
        let options = CallOptions {
            dry_run: true,
            ..CallOptions::default()
        };
        shop.run("github:list_issues", r#"{"title": "x"}"#, options)
            .await
    };
    for _ in 0..2 {
        let reply = rehearse().await.unwrap();
        assert!(matches!(reply.outcome, Outcome::Rehearsed(_)));
    }
    let taken = shop.store.take_tokens(Tokens {
        buckets: vec![Bucket {
            name: "principal:local".to_owned(),
            rate: shop.local().rate.unwrap(),
        }],
        now_ms: shop.clock.now_ms(),
    });
    assert_eq!(taken.await.unwrap(), Ok(()));
    let error = refused(rehearse().await);
    assert_eq!(error.code, Code::RateLimited);
    assert!(
        error
            .more
            .steps
            .iter()
            .any(|step| step.check == Check::Rate)
    );
    assert_eq!(shop.calls(), Vec::<String>::new());
}
