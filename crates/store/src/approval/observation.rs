//! What a server says its tools are, held against what was accepted.

mod many;

pub use many::Acceptances;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use toolcrib_core::limits::DEFINITION_BYTES_MAX;
use toolcrib_core::policy::ApprovalMode;

use super::judgement::{Accepted, Case, ServerStanding, Standing, judge};
use super::{Kind, Mark, State};
use crate::StoreError;
use crate::backend::{Row, Session, args};
use crate::capability;
use crate::store::Store;
use crate::text;
use crate::writer::Unit;

/// Who accepts where nobody is asked: no name that a person could have.
const BY_RULE: &str = "";

/// A tool as its server defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The tool's name.
    pub tool: String,
    /// Canonical hash of the definition.
    pub hash: String,
    /// The definition as text that a person can read and compare.
    pub definition: String,
}

/// A server's list of tools.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The server's name.
    pub server: String,
    /// Its tools, each name once; a repeated name is judged by its first definition.
    pub tools: Vec<Definition>,
    /// What waits for a person.
    pub mode: ApprovalMode,
    /// Whether the first list of this server is accepted without asking: the user configured or
    /// trusted it, rather than finding it in a registry or by introspection.
    pub first_list_accepted: bool,
}

/// What became of one tool of an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The tool's name.
    pub tool: String,
    /// Where it stands.
    pub standing: Standing,
    /// The request that a person can settle, where it waits or was turned down.
    pub request: Option<String>,
}

impl Store {
    /// Compares a server's list with what was accepted, asks where a person must decide, and says
    /// where each tool stands, in the order of the list.
    ///
    /// A list that holds nothing new only reads.
    pub async fn observe(
        &self,
        observation: Observation,
        now_ms: i64,
    ) -> Result<Vec<Observed>, StoreError> {
        let observation = Arc::new(observation);
        let preview = Preview(Arc::clone(&observation));
        let plan = self.inner.readers.snapshot(&preview).await?;
        if plan.steps.is_empty() {
            return Ok(plan.observed);
        }
        let unit = Observe {
            observation,
            now_ms,
        };
        self.inner.writer.submit(unit).await
    }

    /// How many tools of each server wait for a person.
    pub async fn pending_tools(&self) -> Result<HashMap<String, i64>, StoreError> {
        let rows = self
            .query(
                "SELECT server, COUNT(*) FROM approval \
                 WHERE kind = 'tool' AND state = 'pending' GROUP BY server",
                args![],
            )
            .await?;
        rows.iter()
            .map(|row| Ok((row.text(0)?, row.int(1)?)))
            .collect()
    }
}

/// The id of a request about a tool or a server: the same question has the same id everywhere.
pub(super) fn request_id(kind: Kind, server: &str, tool: &str, hash: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [kind.as_str(), server, tool, hash] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let letter = match kind {
        Kind::Tool => 't',
        Kind::Server => 's',
        Kind::Confirmation => 'c',
    };
    format!("{letter}-{}", &hasher.finalize().to_hex()[..12])
}

/// A tool that was accepted.
struct Pinned {
    tool: String,
    hash: String,
    by_person: bool,
}

/// What the store knows about a server.
struct Known {
    server: ServerStanding,
    /// What was accepted, by tool once [`Known::in_order`].
    pins: Vec<Pinned>,
    /// Ids of requests about tools that wait.
    pending: HashSet<String>,
    /// Ids of requests about tools that were turned down.
    turned_down: HashSet<String>,
    server_asked: bool,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            server: ServerStanding::Unvetted,
            pins: Vec::new(),
            pending: HashSet::new(),
            turned_down: HashSet::new(),
            server_asked: false,
        }
    }
}

impl Known {
    fn is_vetted(&mut self) {
        self.server = ServerStanding::Vetted;
    }

    /// Takes in that a tool was accepted, and by whom.
    fn accepts(&mut self, tool: String, hash: String, by: &str) {
        self.pins.push(Pinned {
            tool,
            hash,
            by_person: by != BY_RULE,
        });
    }

    /// The same once everything that was accepted is taken in.
    fn in_order(mut self) -> Self {
        // They come in this order as a rule, which costs next to nothing then.
        self.pins.sort_unstable_by(|a, b| a.tool.cmp(&b.tool));
        self
    }

    fn pin(&self, tool: &str) -> Option<&Pinned> {
        let found = self
            .pins
            .binary_search_by(|pin| pin.tool.as_str().cmp(tool));
        self.pins.get(found.ok()?)
    }

    /// Takes in a request: a row of id, kind and state. Whether the server is vetted must be known.
    fn asks(&mut self, row: &Row) -> Result<(), StoreError> {
        let id = row.text(0)?;
        let pending = row.text(2)? == State::Pending.as_str();
        match (row.text(1)? == Kind::Server.as_str(), pending) {
            (true, true) => self.server_asked = true,
            (true, false) if self.server != ServerStanding::Vetted => {
                self.server = ServerStanding::Rejected;
            }
            (true, false) => {}
            (false, true) => drop(self.pending.insert(id)),
            (false, false) => drop(self.turned_down.insert(id)),
        }
        Ok(())
    }
}

async fn load(session: &mut dyn Session, server: &str) -> Result<Known, StoreError> {
    let mut known = Known::default();
    let vetted = session
        .query(
            "SELECT accepted_ms FROM vetted_server WHERE server = $1",
            args![server],
        )
        .await?;
    if !vetted.is_empty() {
        known.is_vetted();
    }
    let pins = session
        .query(
            "SELECT tool, hash, accepted_by FROM pin WHERE server = $1",
            args![server],
        )
        .await?;
    for row in pins {
        let [tool, hash, by] = row.into_texts()?;
        known.accepts(tool, hash, &by);
    }
    let requests = session
        .query(
            "SELECT id, kind, state FROM approval WHERE server = $1 \
             AND kind <> 'confirmation' AND state IN ('pending', 'rejected')",
            args![server],
        )
        .await?;
    for row in requests {
        known.asks(&row)?;
    }
    Ok(known.in_order())
}

/// One change that an observation makes. Numbers are places in its list.
#[derive(Debug)]
enum Step {
    Vet,
    AskServer,
    Accept(usize),
    Ask(usize),
    Expire(String),
}

struct Plan {
    observed: Vec<Observed>,
    steps: Vec<Step>,
}

fn plan(observation: &Observation, known: &Known) -> Plan {
    let mut plan = Plan {
        observed: Vec::with_capacity(observation.tools.len()),
        steps: Vec::new(),
    };
    if known.server == ServerStanding::Unvetted {
        // An empty list is no first list: the server may only not be ready yet.
        if observation.first_list_accepted && !observation.tools.is_empty() {
            plan.steps.push(Step::Vet);
        } else if !observation.first_list_accepted && !known.server_asked {
            plan.steps.push(Step::AskServer);
        }
    }
    let mut first = HashMap::new();
    let mut asked = HashSet::new();
    for (place, tool) in observation.tools.iter().enumerate() {
        let id = || request_id(Kind::Tool, &observation.server, &tool.tool, &tool.hash);
        let original = *first.entry(tool.tool.as_str()).or_insert(place);
        let standing = if original == place {
            judge(case(observation, known, tool, id))
        } else if observation.tools[original].hash == tool.hash {
            plan.observed[original].standing
        } else {
            Standing::Rejected
        };
        if original == place {
            match standing {
                Standing::AcceptedNew | Standing::AcceptedChanged => {
                    plan.steps.push(Step::Accept(place));
                }
                Standing::PendingNew | Standing::PendingChanged => {
                    let id = id();
                    if !known.pending.contains(&id) {
                        plan.steps.push(Step::Ask(place));
                    }
                    asked.insert(id);
                }
                Standing::Unchanged | Standing::Rejected => {}
            }
        }
        plan.observed.push(Observed {
            tool: tool.tool.clone(),
            standing,
            request: (original == place && !standing.is_usable()).then(id),
        });
    }
    // Questions about definitions that are no longer there need no answer.
    let answered = known.pending.difference(&asked);
    plan.steps.extend(answered.cloned().map(Step::Expire));
    plan
}

/// What a tool is judged by. Its request has an id that is only made where some were turned down.
fn case(
    observation: &Observation,
    known: &Known,
    tool: &Definition,
    id: impl Fn() -> String,
) -> Case {
    let accepted = match known.pin(&tool.tool) {
        None => Accepted::Nothing,
        Some(pin) if pin.hash == tool.hash => Accepted::Same {
            by_person: pin.by_person,
        },
        Some(_) => Accepted::Other,
    };
    Case {
        mode: observation.mode,
        first_list_accepted: observation.first_list_accepted,
        server: known.server,
        accepted,
        turned_down: !known.turned_down.is_empty() && known.turned_down.contains(&id()),
    }
}

pub(super) struct Observe {
    pub(super) observation: Arc<Observation>,
    pub(super) now_ms: i64,
}

impl Unit for Observe {
    type Output = Vec<Observed>;

    async fn run(&self, session: &mut dyn Session) -> Result<Vec<Observed>, StoreError> {
        let known = load(session, &self.observation.server).await?;
        self.apply(session, &known).await
    }
}

impl Observe {
    /// Makes the changes that follow from what is known.
    async fn apply(
        &self,
        session: &mut dyn Session,
        known: &Known,
    ) -> Result<Vec<Observed>, StoreError> {
        let plan = plan(&self.observation, known);
        for step in &plan.steps {
            self.perform(session, step).await?;
        }
        Ok(plan.observed)
    }

    async fn perform(&self, session: &mut dyn Session, step: &Step) -> Result<(), StoreError> {
        let server = &self.observation.server;
        match step {
            Step::Vet => vet(session, server, BY_RULE, self.now_ms).await,
            Step::AskServer => {
                let detail = format!("{} tools", self.observation.tools.len());
                self.ask(session, Kind::Server, "", "", &detail).await
            }
            Step::Accept(place) => {
                let tool = &self.observation.tools[*place];
                let pin = Pin {
                    server,
                    tool: &tool.tool,
                    hash: &tool.hash,
                    definition: &tool.definition,
                    by: BY_RULE,
                    now_ms: self.now_ms,
                };
                pin.write(session).await
            }
            Step::Ask(place) => {
                let tool = &self.observation.tools[*place];
                self.ask(
                    session,
                    Kind::Tool,
                    &tool.tool,
                    &tool.hash,
                    &tool.definition,
                )
                .await
            }
            Step::Expire(id) => session
                .execute(
                    "UPDATE approval SET state = 'expired', settled_ms = $2 WHERE id = $1",
                    args![id, self.now_ms],
                )
                .await
                .map(drop),
        }
    }

    async fn ask(
        &self,
        session: &mut dyn Session,
        kind: Kind,
        tool: &str,
        hash: &str,
        detail: &str,
    ) -> Result<(), StoreError> {
        let server = &self.observation.server;
        let request = request_id(kind, server, tool, hash);
        Mark::reopen(session, &request).await?;
        session
            .execute(
                "INSERT INTO approval (id, kind, server, tool, hash, detail, state, created_ms) \
                 VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7) \
                 ON CONFLICT (id) DO UPDATE SET state = 'pending', created_ms = excluded.created_ms, \
                 expires_ms = NULL, settled_ms = NULL, settled_by = NULL",
                args![
                    request,
                    kind.as_str(),
                    server,
                    tool,
                    hash,
                    text::bounded(detail, DEFINITION_BYTES_MAX),
                    self.now_ms
                ],
            )
            .await
            .map(drop)
    }
}

/// What an observation would change, without changing it.
struct Preview(Arc<Observation>);

impl Unit for Preview {
    type Output = Plan;

    async fn run(&self, session: &mut dyn Session) -> Result<Plan, StoreError> {
        let known = load(session, &self.0.server).await?;
        Ok(plan(&self.0, &known))
    }
}

/// A definition that is accepted.
pub(super) struct Pin<'a> {
    pub(super) server: &'a str,
    pub(super) tool: &'a str,
    pub(super) hash: &'a str,
    pub(super) definition: &'a str,
    pub(super) by: &'a str,
    pub(super) now_ms: i64,
}

impl Pin<'_> {
    pub(super) async fn write(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        session
            .execute(
                "INSERT INTO pin (server, tool, hash, definition, accepted_by, accepted_ms) \
                 VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT (server, tool) DO UPDATE SET hash = excluded.hash, \
                 definition = excluded.definition, accepted_by = excluded.accepted_by, \
                 accepted_ms = excluded.accepted_ms",
                args![
                    self.server,
                    self.tool,
                    self.hash,
                    text::bounded(self.definition, DEFINITION_BYTES_MAX),
                    self.by,
                    self.now_ms
                ],
            )
            .await?;
        capability::approve(session, self.server, self.tool, self.hash, self.now_ms).await
    }
}

/// Notes that a server's list is accepted.
pub(super) async fn vet(
    session: &mut dyn Session,
    server: &str,
    by: &str,
    now_ms: i64,
) -> Result<(), StoreError> {
    session
        .execute(
            "INSERT INTO vetted_server (server, accepted_by, accepted_ms) VALUES ($1, $2, $3) \
             ON CONFLICT (server) DO NOTHING",
            args![server, by, now_ms],
        )
        .await
        .map(drop)
}
