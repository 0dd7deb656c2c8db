//! What waits for a person: new or changed tools, servers, and confirmations of single calls.
//!
//! All three are requests of one kind with one life: pending, then approved, rejected or expired. A
//! rejected tool or server may be approved later; nothing else is ever settled twice.

pub mod confirmation;
pub mod introduction;
pub mod judgement;
pub mod observation;

use std::collections::HashSet;

use toolcrib_core::limits::APPROVALS_LISTED_MAX;

use crate::StoreError;
use crate::backend::{Row, Session, args};
use crate::capability;
use crate::store::Store;
use crate::word::words;
use crate::writer::Unit;

words! {
    /// What a request is about.
    Kind {
        /// A tool whose definition is new or changed.
        Tool = "tool",
        /// A server that the user did not configure.
        Server = "server",
        /// One call with certain arguments.
        Confirmation = "confirmation",
    }
}

words! {
    /// Where a request stands.
    State {
        /// Nobody has decided yet.
        Pending = "pending",
        /// A person said yes.
        Approved = "approved",
        /// A person said no.
        Rejected = "rejected",
        /// Its time ran out, or what it was about is no longer there.
        Expired = "expired",
    }
}

/// Something that a person is asked, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Names the request; short enough to type.
    pub id: String,
    /// What it is about.
    pub kind: Kind,
    /// The server concerned.
    pub server: String,
    /// The tool concerned; empty for a server.
    pub tool: String,
    /// Hash of the definition, or of the arguments of a confirmation; empty for a server.
    pub hash: String,
    /// The definition as text, or the masked arguments of a confirmation.
    pub detail: String,
    /// Who wants to make the call that a confirmation is for.
    pub caller: Option<String>,
    /// Where it stands.
    pub state: State,
    /// Since when.
    pub created_ms: i64,
    /// Until when it can be settled and used, where that is bounded.
    pub expires_ms: Option<i64>,
    /// When it was settled.
    pub settled_ms: Option<i64>,
    /// Who settled it.
    pub settled_by: Option<String>,
    /// When a confirmation was used, or when everything was done that an approval brings about.
    pub used_ms: Option<i64>,
}

/// Which requests a person means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One request.
    Id(String),
    /// A server and everything of it that waits.
    Server(String),
    /// What waits of one tool.
    Tool {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
    },
}

/// What a person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Approve,
    /// No.
    Reject,
}

impl Verdict {
    const fn state(self) -> State {
        match self {
            Self::Approve => State::Approved,
            Self::Reject => State::Rejected,
        }
    }
}

/// A request with what was accepted before it, for a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The request.
    pub request: Request,
    /// The definition that is accepted now, where there is one.
    pub accepted: Option<String>,
}

/// A state of what was settled; only good for comparing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark(i64);

impl Mark {
    const SQL: &str = "SELECT number FROM approval_mark WHERE id = 1";

    fn read(rows: &[Row]) -> Result<Self, StoreError> {
        rows.first()
            .map_or(Ok(Self::default()), |row| row.int(0).map(Self))
    }

    /// The mark as a transaction sees it.
    pub(crate) async fn of(session: &mut dyn Session) -> Result<Self, StoreError> {
        Self::read(&session.query(Self::SQL, args![]).await?)
    }

    /// Tells everybody to judge again.
    async fn advance(session: &mut dyn Session) -> Result<(), StoreError> {
        session
            .execute(
                "UPDATE approval_mark SET number = number + 1 WHERE id = 1",
                args![],
            )
            .await
            .map(drop)
    }

    /// Tells everybody to judge again where a request that was settled is about to be asked once more.
    async fn reopen(session: &mut dyn Session, request: &str) -> Result<(), StoreError> {
        session
            .execute(
                "UPDATE approval_mark SET number = number + 1 WHERE id = 1 AND EXISTS \
                 (SELECT 1 FROM approval WHERE id = $1 AND settled_by IS NOT NULL)",
                args![request],
            )
            .await
            .map(drop)
    }
}

impl Store {
    /// The newest requests in a state, or in any, oldest of them first.
    pub async fn approvals(
        &self,
        state: Option<State>,
        now_ms: i64,
    ) -> Result<Vec<Request>, StoreError> {
        let rows = self
            .query(
                concat!(
                    "SELECT ",
                    request_columns!(),
                    " FROM approval WHERE state = $1 OR state = $2 OR $1 IS NULL \
                     ORDER BY created_ms DESC LIMIT $3"
                ),
                args![
                    state.map(State::as_str),
                    // What ran out may still be written down as pending.
                    (state == Some(State::Expired)).then_some(State::Pending.as_str()),
                    APPROVALS_LISTED_MAX
                ],
            )
            .await?;
        let mut requests = Vec::new();
        for row in rows.iter().rev() {
            let request = read(row, now_ms)?;
            if state.is_none_or(|wanted| request.state == wanted) {
                requests.push(request);
            }
        }
        Ok(requests)
    }

    /// Changes whenever someone settles a tool or a server, in whatever process: what was observed
    /// must then be observed again.
    pub async fn approval_mark(&self) -> Result<Mark, StoreError> {
        Mark::read(&self.query(Mark::SQL, args![]).await?)
    }

    /// The requests that a target means, each with what was accepted before.
    pub async fn show_approvals(
        &self,
        target: &Target,
        now_ms: i64,
    ) -> Result<Vec<Shown>, StoreError> {
        let unit = Show {
            target: target.clone(),
            now_ms,
        };
        self.inner.readers.snapshot(&unit).await
    }

    /// Settles what a target means and gives the requests as they then are; one whose time had run
    /// out comes back expired. Empty when nothing waits.
    ///
    /// An approved tool is pinned to the definition that the request shows, an approved server is
    /// accepted with all its tools that wait.
    pub async fn settle_approvals(
        &self,
        target: &Target,
        verdict: Verdict,
        by: &str,
        now_ms: i64,
    ) -> Result<Vec<Request>, StoreError> {
        let unit = Settle::new(target, verdict, by, now_ms);
        self.inner.writer.submit(unit).await
    }

    /// As [`Self::settle_approvals`], but only of the requests that were shown before, as they were shown:
    /// what a server changed or added meanwhile keeps waiting.
    pub async fn settle_shown(
        &self,
        target: &Target,
        shown: &[Shown],
        verdict: Verdict,
        by: &str,
        now_ms: i64,
    ) -> Result<Vec<Request>, StoreError> {
        let seen = shown.iter().map(|one| one.request.seen()).collect();
        let unit = Settle {
            seen: Some(seen),
            ..Settle::new(target, verdict, by, now_ms)
        };
        self.inner.writer.submit(unit).await
    }
}

impl Request {
    /// What tells a request from another one, and from itself after it was asked anew: the id of a tool's
    /// request holds what it defines, that of a server does not.
    fn seen(&self) -> (String, i64) {
        (self.id.clone(), self.created_ms)
    }
}

/// The columns that [`read`] expects, in its order.
macro_rules! request_columns {
    () => {
        "id, kind, server, tool, hash, detail, caller, state, created_ms, expires_ms, settled_ms, \
         settled_by, used_ms"
    };
}
pub(crate) use request_columns;

/// A request as it stands at a time.
fn read(row: &Row, now_ms: i64) -> Result<Request, StoreError> {
    let unknown_word = || StoreError::failed("a request for approval holds an unknown word");
    let expires_ms = row.int_opt(9)?;
    let stored = State::parse(&row.text(7)?).ok_or_else(unknown_word)?;
    let overdue = expires_ms.is_some_and(|expires| expires <= now_ms);
    let state = match stored {
        State::Pending if overdue => State::Expired,
        state => state,
    };
    Ok(Request {
        id: row.text(0)?,
        kind: Kind::parse(&row.text(1)?).ok_or_else(unknown_word)?,
        server: row.text(2)?,
        tool: row.text(3)?,
        hash: row.text(4)?,
        detail: row.text(5)?,
        caller: row.text_opt(6)?,
        state,
        created_ms: row.int(8)?,
        expires_ms,
        settled_ms: row.int_opt(10)?,
        settled_by: row.text_opt(11)?,
        used_ms: row.int_opt(12)?,
    })
}

/// The requests that a target may mean, newest first.
async fn find(
    session: &mut dyn Session,
    target: &Target,
    now_ms: i64,
) -> Result<Vec<Request>, StoreError> {
    let rows = match target {
        Target::Id(id) => {
            let sql = concat!(
                "SELECT ",
                request_columns!(),
                " FROM approval WHERE id = $1"
            );
            session.query(sql, args![id]).await?
        }
        Target::Server(server) => {
            let sql = concat!(
                "SELECT ",
                request_columns!(),
                " FROM approval WHERE server = $1 AND kind <> 'confirmation' \
                 ORDER BY created_ms DESC LIMIT $2"
            );
            session
                .query(sql, args![server, APPROVALS_LISTED_MAX])
                .await?
        }
        Target::Tool { server, tool } => {
            let sql = concat!(
                "SELECT ",
                request_columns!(),
                " FROM approval WHERE server = $1 AND tool = $2 AND kind = 'tool' \
                 ORDER BY created_ms DESC LIMIT $3"
            );
            session
                .query(sql, args![server, tool, APPROVALS_LISTED_MAX])
                .await?
        }
    };
    rows.iter().map(|row| read(row, now_ms)).collect()
}

/// Narrows what a target may mean to what a verdict changes.
fn concerned(found: Vec<Request>, target: &Target, verdict: Verdict) -> Vec<Request> {
    let reopens = |request: &Request| {
        verdict == Verdict::Approve
            && request.state == State::Rejected
            && request.kind != Kind::Confirmation
    };
    let server_waits = found
        .iter()
        .any(|r| r.kind == Kind::Server && matches!(r.state, State::Pending));
    let any_pending = found.iter().any(|r| r.state == State::Pending);
    // The tools that were put aside when their server was rejected come back with it.
    let rejected_ms = found
        .iter()
        .find(|r| r.kind == Kind::Server && reopens(r))
        .and_then(|server| server.settled_ms);
    let mut reopened = false;
    found
        .into_iter()
        .filter(|request| match (target, request.state) {
            // A server that is rejected takes its tools along.
            (Target::Server(_), State::Pending) => {
                verdict == Verdict::Approve || !server_waits || request.kind == Kind::Server
            }
            (_, State::Pending) => true,
            // Whoever settles a confirmation waits for it, so that having run out is an answer.
            (Target::Id(_), State::Expired) => request.kind == Kind::Confirmation,
            (Target::Id(_), State::Rejected) => reopens(request),
            (Target::Server(_), State::Rejected) => {
                request.kind == Kind::Server && reopens(request)
            }
            (Target::Server(_), State::Expired) => {
                let put_aside = request.kind == Kind::Tool && request.settled_by.is_some();
                put_aside && rejected_ms.is_some() && request.settled_ms == rejected_ms
            }
            (Target::Tool { .. }, State::Rejected) => {
                let newest = !any_pending && !reopened && reopens(request);
                reopened |= newest;
                newest
            }
            _ => false,
        })
        .collect()
}

struct Show {
    target: Target,
    now_ms: i64,
}

impl Unit for Show {
    type Output = Vec<Shown>;

    async fn run(&self, session: &mut dyn Session) -> Result<Vec<Shown>, StoreError> {
        let mut shown = Vec::new();
        for request in find(session, &self.target, self.now_ms).await? {
            let pins = session
                .query(
                    "SELECT definition FROM pin WHERE server = $1 AND tool = $2",
                    args![&request.server, &request.tool],
                )
                .await?;
            let accepted = match (request.kind, pins.first()) {
                (Kind::Tool, Some(row)) => Some(row.text(0)?),
                _ => None,
            };
            shown.push(Shown { request, accepted });
        }
        Ok(shown)
    }
}

struct Settle {
    target: Target,
    verdict: Verdict,
    by: String,
    now_ms: i64,
    /// The requests that were shown, where it matters.
    seen: Option<HashSet<(String, i64)>>,
}

impl Settle {
    fn new(target: &Target, verdict: Verdict, by: &str, now_ms: i64) -> Self {
        Self {
            target: target.clone(),
            verdict,
            // An empty name stands for acceptance without a person.
            by: if by.is_empty() { "someone" } else { by }.to_owned(),
            now_ms,
            seen: None,
        }
    }
}

impl Unit for Settle {
    type Output = Vec<Request>;

    async fn run(&self, session: &mut dyn Session) -> Result<Vec<Request>, StoreError> {
        let found = find(session, &self.target, self.now_ms).await?;
        let mut settled = concerned(found, &self.target, self.verdict);
        if let Some(seen) = &self.seen {
            settled.retain(|request| seen.contains(&request.seen()));
        }
        for request in &mut settled {
            if request.state != State::Expired || request.kind != Kind::Confirmation {
                request.state = self.verdict.state();
                request.settled_by = Some(self.by.clone());
            }
            request.settled_ms = Some(self.now_ms);
            self.write(session, request).await?;
        }
        if settled.iter().any(|one| one.kind != Kind::Confirmation) {
            Mark::advance(session).await?;
        }
        Ok(settled)
    }
}

impl Settle {
    /// Takes back the questions about the tools of a server that was rejected.
    async fn put_aside(&self, session: &mut dyn Session, server: &str) -> Result<(), StoreError> {
        session
            .execute(
                "UPDATE approval SET state = 'expired', settled_ms = $2, settled_by = $3 \
                 WHERE server = $1 AND kind = 'tool' AND state = 'pending'",
                args![server, self.now_ms, &self.by],
            )
            .await
            .map(drop)
    }

    async fn write(&self, session: &mut dyn Session, request: &Request) -> Result<(), StoreError> {
        session
            .execute(
                "UPDATE approval SET state = $2, settled_ms = $3, settled_by = $4, \
                 used_ms = CASE WHEN kind = 'confirmation' THEN used_ms ELSE NULL END WHERE id = $1",
                args![
                    &request.id,
                    request.state.as_str(),
                    request.settled_ms,
                    &request.settled_by
                ],
            )
            .await?;
        match (request.state, request.kind) {
            (State::Approved, Kind::Tool) => {
                let pin = observation::Pin {
                    server: &request.server,
                    tool: &request.tool,
                    hash: &request.hash,
                    definition: &request.detail,
                    by: &self.by,
                    now_ms: self.now_ms,
                };
                pin.write(session).await
            }
            (State::Rejected, Kind::Tool) => {
                let (tool, hash) = (&request.tool, &request.hash);
                capability::disapprove(session, &request.server, tool, hash, self.now_ms).await
            }
            (State::Approved, Kind::Server) => {
                observation::vet(session, &request.server, &self.by, self.now_ms).await
            }
            (State::Rejected, Kind::Server) => self.put_aside(session, &request.server).await,
            _ => Ok(()),
        }
    }
}
