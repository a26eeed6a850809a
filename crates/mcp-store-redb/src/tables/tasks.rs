//! The tables of the tasks: records and indexes.

use std::ops::Bound;

use mcp_protocol::task::{Task, TaskStoreError, Timestamp, short_id};
use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableTable as _, ReadableTableMetadata as _,
    Table, TableDefinition, WriteTransaction,
};

use super::meta::{DatabaseError, FORMAT, FORMAT_KEY, META};
use crate::RedbOptions;
use crate::job::{Query, TaskRow, Write};

/// Row of a task: version, expiry in ms, whether the task has ended, owner, and the task as JSON. The columns before the JSON can
/// be used even if the record cannot be read.
type Row = (u64, u64, bool, Option<&'static str>, &'static [u8]);
type OwnerKey = (Option<&'static str>, &'static str);
type ExpiryKey = (u64, &'static str);

/// The tasks, by id.
const TASKS: TableDefinition<'_, &str, Row> = TableDefinition::new("tasks");
/// Index of tasks by owner.
const OWNERS: TableDefinition<'_, OwnerKey, ()> = TableDefinition::new("owners");
/// Number of tasks per owner.
const COUNTS: TableDefinition<'_, Option<&str>, u64> = TableDefinition::new("counts");
/// Index of tasks that have not ended.
const UNFINISHED: TableDefinition<'_, &str, ()> = TableDefinition::new("unfinished");
/// Index of tasks by expiry.
const EXPIRY: TableDefinition<'_, ExpiryKey, ()> = TableDefinition::new("expiry");
const BYTES_KEY: &str = "bytes";

/// Creates the tables of a new file.
pub(crate) fn create_tables(database: &Database) -> Result<(), DatabaseError> {
    let transaction = database.begin_write()?;
    {
        drop(Tables::open(&transaction, RedbOptions::new())?);
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT_KEY, FORMAT)?;
    }
    Ok(transaction.commit()?)
}

/// All task tables in a write transaction.
pub(crate) struct Tables<'t> {
    options: RedbOptions,
    tasks: Table<'t, &'static str, Row>,
    owners: Table<'t, OwnerKey, ()>,
    counts: Table<'t, Option<&'static str>, u64>,
    unfinished: Table<'t, &'static str, ()>,
    expiry: Table<'t, ExpiryKey, ()>,
    meta: Table<'t, &'static str, u64>,
}

/// The columns of a task's row without the JSON, and the size of the JSON in bytes.
struct RowHead {
    version: u64,
    expires: u64,
    ended: bool,
    owner: Option<Box<str>>,
    bytes: u64,
}

impl<'t> Tables<'t> {
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        options: RedbOptions,
    ) -> Result<Self, DatabaseError> {
        Ok(Self {
            options,
            tasks: transaction.open_table(TASKS)?,
            owners: transaction.open_table(OWNERS)?,
            counts: transaction.open_table(COUNTS)?,
            unfinished: transaction.open_table(UNFINISHED)?,
            expiry: transaction.open_table(EXPIRY)?,
            meta: transaction.open_table(META)?,
        })
    }

    /// Applies one change. Returns the number of removed tasks, or the reason why nothing was changed.
    pub(crate) fn apply(
        &mut self,
        write: &Write,
    ) -> Result<Result<usize, TaskStoreError>, DatabaseError> {
        match write {
            Write::Create { record, now } => self.create(record, *now),
            Write::Put { record, expected } => self.put(record, *expected),
            Write::Remove(id) => Ok(Ok(self.remove(id)?.into())),
            Write::Sweep(now) => Ok(Ok(self.sweep(*now)?)),
        }
    }

    fn create(
        &mut self,
        record: &TaskRow,
        now: Timestamp,
    ) -> Result<Result<usize, TaskStoreError>, DatabaseError> {
        // Expired tasks are removed even if the new one is rejected.
        let swept = self.sweep(now)?;
        if self.head(&record.id)?.is_some() {
            return Ok(Err(TaskStoreError::Conflict));
        }
        let RedbOptions {
            max_tasks,
            max_tasks_per_owner,
            ..
        } = self.options;
        let full = |limit: String| Ok(Err(TaskStoreError::Full { limit }));
        if self.tasks.len()? >= max_tasks as u64 {
            return full(format!("{max_tasks} tasks"));
        }
        if self.count(record.owner.as_deref())? >= max_tasks_per_owner as u64 {
            return full(format!("{max_tasks_per_owner} tasks of one owner"));
        }
        if let Err(error) = self.fits(self.bytes()?, record.json.len() as u64) {
            return Ok(Err(error));
        }
        self.insert(record)?;
        Ok(Ok(swept))
    }

    fn put(
        &mut self,
        record: &TaskRow,
        expected: u64,
    ) -> Result<Result<usize, TaskStoreError>, DatabaseError> {
        let Some(kept) = self.head(&record.id)? else {
            return Ok(Err(TaskStoreError::Conflict));
        };
        if kept.version != expected || kept.ended {
            return Ok(Err(TaskStoreError::Conflict));
        }
        let bytes = record.json.len() as u64;
        if bytes > kept.bytes
            && let Err(error) = self.fits(self.bytes()?.saturating_sub(kept.bytes), bytes)
        {
            return Ok(Err(error));
        }
        self.remove(&record.id)?;
        self.insert(record)?;
        Ok(Ok(0))
    }

    fn fits(&self, bytes: u64, more: u64) -> Result<(), TaskStoreError> {
        let max_task_bytes = self.options.max_task_bytes;
        if bytes.saturating_add(more) <= max_task_bytes as u64 {
            return Ok(());
        }
        Err(TaskStoreError::Full {
            limit: format!("{max_task_bytes} bytes of tasks"),
        })
    }

    fn insert(&mut self, record: &TaskRow) -> Result<(), DatabaseError> {
        let (id, owner) = (&*record.id, record.owner.as_deref());
        self.tasks.insert(
            id,
            (
                record.version,
                record.expires,
                record.ended,
                owner,
                &*record.json,
            ),
        )?;
        self.owners.insert((owner, id), ())?;
        let count = self.count(owner)?;
        self.counts.insert(owner, count + 1)?;
        if !record.ended {
            self.unfinished.insert(id, ())?;
        }
        if record.expires < Timestamp::MAX.as_millis() {
            self.expiry.insert((record.expires, id), ())?;
        }
        let bytes = self.bytes()?.saturating_add(record.json.len() as u64);
        self.meta.insert(BYTES_KEY, bytes)?;
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Result<bool, DatabaseError> {
        let Some(kept) = self.head(id)? else {
            return Ok(false);
        };
        let owner = kept.owner.as_deref();
        self.tasks.remove(id)?;
        self.owners.remove((owner, id))?;
        match self.count(owner)? {
            0 | 1 => drop(self.counts.remove(owner)?),
            count => drop(self.counts.insert(owner, count - 1)?),
        }
        self.unfinished.remove(id)?;
        self.expiry.remove((kept.expires, id))?;
        let bytes = self.bytes()?.saturating_sub(kept.bytes);
        self.meta.insert(BYTES_KEY, bytes)?;
        Ok(true)
    }

    fn sweep(&mut self, now: Timestamp) -> Result<usize, DatabaseError> {
        let mut swept = 0;
        loop {
            let first = self.expiry.first()?;
            let first = first.map(|(key, _)| {
                let (at, id) = key.value();
                (at, Box::<str>::from(id))
            });
            match first {
                Some((at, id)) if at <= now.as_millis() => {
                    self.expiry.remove((at, &*id))?;
                    swept += usize::from(self.remove(&id)?);
                }
                _ => return Ok(swept),
            }
        }
    }

    fn head(&self, id: &str) -> Result<Option<RowHead>, DatabaseError> {
        let row = self.tasks.get(id)?;
        Ok(row.map(|row| {
            let (version, expires, ended, owner, json) = row.value();
            RowHead {
                version,
                expires,
                ended,
                owner: owner.map(Into::into),
                bytes: json.len() as u64,
            }
        }))
    }

    fn count(&self, owner: Option<&str>) -> Result<u64, DatabaseError> {
        Ok(self.counts.get(owner)?.map_or(0, |count| count.value()))
    }

    fn bytes(&self) -> Result<u64, DatabaseError> {
        Ok(self.meta.get(BYTES_KEY)?.map_or(0, |bytes| bytes.value()))
    }
}

/// The task tables in a read transaction.
pub(crate) struct Reader {
    tasks: ReadOnlyTable<&'static str, Row>,
    owners: ReadOnlyTable<OwnerKey, ()>,
    unfinished: ReadOnlyTable<&'static str, ()>,
}

#[derive(Default)]
pub(crate) struct QueryResult {
    pub(crate) tasks: Vec<Task>,
    /// The reason why the most recent unreadable record could not be decoded.
    pub(crate) unreadable: Option<String>,
}

impl Reader {
    pub(crate) fn open(transaction: &ReadTransaction) -> Result<Self, DatabaseError> {
        Ok(Self {
            tasks: transaction.open_table(TASKS)?,
            owners: transaction.open_table(OWNERS)?,
            unfinished: transaction.open_table(UNFINISHED)?,
        })
    }

    pub(crate) fn find(&self, query: &Query) -> Result<QueryResult, DatabaseError> {
        let mut found = QueryResult::default();
        match query {
            Query::One(id) => self.add(id, &mut found)?,
            Query::Owned {
                owner,
                after,
                limit,
            } => {
                let owner = owner.as_deref();
                let from = match after {
                    Some(after) => Bound::Excluded((owner, &**after)),
                    None => Bound::Included((owner, "")),
                };
                for row in self.owners.range((from, Bound::Unbounded))? {
                    let key = row?.0;
                    let (whose, id) = key.value();
                    if whose != owner || found.tasks.len() >= *limit {
                        break;
                    }
                    self.add(id, &mut found)?;
                }
            }
            Query::Unfinished { after, limit } => {
                let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                for row in self.unfinished.range::<&str>((from, Bound::Unbounded))? {
                    if found.tasks.len() >= *limit {
                        break;
                    }
                    self.add(row?.0.value(), &mut found)?;
                }
            }
        }
        Ok(found)
    }

    fn add(&self, id: &str, found: &mut QueryResult) -> Result<(), DatabaseError> {
        let Some(row) = self.tasks.get(id)? else {
            return Ok(());
        };
        let (.., json) = row.value();
        match mcp_jsonrpc::decode_document(json) {
            Ok(task) => found.tasks.push(task),
            Err(error) => {
                let shown = short_id(id);
                found.unreadable = Some(format!(
                    "task {shown} cannot be read; a later version may have written it: {error}"
                ));
            }
        }
        Ok(())
    }
}
