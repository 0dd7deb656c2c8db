//! What a database must offer for the store to run on it.
//!
//! Everything above this seam is written once, with one SQL text: placeholders are `$1`, ids and JSON
//! are `TEXT`, times are `BIGINT` milliseconds, and no statement relies on a collation or on
//! generated keys. A backend brings connections and says which writing processes are alive.

use std::pin::Pin;

use crate::StoreError;

/// A future of this crate's traits.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A value bound to a statement or read from a row. Nulls are typed, as PostgreSQL wants them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A `BIGINT`.
    Int(Option<i64>),
    /// A `TEXT`.
    Text(Option<String>),
}

macro_rules! into_value {
    ($($from:ty => |$v:ident| $into:expr;)*) => {
        $(impl From<$from> for Value { fn from($v: $from) -> Self { $into } })*
    };
}

into_value! {
    i64 => |v| Self::Int(Some(v));
    Option<i64> => |v| Self::Int(v);
    &str => |v| Self::Text(Some(v.to_owned()));
    String => |v| Self::Text(Some(v));
    &String => |v| Self::Text(Some(v.clone()));
    Option<String> => |v| Self::Text(v);
    &Option<String> => |v| Self::Text(v.clone());
    Option<&str> => |v| Self::Text(v.map(str::to_owned));
}

/// Builds the arguments of a statement, in the order of its placeholders.
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::backend::Value::from($value)),*] };
}
pub(crate) use args;

/// One row of an answer, read by column position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(pub Vec<Value>);

impl Row {
    /// The number in a column that is never null.
    pub fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.int_opt(column)?.ok_or_else(|| misread(column))
    }

    /// The number in a column, if there is one.
    pub fn int_opt(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.0.get(column) {
            Some(Value::Int(value)) => Ok(*value),
            Some(Value::Text(None)) => Ok(None),
            _ => Err(misread(column)),
        }
    }

    /// The text in a column that is never null.
    pub fn text(&self, column: usize) -> Result<String, StoreError> {
        self.text_opt(column)?.ok_or_else(|| misread(column))
    }

    /// The text in a column, if there is one.
    pub fn text_opt(&self, column: usize) -> Result<Option<String>, StoreError> {
        match self.0.get(column) {
            Some(Value::Text(value)) => Ok(value.clone()),
            Some(Value::Int(None)) => Ok(None),
            _ => Err(misread(column)),
        }
    }
}

impl Row {
    /// The texts of all columns, where none is null.
    pub fn into_texts<const N: usize>(self) -> Result<[String; N], StoreError> {
        let texts = self.0.into_iter().enumerate();
        let texts = texts.map(|(column, value)| match value {
            Value::Text(Some(text)) => Ok(text),
            _ => Err(misread(column)),
        });
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        let count = texts.len();
        texts.try_into().map_err(|_| misread(count))
    }
}

fn misread(column: usize) -> StoreError {
    StoreError::failed(format!("column {column} does not hold what it should"))
}

/// Runs statements, inside the transaction that its [`Link`] opened.
pub trait Session: Send {
    /// Runs a statement and says how many rows it changed.
    fn execute<'a>(&'a mut self, sql: &'static str, args: Vec<Value>) -> Pending<'a, u64>;

    /// Runs a statement and collects its rows.
    fn query<'a>(&'a mut self, sql: &'static str, args: Vec<Value>) -> Pending<'a, Vec<Row>>;
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one connection of this process that writes; its transactions take the write lock first.
    Writer,
    /// A connection that only reads; its transactions see one state of the database.
    Reader,
}

/// One connection.
pub trait Link: Session {
    /// Opens a transaction: for a writer one that holds the write lock from the start.
    fn begin(&mut self) -> Pending<'_, ()>;

    /// Makes the transaction durable. After `Ok` it survives a power cut.
    fn commit(&mut self) -> Pending<'_, ()>;

    /// Takes the transaction back, also when it has already ended.
    fn rollback(&mut self) -> Pending<'_, ()>;

    /// Makes the commits to come cheaper, a little at a time, while nobody waits for this connection; `false` once
    /// there is nothing left to do. A transaction must not be open.
    fn prepare(&mut self) -> Pending<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    /// Ends the connection in order.
    fn close(self: Box<Self>) -> Pending<'static, ()>;
}

/// Shows other processes that a writer is alive until it is dropped, also by a crash.
pub trait Presence: Send + Sync {}

/// A writer that was registered last, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Its place among the writers.
    pub ordinal: i64,
    /// What its chain starts from.
    pub genesis: String,
}

/// A database.
pub trait Backend: Send + Sync {
    /// A new connection to the migrated database.
    fn connect(&self, role: Role) -> Pending<'_, Box<dyn Link>>;

    /// Announces a writer, before its first entry.
    fn announce<'a>(&'a self, writer_id: &'a str) -> Pending<'a, Box<dyn Presence>>;

    /// Whether the process behind a writer still runs. In doubt it does.
    fn is_alive<'a>(&'a self, writer_id: &'a str) -> Pending<'a, bool>;

    /// Notes outside the database which writer is the newest, once it is registered durably. A backend that
    /// has no such place notes nothing.
    fn note_newest<'a>(&'a self, _newest: &'a Newest) -> Pending<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The writer that was noted last.
    fn newest(&self) -> Pending<'_, Option<Newest>> {
        Box::pin(async { Ok(None) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_give_what_the_column_holds_and_refuse_the_rest() {
        let row = Row(args![1, "a", None::<i64>, None::<String>]);
        assert_eq!(row.int(0), Ok(1));
        assert_eq!(row.text(1).as_deref(), Ok("a"));
        assert_eq!(row.int_opt(2), Ok(None));
        assert_eq!(row.text_opt(2), Ok(None));
        assert_eq!(row.int_opt(3), Ok(None));
        assert_eq!(row.text_opt(3), Ok(None));
        for broken in [row.int(1), row.int(2), row.int(9)] {
            assert!(matches!(broken, Err(StoreError::Failed { .. })));
        }
        for broken in [row.text(0), row.text(3), row.text(9)] {
            assert!(matches!(broken, Err(StoreError::Failed { .. })));
        }
        let two = || Row(args!["a", "b"]);
        assert_eq!(two().into_texts(), Ok(["a".to_owned(), "b".to_owned()]));
        assert!(two().into_texts::<1>().is_err() && two().into_texts::<3>().is_err());
        assert!(row.into_texts::<4>().is_err());
    }
}
