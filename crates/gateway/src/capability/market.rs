//! Where capabilities are registered: a marketplace of what may be run, and a catalog of everything
//! that is known. Both are optional; the store is both.

use futures::future::BoxFuture;
use toolcrib_core::CapabilityManifest;
use toolcrib_store::capability::{Capability, Filter, Registered, State};
use toolcrib_store::{Store, StoreError};

use crate::engine::clock::Clock;

/// The approved set: what is in it may be run.
pub trait Marketplace: Send + Sync {
    /// Registers a capability; `false` where its definition waits for a person, so that it is not in
    /// the set yet.
    fn register<'a>(
        &'a self,
        manifest: &'a CapabilityManifest,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// What is registered, by id.
    fn registered(&self) -> BoxFuture<'_, Result<Vec<CapabilityManifest>, StoreError>>;
}

/// Everything that is known, approved or not.
pub trait CapabilityCatalog: Send + Sync {
    /// Notes a capability.
    fn record<'a>(
        &'a self,
        manifest: &'a CapabilityManifest,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// What is known under an id, the newest definition first.
    fn known<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<CapabilityManifest>, StoreError>>;
}

/// The store as marketplace and catalog: approval is the one that tools have.
#[derive(Clone, Debug)]
pub struct Shelf {
    store: Store,
    clock: Clock,
}

impl Shelf {
    /// The capabilities of a store.
    pub fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock }
    }

    /// Gives manifests without an output the one that was learnt of the same definition before.
    pub async fn recall(&self, manifests: &mut [CapabilityManifest]) -> Result<(), StoreError> {
        for manifest in manifests.iter_mut().filter(|m| m.output_schema.is_none()) {
            let of_id = Filter {
                id: Some(manifest.id.clone()),
                ..Filter::default()
            };
            let known = self.find(&of_id).await?;
            let same = |known: &&(CapabilityManifest, State)| {
                known.0.definition == manifest.definition
                    && known.0.provider.server == manifest.provider.server
            };
            if let Some((known, _)) = known.iter().find(same) {
                manifest.output_schema.clone_from(&known.output_schema);
            }
        }
        Ok(())
    }

    /// Keeps a capability and says where it stands. An output that was learnt before stays known.
    pub async fn keep(&self, manifest: &CapabilityManifest) -> Result<State, StoreError> {
        let mut manifest = manifest.clone();
        self.recall(std::slice::from_mut(&mut manifest)).await?;
        let kept = Capability {
            server: manifest.provider.server.clone(),
            tool: manifest.provider.tool_name.clone(),
            hash: manifest.definition.to_string(),
            id: manifest.id.clone(),
            // A manifest is plain data and always writable.
            manifest: serde_json::to_string(&manifest).unwrap_or_default(),
        };
        self.store.keep_capability(kept, self.clock.now_ms()).await
    }

    /// The capabilities that a filter lets through. One that an older version wrote differently and
    /// that cannot be read is left out.
    pub async fn find(
        &self,
        filter: &Filter,
    ) -> Result<Vec<(CapabilityManifest, State)>, StoreError> {
        let found = self.store.capabilities(filter).await?;
        Ok(found.iter().filter_map(manifest).collect())
    }
}

fn manifest(registered: &Registered) -> Option<(CapabilityManifest, State)> {
    let read = serde_json::from_str(&registered.capability.manifest);
    read.ok().map(|manifest| (manifest, registered.state))
}

impl Marketplace for Shelf {
    fn register<'a>(
        &'a self,
        manifest: &'a CapabilityManifest,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { Ok(self.keep(manifest).await? == State::Approved) })
    }

    fn registered(&self) -> BoxFuture<'_, Result<Vec<CapabilityManifest>, StoreError>> {
        Box::pin(async move {
            let approved = Filter {
                state: Some(State::Approved),
                ..Filter::default()
            };
            let found = self.find(&approved).await?;
            Ok(found.into_iter().map(|(manifest, _)| manifest).collect())
        })
    }
}

impl CapabilityCatalog for Shelf {
    fn record<'a>(
        &'a self,
        manifest: &'a CapabilityManifest,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.keep(manifest).await.map(drop) })
    }

    fn known<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<CapabilityManifest>, StoreError>> {
        Box::pin(async move {
            let of_id = Filter {
                id: Some(id.to_owned()),
                ..Filter::default()
            };
            let found = self.find(&of_id).await?;
            Ok(found.into_iter().map(|(manifest, _)| manifest).collect())
        })
    }
}
