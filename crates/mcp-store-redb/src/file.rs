//! The database file. It is opened again after a failure.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read as _, Seek as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use mcp_protocol::task::{Task, TaskStoreError};
use redb::backends::FileBackend;
use redb::{Builder, Database, ReadableDatabase, TableHandle as _, WriteTransaction};

use crate::job::{Query, Write};
use crate::tables::meta::{self, DatabaseError, FORMAT, META};
use crate::tables::tasks::{self, Reader, Tables};
use crate::{OpenError, RedbOptions};

/// The first bytes of a redb database.
const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
/// The reason why a folder, device, pipe or socket is not a store.
const NOT_REGULAR: &str = "it is not a regular file";
/// The reason why a database of another program is not a store.
const OTHER_CONTENTS: &str = "it is a redb database with other contents";

#[derive(Debug)]
pub(crate) struct StoreFile {
    path: PathBuf,
    options: RedbOptions,
    /// The database; `None` after a failure. A failed database accepts no further operations, so the file must be opened again.
    database: Option<Database>,
}

impl StoreFile {
    /// Opens a file, or creates it.
    pub(crate) fn open(path: PathBuf, options: RedbOptions) -> Result<Self, OpenError> {
        let mut file = Self {
            path,
            options,
            database: None,
        };
        file.database()?;
        Ok(file)
    }

    fn database(&mut self) -> Result<&Database, OpenError> {
        let opened = match self.database.take() {
            Some(database) => database,
            // Damaged files can make the database panic.
            None => catch_unwind(AssertUnwindSafe(|| self.attach())).unwrap_or_else(|_| {
                Err(OpenError::not_a_store(&self.path, "the file is damaged"))
            })?,
        };
        Ok(self.database.insert(opened))
    }

    /// Opens the file. If the file is not a store, does not change it.
    fn attach(&self) -> Result<Database, OpenError> {
        let path = &self.path;
        let not_a_store = |reason: &str| OpenError::not_a_store(path, reason);
        let is_special = |file: &Metadata| !file.is_file();
        // Checked before the file is opened, because opening a device can have an effect.
        if std::fs::metadata(path).as_ref().is_ok_and(is_special) {
            return Err(not_a_store(NOT_REGULAR));
        }
        let mut open_options = OpenOptions::new();
        open_options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false);
        #[cfg(unix)]
        {
            // Results of tasks and the state key are readable only by the owner of the file.
            use std::os::unix::fs::OpenOptionsExt as _;
            open_options.mode(0o600);
        }
        let io = |error| OpenError::io(path, error);
        let mut file = open_options.open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if is_special(&metadata) {
            return Err(not_a_store(NOT_REGULAR));
        }
        let is_new = metadata.len() == 0;
        if !is_new && !is_database(&mut file).map_err(io)? {
            return Err(not_a_store("it is not a redb database"));
        }
        #[cfg(unix)]
        let handle = file.try_clone().map_err(io)?;
        let mut builder = Builder::new();
        builder.set_cache_size(self.options.cache);
        if !is_new {
            self.check_unchanged(&builder)?;
        }
        let opened = FileBackend::new(file).and_then(|file| builder.create_with_backend(file));
        let database = opened.map_err(|error| OpenError::of_database(path, error))?;
        self.check(&database)?;
        #[cfg(unix)]
        restrict_permissions(&handle).map_err(io)?;
        if is_new {
            self.sync_directory().map_err(io)?;
        }
        Ok(database)
    }

    /// Returns an error if the file has tables of another program. Opens the file for reading only, because opening it for
    /// writing would change it. A file that was not closed, for example after a crash, must be repaired before it can be read.
    /// Such a file is checked after the repair.
    fn check_unchanged(&self, builder: &Builder) -> Result<(), OpenError> {
        let Ok(database) = builder.open_read_only(&self.path) else {
            return Ok(());
        };
        match format(&database) {
            Ok(Some(0)) => Err(OpenError::not_a_store(&self.path, OTHER_CONTENTS)),
            _ => Ok(()),
        }
    }

    /// Creates the tables of a new file, or checks the format of an existing file.
    fn check(&self, database: &Database) -> Result<(), OpenError> {
        let not_a_store =
            |problem: DatabaseError| OpenError::not_a_store(&self.path, problem.to_string());
        let format = format(database).map_err(not_a_store)?;
        match format {
            Some(FORMAT) => Ok(()),
            Some(0) => Err(OpenError::not_a_store(&self.path, OTHER_CONTENTS)),
            Some(format) => Err(OpenError::Newer {
                path: self.path.clone(),
                format,
            }),
            None => tasks::create_tables(database).map_err(not_a_store),
        }
    }

    /// Syncs the directory, so that a new file is not lost in a crash.
    #[cfg(unix)]
    fn sync_directory(&self) -> std::io::Result<()> {
        let folder = self
            .path
            .parent()
            .filter(|path| !path.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| std::path::Path::new("."));
        File::open(folder)?.sync_all()
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Unix")]
    fn sync_directory(&self) -> std::io::Result<()> {
        Ok(())
    }

    /// Applies all writes in one transaction, in their order.
    pub(crate) fn write(
        &mut self,
        writes: &[Write],
    ) -> Result<Vec<Result<usize, TaskStoreError>>, TaskStoreError> {
        self.change(|transaction, options| {
            let mut tables = Tables::open(transaction, options)?;
            let done = writes.iter().map(|write| tables.apply(write));
            let done: Vec<_> = done.collect::<Result<_, DatabaseError>>()?;
            let is_changed = done.iter().any(Result::is_ok);
            Ok((done, is_changed))
        })
    }

    /// Returns the key for encrypting the state of calls. The key is in the file. If the file has no key, stores a random key.
    #[cfg(feature = "server")]
    pub(crate) fn state_key(&mut self) -> Result<[u8; 32], OpenError> {
        let mut fresh = [0; 32];
        let filled = getrandom::fill(&mut fresh);
        filled.map_err(|error| OpenError::io(&self.path, error.into()))?;
        let key = self.change(|transaction, _| meta::state_key(transaction, &fresh));
        key.map_err(|error| OpenError::io(&self.path, std::io::Error::other(error.to_string())))
    }

    /// Runs a transaction. `work` returns its result, and whether it has changed anything. Without a change, nothing is written
    /// to the disk.
    pub(crate) fn change<T>(
        &mut self,
        work: impl FnOnce(&WriteTransaction, RedbOptions) -> Result<(T, bool), DatabaseError>,
    ) -> Result<T, TaskStoreError> {
        let options = self.options;
        self.with(|database| {
            let transaction = database.begin_write()?;
            let (done, is_changed) = work(&transaction, options)?;
            if is_changed {
                transaction.commit()?;
            } else {
                transaction.abort()?;
            }
            Ok(done)
        })
    }

    /// Reads the tasks that match the query. Leaves out unreadable records, except in a query for a single task.
    pub(crate) fn read(&mut self, query: &Query) -> Result<Vec<Task>, TaskStoreError> {
        let found = self.with(|database| {
            let transaction = database.begin_read()?;
            Reader::open(&transaction)?.find(query)
        })?;
        match (query, found.unreadable) {
            (Query::One(_), Some(reason)) => Err(TaskStoreError::Unavailable(format!(
                "{}: {reason}",
                self.path.display()
            ))),
            (_, reason) => {
                if let Some(reason) = reason {
                    tracing::warn!(file = %self.path.display(), %reason, "unreadable tasks are \
                     left out");
                }
                Ok(found.tasks)
            }
        }
    }

    /// Runs an operation on the database. After any failure, the next operation opens the file again.
    pub(crate) fn with<T>(
        &mut self,
        work: impl FnOnce(&Database) -> Result<T, DatabaseError>,
    ) -> Result<T, TaskStoreError> {
        let database = self
            .database()
            .map_err(|error| TaskStoreError::Unavailable(error.to_string()))?;
        let worked = catch_unwind(AssertUnwindSafe(|| work(database)));
        let reason = match worked {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(problem)) => problem.to_string(),
            Err(_) => "the file is damaged".to_owned(),
        };
        let failed = self.database.take();
        // Closing a failed database may panic, too.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(failed)));
        let path = self.path.display();
        Err(TaskStoreError::Unavailable(format!("{path}: {reason}")))
    }
}

/// Returns whether the file begins with the magic bytes of a redb database.
fn is_database(file: &mut File) -> std::io::Result<bool> {
    let mut start = Vec::new();
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == MAGIC)
}

/// Makes the file readable only by its owner, even if the file already existed with another mode.
#[cfg(unix)]
fn restrict_permissions(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut permissions = file.metadata()?.permissions();
    if permissions.mode() & 0o077 != 0 {
        permissions.set_mode(0o600);
        file.set_permissions(permissions)?;
    }
    Ok(())
}

/// Returns the format of a database: `None` if the database is empty, and zero if it is not a store.
fn format(database: &impl ReadableDatabase) -> Result<Option<u64>, DatabaseError> {
    let transaction = database.begin_read()?;
    let mut names = transaction
        .list_tables()?
        .map(|table| table.name().to_owned());
    match names.find(|name| name == META.name()) {
        Some(_) => Ok(Some(meta::format(&transaction)?)),
        None if transaction.list_tables()?.next().is_none() => Ok(None),
        None => Ok(Some(0)),
    }
}
