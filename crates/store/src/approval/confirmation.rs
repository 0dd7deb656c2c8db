//! A person's word on one call: bound to tool, arguments and caller, good once, for ten minutes.

use toolcrib_core::limits::{
    CONFIRMATION_KEPT_MS, CONFIRMATIONS_PENDING_MAX, DEFINITION_BYTES_MAX,
};

use super::{Request, State, read, request_columns};
use crate::StoreError;
use crate::backend::{Session, args};
use crate::store::Store;
use crate::text;
use crate::writer::Unit;

/// A call that needs a person's word. The word holds for exactly this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The server's name.
    pub server: String,
    /// The tool's name.
    pub tool: String,
    /// Canonical hash of the arguments.
    pub args_hash: String,
    /// Who wants to make it.
    pub caller: String,
}

/// What a challenge is worth for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// A person approved this call; the challenge is now used up.
    Granted,
    /// Nobody has decided yet.
    Waiting,
    /// A person said no.
    Rejected,
    /// The ten minutes are over.
    Expired,
    /// It was used before.
    Used,
    /// There is no such challenge for this tool, these arguments and this caller.
    Unknown,
}

impl Store {
    /// A challenge for a call that needs confirmation: the one that is open already, or was turned down
    /// and whose time is not over, or else a new one named after `random`. `detail` is what the person sees, with secrets masked.
    pub async fn challenge(
        &self,
        call: &Call,
        detail: &str,
        random: [u8; 8],
        now_ms: i64,
    ) -> Result<Request, StoreError> {
        let unit = Challenge {
            call: bounded(call),
            detail: text::bounded(detail, DEFINITION_BYTES_MAX),
            id: format!("c-{:016x}", u64::from_be_bytes(random)),
            now_ms,
        };
        self.inner.writer.submit(unit).await
    }

    /// Uses a challenge for a call. Only [`Confirmed::Granted`] lets the call through, and only once.
    pub async fn use_challenge(
        &self,
        id: &str,
        call: &Call,
        now_ms: i64,
    ) -> Result<Confirmed, StoreError> {
        let unit = Use {
            id: text::name(id),
            call: bounded(call),
            now_ms,
        };
        self.inner.writer.submit(unit).await
    }

    /// Gives back a challenge that was used for a call which has not come to its end: it holds for the rest
    /// of it, as long as its time is not over.
    pub async fn give_back_challenge(&self, id: &str, call: &Call) -> Result<(), StoreError> {
        let (id, call) = (text::name(id), bounded(call));
        let given_back = self.execute(
            "UPDATE approval SET used_ms = NULL WHERE kind = 'confirmation' AND id = $1 \
             AND server = $2 AND tool = $3 AND hash = $4 AND caller = $5",
            args![&id, &call.server, &call.tool, &call.args_hash, &call.caller],
        );
        given_back.await.map(drop)
    }
}

fn bounded(call: &Call) -> Call {
    Call {
        server: text::name(&call.server),
        tool: text::name(&call.tool),
        args_hash: text::name(&call.args_hash),
        caller: text::name(&call.caller),
    }
}

struct Challenge {
    call: Call,
    detail: String,
    id: String,
    now_ms: i64,
}

impl Unit for Challenge {
    type Output = Request;

    async fn run(&self, session: &mut dyn Session) -> Result<Request, StoreError> {
        if let Some(open) = self.open(session).await? {
            return Ok(open);
        }
        let waiting = session
            .query(
                "SELECT COUNT(*) FROM approval WHERE kind = 'confirmation' AND state = 'pending' \
                 AND caller = $1 AND expires_ms > $2",
                args![&self.call.caller, self.now_ms],
            )
            .await?;
        if waiting.first().map_or(Ok(0), |row| row.int(0))? >= CONFIRMATIONS_PENDING_MAX {
            return Err(StoreError::TooMany {
                what: "waiting confirmations",
                max: CONFIRMATIONS_PENDING_MAX,
            });
        }
        session
            .execute(
                "INSERT INTO approval (id, kind, server, tool, hash, detail, caller, state, \
                 created_ms, expires_ms) \
                 VALUES ($1, 'confirmation', $2, $3, $4, $5, $6, 'pending', $7, $8)",
                args![
                    &self.id,
                    &self.call.server,
                    &self.call.tool,
                    &self.call.args_hash,
                    &self.detail,
                    &self.call.caller,
                    self.now_ms,
                    self.now_ms.saturating_add(CONFIRMATION_KEPT_MS),
                ],
            )
            .await?;
        let made = self.open(session).await?;
        made.ok_or_else(|| StoreError::failed("a challenge vanished while it was made"))
    }
}

impl Challenge {
    /// The challenge for this call that can still be settled or used, or that somebody said no to a
    /// while ago: the same question is not put again while it counts.
    async fn open(&self, session: &mut dyn Session) -> Result<Option<Request>, StoreError> {
        let rows = session
            .query(
                concat!(
                    "SELECT ",
                    request_columns!(),
                    " FROM approval WHERE kind = 'confirmation' AND server = $1 AND tool = $2 \
                     AND hash = $3 AND caller = $4 AND state IN ('pending', 'approved', 'rejected') \
                     AND used_ms IS NULL AND expires_ms > $5 ORDER BY created_ms LIMIT 1"
                ),
                args![
                    &self.call.server,
                    &self.call.tool,
                    &self.call.args_hash,
                    &self.call.caller,
                    self.now_ms
                ],
            )
            .await?;
        rows.first().map(|row| read(row, self.now_ms)).transpose()
    }
}

struct Use {
    id: String,
    call: Call,
    now_ms: i64,
}

impl Unit for Use {
    type Output = Confirmed;

    async fn run(&self, session: &mut dyn Session) -> Result<Confirmed, StoreError> {
        let rows = session
            .query(
                concat!(
                    "SELECT ",
                    request_columns!(),
                    " FROM approval WHERE kind = 'confirmation' AND id = $1 AND server = $2 \
                     AND tool = $3 AND hash = $4 AND caller = $5"
                ),
                args![
                    &self.id,
                    &self.call.server,
                    &self.call.tool,
                    &self.call.args_hash,
                    &self.call.caller
                ],
            )
            .await?;
        let Some(row) = rows.first() else {
            return Ok(Confirmed::Unknown);
        };
        let confirmed = worth(&read(row, self.now_ms)?, self.now_ms);
        if confirmed == Confirmed::Granted {
            session
                .execute(
                    "UPDATE approval SET used_ms = $2 WHERE id = $1",
                    args![&self.id, self.now_ms],
                )
                .await?;
        }
        Ok(confirmed)
    }
}

fn worth(request: &Request, now_ms: i64) -> Confirmed {
    let overdue = request.expires_ms.is_none_or(|expires| expires <= now_ms);
    match request.state {
        State::Rejected => Confirmed::Rejected,
        State::Expired => Confirmed::Expired,
        _ if request.used_ms.is_some() => Confirmed::Used,
        _ if overdue => Confirmed::Expired,
        State::Pending => Confirmed::Waiting,
        State::Approved => Confirmed::Granted,
    }
}
