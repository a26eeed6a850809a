//! Errors when a store is opened.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use redb::{DatabaseError, StorageError};

/// The reason why a store cannot be opened. Each reason contains the path of the file.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process, or another store in this process, has the file open.
    InUse {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file is not a store of this crate, or is damaged.
    NotAStore {
        /// The path of the file.
        path: PathBuf,
        /// A description of the problem.
        reason: String,
    },
    /// The file was written by a later version of this crate.
    Newer {
        /// The path of the file.
        path: PathBuf,
        /// The format of the file. This version of the crate reads format 1.
        format: u64,
    },
    /// The file cannot be read or written, or the thread of the store cannot be started.
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl OpenError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, source }
    }

    pub(crate) fn not_a_store(path: &Path, reason: impl Into<String>) -> Self {
        Self::NotAStore {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    pub(crate) fn of_database(path: &Path, error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen => Self::InUse {
                path: path.to_owned(),
            },
            // The database reports damaged data with these kinds.
            DatabaseError::Storage(StorageError::Io(source))
                if !matches!(
                    source.kind(),
                    io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
                ) =>
            {
                Self::io(path, source)
            }
            other => Self::not_a_store(path, other.to_string()),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { path } => write!(
                f,
                "{}: this file is already open in another process or in another store of this process; stop that process or drop that store",
                path.display()
            ),
            Self::NotAStore { path, reason } => {
                write!(f, "{}: not a store, or damaged: {reason}", path.display())
            }
            Self::Newer { path, format } => write!(
                f,
                "{}: a later version wrote this store in format {format}; this version \
                 supports format 1",
                path.display()
            ),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
