//! The state of a supervised server.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::text::printable;

/// The state of a supervised server. Its text escapes control characters and invisible characters from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// Not started, or stopped by the application.
    Off,
    /// Starting, negotiating the revision, or listing its tools for the first time.
    Starting,
    /// Not started yet, because a person is being asked whether to connect.
    NeedsConsent,
    /// Connected, and its tools are known.
    Ready,
    /// Connected, but its tools could not be listed. Tools of an earlier list are marked as stale. The host requests the list
    /// again after the delays of the [`RestartPolicy`](crate::RestartPolicy).
    #[non_exhaustive]
    Degraded {
        /// The reason why the tools could not be listed.
        reason: Arc<str>,
    },
    /// Not connected. The host will start the server again.
    #[non_exhaustive]
    Backoff {
        /// The time of the next start.
        until: Instant,
        /// The reason why the last connection ended or failed.
        reason: Arc<str>,
    },
    /// Not connected. The host does not start the server again until the application requests it.
    #[non_exhaustive]
    Failed {
        /// The reason for the failure.
        reason: Arc<str>,
    },
}

impl ServerState {
    /// Returns whether calls can be sent.
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Ready | Self::Degraded { .. })
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Starting => f.write_str("starting"),
            Self::NeedsConsent => f.write_str("waiting for consent"),
            Self::Ready => f.write_str("ready"),
            Self::Degraded { reason } => {
                write!(f, "connected without a tool list: {}", printable(reason))
            }
            Self::Backoff { reason, .. } => {
                write!(f, "waiting for a restart: {}", printable(reason))
            }
            Self::Failed { reason } => write!(f, "failed: {}", printable(reason)),
        }
    }
}
