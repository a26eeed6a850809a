//! The table with the format, the sizes and the keys, and the error type of the database.

use std::fmt;

#[cfg(feature = "http")]
use mcp_protocol::task::TaskStoreError;
use redb::{ReadTransaction, TableDefinition};
#[cfg(feature = "server")]
use redb::{ReadableTable as _, WriteTransaction};

/// The file format of this version.
pub(crate) const FORMAT: u64 = 1;

/// The table with the format and with the total sizes of all records.
pub(crate) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// The table of keys. Files of earlier versions do not have this table.
#[cfg(feature = "server")]
const SECRETS: TableDefinition<'_, &str, &[u8; 32]> = TableDefinition::new("secrets");
#[cfg(feature = "server")]
const STATE_KEY: &str = "state";
pub(super) const FORMAT_KEY: &str = "format";

#[derive(Debug)]
pub(crate) struct DatabaseError(Box<redb::Error>);

impl<E: Into<redb::Error>> From<E> for DatabaseError {
    fn from(error: E) -> Self {
        Self(Box::new(error.into()))
    }
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the text of an error of the task store, so that another store can use this text in its own error.
#[cfg(feature = "http")]
pub(crate) fn reason(error: TaskStoreError) -> String {
    match error {
        TaskStoreError::Unavailable(reason) => reason,
        other => other.to_string(),
    }
}

/// Returns the state key from the table of keys, and whether the key is new. If the table has no key, stores `fresh`.
#[cfg(feature = "server")]
pub(crate) fn state_key(
    transaction: &WriteTransaction,
    fresh: &[u8; 32],
) -> Result<([u8; 32], bool), DatabaseError> {
    let mut secrets = transaction.open_table(SECRETS)?;
    let found = secrets.get(STATE_KEY)?.map(|key| *key.value());
    if let Some(key) = found {
        return Ok((key, false));
    }
    secrets.insert(STATE_KEY, fresh)?;
    Ok((*fresh, true))
}

/// Returns the format of a store.
pub(crate) fn format(transaction: &ReadTransaction) -> Result<u64, DatabaseError> {
    let meta = transaction.open_table(META)?;
    Ok(meta.get(FORMAT_KEY)?.map_or(0, |format| format.value()))
}
