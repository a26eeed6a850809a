//! Read queries.

use std::ops::Bound;

use mcp_protocol::task::Task;
use redb::{ReadOnlyTable, ReadTransaction};

use crate::job::Query;
use crate::tables::{DatabaseError, OWNERS, OwnerKey, Row, TASKS, UNFINISHED};

/// The tables that queries read.
pub(crate) struct Reader {
    tasks: ReadOnlyTable<&'static str, Row>,
    owners: ReadOnlyTable<OwnerKey, ()>,
    unfinished: ReadOnlyTable<&'static str, ()>,
}

/// The result of a query.
#[derive(Default)]
pub(crate) struct QueryResult {
    pub(crate) tasks: Vec<Task>,
    /// Why the last unreadable record cannot be read.
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
        match serde_json::from_slice(json) {
            Ok(task) => found.tasks.push(task),
            Err(error) => {
                // The part of the id that may appear in logs.
                let shown = id.get(..12).unwrap_or(id);
                found.unreadable = Some(format!(
                    "task {shown} cannot be read, perhaps a later version wrote it: {error}"
                ));
            }
        }
        Ok(())
    }
}
