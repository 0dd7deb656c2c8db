//! Requests of our own making, judged by others: a mock serves a real API description and validates every
//! request against it, while the running program is asked to call each tool with the tool's own generated
//! example.
//!
//! The program knows the description, a key and an address; the mock knows the same file and nothing of our
//! request builder. There are two: prism, and the test kit's own for what prism cannot read and for a second
//! opinion. What either refuses must stand in `testkit/refused.toml` with its reason.

mod conversation;
mod known;
mod report;
mod witness;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::args::Args;
use crate::letter::Letter;
use crate::peers::{self, Peers};
use crate::served::{self, Build, Served};
use crate::{process, ui, workspace};

use known::{Known, Refusal};
pub(crate) use report::Report;
use report::Row;
use witness::Witness;

/// The descriptions that prism judges every time.
const FEW: [&str; 3] = ["paystack.yaml", "box.json", "ngrok-api.yaml"];
/// The one that the conversation is about.
const PAYMENTS: &str = "paystack";
/// Those that prism cannot judge, for it reads no form with nested brackets. Ours judges them every time.
const BEYOND_PRISM: [&str; 4] = [
    "slack-web-api.json",
    "stripe.yaml",
    "twilio-messaging-v1.json",
    "twilio-verify-v2.json",
];
/// The one that prism does not open: it refers to a file that does not come with it.
const UNOPENED: &str = "spotify.yaml";
/// Tools that are listed at once; no description of the set has more.
const TOOLS_MAX: usize = 1_000;
/// The secret that requests carry.
const SECRET: &str = "sk_test_0123456789abcdef";

/// Who judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Judge {
    /// `@stoplight/prism-cli`.
    Prism,
    /// The mock of the test kit.
    Testkit,
}

impl Judge {
    fn as_str(self) -> &'static str {
        match self {
            Self::Prism => "prism",
            Self::Testkit => "testkit",
        }
    }
}

/// What is to be judged, and by whom.
#[derive(Default)]
pub(crate) struct Wanted {
    /// All descriptions by all who can judge them, rather than those of every time.
    pub(crate) all: bool,
    /// The adapters; all where none is named.
    pub(crate) only: Vec<String>,
    /// The mocks; both where none is named.
    pub(crate) by: Vec<String>,
}

impl Wanted {
    fn has(&self, adapter: &str, judge: Judge) -> bool {
        let named =
            |list: &[String], name: &str| list.is_empty() || list.iter().any(|one| one == name);
        named(&self.only, adapter) && named(&self.by, judge.as_str())
    }
}

/// `cargo xtask mocks`
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let build = Build::named(args);
    let wanted = Wanted {
        all: args.flag("--all"),
        only: args.options("--only")?,
        by: args.options("--by")?,
    };
    let as_it_is = args.flag("--built");
    args.finish()?;
    if !as_it_is {
        build.make()?;
    }
    ui::line(&check(build, &wanted)?.summary());
    Ok(())
}

/// Lets the mocks judge the tools of some descriptions, by the programs of a build that is there.
pub(crate) fn check(build: Build, wanted: &Wanted) -> Result<Report> {
    let mut report = Report::default();
    let Some(shared) = workspace::shared() else {
        return Ok(report.told("no shared data beside the workspace: no mock is asked here"));
    };
    let peers = if peers::has_npm() {
        Some(Peers::install("prism")?)
    } else {
        report = report.told("no npm on this machine: prism is not asked here");
        None
    };
    let known = Known::read()?;
    let mut wrong = Vec::new();
    for (path, judge) in cases(&shared.join("data/openapi"), wanted.all)? {
        let name = usual_name(&path);
        if !wanted.has(&name, judge) || (judge == Judge::Prism && peers.is_none()) {
            continue;
        }
        let judged = Judged::new(build, peers.as_ref(), judge, &path, &name)?;
        let (row, refusals) = judged.sweep()?;
        ui::line(&row.to_string());
        for line in known.told(judge, &name) {
            ui::line(&line);
        }
        wrong.extend(known.disagreements(judge, &name, &refusals));
        report.rows.push(row);
        if name == PAYMENTS && judge == Judge::Prism {
            match conversation::hold(&judged) {
                Ok(told) => report = report.told(&told),
                Err(error) => wrong.push(format!("{error:#}")),
            }
        }
    }
    if !wrong.is_empty() {
        bail!(
            "what the mocks say is not explained:\n  {}",
            wrong.join("\n  ")
        );
    }
    Ok(report)
}

/// The descriptions, and who judges each: all of them by whom can, or those of every time.
fn cases(folder: &Path, all: bool) -> Result<Vec<(PathBuf, Judge)>> {
    let few = FEW.iter().map(|name| (folder.join(name), Judge::Prism));
    let beyond = BEYOND_PRISM.iter();
    let beyond = beyond.map(|name| (folder.join(name), Judge::Testkit));
    if !all {
        return Ok(few.chain(beyond).collect());
    }
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let described = [".yaml", ".json"].iter().any(|end| name.ends_with(end));
        if !described || name == "MANIFEST.json" {
            continue;
        }
        if !BEYOND_PRISM.contains(&name) && name != UNOPENED {
            cases.push((path.clone(), Judge::Prism));
        }
        cases.push((path, Judge::Testkit));
    }
    cases.sort_by(|one, other| (one.1.as_str(), &one.0).cmp(&(other.1.as_str(), &other.0)));
    Ok(cases)
}

/// What the adapter of a description is called.
fn usual_name(path: &Path) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let stem = stem.unwrap_or("api");
    stem.trim_end_matches("-api").to_owned()
}

/// The running program, and a mock behind it with one description.
struct Judged {
    build: Build,
    judge: Judge,
    name: String,
    home: PathBuf,
    served: Served,
    mock: Witness,
    /// The key of an agent that may run everything.
    bearer: String,
}

impl Judged {
    fn new(
        build: Build,
        peers: Option<&Peers>,
        judge: Judge,
        description: &Path,
        name: &str,
    ) -> Result<Self> {
        let mock = match (judge, peers) {
            (Judge::Prism, Some(peers)) => Witness::of_prism(peers, description),
            _ => Witness::of_testkit(build, description),
        };
        let mock = mock.with_context(|| name.to_owned())?;
        let of = format!("{}-{name}", judge.as_str());
        let home = served::place(&of);
        // Which scheme is used is left to the description, and judged.
        let auth = json!({ "file": home.join("secret"), "username": "ada" });
        let config = configuration(name, description, &mock.address, &auth);
        let served = Served::start(build, &of, &config)?;
        std::fs::write(home.join("secret"), SECRET)?;
        let mut judged = Self {
            build,
            judge,
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
    fn sweep(&self) -> Result<(Row, Vec<Refusal>)> {
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
        let row = Row {
            name: self.name.clone(),
            judge: self.judge.as_str(),
            operations: self.mock.operations,
            called: tools.len(),
            refused: refusals.len(),
        };
        Ok((row, refusals))
    }

    /// Calls a tool with its example and looks what the mock has against the request.
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

/// The program in front of a mock, as strict as it can be.
fn configuration(name: &str, description: &Path, address: &str, auth: &Value) -> String {
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
            "auth": auth,
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

    #[test]
    fn every_time_each_mock_judges_what_it_can() {
        let cases = cases(Path::new("x"), false).unwrap();
        let of = |judge| {
            cases
                .iter()
                .filter(move |(_, other)| *other == judge)
                .count()
        };
        assert_eq!((of(Judge::Prism), of(Judge::Testkit)), (3, 4));
    }
}
