//! Errors of clients that read skills.

use std::fmt;

use crate::{EXTENSION, SkillError};

/// An error of [`RemoteSkills`](crate::RemoteSkills) and [`RemoteSkill`](crate::RemoteSkill).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server does not declare the extension for skills.
    Unsupported,
    /// The list of the server exceeds the limit of skills, pages or memory.
    #[non_exhaustive]
    TooMany {
        /// The maximum number of skills.
        limit: usize,
        /// The maximum memory of the entries, in bytes.
        max_bytes: usize,
    },
    /// The request failed.
    Client(mcp_client::Error),
    /// The skill cannot be used.
    Skill(SkillError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => write!(f, "the server does not declare the extension {EXTENSION}"),
            Self::TooMany { limit, max_bytes } => write!(
                f,
                "the server has more than {limit} skills or 1,000 pages of skills, or they need more than {max_bytes} bytes of memory"
            ),
            Self::Client(error) => error.fmt(f),
            Self::Skill(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Client(error) => error.source(),
            _ => None,
        }
    }
}

impl From<mcp_client::Error> for Error {
    fn from(error: mcp_client::Error) -> Self {
        Self::Client(error)
    }
}

impl From<SkillError> for Error {
    fn from(error: SkillError) -> Self {
        Self::Skill(error)
    }
}
