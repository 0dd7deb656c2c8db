//! Processes, their launcher, and what they send.

use std::time::Duration;

use tokio_util::task::TaskTracker;
use toolcrib_upstream::mcp::launcher::MODE;
use toolcrib_upstream::mcp::{CallError, Command, Failure, Options, Peer, stdio};

use crate::fixture::{eventually, hostile, kill, lives, numbers, raw, server, spawner};

fn peer(command: &Command) -> Peer {
    let link = stdio::open("hostile", command, &spawner(), &TaskTracker::new()).unwrap();
    Peer::new(link, Box::new(|_, _| {}))
}

async fn call(peer: &Peer, tool: &str, arguments: &str) -> Result<String, CallError> {
    let params = raw(&format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
    let options = Options::within(Duration::from_secs(20));
    let result = peer.request("tools/call", Some(&params), &options).await;
    result.map(|text| text.get().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_is_survived_and_counted() {
    for flag in ["--junk", "--invalid-utf8", "--unasked"] {
        let peer = peer(&server(flag));
        for _ in 0..3 {
            assert!(
                call(&peer, "echo", r#"{"a":1}"#)
                    .await
                    .unwrap()
                    .contains("x-unknown")
            );
        }
        let counts = peer.counts();
        assert_eq!(counts.junk + counts.unasked, 3, "{flag}: {counts:?}");
        assert_eq!(counts.unasked > 0, flag == "--unasked");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_17_mib_fails_alone() {
    let peer = peer(&server(""));
    let error = call(&peer, "huge", "{}").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "it sent more than 16777216 bytes in one message"
    );
    assert!(call(&peer, "echo", "{}").await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_told_with_its_last_words() {
    let command = server("")
        .arg("--stderr")
        .arg("the token=hunter2 \u{1b}[31mwas refused");
    for tool in ["die", "half"] {
        let peer = peer(&command);
        let error = call(&peer, tool, "{}").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "its process ended (exit status: 1); it said: the token=*** was refused",
        );
        let failure = call(&peer, "echo", "{}").await.unwrap_err();
        assert!(failure.failure().unwrap().was_not_delivered(), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_there_is_named() {
    let peer = peer(&Command::new("no-such-program-anywhere"));
    let why = peer.why_closed().await;
    assert!(matches!(&why, Failure::NotStarted(_)), "{why:?}");
    assert!(
        why.to_string().starts_with(
            "it could not be started: `no-such-program-anywhere` is not installed or not on PATH"
        ),
        "{why}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_and_signals_come_through_the_launcher() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let killed = server("--starts").arg(pids.to_str().unwrap());
    let by_code = peer(&server("--exit 7"));
    assert!(
        by_code
            .why_closed()
            .await
            .to_string()
            .contains("exit status: 7")
    );
    let by_signal = peer(&killed);
    eventually("it starts", || !numbers(&pids).is_empty()).await;
    kill(numbers(&pids)[0], "KILL");
    assert!(
        by_signal
            .why_closed()
            .await
            .to_string()
            .contains("signal: 9")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_server_started_ends_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let check = async |flags: &str, wrap: Option<&str>, end: fn(Peer, u32)| {
        let _ = std::fs::remove_file(directory.path().join("pids"));
        let pids = directory.path().join("pids");
        let path = pids.to_str().unwrap();
        let line = format!("--starts {path} --grandchild {path} {flags}");
        let command = match wrap {
            None => server(&line),
            Some(shell) => {
                let program = hostile().display();
                Command::new("sh")
                    .arg("-c")
                    .arg(format!("{shell} {program} {line}"))
            }
        };
        let peer = peer(&command);
        eventually("both have started", || numbers(&pids).len() == 2).await;
        assert!(numbers(&pids).into_iter().all(lives));
        end(peer, numbers(&pids)[0]);
        eventually("all have ended", || !numbers(&pids).into_iter().any(lives)).await;
    };
    let close = |peer: Peer, _: u32| drop(peer);
    check("", None, close).await;
    check("--ignore-end", None, close).await;
    check("--ignore-end", Some("trap '' TERM; exec"), close).await;
    // `setsid` takes the server out of its process group.
    check("--ignore-end", Some("setsid"), close).await;
    check("", None, |peer, pid| {
        kill(pid, "KILL");
        std::mem::forget(peer);
    })
    .await;
    // The launcher itself may be killed.
    check("--ignore-end", None, |peer, pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let launcher = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .nth(1)
            .unwrap();
        kill(launcher.parse().unwrap(), "KILL");
        std::mem::forget(peer);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_ends_by_itself_is_waited_for_no_longer() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let hour = "3600000";
    let mut launcher = std::process::Command::new(hostile())
        .args([MODE, hour, hour])
        .arg(hostile())
        .arg("--grandchild")
        .arg(&pids)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    eventually("it has started", || numbers(&pids).len() == 1).await;
    drop(launcher.stdin.take());
    eventually("it has ended", || launcher.try_wait().unwrap().is_some()).await;
    eventually("nothing is left", || !numbers(&pids).into_iter().any(lives)).await;
}
