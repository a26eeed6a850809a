//! Checks whether a server responds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocol::lock;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Maximum time in which a server must respond.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum age of a check's result. Younger results are reused, so that frequent checks do not burden the server.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The result of the last check, and whether a check is running.
#[derive(Debug)]
pub(super) struct Readiness {
    last: watch::Sender<Option<Checked>>,
    /// The time at which the server last responded to a check, or at which it was first connected.
    responded: Mutex<Instant>,
    is_running: AtomicBool,
}

/// The end time of a check, and the reason why the server is not ready.
#[derive(Debug, Clone)]
struct Checked {
    at: Instant,
    reason: Option<String>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self {
            last: watch::Sender::default(),
            responded: Mutex::new(Instant::now()),
            is_running: AtomicBool::default(),
        }
    }
}

impl Readiness {
    /// Records that the server has responded to a check.
    pub(super) fn responded(&self) {
        *lock(&self.responded) = Instant::now();
    }

    /// Returns the time since the last response to a check.
    pub(super) fn silence(&self) -> Duration {
        lock(&self.responded).elapsed()
    }

    /// Returns the reason why the server is not ready; `None` if it is ready. Uses the result of the last check if it is at most
    /// one second old; otherwise runs a new check. Does not call `check` while another check is running.
    ///
    /// # Cancel safety
    /// If the future is dropped, the check continues. A client that disconnects and repeats its request therefore does not cause
    /// another check.
    pub(super) async fn reason<F>(self: &Arc<Self>, check: impl FnOnce() -> F) -> Option<String>
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        let mut last = self.last.subscribe();
        if let Some(checked) = &*last.borrow_and_update()
            && checked.at.elapsed() < MAX_AGE
        {
            return checked.reason.clone();
        }
        if !self.is_running.swap(true, Ordering::AcqRel) {
            let (readiness, check) = (Arc::clone(self), check());
            tokio::spawn(async move {
                let reason = check.await;
                let at = Instant::now();
                readiness.last.send_replace(Some(Checked { at, reason }));
                readiness.is_running.store(false, Ordering::Release);
            });
        }
        match timeout(2 * RESPONSE_TIMEOUT, last.changed()).await {
            Ok(Ok(())) => last.borrow().as_ref()?.reason.clone(),
            _ => Some("the check does not end".to_owned()),
        }
    }
}
