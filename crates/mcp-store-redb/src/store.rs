//! Opens the file that all stores share.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::file::StoreFile;
use crate::thread::StoreThread;
use crate::{OpenError, RedbOptions, RedbTaskStore};

/// A database file. The stores of a server are created from it. Cloning returns another handle to the same file.
///
/// One thread does the work, so that callers do not block an executor. Concurrent changes share a transaction. After a failure,
/// for example a full disk, the next operation opens the file again.
///
/// When the last handle and the last store are dropped, running operations complete and the file is closed, which takes a few
/// milliseconds.
#[derive(Clone)]
pub struct RedbStore {
    thread: Arc<StoreThread>,
    #[cfg(feature = "server")]
    state_key: [u8; 32],
}

impl RedbStore {
    /// Opens or creates the file, with the limits of [`RedbOptions::new`]. After a crash, reads and repairs the whole file.
    ///
    /// Blocks the thread, so call it before the server starts.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, RedbOptions::new())
    }

    /// Opens or creates the file like [`open`](Self::open), but with custom limits. If the file already exceeds the limits, its
    /// contents are kept until they expire, and new tasks, sessions and events are rejected.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_with(path: impl AsRef<Path>, options: RedbOptions) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        #[cfg_attr(
            not(feature = "server"),
            expect(unused_mut, reason = "with the feature")
        )]
        let mut file = StoreFile::open(path.clone(), options)?;
        Ok(Self {
            #[cfg(feature = "server")]
            state_key: file.state_key()?,
            thread: Arc::new(StoreThread::start(path, file, options)?),
        })
    }

    /// Returns a store of tasks, for `ServerBuilder::task_store`.
    pub fn task_store(&self) -> RedbTaskStore {
        RedbTaskStore::new(Arc::clone(&self.thread))
    }

    /// Returns a store of HTTP sessions, for
    /// [`ServerOptions::with_session_store`](mcp_transport_http::ServerOptions::with_session_store).
    #[cfg(feature = "http")]
    pub fn session_store(&self) -> crate::RedbSessionStore {
        crate::RedbSessionStore::new(Arc::clone(&self.thread))
    }

    /// Returns a store of the events of HTTP streams, for
    /// [`ServerOptions::with_event_store`](mcp_transport_http::ServerOptions::with_event_store).
    #[cfg(feature = "http")]
    pub fn event_store(&self) -> crate::RedbEventStore {
        crate::RedbEventStore::new(Arc::clone(&self.thread))
    }

    /// Returns the state keys of the file. They are random, and were created with the file. Pass them to
    /// [`ServerBuilder::state_keys`](mcp_server::ServerBuilder::state_keys), so that the state of calls and the cursors of lists
    /// are valid after a restart.
    #[cfg(feature = "server")]
    pub fn state_keys(&self) -> mcp_server::StateKeys {
        mcp_server::StateKeys::new(self.state_key)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.thread.path()
    }
}

impl fmt::Debug for RedbStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbStore")
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}
