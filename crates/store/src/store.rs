//! The store as the rest of Toolcrib holds it: one handle, cheap to clone.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::StoreError;
use crate::audit::{Chainer, Record, append};
use crate::backend::{Backend, Newest, Presence, Row, Session, Value, args};
use crate::chain;
use crate::counter::Tally;
use crate::journal::progress::Progress;
use crate::reader::Readers;
use crate::sqlite::{Sqlite, SqliteOptions};
use crate::writer::{Unit, Writer};

/// What Toolcrib remembers, on whatever database lies below.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) writer: Writer,
    pub(crate) readers: Readers,
    pub(crate) progress: Progress,
    pub(crate) tally: Tally,
    writer_id: Uuid,
    chainer: OnceCell<Chainer>,
    presence: Mutex<Option<Box<dyn Presence>>>,
}

impl Store {
    /// Opens a store on a database. `writer_id` names this process in the audit log and must be
    /// new: a random or time-ordered UUID.
    pub async fn open(backend: Arc<dyn Backend>, writer_id: Uuid) -> Result<Self, StoreError> {
        let writer = Writer::start(Arc::clone(&backend)).await?;
        Ok(Self {
            inner: Arc::new(Inner {
                readers: Readers::new(Arc::clone(&backend)),
                backend,
                writer,
                progress: Progress::default(),
                tally: Tally::default(),
                writer_id,
                chainer: OnceCell::new(),
                presence: Mutex::new(None),
            }),
        })
    }

    /// Opens a store on a SQLite file.
    pub async fn open_sqlite(options: SqliteOptions, writer_id: Uuid) -> Result<Self, StoreError> {
        let backend = Arc::new(Sqlite::open(options).await?);
        Self::open(backend, writer_id).await
    }

    /// Opens a store on a SQLite file that is there only to read it, for a disk that takes nothing more. Whatever
    /// would write is refused as read-only.
    pub async fn open_sqlite_to_read(options: SqliteOptions) -> Result<Self, StoreError> {
        let backend = Arc::new(Sqlite::open_to_read(options).await?);
        Self::open(backend, Uuid::nil()).await
    }

    /// Writes down what is still in memory and closes the database. Executions that are under way
    /// keep their journal entries and are recovered by whoever opens the store next.
    pub async fn close(&self) {
        if let Err(error) = self.settle_leftovers().await {
            tracing::warn!(%error, "endings of executions could not be written before closing");
        }
        if let Err(error) = self.flush_counters().await {
            tracing::warn!(%error, "counters could not be written before closing");
        }
        self.inner.writer.close().await;
        self.inner.readers.close().await;
        let presence = self.lock_presence().take();
        drop(presence);
    }

    /// Appends the record of an execution that called nothing: refused, replayed or a dry run.
    ///
    /// A request that already has its record keeps that one.
    pub async fn record(&self, record: Record) -> Result<(), StoreError> {
        let chainer = self.chainer(record.timestamp_ms).await?.clone();
        let unit = Append {
            chainer,
            record: record.bounded(),
        };
        self.inner.writer.submit(unit).await
    }

    /// This process's place among the writers; registered when it first writes.
    pub(crate) async fn chainer(&self, now_ms: i64) -> Result<&Chainer, StoreError> {
        self.inner
            .chainer
            .get_or_try_init(|| async {
                let writer_id = self.inner.writer_id.to_string();
                // Others must see this process alive before they can see an entry of it.
                let presence = self.inner.backend.announce(&writer_id).await?;
                let unit = Enlist {
                    writer_id,
                    started_ms: now_ms,
                };
                let (chainer, newest) = self.inner.writer.submit(unit).await?;
                *self.lock_presence() = Some(presence);
                if let Err(error) = self.note(&newest).await {
                    tracing::warn!(%error, "the newest writer of the audit log could not be noted beside it");
                }
                Ok(chainer)
            })
            .await
    }

    /// Notes this writer as the newest. A note that the database contradicts stays: it is what tells.
    async fn note(&self, newest: &Newest) -> Result<(), StoreError> {
        let backend = &self.inner.backend;
        if let Some(noted) = backend.newest().await? {
            let known = self.inner.readers.snapshot(&Known(noted)).await?;
            if !known {
                tracing::error!(
                    "writers of the audit log are missing; `toolcrib audit verify` says more"
                );
                return Ok(());
            }
        }
        backend.note_newest(newest).await
    }

    /// Runs one statement that writes.
    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        args: Vec<Value>,
    ) -> Result<u64, StoreError> {
        self.inner.writer.submit(Statement { sql, args }).await
    }

    /// Runs one statement that reads.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        args: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.inner.readers.query(sql, args).await
    }

    fn lock_presence(&self) -> std::sync::MutexGuard<'_, Option<Box<dyn Presence>>> {
        self.inner
            .presence
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("writer_id", &self.inner.writer_id)
            .finish_non_exhaustive()
    }
}

struct Statement {
    sql: &'static str,
    args: Vec<Value>,
}

impl Unit for Statement {
    type Output = u64;

    async fn run(&self, session: &mut dyn Session) -> Result<u64, StoreError> {
        session.execute(self.sql, self.args.clone()).await
    }
}

struct Append {
    chainer: Chainer,
    record: Record,
}

impl Unit for Append {
    type Output = ();

    async fn run(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        append(session, &self.chainer, &self.record).await.map(drop)
    }
}

/// Whether the database has a writer that was noted, or has forgotten it in order.
pub(crate) struct Known(pub(crate) Newest);

impl Unit for Known {
    type Output = bool;

    async fn run(&self, session: &mut dyn Session) -> Result<bool, StoreError> {
        let Newest { ordinal, genesis } = &self.0;
        let rows = session
            .query(
                "SELECT genesis FROM audit_writer WHERE ordinal = $1 \
                 UNION ALL SELECT genesis FROM audit_origin WHERE ordinal = $1",
                args![*ordinal],
            )
            .await?;
        if let Some(row) = rows.first() {
            return Ok(row.text(0)? == *genesis);
        }
        let forgotten = session
            .query(
                "SELECT ordinal FROM audit_origin WHERE ordinal > $1",
                args![*ordinal],
            )
            .await?;
        Ok(!forgotten.is_empty())
    }
}

/// Gives a writer its ordinal and the start of its chain.
struct Enlist {
    writer_id: String,
    started_ms: i64,
}

impl Unit for Enlist {
    type Output = (Chainer, Newest);

    async fn run(&self, session: &mut dyn Session) -> Result<Self::Output, StoreError> {
        let own = session
            .query(
                "SELECT ordinal, genesis FROM audit_writer WHERE writer_id = $1",
                args![&self.writer_id],
            )
            .await?;
        if let Some(row) = own.first() {
            // Whoever asked first went away before it was told.
            return Ok(self.place(row.int(0)?, row.text(1)?));
        }
        let last = session
            .query(
                "SELECT ordinal, genesis FROM audit_writer \
                 UNION ALL SELECT ordinal, genesis FROM audit_origin \
                 ORDER BY ordinal DESC LIMIT 1",
                args![],
            )
            .await?;
        let (ordinal, previous) = match last.first() {
            Some(row) => (row.int(0)? + 1, row.text(1)?),
            None => (1, chain::ORIGIN.to_owned()),
        };
        let genesis = chain::genesis(&previous, ordinal, &self.writer_id, self.started_ms);
        session
            .execute(
                "INSERT INTO audit_writer (ordinal, writer_id, started_ms, genesis, base_seq, \
                 base_hash, head_seq, head_hash, kept_bytes) VALUES ($1, $2, $3, $4, 0, $5, 0, $6, 0)",
                args![
                    ordinal,
                    &self.writer_id,
                    self.started_ms,
                    &genesis,
                    &genesis,
                    &genesis
                ],
            )
            .await?;
        Ok(self.place(ordinal, genesis))
    }
}

impl Enlist {
    fn place(&self, ordinal: i64, genesis: String) -> (Chainer, Newest) {
        let chainer = Chainer {
            ordinal,
            writer_id: self.writer_id.clone(),
        };
        (chainer, Newest { ordinal, genesis })
    }
}
