//! Finding records.

use std::ops::Bound;

use mcp_protocol::task::Task;
use redb::{ReadOnlyTable, ReadTransaction};

use crate::job::Look;
use crate::tables::{OWNERS, Owned, Problem, Row, TASKS, UNFINISHED};

/// The tables that find records.
pub(crate) struct Rows {
    tasks: ReadOnlyTable<&'static str, Row>,
    owners: ReadOnlyTable<Owned, ()>,
    unfinished: ReadOnlyTable<&'static str, ()>,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) tasks: Vec<Task>,
    /// Why the last of those that cannot be read cannot.
    pub(crate) unreadable: Option<String>,
}

impl Rows {
    pub(crate) fn open(transaction: &ReadTransaction) -> Result<Self, Problem> {
        Ok(Self {
            tasks: transaction.open_table(TASKS)?,
            owners: transaction.open_table(OWNERS)?,
            unfinished: transaction.open_table(UNFINISHED)?,
        })
    }

    pub(crate) fn find(&self, look: &Look) -> Result<Found, Problem> {
        let mut found = Found::default();
        match look {
            Look::One(id) => self.add(id, &mut found)?,
            Look::Owned {
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
            Look::Unfinished { after, limit } => {
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

    fn add(&self, id: &str, found: &mut Found) -> Result<(), Problem> {
        let Some(row) = self.tasks.get(id)? else {
            return Ok(());
        };
        let (.., json) = row.value();
        match serde_json::from_slice(json) {
            Ok(task) => found.tasks.push(task),
            Err(error) => {
                // As much of the id as may stand in a log.
                let shown = id.get(..12).unwrap_or(id);
                found.unreadable = Some(format!(
                    "task {shown} cannot be read, perhaps a later version wrote it: {error}"
                ));
            }
        }
        Ok(())
    }
}
