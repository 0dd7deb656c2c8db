//! A mock serving a description, with a witness before it that keeps what it said about each request.

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
use crate::served::Build;

const PROGRAM: &str = "@stoplight/prism-cli/dist/index.js";
/// What it says once it listens.
const PRISM_LISTENS: &str = "Prism is listening on";
/// What ours says then, before its address.
const OURS_LISTENS: &str = "listening address=";
/// The header with all that it has to say against a request or against its own answer.
const VIOLATIONS: &str = "sl-violations";
/// How that header begins where it was too long.
const CUT: &str = "Too many violations!";
/// What stands in it for each that concerns the request.
const OF_THE_REQUEST: &str = "\"location\":[\"request\"";
/// How the problems begin that it answers with instead of the description's answers.
const PROBLEMS: &str = "https://stoplight.io/prism/errors#";

/// A running mock and the witness before it; ended with this.
pub(super) struct Witness {
    child: Child,
    /// Where the witness listens.
    pub(super) address: String,
    /// Operations that the mock found in the description.
    pub(super) operations: usize,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request that came by, and what the mock said.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Method and target.
    pub(super) asked: String,
    /// The status of the answer.
    pub(super) status: u16,
    /// What it has against the request; empty where it is accepted.
    pub(super) against: Vec<String>,
}

/// How an answer is read for what it has against its request.
type Reading = fn(&Letter) -> Vec<String>;

impl Witness {
    /// Starts prism on a description and waits until it listens.
    pub(super) fn of_prism(peers: &Peers, description: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new(peers.node());
        command
            .arg(peers.module(PROGRAM))
            .args(["mock", "--host", "127.0.0.1", "--port", &port.to_string()])
            .arg(description);
        let (child, said) = started(command, PRISM_LISTENS)?;
        let address = format!("127.0.0.1:{port}");
        // It names each operation by its address; the last line is of the server itself.
        let named = said.iter().filter(|line| line.contains(&address)).count();
        Self::before(child, address, named - 1, against)
    }

    /// Starts the mock of the test kit and waits until it listens.
    pub(super) fn of_testkit(build: Build, description: &Path) -> Result<Self> {
        let mut command = Command::new(build.program("mock-api"));
        command.arg(description);
        let (child, said) = started(command, OURS_LISTENS)?;
        let last = said.last().map(String::as_str).unwrap_or_default();
        let address = last.split(OURS_LISTENS).nth(1).unwrap_or_default();
        let counted = last.split_whitespace().next();
        let counted = counted.and_then(|count| count.parse().ok());
        let counted = counted.context("it counts its operations")?;
        Self::before(child, address.to_owned(), counted, violations)
    }

    fn before(child: Child, mock: String, operations: usize, reading: Reading) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let witness = Self {
            child,
            address: listener.local_addr()?.to_string(),
            operations,
            seen: Arc::default(),
        };
        let seen = Arc::clone(&witness.seen);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (mock, seen) = (mock.clone(), Arc::clone(&seen));
                thread::spawn(move || pass(stream, &mock, &seen, reading));
            }
        });
        Ok(witness)
    }

    /// What came by since this was last asked.
    pub(super) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a mock and reads what it says until it listens.
fn started(mut command: Command, listens: &str) -> Result<(Child, Vec<String>)> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start the mock")?;
    let stdout = child.stdout.take().context("its log is read")?;
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let mut said = Vec::new();
    let there = lines.by_ref().any(|line| {
        let found = line.contains(listens);
        said.push(line);
        found
    });
    if !there {
        let _ = child.wait();
        bail!("the mock did not start: {}", said.join("\n"));
    }
    // Its log is read to the end, so that it never waits for us.
    thread::spawn(move || lines.for_each(drop));
    Ok((child, said))
}

/// Passes one request on, keeps what was said, and passes the answer back.
fn pass(stream: TcpStream, mock: &str, seen: &Mutex<Vec<Seen>>, reading: Reading) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let Some(request) = Letter::read(&mut reader)? else {
        return Ok(());
    };
    let answer = request.send(mock);
    let kept = Seen {
        asked: request.first.trim_end_matches(" HTTP/1.1").to_owned(),
        status: answer.as_ref().map_or(0, Letter::status),
        against: match &answer {
            Ok(answer) => reading(answer),
            Err(error) => vec![format!("the mock gave no answer: {error:#}")],
        },
    };
    seen.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(kept);
    answer?.write(reader.get_mut())
}

/// What an answer of the test kit's mock has against its request.
fn violations(answer: &Letter) -> Vec<String> {
    if (200..300).contains(&answer.status()) {
        return Vec::new();
    }
    let problem = answer.json().unwrap_or_default();
    let named = problem["violations"].as_array().into_iter().flatten();
    let named: Vec<String> = named
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect();
    if named.is_empty() {
        return vec![answer.first.clone()];
    }
    named
}

/// What an answer of prism has against its request.
fn against(answer: &Letter) -> Vec<String> {
    #[derive(Deserialize)]
    struct Violation {
        location: Vec<String>,
        severity: String,
        message: String,
    }
    if let Some(text) = answer.header(VIOLATIONS) {
        // A list that was cut cannot be read, but what is said against the request stands first in it.
        if text.starts_with(CUT) && !text.contains(OF_THE_REQUEST) {
            return Vec::new();
        }
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
        let cut = |place: &str| {
            format!(
                "sl-violations: Too many violations! [{}, {{\r\n",
                violation(place, "Error")
            )
        };
        assert!(said(&cut("response"), "{}").is_empty());
        assert_eq!(said(&cut("request"), "{}").len(), 1);
    }

    #[test]
    fn a_problem_of_prisms_own_is_a_refusal_and_one_of_the_description_is_not() {
        let own = r#"{"type":"https://stoplight.io/prism/errors#NO_PATH_MATCHED_ERROR","detail":"The route"}"#;
        assert_eq!(said("", own), ["NO_PATH_MATCHED_ERROR: The route"]);
        assert!(said("", r#"{"type":"validation_error"}"#).is_empty());
        assert!(said("", "plain").is_empty());
    }

    #[test]
    fn what_our_own_mock_has_against_a_request_is_told_whole() {
        let said = |first: &str, body: &str| {
            let text = format!("HTTP/1.1 {first}\r\n\r\n{body}");
            violations(&Letter::read(&mut text.as_bytes()).unwrap().unwrap())
        };
        assert!(said("201 Created", "{}").is_empty());
        let refused = r#"{"violations": ["query.a: no", "body: no"]}"#;
        assert_eq!(
            said("400 Bad Request", refused),
            ["query.a: no", "body: no"]
        );
        assert_eq!(said("500 Oh", ""), ["HTTP/1.1 500 Oh"]);
    }
}
