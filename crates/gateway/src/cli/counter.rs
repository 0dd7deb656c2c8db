//! What commands share that go through the engine: they stand at the same counter as agents.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::limits;
use toolcrib_core::policy::Caller;

use super::{Context, running};
use crate::engine::Engine;
use crate::engine::connections::Users;
use crate::engine::error::Error;
use crate::engine::open_here;
use crate::failure::Failure;

/// Runs `work` at an engine of its own, on the user's configuration and store. Nothing is connected
/// before it is needed, and everything is closed at the end.
pub(super) fn with_engine<T>(
    context: &mut Context,
    work: impl AsyncFnOnce(&mut Context, &Arc<Engine>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let config = Arc::new(context.loader().config()?);
    let grace = Duration::from_millis(limits::SHUTDOWN_GRACE_MS);
    running::runtime()?.block_on(async {
        let engine = open_here(config, &context.surroundings, Users::One).await?;
        let outcome = work(context, &engine).await;
        engine.close(grace).await;
        outcome
    })
}

/// The person at the terminal.
pub(super) fn local(engine: &Engine) -> Caller {
    Caller::local(&engine.config().settings.policy)
}

/// What the engine refused, as a command gives it back.
pub(super) fn refused(error: Box<Error>) -> Failure {
    let id = error.request_id.clone();
    let challenge = error
        .more
        .challenge
        .as_ref()
        .map(|waiting| waiting.id.clone());
    let nearest = error
        .more
        .nearest
        .iter()
        .map(|entry| entry.tool.id.to_string());
    let nearest: Vec<String> = nearest.collect();
    let mut failure = Failure::from(*error);
    if !nearest.is_empty() {
        failure.message = format!("{} Nearest: {}", failure.message, nearest.join(", "));
        failure = failure.with("nearest", nearest);
    }
    let told = [("request_id", id), ("challenge", challenge)];
    for (name, value) in told {
        if let Some(value) = value {
            failure = failure.with(name, value);
        }
    }
    failure
}
