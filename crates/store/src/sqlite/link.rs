//! A connection to SQLite as the store has it.
//!
//! SQLite works on the thread that asks. The writer has a thread of its own, so there a statement costs
//! no change of threads; what a reader asks goes to a thread that may block.

use std::path::PathBuf;

use super::SqliteOptions;
use super::connection::{Access, Connection};
use super::log;
use crate::StoreError;
use crate::backend::{Link, Pending, Role, Row, Session, Value};

pub(super) struct SqliteLink {
    /// Absent while another thread has it, and for good once nobody waited for that thread.
    connection: Option<Connection>,
    path: PathBuf,
    role: Role,
}

impl SqliteLink {
    /// Opens a connection; `settings` are those of its role.
    pub(super) async fn connect(
        options: SqliteOptions,
        role: Role,
        access: Access,
        settings: String,
    ) -> Result<Self, StoreError> {
        let open = move || {
            let connection = Connection::open(&options, role, access)?;
            connection.script(&settings)?;
            Ok(connection)
        };
        let connection = elsewhere(open).await?;
        Ok(Self {
            path: connection.path().to_owned(),
            role: connection.role(),
            connection: Some(connection),
        })
    }

    fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'_, T> {
        Box::pin(async move {
            let connection = self.connection.take().ok_or_else(|| self.lost())?;
            let (connection, result) = match self.role {
                Role::Writer => {
                    let result = work(&connection);
                    (connection, result)
                }
                Role::Reader => {
                    elsewhere(move || {
                        let result = work(&connection);
                        Ok((connection, result))
                    })
                    .await?
                }
            };
            self.connection = Some(connection);
            result
        })
    }

    fn lost(&self) -> StoreError {
        let path = self.path.display();
        StoreError::failed(format!("the connection to {path} ended"))
    }
}

/// Does work that may block on a thread that may.
pub(super) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_cancelled() => Err(StoreError::Closed),
        Err(error) => Err(StoreError::failed(error.to_string())),
    }
}

impl Session for SqliteLink {
    fn execute<'a>(&'a mut self, sql: &'static str, args: Vec<Value>) -> Pending<'a, u64> {
        self.run(move |connection| connection.execute(sql, &args))
    }

    fn query<'a>(&'a mut self, sql: &'static str, args: Vec<Value>) -> Pending<'a, Vec<Row>> {
        self.run(move |connection| connection.query(sql, &args))
    }
}

impl Link for SqliteLink {
    fn begin(&mut self) -> Pending<'_, ()> {
        self.run(Connection::begin)
    }

    fn commit(&mut self) -> Pending<'_, ()> {
        self.run(Connection::commit)
    }

    fn rollback(&mut self) -> Pending<'_, ()> {
        self.run(Connection::rollback)
    }

    fn prepare(&mut self) -> Pending<'_, bool> {
        self.run(log::lengthen)
    }

    fn close(mut self: Box<Self>) -> Pending<'static, ()> {
        Box::pin(async move {
            match (self.connection.take(), self.role) {
                (Some(connection), Role::Writer) => connection.close(),
                (Some(connection), Role::Reader) => elsewhere(|| connection.close()).await,
                (None, _) => Ok(()),
            }
        })
    }
}
