//! Requests of our own making, judged by somebody else: prism serves a real API description and validates
//! every request against it, while the running program is asked to call each tool with the tool's own
//! generated example.
//!
//! The program knows the description, a key and an address; prism knows the same file and nothing of our
//! request builder. What it refuses must stand in `testkit/peers/prism/refused.toml` with its reason.

mod conversation;
mod known;
mod mock;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::args::Args;
use crate::letter::Letter;
use crate::peers::{self, Peers};
use crate::served::{self, Build, Served};
use crate::{process, ui, workspace};

use known::{Known, Refusal};
use mock::Mock;

/// The descriptions that are looked at every time.
const FEW: [&str; 3] = ["paystack.yaml", "box.json", "ngrok-api.yaml"];
/// The one that the conversation is about.
const PAYMENTS: &str = "paystack";
/// Forms with nested brackets are beyond prism.
const BEYOND_PRISM: [&str; 4] = [
    "stripe.yaml",
    "twilio-messaging-v1.json",
    "twilio-verify-v2.json",
    "slack-web-api.json",
];
/// Tools that are listed at once; no description of the set has more.
const TOOLS_MAX: usize = 1_000;
/// The secret that requests carry.
const SECRET: &str = "sk_test_0123456789abcdef";

/// `cargo xtask prism`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let build = Build::named(args);
    let all = args.flag("--all");
    let only = args.options("--only")?;
    args.finish()?;
    ui::line(&check(build, all, &only)?);
    Ok(())
}

/// Lets prism judge the tools of some descriptions; gives the rates.
pub(crate) fn check(build: Build, all: bool, only: &[String]) -> Result<String> {
    let Some(shared) = workspace::shared() else {
        return Ok("no shared data beside the workspace: prism is not asked here".to_owned());
    };
    if !peers::has_npm() {
        return Ok("no npm on this machine: prism is not asked here".to_owned());
    }
    let peers = Peers::install("prism")?;
    build.make()?;
    let begun = Instant::now();
    let known = Known::read()?;
    let (mut rates, mut wrong) = (Vec::new(), Vec::new());
    for path in descriptions(&shared.join("data/openapi"), all)? {
        let name = usual_name(&path);
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let judged = Judged::new(build, &peers, &path, &name)?;
        let (rate, refusals) = judged.sweep()?;
        ui::line(&rate);
        for line in known.told(&name) {
            ui::line(&line);
        }
        wrong.extend(known.disagreements(&name, &refusals));
        rates.push(rate);
        if name == PAYMENTS {
            match conversation::hold(&judged) {
                Ok(told) => ui::line(&told),
                Err(error) => wrong.push(format!("{error:#}")),
            }
        }
    }
    if !wrong.is_empty() {
        bail!(
            "what prism says is not explained:\n  {}",
            wrong.join("\n  ")
        );
    }
    let seconds = begun.elapsed().as_secs();
    Ok(format!(
        "{}; a charge by conversation; {seconds} s",
        rates.join(", ")
    ))
}

fn descriptions(folder: &Path, all: bool) -> Result<Vec<PathBuf>> {
    if !all {
        return Ok(FEW.iter().map(|name| folder.join(name)).collect());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let described = [".yaml", ".json"].iter().any(|end| name.ends_with(end));
        if described && name != "MANIFEST.json" && !BEYOND_PRISM.contains(&name) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What the adapter of a description is called.
fn usual_name(path: &Path) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let stem = stem.unwrap_or("api");
    stem.trim_end_matches("-api").to_owned()
}

/// The running program, and prism behind it with one description.
struct Judged {
    build: Build,
    name: String,
    home: PathBuf,
    served: Served,
    mock: Mock,
    /// The key of an agent that may run everything.
    bearer: String,
}

impl Judged {
    fn new(build: Build, peers: &Peers, description: &Path, name: &str) -> Result<Self> {
        let mock = Mock::start(peers, description).with_context(|| name.to_owned())?;
        let of = format!("prism-{name}");
        let home = served::place(&of);
        let config = configuration(name, description, &mock.address, &home.join("secret"));
        let served = Served::start(build, &of, &config)?;
        std::fs::write(home.join("secret"), SECRET)?;
        let mut judged = Self {
            build,
            name: name.to_owned(),
            home,
            served,
            mock,
            bearer: String::new(),
        };
        let made = judged.run(&["keys", "create", "agent", "--scope", "*", "--json"])?;
        let made: Value = serde_json::from_str(&made)?;
        let secret = made["secret"].as_str().context("a key has a secret")?;
        judged.bearer = format!("Bearer {secret}");
        Ok(judged)
    }

    /// Runs a command of the program beside the one that serves.
    fn run(&self, arguments: &[&str]) -> Result<String> {
        process::output(self.build.toolcrib(&self.home).args(arguments))
    }

    fn ask(&self, method: &str, target: &str, body: &Value) -> Result<Letter> {
        let headers = [
            ("authorization", self.bearer.as_str()),
            ("content-type", "application/json"),
        ];
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        Letter::request(method, target, &headers, body).send(&self.served.address)
    }

    /// Calls every tool with its example; gives the rate and what was refused.
    fn sweep(&self) -> Result<(String, Vec<Refusal>)> {
        let listed = format!("/api/v1/servers/{}/tools?limit={TOOLS_MAX}", self.name);
        let listed = self.ask("GET", &listed, &Value::Null)?.json()?;
        let tools = listed["tools"].as_array().context("it lists its tools")?;
        ensure!(
            !tools.is_empty() && listed["total"] == tools.len(),
            "not all tools of {} are listed",
            self.name
        );
        let mut refusals = Vec::new();
        for tool in tools {
            let tool = tool["tool"].as_str().unwrap_or_default();
            refusals.extend(self.judge(tool)?);
        }
        let (all, refused) = (tools.len(), refusals.len());
        let rate = format!("{}: {} of {all} accepted", self.name, all - refused);
        Ok((rate, refusals))
    }

    /// Calls a tool with its example and looks what prism has against the request.
    fn judge(&self, tool: &str) -> Result<Option<Refusal>> {
        let id = format!("{}:{tool}", self.name);
        let details = format!("/api/v1/tools/{id}");
        let details = self.ask("GET", &details, &Value::Null)?.json()?;
        let request = json!({
            "tool_id": id,
            "params": details["example"],
            "options": { "idempotency_key": id, "confirmed": true },
        });
        let answer = self.ask("POST", "/api/v1/execute", &request)?;
        let seen = self.mock.take();
        let said = answer.json().unwrap_or_default();
        let refusal = |asked: &str, against: Vec<String>| {
            Some(Refusal {
                tool: tool.to_owned(),
                asked: asked.to_owned(),
                against,
            })
        };
        let Some(last) = seen.last() else {
            let why = format!("it was not sent: {said}");
            return Ok(refusal("nothing", vec![why]));
        };
        if !last.against.is_empty() {
            return Ok(refusal(&last.asked, last.against.clone()));
        }
        let answered = (200..300).contains(&last.status);
        if answered && answer.status() != 200 {
            let why = format!("the answer was not taken: {said}");
            return Ok(refusal(&last.asked, vec![why]));
        }
        Ok(None)
    }
}

/// The program in front of prism, as strict as it can be.
fn configuration(name: &str, description: &Path, address: &str, secret: &Path) -> String {
    let plenty = json!({ "requests": 10_000, "perSeconds": 1 });
    json!({
        "profile": "gateway",
        "policy": {
            "mode": "strict",
            "confirmation": "flag",
            "rateLimits": { "perServer": plenty, "perPrincipal": plenty },
        },
        // The file's own words do not say that this is how a card is charged.
        "toolRules": [{ "pattern": ["paystack:charge-create"], "tags": ["card", "payment"] }],
        "adapters": { name: {
            "spec": description,
            "baseUrl": format!("http://{address}"),
            "allowPrivateAddresses": true,
            "auth": { "type": "bearer", "file": secret },
            "countries": if name == PAYMENTS { vec!["NG", "GH", "ZA", "KE"] } else { Vec::new() },
        } },
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_is_called_as_its_file_is() {
        for (path, name) in [
            ("a/paystack.yaml", "paystack"),
            ("ngrok-api.yaml", "ngrok"),
            ("adyen-checkout-v71.json", "adyen-checkout-v71"),
        ] {
            assert_eq!(usual_name(Path::new(path)), name);
        }
    }
}
