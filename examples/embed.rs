//! Puts the engine into a program of your own: the catalog, the policy and the audit log without a door.
//!
//! `cargo run -p toolcrib --example embed`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::time::Duration;

use toolcrib::engine::ask::Search;
use toolcrib::engine::connections::Users;
use toolcrib::engine::open_here;
use toolcrib::failure::Failure;
use toolcrib::loader::Loader;
use toolcrib::telemetry::Tracer;
use toolcrib_config::{Os, Surroundings};
use toolcrib_core::policy::Caller;

const CONFIGURATION: &str = "\
servers:
  notes:
    command: notes-server
    tools:
      - name: create_note
        description: Writes a new note.
        inputSchema: {type: object, properties: {text: {type: string}}}
";

/// Opens an engine on a configuration in a directory of its own and asks it for a tool.
pub(crate) fn main() -> Result<(), Failure> {
    let home = std::env::temp_dir().join(format!("toolcrib-embed-{}", std::process::id()));
    let unusable = |error: std::io::Error| Failure::configuration(error.to_string());
    std::fs::create_dir_all(&home).map_err(unusable)?;
    let file = home.join("toolcrib.yaml");
    std::fs::write(&file, CONFIGURATION).map_err(unusable)?;
    let here = Surroundings::new(Os::current(), &home, &home, |_| None);
    let config = Arc::new(Loader::new(here.clone(), Some(file)).config()?);
    let runtime = tokio::runtime::Runtime::new().map_err(unusable)?;
    let outcome = runtime.block_on(async {
        // Declared tools are known at once; nothing is started.
        let engine = open_here(config, &here, Users::One, Tracer::off()).await?;
        let caller = Caller::local(&engine.config().settings.policy);
        let wish = Search {
            query: "write something down".to_owned(),
            ..Search::default()
        };
        let found = engine.search_tools(&caller, wish).await;
        let found = found.map_err(|error| Failure::from(*error))?;
        for hit in &found.hits {
            println!("{} {:.2}", hit.entry.tool.id, hit.relevance);
        }
        engine.close(Duration::from_secs(1)).await;
        engine.store().close().await;
        Ok(())
    });
    let _ = std::fs::remove_dir_all(home);
    outcome
}
