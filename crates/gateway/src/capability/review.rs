//! From an unknown server to approved capabilities: introspection, the question to a person, and what
//! their answer brings about.
//!
//! The store decides. One transaction settles requests, accepts definitions and registers capabilities;
//! what follows on disk (the server's entry, the files of its capabilities) is carried out after it, and
//! is finished by whoever comes next if a process ends in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_config::registered;
use toolcrib_core::canon::definition_hash;
use toolcrib_core::limits::INTROSPECTION_WAIT_MS;
use toolcrib_core::policy::Rulebook;
use toolcrib_core::rtfs::Dialect;
use toolcrib_core::{CapabilityManifest, Tool, ToolId};
use toolcrib_store::approval::introduction::{Introduced, Introduction};
use toolcrib_store::approval::observation::{Definition, Observation};
use toolcrib_store::approval::{Kind, Request, Shown, State, Target, Verdict};
use toolcrib_store::{Store, StoreError};

use super::assessment::Assessment;
use super::files::{self, Disk};
use super::market::Shelf;
use super::promotion::{self, Promoted, PromotionError};
use crate::engine::clock::Clock;
use crate::engine::definition;
use crate::engine::discovery::{DiscoveryError, DiscoveryOptions, DiscoveryService, Listing};

/// Where servers are reviewed: the store, the files, and the configuration that holds.
#[derive(Clone)]
pub struct Desk {
    /// What is remembered.
    pub store: Store,
    /// What the time is.
    pub clock: Clock,
    /// The configuration in place.
    pub config: Arc<Config>,
    /// Where files are written.
    pub disk: Arc<dyn Disk>,
}

/// A server to be introspected.
#[derive(Clone, Debug)]
pub struct Subject {
    /// How it is reached; its name is the one it will have.
    pub server: Server,
    /// Where its capability files go for review.
    pub directory: PathBuf,
    /// How they are written.
    pub dialect: Dialect,
}

/// What a person is shown of an introspected server, and what its promotion needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dossier {
    /// Where it is, secrets left out.
    pub server_url: String,
    /// Its entry, as a configuration has it.
    pub definition: String,
    /// The directory of the files to review.
    pub pending: PathBuf,
    /// Whether they are written as the CCOS reader takes them.
    pub ccos: bool,
    /// What its tools can do.
    pub assessment: Assessment,
}

impl Dossier {
    /// What was said about a server when it was introspected; `None` where it never was.
    pub fn of(request: &Request) -> Option<Self> {
        let is_server = request.kind == Kind::Server;
        is_server.then(|| serde_json::from_str(&request.detail).ok())?
    }

    /// How its files are written.
    pub fn dialect(&self) -> Dialect {
        if self.ccos {
            Dialect::Ccos
        } else {
            Dialect::Document
        }
    }

    /// The directory of approved files, beside the one of pending files.
    pub fn approved(&self) -> PathBuf {
        beside(&self.pending, "approved")
    }

    /// The directory of files that were approved once.
    pub fn archive(&self) -> PathBuf {
        beside(&self.pending, "archive")
    }
}

/// A directory beside another one.
pub(super) fn beside(directory: &Path, name: &str) -> PathBuf {
    directory.parent().unwrap_or(Path::new("")).join(name)
}

/// What came of an introspection.
#[derive(Clone, Debug)]
pub struct Review {
    /// The requests that wait.
    pub introduced: Introduced,
    /// What is said about the server.
    pub dossier: Dossier,
    /// The files to review.
    pub files: Vec<PathBuf>,
    /// When the question expires.
    pub expires_ms: i64,
    /// What was wrong with tools that were left out.
    pub warnings: Vec<String>,
}

/// What a person looked at, and may settle.
#[derive(Clone, Debug)]
pub struct Looked {
    target: Target,
    shown: Vec<Shown>,
}

impl Looked {
    /// The requests as they were when they were looked at.
    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }
}

/// What came of a verdict.
#[derive(Debug)]
pub struct Settled {
    /// The requests as they are now; empty where nothing waited.
    pub requests: Vec<Request>,
    /// What was promoted for it, by server.
    pub promoted: Vec<(String, Promoted)>,
}

/// A sentence about a server whose name is not in it.
fn of_server(said: &str) -> String {
    if let Some(rest) = said.strip_prefix("it ") {
        return format!("the server {rest}");
    }
    said.strip_prefix("its ").map_or_else(
        || format!("the server: {said}"),
        |rest| format!("the server's {rest}"),
    )
}

/// Why a review cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The server gives no tools.
    #[error("{}", of_server(&.0.to_string()))]
    Discovery(#[from] DiscoveryError),
    /// What is remembered cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Files cannot be written.
    #[error("the files in {path} cannot be written: {source}; check its permissions")]
    Files {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The entry holds a secret in plain letters.
    #[error(
        "{0} holds a secret in plain letters; put it into an environment variable and write ${{VARIABLE}}"
    )]
    PlainSecret(String),
    /// Overrides of policy cannot be used.
    #[error("`policy.overrides` cannot be used; correct them first")]
    Policy,
    /// What was approved cannot be carried out.
    #[error(transparent)]
    Promotion(#[from] PromotionError),
    /// Nobody approved it.
    #[error(
        "{server} waits for a person; `toolcrib approvals show {server}` shows it, `toolcrib approve {server}` approves"
    )]
    Waits {
        /// The server.
        server: String,
        /// The request, where one waits.
        request: Option<String>,
    },
    /// A person turned it down, or the question ran out.
    #[error("{server} was {state}; introspect it again to ask once more")]
    Refused {
        /// The server.
        server: String,
        /// What became of the request.
        state: &'static str,
    },
    /// It was never introspected.
    #[error("{0} was never introspected; `toolcrib introspect` does that")]
    Unknown(String),
}

impl Desk {
    /// A desk on the disk of this machine.
    pub fn new(store: Store, clock: Clock, config: Arc<Config>) -> Self {
        Self {
            store,
            clock,
            config,
            disk: Arc::new(files::LocalDisk),
        }
    }

    /// Asks a server what it offers, writes that down for review, and puts the question to a person.
    /// Nothing of it can be run before they said yes.
    pub async fn introspect(
        &self,
        service: &DiscoveryService,
        subject: &Subject,
        known: &[ToolId],
    ) -> Result<Review, ReviewError> {
        let server = &subject.server;
        let plain = toolcrib_config::export::own::plain_secrets(std::slice::from_ref(server));
        if let Some(place) = plain.into_iter().next() {
            return Err(ReviewError::PlainSecret(place));
        }
        let rulebook = Rulebook::compile(&self.config.settings.policy);
        let rulebook = rulebook.map_err(|_| ReviewError::Policy)?;
        let inference = Arc::new(self.config.settings.capabilities.inference());
        let service = service.clone().with_inference(inference);
        let mut listing = service
            .discover_tools(server, &DiscoveryOptions::default())
            .await?;
        let market = Shelf::new(self.store.clone(), self.clock.clone());
        let mut manifests = service.manifests(&listing, server);
        market.recall(&mut manifests).await?;
        let tools = read(server, &mut listing);
        let plain: Vec<Tool> = tools.iter().map(|(tool, _)| tool.clone()).collect();
        let dossier = Dossier {
            server_url: super::server_url(server),
            definition: registered::definition(server),
            pending: subject.directory.clone(),
            ccos: subject.dialect == Dialect::Ccos,
            assessment: Assessment::of(&server.name, &plain, &rulebook, known),
        };
        let files = self.lay_out(subject, &manifests)?;
        for manifest in &manifests {
            market.keep(manifest).await?;
        }
        let observation = Observation {
            server: server.name.clone(),
            tools: tools
                .into_iter()
                .map(|(_, definition)| definition)
                .collect(),
            mode: self.config.settings.policy.approval,
            first_list_accepted: false,
        };
        let now_ms = self.clock.now_ms();
        let expires_ms = now_ms.saturating_add(INTROSPECTION_WAIT_MS);
        let introduction = Introduction {
            // Plain data is always writable.
            detail: serde_json::to_string(&dossier).unwrap_or_default(),
            expires_ms,
        };
        let introduced = self
            .store
            .introduce(observation, introduction, now_ms)
            .await?;
        Ok(Review {
            introduced,
            dossier,
            files,
            expires_ms,
            warnings: listing.warnings,
        })
    }

    /// Writes the files to review; those of an earlier introspection that are not written now go.
    fn lay_out(
        &self,
        subject: &Subject,
        manifests: &[CapabilityManifest],
    ) -> Result<Vec<PathBuf>, ReviewError> {
        let failed = |source| ReviewError::Files {
            path: subject.directory.clone(),
            source,
        };
        let server = &subject.server.name;
        let written = files::write(&subject.directory, server, manifests, subject.dialect);
        let written = written.map_err(failed)?;
        let (there, _) = files::read(&subject.directory, server).map_err(failed)?;
        for old in there.iter().filter(|found| !written.contains(&found.path)) {
            self.disk.remove(&old.path).map_err(failed)?;
        }
        Ok(written)
    }

    /// What a target means now, to be shown and then settled as it was shown.
    pub async fn look(&self, target: &Target) -> Result<Looked, ReviewError> {
        let now_ms = self.clock.now_ms();
        let target = self.whole(target, now_ms).await?;
        let shown = self.store.show_approvals(&target, now_ms).await?;
        Ok(Looked { target, shown })
    }

    /// Settles what was looked at. What is approved of an introspected server is promoted: its entry
    /// is written, its files move, its tools can be run.
    pub async fn settle(
        &self,
        looked: &Looked,
        verdict: Verdict,
        by: &str,
    ) -> Result<Settled, ReviewError> {
        let now_ms = self.clock.now_ms();
        let Looked { target, shown } = looked;
        let requests = self
            .store
            .settle_shown(target, shown, verdict, by, now_ms)
            .await?;
        let promoted = match verdict {
            Verdict::Approve if !requests.is_empty() => self.finish().await?,
            _ => Vec::new(),
        };
        Ok(Settled { requests, promoted })
    }

    /// A request about a server means the server with all its tools that wait.
    async fn whole(&self, target: &Target, now_ms: i64) -> Result<Target, StoreError> {
        if let Target::Id(_) = target {
            let shown = self.store.show_approvals(target, now_ms).await?;
            if let Some(one) = shown.iter().find(|one| one.request.kind == Kind::Server) {
                return Ok(Target::Server(one.request.server.clone()));
            }
        }
        Ok(target.clone())
    }

    /// Carries out every approval that is not carried out yet, also one that another process left
    /// half done. Says what was promoted.
    pub async fn finish(&self) -> Result<Vec<(String, Promoted)>, ReviewError> {
        let mut promoted = Vec::new();
        for server in self.store.unfinished_approvals().await? {
            match self.promote(&server).await {
                Ok(done) => promoted.push((server, done)),
                // What was never introspected has neither an entry of ours nor files.
                Err(ReviewError::Unknown(_) | ReviewError::Waits { .. }) => {
                    let now_ms = self.clock.now_ms();
                    self.store.finish_approvals(&server, now_ms).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(promoted)
    }

    /// Registers an introspected server that a person approved: what they approved is promoted. One
    /// that waits, was turned down or was never introspected is refused.
    pub async fn register_server(&self, server: &str) -> Result<Promoted, ReviewError> {
        let asked = self.store.introduction(server, self.clock.now_ms()).await?;
        let asked = asked.ok_or_else(|| ReviewError::Unknown(server.to_owned()))?;
        match asked.state {
            State::Approved => self.promote(server).await,
            State::Pending => Err(ReviewError::Waits {
                server: server.to_owned(),
                request: Some(asked.id),
            }),
            State::Rejected | State::Expired => Err(ReviewError::Refused {
                server: server.to_owned(),
                state: asked.state.as_str(),
            }),
        }
    }

    async fn promote(&self, server: &str) -> Result<Promoted, ReviewError> {
        let now_ms = self.clock.now_ms();
        let asked = self.store.introduction(server, now_ms).await?;
        let asked = asked.ok_or_else(|| ReviewError::Unknown(server.to_owned()))?;
        if asked.state != State::Approved {
            return Err(ReviewError::Waits {
                server: server.to_owned(),
                request: Some(asked.id),
            });
        }
        let dossier = Dossier::of(&asked).ok_or_else(|| ReviewError::Unknown(server.to_owned()))?;
        let manifests = self.accepted(server, &dossier).await?;
        let entry = registered::path(&self.config.places);
        let (disk, name) = (Arc::clone(&self.disk), server.to_owned());
        let promoting = tokio::task::spawn_blocking(move || {
            promotion::carry_out(&*disk, &name, &dossier, &manifests, &entry)
        });
        let promoted = match promoting.await {
            Ok(outcome) => outcome?,
            Err(_) => return Err(PromotionError::Ended.into()),
        };
        self.store.finish_approvals(server, now_ms).await?;
        Ok(promoted)
    }

    /// The manifests of what is accepted of a server: those that are known with their learnt outputs,
    /// else made from the accepted definitions.
    async fn accepted(
        &self,
        server: &str,
        dossier: &Dossier,
    ) -> Result<Vec<CapabilityManifest>, ReviewError> {
        accepted(
            &self.store,
            &self.clock,
            &self.config,
            server,
            &dossier.server_url,
        )
        .await
        .map_err(ReviewError::from)
    }
}

/// The tools of a list, each with its definition as approval looks at it. What cannot be used is a
/// warning; a name that comes twice counts once.
fn read(server: &Server, listing: &mut Listing) -> Vec<(Tool, Definition)> {
    let mut tools: Vec<(Tool, Definition)> = Vec::new();
    for item in listing.items.iter() {
        match definition::read(&server.name, item) {
            Ok(tool) if tools.iter().any(|(known, _)| known.id == tool.id) => {}
            Ok(tool) => {
                let definition = Definition {
                    tool: tool.id.tool().to_owned(),
                    hash: definition_hash(&tool).to_string(),
                    definition: item.get().to_owned(),
                };
                tools.push((tool, definition));
            }
            Err(malformed) => listing.warnings.push(malformed.to_string()),
        }
    }
    tools
}

/// The manifests of what is accepted of a server that is at `server_url`.
pub(super) async fn accepted(
    store: &Store,
    clock: &Clock,
    config: &Config,
    server: &str,
    server_url: &str,
) -> Result<Vec<CapabilityManifest>, StoreError> {
    let shelf = Shelf::new(store.clone(), clock.clone());
    let filter = toolcrib_store::capability::Filter {
        server: Some(server.to_owned()),
        ..Default::default()
    };
    let known = shelf.find(&filter).await?;
    let inference = config.settings.capabilities.inference();
    let mut manifests = Vec::new();
    for accepted in store.accepted_definitions(server).await? {
        let same = |manifest: &CapabilityManifest| {
            manifest.provider.tool_name == accepted.tool
                && manifest.definition.to_string() == accepted.hash
        };
        if let Some((manifest, _)) = known.iter().find(|(manifest, _)| same(manifest)) {
            manifests.push(manifest.clone());
            continue;
        }
        let raw = serde_json::value::RawValue::from_string(accepted.definition);
        let tool = raw.ok().and_then(|raw| definition::read(server, &raw).ok());
        // A definition that was too long to keep whole cannot be made into a file.
        let Some(tool) = tool else { continue };
        let manifest = CapabilityManifest::new(&tool, server_url)
            .with_inferred_domains_and_categories(server, &inference);
        shelf.keep(&manifest).await?;
        manifests.push(manifest);
    }
    Ok(manifests)
}

#[cfg(test)]
mod tests;
