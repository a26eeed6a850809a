//! What was tried, for people who have to find out why it did not work.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// Each URL that was tried, in order, and what came of it.
#[derive(Debug, Clone, Default)]
pub struct DiscoveryLog(Vec<DiscoveryAttempt>);

/// One try.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiscoveryAttempt {
    /// The URL, without its query.
    pub url: String,
    /// Why it was of no use; `None` if it was.
    pub failure: Option<String>,
}

impl DiscoveryLog {
    /// Each of them.
    pub fn attempts(&self) -> &[DiscoveryAttempt] {
        &self.0
    }

    pub(crate) fn add(&mut self, url: String, failure: &str) {
        tracing::debug!(url, failure, "metadata not found");
        self.0.push(DiscoveryAttempt {
            url,
            failure: Some(failure.to_owned()),
        });
    }

    pub(crate) fn found(&mut self, url: String) {
        tracing::debug!(url, "metadata found");
        self.0.push(DiscoveryAttempt { url, failure: None });
    }

    /// An error that tells the whole story.
    pub(crate) fn error(&self, kind: ErrorKind, why: &str) -> Error {
        if self.0.is_empty() {
            return Error::new(kind, why);
        }
        Error::new(kind, format!("{why}; tried {self}"))
    }
}

impl fmt::Display for DiscoveryLog {
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
