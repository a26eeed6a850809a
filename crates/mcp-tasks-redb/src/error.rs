//! Why a file cannot be opened.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use redb::{DatabaseError, StorageError};

/// Why a file cannot be opened; each says which.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// A process has it open, this one or another.
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It is something else, or damaged.
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What is wrong, for people.
        reason: String,
    },
    /// A later version of this crate wrote it.
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format; this version reads format 1.
        format: u64,
    },
    /// The file cannot be read or written, or there is no thread to do it.
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
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
            // What the database finds wrong with the bytes, it says by these.
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
                "{}: a process has this task store open, and only one may",
                path.display()
            ),
            Self::NotAStore { path, reason } => {
                write!(f, "{}: no task store, or damaged: {reason}", path.display())
            }
            Self::Newer { path, format } => write!(
                f,
                "{}: a later version wrote this task store, its format is {format} and 1 is known",
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
