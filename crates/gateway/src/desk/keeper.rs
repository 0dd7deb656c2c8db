//! The file of operations, looked after while a process runs: written where that is wanted, else held
//! against the catalog at the start and with every reload.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolcrib_config::load::Config;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_core::policy::Caller;

use super::{Desk, registry};
use crate::reload::Live;

/// Looks after the file of operations.
pub struct Keeper {
    /// What relies on the file.
    pub desk: Arc<Desk>,
    /// Where paths lead.
    pub surroundings: Surroundings,
    /// The configuration in place.
    pub live: Arc<Live<Arc<Config>>>,
    /// The generation that the engine has taken over.
    pub applied: watch::Receiver<u64>,
}

impl Keeper {
    /// Looks at the file now, and again whenever somebody had the configuration read again.
    pub async fn run(mut self, mut looks: watch::Receiver<u64>, ending: CancellationToken) {
        loop {
            looks.mark_unchanged();
            if ending.run_until_cancelled(self.look()).await.is_none() {
                return;
            }
            let changed = ending.run_until_cancelled(looks.changed()).await;
            if !matches!(changed, Some(Ok(()))) {
                return;
            }
        }
    }

    async fn look(&mut self) {
        let generation = self.live.current();
        // The catalog is that of the configuration that is looked at.
        let holds = self.applied.wait_for(|number| *number >= generation.number);
        if holds.await.is_err() {
            return;
        }
        let settings = &generation.config.settings;
        let caller = Caller::local(&settings.policy);
        let Some(path) = self
            .surroundings
            .resolve(&settings.registry.operations_path)
        else {
            return;
        };
        if settings.registry.write_operations {
            self.write(&caller, &path).await;
        } else if path.exists() || self.desk.is_degraded() {
            self.check(&caller, &path).await;
        }
    }

    async fn write(&self, caller: &Caller, path: &Path) {
        let shown = path.display().to_string();
        let (made, _) = self.desk.registry(caller).await;
        match registry::write(path, &made.text()) {
            Ok(()) => {
                self.desk.trust_registry();
                tracing::info!(
                    path = shown,
                    operations = made.operation_count,
                    "registry written"
                );
            }
            Err(error) => tracing::warn!(path = shown, %error, "the registry cannot be written"),
        }
    }

    /// While the file does not fit the catalog, intent is switched off.
    async fn check(&self, caller: &Caller, path: &Path) {
        let shown = path.display().to_string();
        let found = self.desk.verify(caller, path).await;
        for drift in &found {
            tracing::warn!(path = shown, %drift, "the registry of operations does not fit the catalog");
        }
        if found.is_empty() {
            tracing::info!(path = shown, "the registry of operations fits the catalog");
        } else {
            tracing::warn!("gateway.intent is switched off until the registry fits");
        }
    }
}
