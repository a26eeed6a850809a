//! What was tried, for people who have to find out why it did not work.

use std::fmt;

use crate::error::{Error, Kind};

/// Each URL that was tried, in order, and what came of it.
#[derive(Debug, Clone, Default)]
pub struct Trail(Vec<Attempt>);

/// One try.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Attempt {
    /// The URL, without its query.
    pub url: String,
    /// Why it was of no use; `None` if it was.
    pub failure: Option<String>,
}

impl Trail {
    /// Each of them.
    pub fn attempts(&self) -> &[Attempt] {
        &self.0
    }

    pub(crate) fn add(&mut self, url: String, failure: &str) {
        tracing::debug!(url, failure, "metadata not found");
        self.0.push(Attempt {
            url,
            failure: Some(failure.to_owned()),
        });
    }

    pub(crate) fn found(&mut self, url: String) {
        tracing::debug!(url, "metadata found");
        self.0.push(Attempt { url, failure: None });
    }

    /// An error that tells the whole story.
    pub(crate) fn error(&self, kind: Kind, why: &str) -> Error {
        if self.0.is_empty() {
            return Error::new(kind, why);
        }
        Error::new(kind, format!("{why}; tried {self}"))
    }
}

impl fmt::Display for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, attempt) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            let outcome = attempt.failure.as_deref().unwrap_or("found");
            write!(f, "{} ({outcome})", attempt.url)?;
        }
        Ok(())
    }
}
