//! Loading and reloading: 1,000 servers and 100 rules in one file, from the disk to the difference.

use std::fmt::Write as _;
use std::hint::black_box;

use anyhow::Result;
use toolcrib_config::trust::TrustStore;
use toolcrib_config::{Config, Difference, Os, Request, Surroundings};

use super::recorder::Recorder;

const SERVERS: usize = 1_000;
const RULES: usize = 100;

pub(crate) fn run(recorder: &mut Recorder) -> Result<()> {
    let stage = tempfile::tempdir()?;
    let file = stage.path().join("toolcrib.yaml");
    std::fs::write(&file, text())?;
    let surroundings = Surroundings::new(Os::current(), stage.path(), stage.path(), |_| None);
    let trust = TrustStore::open(stage.path().join("trust.json"))?;
    let load = || -> Result<Config> {
        Ok(toolcrib_config::load(&Request {
            surroundings: &surroundings,
            explicit: Some(file.clone()),
            trust: &trust,
        })?)
    };
    let before = load()?;
    let mut failed = None;
    recorder
        .time("reload 1,000 servers and 100 rules", 10, || match load() {
            Ok(after) => {
                black_box(Difference::between(&before, &after));
            }
            Err(error) => failed = Some(error),
        })
        .at_most(500_000_000);
    failed.map_or(Ok(()), Err)
}

fn text() -> String {
    let mut text = String::from("servers:\n");
    for number in 0..SERVERS {
        let _ = write!(
            text,
            "  server-{number}:\n    command: npx\n    args: [\"-y\", \"@example/server-{number}\"]\n    env: {{HOME_{number}: \"${{HOME:-/}}\"}}\n"
        );
    }
    text.push_str("toolRules:\n");
    for number in 0..RULES {
        let enabled = number.is_multiple_of(2);
        let _ = writeln!(
            text,
            "  - {{server: server-{number}, pattern: [\"*_{number}\", \"/^get_{number}/i\", \"!*delete*\"], enabled: {enabled}, tags: [t{number}]}}"
        );
    }
    text
}
