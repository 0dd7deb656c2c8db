//! What becomes of a list beyond its cache: manifests, registration, files.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolcrib_config::model::Server;
use toolcrib_core::CapabilityManifest;
use toolcrib_core::capability::Output;
use toolcrib_core::catalog::Inference;
use toolcrib_core::rtfs::Dialect;
use toolcrib_store::StoreError;

use super::{DiscoveryOptions, DiscoveryService, Listing};
use crate::capability::market::{CapabilityCatalog, Marketplace};
use crate::capability::trial::{self, Trial};
use crate::capability::{files, server_url};
use crate::engine::definition::{self, Malformed};

/// What became of a capability that was registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// Whether it is in the marketplace now; `None` where none is attached.
    pub marketplace: Option<bool>,
    /// Whether a catalog is attached, and has it.
    pub catalog: bool,
}

impl DiscoveryService {
    /// Attaches a marketplace: what is discovered can be registered in it.
    #[must_use]
    pub fn with_marketplace(mut self, marketplace: Arc<dyn Marketplace>) -> Self {
        self.marketplace = Some(marketplace);
        self
    }

    /// Attaches a catalog of everything that is known.
    #[must_use]
    pub fn with_catalog(mut self, catalog: Arc<dyn CapabilityCatalog>) -> Self {
        self.catalog = Some(catalog);
        self
    }

    /// Attaches what runs tools to see what they answer; without it no output is learnt.
    #[must_use]
    pub fn with_trial(mut self, trial: Arc<dyn Trial>) -> Self {
        self.trial = Some(trial);
        self
    }

    /// What names mean, instead of the built-in words alone.
    #[must_use]
    pub fn with_inference(mut self, inference: Arc<Inference>) -> Self {
        self.inference = inference;
        self
    }

    /// The marketplace, where one is attached.
    pub fn marketplace(&self) -> Option<&Arc<dyn Marketplace>> {
        self.marketplace.as_ref()
    }

    /// The manifest of a tool as a server defines it.
    pub fn tool_to_manifest(
        &self,
        tool: &RawValue,
        server: &Server,
    ) -> Result<CapabilityManifest, Malformed> {
        let tool = definition::read(&server.name, tool)?;
        Ok(CapabilityManifest::new(&tool, server_url(server))
            .with_inferred_domains_and_categories(&server.name, &self.inference))
    }

    /// The manifests of a list; definitions that cannot be used are left out, and a name that comes
    /// twice counts once.
    pub fn manifests(&self, listing: &Listing, server: &Server) -> Vec<CapabilityManifest> {
        let mut names = std::collections::HashSet::new();
        let items = listing.items.iter();
        items
            .filter_map(|item| self.tool_to_manifest(item, server).ok())
            .filter(|manifest| names.insert(manifest.provider.tool_name.clone()))
            .collect()
    }

    /// Registers a capability in the marketplace and notes it in the catalog, as far as they are
    /// attached. In the marketplace is only what a person, or the rule of the first list, accepted.
    pub async fn register_capability(
        &self,
        manifest: &CapabilityManifest,
    ) -> Result<Registration, StoreError> {
        let mut registration = Registration::default();
        if let Some(catalog) = &self.catalog {
            catalog.record(manifest).await?;
            registration.catalog = true;
        }
        if let Some(marketplace) = &self.marketplace {
            registration.marketplace = Some(marketplace.register(manifest).await?);
        }
        Ok(registration)
    }

    /// Does with a list what the options say beyond its cache. What fails is a warning: the list is
    /// good all the same.
    pub(super) async fn integrate(
        &self,
        server: &Server,
        listing: &mut Listing,
        options: &DiscoveryOptions,
    ) {
        if !options.introspects_now() && !options.register_in_marketplace && !options.export_to_rtfs
        {
            return;
        }
        let mut manifests = self.manifests(listing, server);
        if options.introspects_now() {
            self.learn_outputs(server, listing, &mut manifests).await;
        }
        if options.register_in_marketplace {
            for manifest in &manifests {
                if let Err(error) = self.register_capability(manifest).await {
                    listing
                        .warnings
                        .push(format!("{} is not registered: {error}", manifest.id));
                }
            }
        }
        if options.export_to_rtfs {
            let directory = options.export_directory.clone();
            let directory = directory.unwrap_or_else(|| PathBuf::from(files::PENDING));
            let (shown, name) = (directory.display().to_string(), server.name.clone());
            let writing = tokio::task::spawn_blocking(move || {
                files::write(&directory, &name, &manifests, Dialect::Document)
            });
            if let Ok(Err(error)) = writing.await {
                let warning = format!("no capability files are written to {shown}: {error}");
                listing.warnings.push(warning);
            }
        }
    }

    /// Calls tools once to see what they answer, as far as that is safe.
    async fn learn_outputs(
        &self,
        server: &Server,
        listing: &Listing,
        manifests: &mut [CapabilityManifest],
    ) {
        let Some(trial) = &self.trial else { return };
        for manifest in manifests.iter_mut().filter(|m| m.output_schema.is_none()) {
            let tool = listing
                .items
                .iter()
                .filter_map(|item| definition::read(&server.name, item).ok())
                .find(|tool| tool.id.tool() == manifest.provider.tool_name);
            if let Some(tool) = tool
                && let Ok(seen) = trial::output(trial.as_ref(), &tool).await
            {
                manifest.output_schema = Some(Output::seen(&seen));
            }
        }
    }
}
