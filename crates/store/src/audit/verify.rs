//! Checking that the audit log is what was written: nothing removed, altered, moved or put in.

use toolcrib_core::limits::{AUDIT_PAGE_ROWS_MAX, AUDIT_PROBLEMS_MAX};

use super::{RECORD_COLUMNS, read, record_columns};
use crate::StoreError;
use crate::backend::{Row, Session, args};
use crate::chain;
use crate::store::{Known, Store};
use crate::writer::Unit;

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Records that were checked.
    pub records: u64,
    /// Processes that wrote them.
    pub writers: u64,
    /// Records that retention removed and checkpoints stand for.
    pub removed: u64,
    /// What is wrong, the first [`AUDIT_PROBLEMS_MAX`].
    pub problems: Vec<Problem>,
    /// How many problems there are in all.
    pub problem_count: u64,
}

impl Verdict {
    /// Whether the log is intact.
    pub fn is_intact(&self) -> bool {
        self.problem_count == 0
    }

    fn report(&mut self, problem: Problem) {
        self.problem_count += 1;
        if self.problems.len() < AUDIT_PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }
}

/// One place where the log is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The writer whose chain breaks: its id, or its ordinal where the id is gone.
    pub writer_id: String,
    /// The number of the first record concerned.
    pub seq: i64,
    /// The request of that record, where it is there.
    pub request_id: Option<String>,
    /// What is wrong.
    pub fault: Fault,
}

/// In what way a log is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// So many records are gone, from this one on.
    Missing(i64),
    /// The record is not the one that was written here: altered, moved or put in.
    Altered,
    /// A record stands behind the last one that was written.
    Inserted,
    /// The writer's own entry is altered, or writers before it are gone.
    Writer,
    /// The newest writer that was noted beside the database is gone, or another one stands in its place.
    Newest,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (writer, seq) = (&self.writer_id, self.seq);
        match self.fault {
            Fault::Missing(1) => write!(f, "Record {seq} of writer {writer} is missing."),
            Fault::Missing(count) => write!(
                f,
                "Records {seq} to {} of writer {writer} are missing.",
                seq + count - 1
            ),
            Fault::Altered => write!(
                f,
                "Record {seq} of writer {writer} is not the one that was written there."
            ),
            Fault::Inserted => write!(
                f,
                "Record {seq} of writer {writer} was put in after the end of its chain."
            ),
            Fault::Writer => write!(
                f,
                "The entry of writer {writer} is altered, or writers before it are gone."
            ),
            Fault::Newest => write!(
                f,
                "Writer {writer} was noted beside the database as the newest and is gone with all its records."
            ),
        }?;
        match &self.request_id {
            Some(request_id) => write!(f, " Its request is {request_id}."),
            None => Ok(()),
        }
    }
}

impl Store {
    /// Checks every chain against one state of the database, while others go on writing.
    pub async fn audit_verify(&self) -> Result<Verdict, StoreError> {
        self.inner.writer.settled().await;
        // Read first: whoever registers meanwhile is in the database before it is noted.
        let noted = self.inner.backend.newest().await?;
        let noted = noted.map(Known);
        self.inner.readers.snapshot(&Verify { noted }).await
    }
}

struct Verify {
    noted: Option<Known>,
}

impl Unit for Verify {
    type Output = Verdict;

    async fn run(&self, session: &mut dyn Session) -> Result<Verdict, StoreError> {
        let mut verdict = Verdict::default();
        let writers = check_writers(session, &mut verdict).await?;
        for writer in &writers {
            check_chain(session, writer, &mut verdict).await?;
        }
        let strangers = session
            .query(
                "SELECT writer, MIN(seq), COUNT(*) FROM audit \
                 WHERE writer NOT IN (SELECT ordinal FROM audit_writer) GROUP BY writer",
                args![],
            )
            .await?;
        for row in strangers {
            verdict.report(Problem {
                writer_id: format!("#{}", row.int(0)?),
                seq: row.int(1)?,
                request_id: None,
                fault: Fault::Inserted,
            });
        }
        if let Some(noted) = &self.noted
            && !noted.run(session).await?
        {
            verdict.report(Problem {
                writer_id: format!("#{}", noted.0.ordinal),
                seq: 0,
                request_id: None,
                fault: Fault::Newest,
            });
        }
        Ok(verdict)
    }
}

struct Chain {
    ordinal: i64,
    writer_id: String,
    base_seq: i64,
    base_hash: String,
    head_seq: i64,
    head_hash: String,
}

/// Walks the writers, whose genesis hashes form a chain of their own.
async fn check_writers(
    session: &mut dyn Session,
    verdict: &mut Verdict,
) -> Result<Vec<Chain>, StoreError> {
    let origin = session
        .query("SELECT ordinal, genesis FROM audit_origin", args![])
        .await?;
    let (mut ordinal, mut genesis) = match origin.first() {
        Some(row) => (row.int(0)?, row.text(1)?),
        None => (0, chain::ORIGIN.to_owned()),
    };
    let rows = session
        .query(
            "SELECT ordinal, writer_id, started_ms, genesis, base_seq, base_hash, head_seq, head_hash \
             FROM audit_writer ORDER BY ordinal",
            args![],
        )
        .await?;
    let mut chains = Vec::with_capacity(rows.len());
    for row in &rows {
        let chain = read_chain(row)?;
        let stored = row.text(3)?;
        let expected = chain::genesis(&genesis, chain.ordinal, &chain.writer_id, row.int(2)?);
        let unbased = chain.base_seq == 0 && chain.base_hash != stored;
        if chain.ordinal != ordinal + 1 || expected != stored || unbased {
            verdict.report(Problem {
                writer_id: chain.writer_id.clone(),
                seq: 0,
                request_id: None,
                fault: Fault::Writer,
            });
        }
        (ordinal, genesis) = (chain.ordinal, stored);
        verdict.writers += 1;
        verdict.removed += u64::try_from(chain.base_seq).unwrap_or(0);
        chains.push(chain);
    }
    Ok(chains)
}

fn read_chain(row: &Row) -> Result<Chain, StoreError> {
    Ok(Chain {
        ordinal: row.int(0)?,
        writer_id: row.text(1)?,
        base_seq: row.int(4)?,
        base_hash: row.text(5)?,
        head_seq: row.int(6)?,
        head_hash: row.text(7)?,
    })
}

/// Walks one writer's records from its checkpoint to its head.
async fn check_chain(
    session: &mut dyn Session,
    chain: &Chain,
    verdict: &mut Verdict,
) -> Result<(), StoreError> {
    let mut seen = i64::MIN;
    let mut walk = Walk {
        chain,
        last: chain.base_seq,
        hash: chain.base_hash.clone(),
    };
    let page_rows = i64::try_from(AUDIT_PAGE_ROWS_MAX).unwrap_or(i64::MAX);
    loop {
        let rows = session
            .query(
                concat!(
                    "SELECT ",
                    record_columns!(),
                    ", a.seq, a.hash, a.bytes FROM audit a WHERE a.writer = $1 AND a.seq > $2 \
                     ORDER BY a.seq LIMIT $3"
                ),
                args![chain.ordinal, seen, page_rows],
            )
            .await?;
        for row in &rows {
            seen = row.int(RECORD_COLUMNS)?;
            walk.step(row, verdict)?;
        }
        if i64::try_from(rows.len()) != Ok(page_rows) {
            break;
        }
    }
    walk.end(verdict);
    Ok(())
}

struct Walk<'a> {
    chain: &'a Chain,
    last: i64,
    hash: String,
}

impl Walk<'_> {
    fn step(&mut self, row: &Row, verdict: &mut Verdict) -> Result<(), StoreError> {
        let seq = row.int(RECORD_COLUMNS)?;
        let stored = row.text(RECORD_COLUMNS + 1)?;
        let request_id = row.text_opt(0).ok().flatten();
        verdict.records += 1;
        if seq <= self.chain.base_seq || seq > self.chain.head_seq {
            self.report(verdict, seq, request_id, Fault::Inserted);
            return Ok(());
        }
        let gap = seq - self.last - 1;
        if gap > 0 {
            self.report(verdict, self.last + 1, None, Fault::Missing(gap));
        } else {
            // What stands before a gap is unknown, so only a record without one can be computed.
            let bytes = row.int(RECORD_COLUMNS + 2)?;
            let as_written = read(row).is_ok_and(|record| {
                let linked = chain::link(&self.hash, &self.chain.writer_id, seq, &record);
                linked.hash == stored && linked.bytes == bytes
            });
            if !as_written {
                self.report(verdict, seq, request_id, Fault::Altered);
            }
        }
        (self.last, self.hash) = (seq, stored);
        Ok(())
    }

    fn end(self, verdict: &mut Verdict) {
        let gap = self.chain.head_seq - self.last;
        if gap > 0 {
            self.report(verdict, self.last + 1, None, Fault::Missing(gap));
        } else if self.hash != self.chain.head_hash {
            self.report(verdict, self.last, None, Fault::Altered);
        }
    }

    fn report(&self, verdict: &mut Verdict, seq: i64, request_id: Option<String>, fault: Fault) {
        verdict.report(Problem {
            writer_id: self.chain.writer_id.clone(),
            seq,
            request_id,
            fault,
        });
    }
}
