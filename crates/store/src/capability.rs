//! Capabilities: the manifests of tools, and which of them are approved.
//!
//! A capability is approved exactly while its definition is the accepted one of its tool: pinning a
//! definition approves its capability and archives the one before, in the same transaction.

use toolcrib_core::limits::{CAPABILITIES_LISTED_MAX, DEFINITION_BYTES_MAX};

use crate::StoreError;
use crate::backend::{Row, Session, args};
use crate::store::Store;
use crate::text;
use crate::word::words;
use crate::writer::Unit;

words! {
    /// Where a capability stands.
    State {
        /// It is known; nobody accepted its definition.
        Known = "known",
        /// Its definition is accepted: its tool may be run.
        Approved = "approved",
        /// It was approved, and another definition took its place.
        Archived = "archived",
    }
}

/// A capability as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The server's name.
    pub server: String,
    /// The tool's name.
    pub tool: String,
    /// Hash of the definition.
    pub hash: String,
    /// `mcp.<server>.<tool>`
    pub id: String,
    /// The manifest as JSON text.
    pub manifest: String,
}

/// A capability and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The capability.
    pub capability: Capability,
    /// Where it stands.
    pub state: State,
    /// Since when it is known.
    pub known_ms: i64,
}

/// A definition that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The tool's name.
    pub tool: String,
    /// Hash of the definition.
    pub hash: String,
    /// The definition as its server sent it.
    pub definition: String,
}

/// Which capabilities are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only those of this server.
    pub server: Option<String>,
    /// Only the one of this id.
    pub id: Option<String>,
    /// Only those that stand so.
    pub state: Option<State>,
}

impl Store {
    /// Keeps a capability and says where it stands: approved where its definition is the accepted
    /// one, else known or archived. What is kept of the same definition already is replaced.
    pub async fn keep_capability(
        &self,
        capability: Capability,
        now_ms: i64,
    ) -> Result<State, StoreError> {
        if capability.manifest.len() > DEFINITION_BYTES_MAX {
            return Err(StoreError::TooLong {
                what: "The manifest of a capability",
                max: format!("{DEFINITION_BYTES_MAX} bytes"),
            });
        }
        self.inner.writer.submit(Keep { capability, now_ms }).await
    }

    /// The capabilities that a filter lets through, by id, the newest of an id first.
    pub async fn capabilities(&self, filter: &Filter) -> Result<Vec<Registered>, StoreError> {
        let rows = self
            .query(
                "SELECT server, tool, hash, id, manifest, state, known_ms FROM capability \
                 WHERE (server = $1 OR $1 IS NULL) AND (id = $2 OR $2 IS NULL) \
                 AND (state = $3 OR $3 IS NULL) ORDER BY id, server, known_ms DESC LIMIT $4",
                args![
                    filter.server.as_deref(),
                    filter.id.as_deref(),
                    filter.state.map(State::as_str),
                    CAPABILITIES_LISTED_MAX
                ],
            )
            .await?;
        rows.iter().map(read).collect()
    }

    /// The accepted definitions of a server, by tool.
    pub async fn accepted_definitions(&self, server: &str) -> Result<Vec<Accepted>, StoreError> {
        let rows = self
            .query(
                "SELECT tool, hash, definition FROM pin WHERE server = $1 ORDER BY tool",
                args![server],
            )
            .await?;
        rows.iter()
            .map(|row| {
                Ok(Accepted {
                    tool: row.text(0)?,
                    hash: row.text(1)?,
                    definition: row.text(2)?,
                })
            })
            .collect()
    }
}

fn read(row: &Row) -> Result<Registered, StoreError> {
    let state = State::parse(&row.text(5)?)
        .ok_or_else(|| StoreError::failed("a capability holds an unknown word"))?;
    Ok(Registered {
        capability: Capability {
            server: row.text(0)?,
            tool: row.text(1)?,
            hash: row.text(2)?,
            id: row.text(3)?,
            manifest: row.text(4)?,
        },
        state,
        known_ms: row.int(6)?,
    })
}

struct Keep {
    capability: Capability,
    now_ms: i64,
}

impl Unit for Keep {
    type Output = State;

    async fn run(&self, session: &mut dyn Session) -> Result<State, StoreError> {
        let Capability {
            server,
            tool,
            hash,
            id,
            manifest,
        } = &self.capability;
        session
            .execute(
                "INSERT INTO capability (server, tool, hash, id, manifest, state, known_ms, changed_ms) \
                 VALUES ($1, $2, $3, $4, $5, 'known', $6, $6) \
                 ON CONFLICT (server, tool, hash) DO UPDATE SET manifest = excluded.manifest",
                args![server, tool, hash, text::name(id), text::without_nul(manifest).into_owned(), self.now_ms],
            )
            .await?;
        let pinned = session
            .query(
                "SELECT hash FROM pin WHERE server = $1 AND tool = $2 AND hash = $3",
                args![server, tool, hash],
            )
            .await?;
        if !pinned.is_empty() {
            approve(session, server, tool, hash, self.now_ms).await?;
        }
        let found = session
            .query(
                "SELECT state FROM capability WHERE server = $1 AND tool = $2 AND hash = $3",
                args![server, tool, hash],
            )
            .await?;
        let word = found.first().map(|row| row.text(0)).transpose()?;
        Ok(word
            .and_then(|word| State::parse(&word))
            .unwrap_or(State::Known))
    }
}

/// Makes a definition the approved one of its tool; another that was is archived.
pub(crate) async fn approve(
    session: &mut dyn Session,
    server: &str,
    tool: &str,
    hash: &str,
    now_ms: i64,
) -> Result<(), StoreError> {
    session
        .execute(
            "UPDATE capability SET state = CASE WHEN hash = $3 THEN 'approved' ELSE 'archived' END, \
             changed_ms = $4 WHERE server = $1 AND tool = $2 \
             AND ((hash = $3 AND state <> 'approved') OR (hash <> $3 AND state = 'approved'))",
            args![server, tool, hash, now_ms],
        )
        .await
        .map(drop)
}

/// Takes the approval of a definition back.
pub(crate) async fn disapprove(
    session: &mut dyn Session,
    server: &str,
    tool: &str,
    hash: &str,
    now_ms: i64,
) -> Result<(), StoreError> {
    session
        .execute(
            "UPDATE capability SET state = 'known', changed_ms = $4 \
             WHERE server = $1 AND tool = $2 AND hash = $3 AND state = 'approved'",
            args![server, tool, hash, now_ms],
        )
        .await
        .map(drop)
}
