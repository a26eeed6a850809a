//! The log of a discovery.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// Each URL that a discovery tried, in order, with its result.
#[derive(Debug, Clone, Default)]
pub struct DiscoveryLog(Vec<DiscoveryAttempt>);

/// A request of a discovery.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiscoveryAttempt {
    /// The URL, without its query.
    pub url: String,
    /// Why the document cannot be used; `None` if it can.
    pub failure: Option<String>,
}

impl DiscoveryLog {
    /// Returns all requests.
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

    /// Creates an error that lists all requests.
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
