//! The engine over real child processes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_core::Code;
use toolcrib_core::policy::Caller;
use toolcrib_store::{SqliteOptions, Store};
use toolcrib_upstream::mcp::{Spawner, Ways, http};
use uuid::Uuid;

use crate::engine::Engine;
use crate::engine::ask::{Execution, Search};
use crate::engine::clock::Clock;
use crate::engine::connections::{Connections, Users};
use crate::engine::fixture::{answered, execution, key, refused};
use crate::engine::rack::Source;
use crate::engine::upstream::Health;
use crate::loader::Loader;
use crate::telemetry::Tracer;

/// An engine with the servers of `yaml`, where `HOSTILE` stands for the program of the stand-in.
pub(super) async fn open(home: &Path, yaml: &str) -> Arc<Engine> {
    let program = toolcrib_testkit::program("hostile");
    let path = home.join("toolcrib.yaml");
    std::fs::write(
        &path,
        yaml.replace("HOSTILE", &program.display().to_string()),
    )
    .unwrap();
    let surroundings = Surroundings::new(Os::Linux, home, home, |_| None);
    let config = Arc::new(
        Loader::new(surroundings.clone(), Some(path))
            .config()
            .unwrap(),
    );
    let store = SqliteOptions::new(home.join("store.db"));
    let store = Store::open_sqlite(store, Uuid::now_v7()).await.unwrap();
    let ways = Ways {
        spawner: Spawner {
            launcher: Some(program),
            environment: std::env::vars_os().collect(),
        },
        http: http::Client::new(),
    };
    let clock = Clock::system();
    let connections = Connections::over(
        Arc::new(ways),
        Users::One,
        surroundings,
        None,
        clock.clone(),
    );
    Engine::open(config, store, Arc::new(connections), clock, Tracer::off())
        .await
        .unwrap()
}

pub(super) async fn close(engine: &Engine) {
    engine.close(Duration::from_secs(5)).await;
    engine.store().close().await;
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_is_found_called_and_remembered_by_the_next_process() {
    let home = tempfile::tempdir().unwrap();
    let starts = home.path().join("starts");
    let yaml = format!(
        "servers: {{odd: {{command: HOSTILE, args: [--malformed, --junk, --starts, {}]}}}}\n",
        starts.display()
    );
    let engine = open(home.path(), &yaml).await;
    let local = Caller::local(&engine.config().settings.policy);
    assert_eq!(lines(&starts), 0, "nothing runs before it is needed");
    let search = Search {
        query: "give back arguments".into(),
        ..Search::default()
    };
    let found = engine.search_tools(&local, search.clone()).await.unwrap();
    assert_eq!(found.hits[0].entry.tool.id.to_string(), "odd:echo");
    let definition = found.hits[0].entry.definition.get();
    assert!(definition.starts_with(r#"{"x-first":1.5"#), "{definition}");
    let arguments = r#"{"text": "hi", "n": 1.50}"#;
    let reply = engine
        .execute(&local, with_key("odd:echo", arguments, "k1"))
        .await
        .unwrap();
    let answer = answered(reply);
    assert!(answer.result.get().contains("vendor/y"), "{answer:?}");
    assert_eq!(lines(&starts), 1, "lists and calls share the one process");
    let servers = engine.list_servers(&local).await.unwrap();
    assert_eq!(servers.servers[0].standing.health, Health::Connected);
    assert_eq!(engine.counts().servers_connected, 1);
    close(&engine).await;
    let engine = open(home.path(), &yaml).await;
    let found = engine.search_tools(&local, search).await.unwrap();
    assert_eq!((found.hits.len(), found.pending_servers), (1, 0));
    assert_eq!(lines(&starts), 1, "the kept list answers without a process");
    let again = answered(
        engine
            .execute(&local, with_key("odd:echo", arguments, "k1"))
            .await
            .unwrap(),
    );
    assert!(again.replayed);
    assert_eq!(again.result.get(), answer.result.get());
    assert_eq!(
        lines(&starts),
        1,
        "a recorded answer needs no process either"
    );
    close(&engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_kept_with_the_time_for_which_its_server_calls_it_fresh() {
    let home = tempfile::tempdir().unwrap();
    let yaml = "servers: {brief: {command: HOSTILE, args: [--era, modern]}}\n";
    let engine = open(home.path(), yaml).await;
    let local = Caller::local(&engine.config().settings.policy);
    let search = Search {
        query: "give back arguments".into(),
        ..Search::default()
    };
    let found = engine.search_tools(&local, search).await.unwrap();
    assert_eq!(found.hits[0].entry.tool.id.to_string(), "brief:echo");
    let snapshot = engine.snapshot();
    let rack = snapshot.own_rack("brief").unwrap();
    let Source::Listed(said) = rack.source else {
        panic!("{:?}", rack.source)
    };
    assert_eq!(said.fresh_ms, Some(60_000));
    close(&engine).await;
    let engine = open(home.path(), yaml).await;
    let rack = Arc::clone(engine.snapshot().own_rack("brief").unwrap());
    assert_eq!(
        rack.source,
        Source::Listed(said),
        "the next process knows it"
    );
    close(&engine).await;
}

fn with_key(id: &str, arguments: &str, name: &str) -> Execution {
    Execution {
        options: key(name),
        ..execution(id, arguments)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_started_is_a_failed_execution_without_its_words() {
    let home = tempfile::tempdir().unwrap();
    let yaml = "
servers:
  broken: {command: HOSTILE, args: [--exit, '3', --stderr, 'odd words of the server'], retries: 0}
  absent: {command: /nowhere/at/all, retries: 0}
";
    let engine = open(home.path(), yaml).await;
    let local = Caller::local(&engine.config().settings.policy);
    for server in ["broken", "absent"] {
        let call = execution(&format!("{server}:echo"), "{}");
        let error = refused(engine.execute(&local, call).await);
        assert_eq!(error.code, Code::ToolExecutionError, "{error}");
        assert!(
            !error.message.contains("odd words") && !error.message.contains('/'),
            "{error}"
        );
        let advice = error.suggestion.unwrap_or_default();
        let waits = advice.contains("again in a moment");
        assert_eq!(waits, server == "broken", "{server}: {advice}");
    }
    let servers = engine.list_servers(&local).await.unwrap();
    for row in &servers.servers {
        assert_eq!(row.standing.health, Health::Error, "{row:?}");
    }
    assert!(
        servers.servers[0]
            .standing
            .reason
            .as_ref()
            .unwrap()
            .contains("odd words")
    );
    close(&engine).await;
}
