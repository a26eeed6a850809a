//! Errors of the client side.

use std::fmt;

use crate::{EXTENSION, SkillError};

/// An error of [`RemoteSkills`](crate::RemoteSkills) and [`RemoteSkill`](crate::RemoteSkill).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server does not declare the extension.
    Unsupported,
    /// The server has more skills than a client reads.
    #[non_exhaustive]
    TooMany {
        /// The maximum number.
        limit: usize,
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
            Self::TooMany { limit } => write!(
                f,
                "the server has more than {limit} skills, or more than 32 MiB or 1,000 pages of skills"
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
