//! Opening an engine where a command or a process runs.

use std::sync::Arc;

use toolcrib_config::load::Config;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_store::Store;
use toolcrib_upstream::mcp::oauth::TokenStore;

use super::Engine;
use super::clock::Clock;
use super::connections::{Connections, Users};
use super::error::Error;
use crate::failure::{Failure, exit};
use crate::storage;
use crate::telemetry::Tracer;
use crate::tokens::Tokens;

/// Opens the engine of a configuration on the user's own store. Nothing is connected, and nothing runs
/// beside requests until [`Engine::start`].
pub async fn open_here(
    config: Arc<Config>,
    surroundings: &Surroundings,
    users: Users,
    tracer: Tracer,
) -> Result<Arc<Engine>, Failure> {
    let store = storage::open(&config, surroundings).await?;
    open_on(store, config, surroundings, users, tracer).await
}

/// As [`open_here`], on a store that is already open, which is closed where this fails. On one that can only be read
/// nothing is run.
pub async fn open_on(
    store: Store,
    config: Arc<Config>,
    surroundings: &Surroundings,
    users: Users,
    tracer: Tracer,
) -> Result<Arc<Engine>, Failure> {
    let clock = Clock::system();
    let now_ms = || jiff::Timestamp::now().as_millisecond();
    let tokens = Tokens::new(store.clone(), now_ms);
    let tokens: Option<Arc<dyn TokenStore>> = Some(Arc::new(tokens));
    let connections = Connections::new(users, surroundings.clone(), tokens, clock.clone());
    let connections = Arc::new(connections);
    match Engine::open(config, store.clone(), connections, clock, tracer).await {
        Ok(engine) => Ok(engine),
        Err(error) => {
            store.close().await;
            Err(Failure::from(*error))
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        use toolcrib_core::Code;
        let message = match &error.suggestion {
            Some(suggestion) if error.message.ends_with(['.', '?', '!']) => {
                format!("{} {suggestion}", error.message)
            }
            Some(suggestion) => format!("{}. {suggestion}", error.message),
            None => error.message.clone(),
        };
        let failure = match error.code {
            Code::ConfigurationError => Self::configuration(message),
            Code::ToolNotFound | Code::ServerNotFound => Self::not_found(error.code, message),
            Code::ValidationError | Code::ToolValidationError => Self {
                exit: exit::USAGE,
                ..Self::new(error.code, message)
            },
            Code::ToolDisabled => Self {
                exit: exit::DISABLED,
                ..Self::new(error.code, message)
            },
            code => Self::new(code, message),
        };
        match error.more.earlier {
            Some(earlier) => failure.with("earlier", serde_json::json!(earlier)),
            None => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_config::surroundings::Os;
    use toolcrib_core::Code;
    use toolcrib_store::{SqliteOptions, StoreError};
    use uuid::Uuid;

    use super::*;
    use crate::loader::Loader;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_store_is_closed_where_no_engine_opens_on_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("toolcrib.yaml");
        let rule = "policy: {overrides: [{pattern: ['/(/'], risk: high}]}\n";
        std::fs::write(&path, rule).unwrap();
        let at = Surroundings::new(Os::Linux, home.path(), home.path(), |_| None);
        let (config, _) = Loader::new(at.clone(), Some(path)).inspect().unwrap();
        let options = SqliteOptions::new(home.path().join("store.db"));
        let store = Store::open_sqlite(options, Uuid::now_v7()).await.unwrap();
        let (users, tracer) = (Users::One, Tracer::off());
        let opened = open_on(store.clone(), Arc::new(config), &at, users, tracer).await;
        assert!(opened.unwrap_err().message.contains("policy.overrides"));
        let closed = store.recover(0).await.unwrap_err();
        assert_eq!(closed.to_string(), StoreError::Closed.to_string());
    }

    #[test]
    fn the_exit_code_follows_from_the_code() {
        for (code, exit) in [
            (Code::ConfigurationError, 2),
            (Code::ToolNotFound, 2),
            (Code::ServerNotFound, 2),
            (Code::ValidationError, 1),
            (Code::ToolValidationError, 1),
            (Code::ToolDisabled, 4),
            (Code::ToolExecutionError, 3),
        ] {
            let failure = Failure::from(*Error::new(code, "No.").suggest("Do this"));
            assert_eq!((failure.exit, failure.code), (exit, code));
            assert_eq!(failure.message, "No. Do this");
        }
    }
}
