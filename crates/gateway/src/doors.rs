//! The doors of a running process: what each serves, to whom, and when it refuses to open.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_config::model::settings::{Mode, Settings};
use toolcrib_store::Store;

use crate::desk::Desk;
use crate::engine::Engine;
use crate::engine::clock::Clock;
use crate::failure::Failure;
use crate::http::api::{Api, Reload};
use crate::http::identity::Identity;
use crate::http::jwt::Tokens;
use crate::http::{self, Door, Mount, Offered, Setup};
use crate::mcp::flat;
use crate::mcp::gate::Gate;
use crate::mcp::{Service, Surface, pipe, stdio};
use crate::telemetry::Tracer;

mod chosen;

use chosen::Chosen;

/// What the doors serve.
pub struct Surfaces {
    /// What the configuration chose: on standard streams, and at `/mcp`.
    pub chosen: Arc<dyn Surface>,
    /// What else is served, each at a path of its own.
    pub explicit: Vec<Explicit>,
    /// What answers wishes for the profile `gateway` and the REST API.
    pub desk: Option<Arc<Desk>>,
}

/// A surface at a path of its own.
pub struct Explicit {
    /// The path, such as `/mcp/gateway`.
    pub path: &'static str,
    /// What is served there.
    pub surface: Arc<dyn Surface>,
    /// Whether it is served now; always where nothing decides.
    pub offered: Option<Offered>,
}

impl Explicit {
    fn always(path: &'static str, surface: &Arc<dyn Surface>) -> Self {
        Self {
            path,
            surface: Arc::clone(surface),
            offered: None,
        }
    }
}

/// The HTTP door, once it is open.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Where it listens.
    pub address: SocketAddr,
    /// What follows the configuration.
    pub door: Arc<Door>,
}

/// The tokens that the settings accept, if any; a sentence where that cannot be. A relative file starts
/// at `base`.
pub fn tokens(settings: &Settings, base: &Path) -> Result<Option<Tokens>, String> {
    let jwt = settings.http.jwt.as_ref();
    jwt.map(|jwt| Tokens::new(jwt, base)).transpose()
}

impl Surfaces {
    /// What an engine's configuration chose, and what stands beside it.
    pub fn of(engine: &Arc<Engine>) -> Result<Self, Failure> {
        let desk = Desk::new(Arc::clone(engine));
        let chosen = Chosen::new(engine, Arc::clone(&desk));
        if engine.config().settings.mode == Mode::Flat {
            flat::sole(&engine.snapshot()).map_err(Failure::configuration)?;
        }
        let behind = Arc::clone(engine);
        let offered: Offered = Arc::new(move || behind.config().settings.mode == Mode::Full);
        let explicit = vec![
            Explicit::always("/mcp/discovery", &chosen.modes.discovery),
            Explicit::always("/mcp/gateway", &chosen.modes.gateway),
            Explicit {
                offered: Some(offered),
                ..Explicit::always("/mcp/full", &chosen.modes.full)
            },
        ];
        let chosen = Arc::new(chosen);
        Ok(Self {
            chosen,
            explicit,
            desk: Some(desk),
        })
    }
}

/// What every door needs.
pub struct Doors {
    /// The time and random bytes.
    pub clock: Clock,
    /// Fires when the process ends.
    pub ending: CancellationToken,
    /// Counts requests over all doors.
    pub gate: Arc<Gate>,
    /// Makes spans of requests.
    pub tracer: Tracer,
    /// Reads the configuration again, where a process is behind the doors.
    pub reload: Option<Reload>,
}

impl Doors {
    fn service(&self, surface: Arc<dyn Surface>) -> Arc<Service> {
        let (gate, key) = (Arc::clone(&self.gate), self.clock.random());
        let tracer = self.tracer.clone();
        Service::new(surface, gate, key, self.ending.clone(), tracer)
    }

    /// Serves the client on standard input and output until it has gone. `caller` says who that is under
    /// the configuration in place.
    pub async fn stdio(&self, surfaces: &Surfaces, caller: stdio::Whoever) -> std::io::Result<()> {
        let service = self.service(Arc::clone(&surfaces.chosen));
        let (input, output) = pipe::standard();
        stdio::serve(service, caller, input, output, self.ending.clone()).await
    }

    /// Opens the HTTP door and serves in `tasks`; says where. A relative file of the settings starts
    /// at `base`.
    pub async fn http(
        &self,
        surfaces: &Surfaces,
        settings: &Settings,
        store: &Store,
        base: &Path,
        tasks: &TaskTracker,
    ) -> Result<Opened, Failure> {
        let tokens = tokens(settings, base).map_err(Failure::configuration)?;
        let listen = &settings.http.listen;
        let bound = http::bind(listen).await.map_err(|error| {
            let help = match error.kind() {
                std::io::ErrorKind::InvalidInput => {
                    "write address and port, such as 127.0.0.1:7332"
                }
                std::io::ErrorKind::AddrInUse => {
                    "`toolcrib status` shows whether it is another Toolcrib: end what listens there, or choose another address with --listen or http.listen"
                }
                _ => "end what listens there, or set http.listen to another address",
            };
            Failure::configuration(format!(
                "the HTTP door cannot listen on {listen}: {error}; {help}"
            ))
        })?;
        let address = bound.address();
        let open = address.ip().is_loopback();
        if !open && tokens.is_none() {
            self.require_keys(store, address).await?;
        }
        let mount = |explicit: &Explicit| Mount {
            path: explicit.path,
            service: self.service(Arc::clone(&explicit.surface)),
            offered: explicit.offered.clone(),
        };
        let mut mounts = vec![mount(&Explicit::always("/mcp", &surfaces.chosen))];
        mounts.extend(surfaces.explicit.iter().map(mount));
        let setup = Setup {
            mounts,
            identity: Identity::new(open, Some(store.clone()), tokens, settings.policy.clone()),
            sessions_max: usize::try_from(settings.limits.sessions).unwrap_or(usize::MAX),
            clock: self.clock.clone(),
            ending: self.ending.clone(),
            tracer: self.tracer.clone(),
            api: self.api(surfaces),
        };
        let (door, router) = Door::open(&settings.http, setup);
        tasks.spawn(bound.run(router, self.ending.clone(), door.work().clone()));
        Ok(Opened { address, door })
    }

    fn api(&self, surfaces: &Surfaces) -> Option<Api> {
        Some(Api {
            desk: Arc::clone(surfaces.desk.as_ref()?),
            gate: Arc::clone(&self.gate),
            reload: self.reload.clone()?,
        })
    }

    /// A door that others can reach needs somebody who can show who they are.
    async fn require_keys(&self, store: &Store, address: SocketAddr) -> Result<(), Failure> {
        let now_ms = self.clock.now_ms();
        let keys = store.keys().await.map_err(Failure::from)?;
        if keys.iter().any(|key| key.is_valid(now_ms)) {
            return Ok(());
        }
        Err(Failure::configuration(format!(
            "{address} can be reached from other machines, and nobody could show who they are; make a key with `toolcrib keys create`, set http.jwt, or set http.listen to 127.0.0.1:{}",
            address.port()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::stand_in::StandIn;
    use toolcrib_config::model::settings::{Http, Jwt};

    async fn opened(listen: &str, jwt: Option<Jwt>, with_key: bool) -> Result<SocketAddr, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let options = toolcrib_store::SqliteOptions::new(dir.path().join("store.db"));
        let store = Store::open_sqlite(options, uuid::Uuid::now_v7())
            .await
            .unwrap();
        let clock = Clock::system();
        if with_key {
            let new = toolcrib_store::key::NewKey {
                name: "k".into(),
                scopes: Vec::new(),
                expires_ms: None,
            };
            store.create_key(new, &clock.random(), 0).await.unwrap();
        }
        let settings = Settings {
            http: Http {
                listen: listen.into(),
                jwt,
                ..Http::default()
            },
            ..Settings::default()
        };
        let surfaces = Surfaces {
            chosen: StandIn::new(),
            explicit: vec![Explicit::always(
                "/mcp/full",
                &(StandIn::new() as Arc<dyn Surface>),
            )],
            desk: None,
        };
        let doors = Doors {
            clock,
            ending: CancellationToken::new(),
            gate: Arc::default(),
            tracer: Tracer::off(),
            reload: None,
        };
        let tasks = TaskTracker::new();
        let outcome = doors
            .http(&surfaces, &settings, &store, dir.path(), &tasks)
            .await;
        doors.ending.cancel();
        tasks.close();
        tasks.wait().await;
        outcome.map(|opened| opened.address)
    }

    fn jwt() -> Jwt {
        Jwt {
            issuer: "i".into(),
            audience: "a".into(),
            jwks: "keys.json".into(),
            scope_claim: "scope".into(),
        }
    }

    #[tokio::test]
    async fn a_door_that_others_can_reach_needs_authentication() {
        assert!(opened("127.0.0.1:0", None, false).await.is_ok());
        let refused = opened("0.0.0.0:0", None, false).await.unwrap_err();
        assert!(
            refused.message.contains("toolcrib keys create"),
            "{}",
            refused.message
        );
        assert!(opened("0.0.0.0:0", None, true).await.is_ok());
        assert!(opened("0.0.0.0:0", Some(jwt()), false).await.is_ok());
    }

    #[tokio::test]
    async fn what_cannot_be_opened_says_what_to_do() {
        let refused = opened("256.0.0.1:0", None, false).await.unwrap_err();
        assert!(
            refused.message.contains("http.listen"),
            "{}",
            refused.message
        );
        let http = Jwt {
            jwks: "http://issuer.example/keys".into(),
            ..jwt()
        };
        assert!(opened("127.0.0.1:0", Some(http), false).await.is_err());
    }
}
