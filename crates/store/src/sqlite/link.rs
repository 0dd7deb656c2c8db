//! One connection to SQLite.

use std::path::PathBuf;

use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{Connection, Row as _, Sqlite, TypeInfo, ValueRef};

use super::failure::{explain, is_no_transaction};
use crate::StoreError;
use crate::backend::{Link, Pending, Role, Row, Session, Value};

pub(super) struct SqliteLink {
    connection: SqliteConnection,
    path: PathBuf,
    role: Role,
}

impl SqliteLink {
    pub(super) async fn connect(
        options: SqliteConnectOptions,
        role: Role,
    ) -> Result<Self, StoreError> {
        let path = options.get_filename().to_owned();
        let connection = SqliteConnection::connect_with(&options)
            .await
            .map_err(|error| explain(&path, &error))?;
        Ok(Self {
            connection,
            path,
            role,
        })
    }

    /// Runs several statements at once, without arguments.
    pub(super) async fn script(&mut self, sql: &'static str) -> Result<(), StoreError> {
        sqlx::raw_sql(sql)
            .execute(&mut self.connection)
            .await
            .map_err(|error| explain(&self.path, &error))?;
        Ok(())
    }

    async fn command(&mut self, sql: &'static str) -> Result<(), StoreError> {
        self.execute(sql, Vec::new()).await.map(drop)
    }
}

type Query = sqlx::query::Query<'static, Sqlite, SqliteArguments>;

fn bind(sql: &'static str, args: Vec<Value>) -> Query {
    args.into_iter()
        .fold(sqlx::query(sql), |query, value| match value {
            Value::Int(value) => query.bind(value),
            Value::Text(value) => query.bind(value),
        })
}

impl Session for SqliteLink {
    fn execute<'a>(&'a mut self, sql: &'static str, args: Vec<Value>) -> Pending<'a, u64> {
        Box::pin(async move {
            bind(sql, args)
                .execute(&mut self.connection)
                .await
                .map(|done| done.rows_affected())
                .map_err(|error| explain(&self.path, &error))
        })
    }

    fn query<'a>(&'a mut self, sql: &'static str, args: Vec<Value>) -> Pending<'a, Vec<Row>> {
        Box::pin(async move {
            let rows = bind(sql, args).fetch_all(&mut self.connection).await;
            rows.and_then(|rows| rows.iter().map(read).collect())
                .map_err(|error| explain(&self.path, &error))
        })
    }
}

fn read(row: &SqliteRow) -> Result<Row, sqlx::Error> {
    (0..row.len())
        .map(|column| {
            let raw = row.try_get_raw(column)?;
            if raw.is_null() {
                return Ok(Value::Text(None));
            }
            match raw.type_info().name() {
                "INTEGER" => row.try_get(column).map(Value::Int),
                _ => row.try_get(column).map(Value::Text),
            }
        })
        .collect::<Result<_, _>>()
        .map(Row)
}

impl Link for SqliteLink {
    fn begin(&mut self) -> Pending<'_, ()> {
        Box::pin(self.command(match self.role {
            Role::Writer => "BEGIN IMMEDIATE",
            Role::Reader => "BEGIN",
        }))
    }

    fn commit(&mut self) -> Pending<'_, ()> {
        Box::pin(self.command("COMMIT"))
    }

    fn rollback(&mut self) -> Pending<'_, ()> {
        Box::pin(async {
            // SQLite ends the transaction itself when the disk is full or fails.
            match sqlx::query("ROLLBACK").execute(&mut self.connection).await {
                Err(error) if !is_no_transaction(&error) => Err(explain(&self.path, &error)),
                _ => Ok(()),
            }
        })
    }

    fn close(self: Box<Self>) -> Pending<'static, ()> {
        Box::pin(async move {
            let path = self.path;
            self.connection
                .close()
                .await
                .map_err(|error| explain(&path, &error))
        })
    }
}
