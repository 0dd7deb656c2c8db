//! A server that somebody introspected, put before a person: what it is, what its tools can do, and
//! until when the question stands.

use std::collections::HashMap;
use std::sync::Arc;

use toolcrib_core::limits::DEFINITION_BYTES_MAX;

use super::observation::{Observation, Observe, Observed, request_id};
use super::{Kind, Mark, Request, Target, read, request_columns};
use crate::StoreError;
use crate::backend::{Session, args};
use crate::store::Store;
use crate::text;
use crate::writer::Unit;

/// What is said about an introspected server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduction {
    /// Everything that the person and the promotion need, as text.
    pub detail: String,
    /// When the question expires.
    pub expires_ms: i64,
}

/// What became of an introspected server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduced {
    /// The request about the server itself.
    pub request: String,
    /// Whether that waits; a server that was approved before does not, only its changed tools do.
    pub server_waits: bool,
    /// Where each tool stands, in the order of the list.
    pub tools: Vec<Observed>,
}

impl Store {
    /// Puts an introspected server before a person: one request for it and one for each tool whose
    /// definition nobody accepted, all of which expire. A server that was turned down, or whose time
    /// ran out, is asked about again; a definition that was turned down stays so.
    pub async fn introduce(
        &self,
        observation: Observation,
        introduction: Introduction,
        now_ms: i64,
    ) -> Result<Introduced, StoreError> {
        if introduction.detail.len() > DEFINITION_BYTES_MAX {
            return Err(StoreError::TooLong {
                what: "What is said about a server",
                max: format!("{DEFINITION_BYTES_MAX} bytes"),
            });
        }
        let unit = Introduce {
            observation: Arc::new(observation),
            introduction,
            now_ms,
        };
        self.inner.writer.submit(unit).await
    }
}

impl Store {
    /// Servers of which something was approved that has not all been done yet: a process may have
    /// ended in between.
    pub async fn unfinished_approvals(&self) -> Result<Vec<String>, StoreError> {
        let rows = self
            .query(
                "SELECT DISTINCT server FROM approval WHERE kind <> 'confirmation' \
                 AND state = 'approved' AND settled_by IS NOT NULL AND used_ms IS NULL \
                 ORDER BY server",
                args![],
            )
            .await?;
        rows.iter().map(|row| row.text(0)).collect()
    }

    /// Notes that everything was done that the approvals of a server until then bring about.
    pub async fn finish_approvals(&self, server: &str, now_ms: i64) -> Result<(), StoreError> {
        self.execute(
            "UPDATE approval SET used_ms = $2 WHERE server = $1 AND kind <> 'confirmation' \
             AND state = 'approved' AND used_ms IS NULL",
            args![server, now_ms],
        )
        .await
        .map(drop)
    }

    /// What is said about an introspected server, and where the request stands; `None` where the
    /// server was never introspected.
    pub async fn introduction(
        &self,
        server: &str,
        now_ms: i64,
    ) -> Result<Option<Request>, StoreError> {
        let id = request_id(Kind::Server, server, "", "");
        let shown = self.show_approvals(&Target::Id(id), now_ms).await?;
        Ok(shown.into_iter().next().map(|shown| shown.request))
    }

    /// What [`Store::introduction`] says of every server that was introspected, in one question.
    pub async fn introductions(&self, now_ms: i64) -> Result<HashMap<String, Request>, StoreError> {
        let sql = concat!(
            "SELECT ",
            request_columns!(),
            " FROM approval WHERE kind = 'server'"
        );
        let rows = self.query(sql, args![]).await?;
        let requests = rows.iter().map(|row| read(row, now_ms));
        requests
            .map(|request| request.map(|request| (request.server.clone(), request)))
            .collect()
    }
}

struct Introduce {
    observation: Arc<Observation>,
    introduction: Introduction,
    now_ms: i64,
}

impl Unit for Introduce {
    type Output = Introduced;

    async fn run(&self, session: &mut dyn Session) -> Result<Introduced, StoreError> {
        let server = &self.observation.server;
        let request = request_id(Kind::Server, server, "", "");
        let vetted = session
            .query(
                "SELECT accepted_ms FROM vetted_server WHERE server = $1",
                args![server],
            )
            .await?;
        let server_waits = vetted.is_empty();
        self.ask(session, &request, server_waits).await?;
        let observe = Observe {
            observation: Arc::clone(&self.observation),
            now_ms: self.now_ms,
        };
        let tools = observe.run(session).await?;
        session
            .execute(
                "UPDATE approval SET expires_ms = $2 \
                 WHERE server = $1 AND kind = 'tool' AND state = 'pending'",
                args![server, self.introduction.expires_ms],
            )
            .await?;
        Ok(Introduced {
            request,
            server_waits,
            tools,
        })
    }
}

impl Introduce {
    /// Asks about the server, or only notes what is new about one that was approved.
    async fn ask(
        &self,
        session: &mut dyn Session,
        request: &str,
        waits: bool,
    ) -> Result<(), StoreError> {
        let detail = text::without_nul(&self.introduction.detail).into_owned();
        let server = &self.observation.server;
        if !waits {
            let sql = "INSERT INTO approval (id, kind, server, tool, hash, detail, state, created_ms) \
                       VALUES ($1, 'server', $2, '', '', $3, 'approved', $4) \
                       ON CONFLICT (id) DO UPDATE SET detail = excluded.detail";
            let row = args![request, server, detail, self.now_ms];
            return session.execute(sql, row).await.map(drop);
        }
        Mark::reopen(session, request).await?;
        let sql = "INSERT INTO approval (id, kind, server, tool, hash, detail, state, created_ms, expires_ms) \
                   VALUES ($1, 'server', $2, '', '', $3, 'pending', $4, $5) \
                   ON CONFLICT (id) DO UPDATE SET detail = excluded.detail, state = 'pending', \
                   created_ms = excluded.created_ms, expires_ms = excluded.expires_ms, \
                   settled_ms = NULL, settled_by = NULL";
        let row = args![
            request,
            server,
            detail,
            self.now_ms,
            self.introduction.expires_ms
        ];
        session.execute(sql, row).await.map(drop)
    }
}
