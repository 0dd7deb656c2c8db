//! Prism serving a description, with a witness before it that keeps what it said about each request.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::letter::Letter;
use crate::peers::Peers;

const PROGRAM: &str = "@stoplight/prism-cli/dist/index.js";
/// What it says once it listens.
const LISTENS: &str = "Prism is listening on";
/// The header with all that it has to say against a request or against its own answer.
const VIOLATIONS: &str = "sl-violations";
/// How the problems begin that it answers with instead of the description's answers.
const PROBLEMS: &str = "https://stoplight.io/prism/errors#";

/// A running prism; ended with this.
pub(super) struct Mock {
    child: Child,
    /// Where the witness listens.
    pub(super) address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request that came by, and what prism said.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Method and target.
    pub(super) asked: String,
    /// The status of the answer.
    pub(super) status: u16,
    /// What it has against the request; empty where it is accepted.
    pub(super) against: Vec<String>,
}

impl Mock {
    /// Starts prism on a description and waits until it listens.
    pub(super) fn start(peers: &Peers, description: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut child = Command::new(peers.node())
            .arg(peers.module(PROGRAM))
            .args(["mock", "--host", "127.0.0.1", "--port", &port.to_string()])
            .arg(description)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start prism")?;
        let stdout = child.stdout.take().context("its log is read")?;
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let mut said = Vec::new();
        let listens = lines.by_ref().any(|line| {
            let found = line.contains(LISTENS);
            said.push(line);
            found
        });
        if !listens {
            let _ = child.wait();
            bail!("prism did not start: {}", said.join("\n"));
        }
        // Its log is read to the end, so that it never waits for us.
        thread::spawn(move || lines.for_each(drop));
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mock = Self {
            child,
            address: listener.local_addr()?.to_string(),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&mock.seen);
        let prism = format!("127.0.0.1:{port}");
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (prism, seen) = (prism.clone(), Arc::clone(&seen));
                thread::spawn(move || witness(stream, &prism, &seen));
            }
        });
        Ok(mock)
    }

    /// What came by since this was last asked.
    pub(super) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes one request on, keeps what was said, and passes the answer back.
fn witness(stream: TcpStream, prism: &str, seen: &Mutex<Vec<Seen>>) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let Some(request) = Letter::read(&mut reader)? else {
        return Ok(());
    };
    let answer = request.send(prism);
    let kept = Seen {
        asked: request.first.trim_end_matches(" HTTP/1.1").to_owned(),
        status: answer.as_ref().map_or(0, Letter::status),
        against: match &answer {
            Ok(answer) => against(answer),
            Err(error) => vec![format!("prism gave no answer: {error:#}")],
        },
    };
    seen.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(kept);
    answer?.write(reader.get_mut())
}

/// What an answer has against its request.
fn against(answer: &Letter) -> Vec<String> {
    #[derive(Deserialize)]
    struct Violation {
        location: Vec<String>,
        severity: String,
        message: String,
    }
    if let Some(text) = answer.header(VIOLATIONS) {
        // One that cannot be read is not taken for none.
        let Ok(found) = serde_json::from_str::<Vec<Violation>>(text) else {
            return vec![text.to_owned()];
        };
        let found = found.into_iter().filter(|violation| {
            let place = violation.location.first().map(String::as_str);
            place == Some("request") && violation.severity == "Error"
        });
        let told = found.map(|one| format!("{}: {}", one.location.join("."), one.message));
        return told.collect();
    }
    let problem = answer.json().unwrap_or_default();
    let kind = problem["type"]
        .as_str()
        .and_then(|kind| kind.strip_prefix(PROBLEMS));
    let told = kind.map(|kind| {
        let detail = problem["detail"].as_str().unwrap_or_default();
        format!("{kind}: {detail}")
    });
    told.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(headers: &str, body: &str) -> Vec<String> {
        let text = format!("HTTP/1.1 200 OK\r\n{headers}\r\n{body}");
        against(&Letter::read(&mut text.as_bytes()).unwrap().unwrap())
    }

    #[test]
    fn what_prism_has_against_a_request_is_told_from_what_it_has_against_its_own_answer() {
        let violation = |place: &str, severity: &str| {
            format!(
                r#"{{"location":["{place}","body"],"severity":"{severity}","code":"type","message":"no"}}"#
            )
        };
        let header = |text: String| format!("sl-violations: [{text}]\r\n");
        assert_eq!(
            said(&header(violation("request", "Error")), "{}"),
            ["request.body: no"]
        );
        for (place, severity) in [("response", "Error"), ("request", "Warning")] {
            assert!(said(&header(violation(place, severity)), "{}").is_empty());
        }
        assert_eq!(said("sl-violations: what\r\n", ""), ["what"]);
    }

    #[test]
    fn a_problem_of_prisms_own_is_a_refusal_and_one_of_the_description_is_not() {
        let own = r#"{"type":"https://stoplight.io/prism/errors#NO_PATH_MATCHED_ERROR","detail":"The route"}"#;
        assert_eq!(said("", own), ["NO_PATH_MATCHED_ERROR: The route"]);
        assert!(said("", r#"{"type":"validation_error"}"#).is_empty());
        assert!(said("", "plain").is_empty());
    }
}
