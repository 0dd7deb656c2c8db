//! Connections that only read. They never wait for the writer.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;
use toolcrib_core::limits::STORE_READERS_MAX;

use crate::StoreError;
use crate::backend::{Backend, Link, Role, Row, Value};
use crate::writer::Unit;

/// A bounded set of reading connections, opened as they are needed.
pub(crate) struct Readers {
    backend: Arc<dyn Backend>,
    idle: Mutex<Vec<Box<dyn Link>>>,
    places: Semaphore,
}

impl Readers {
    pub(crate) fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            idle: Mutex::new(Vec::new()),
            places: Semaphore::new(STORE_READERS_MAX),
        }
    }

    /// Answers one question.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        args: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        let _place = self
            .places
            .acquire()
            .await
            .map_err(|_| StoreError::Closed)?;
        let mut link = self.take().await?;
        let rows = link.query(sql, args).await?;
        self.give_back(link);
        Ok(rows)
    }

    /// Runs a unit that only reads; all its questions see one state of the database.
    pub(crate) async fn snapshot<U: Unit>(&self, unit: &U) -> Result<U::Output, StoreError> {
        let _place = self
            .places
            .acquire()
            .await
            .map_err(|_| StoreError::Closed)?;
        let mut link = self.take().await?;
        link.begin().await?;
        let output = unit.run(link.as_mut()).await?;
        link.rollback().await?;
        self.give_back(link);
        Ok(output)
    }

    /// Closes what is idle and refuses what comes later.
    pub(crate) async fn close(&self) {
        self.places.close();
        let idle = std::mem::take(&mut *self.lock());
        for link in idle {
            if let Err(error) = link.close().await {
                tracing::debug!(%error, "a reading connection did not close in order");
            }
        }
    }

    // A connection that failed, or whose reader was cancelled half-way, is dropped and not given
    // back: nobody inherits an open transaction.
    async fn take(&self) -> Result<Box<dyn Link>, StoreError> {
        let idle = self.lock().pop();
        match idle {
            Some(link) => Ok(link),
            None => self.backend.connect(Role::Reader).await,
        }
    }

    fn give_back(&self, link: Box<dyn Link>) {
        self.lock().push(link);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Box<dyn Link>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
