//! The state of listening on the GET stream.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// Whether the client listens on the GET stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenState {
    /// The client has not listened yet, or the server has no GET stream.
    Off,
    /// The client listens, or is about to listen.
    On,
    /// The server was unreachable for too long. When a call reaches the server again, the client starts listening again.
    Suspended,
}

/// Whether the client listens on the GET stream of a connection, and whether the first GET was answered or has failed.
pub(crate) struct Listening {
    state: watch::Sender<ListenState>,
    answered: watch::Sender<bool>,
    /// Whether the server has opened a GET stream in any session of the connection.
    has_streamed: AtomicBool,
}

impl Listening {
    pub(crate) fn new() -> Self {
        Self {
            state: watch::Sender::new(ListenState::Off),
            answered: watch::Sender::new(false),
            has_streamed: AtomicBool::new(false),
        }
    }

    pub(crate) fn state(&self) -> ListenState {
        *self.state.borrow()
    }

    pub(crate) fn set(&self, state: ListenState) {
        self.state.send_replace(state);
    }

    /// Waits until the state is `On`. Cancel safe.
    pub(crate) async fn wanted(&self) {
        let is_on = |state: &ListenState| *state == ListenState::On;
        let _ = self.state.subscribe().wait_for(is_on).await;
    }

    /// Waits until the state is not `On`. Cancel safe.
    pub(crate) async fn ended(&self) {
        let is_off = |state: &ListenState| *state != ListenState::On;
        let _ = self.state.subscribe().wait_for(is_off).await;
    }

    pub(crate) fn set_streamed(&self) {
        self.has_streamed.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server is known to have a GET stream.
    pub(crate) fn has_streamed(&self) -> bool {
        self.has_streamed.load(Ordering::Relaxed)
    }

    pub(crate) fn set_answered(&self) {
        self.answered.send_replace(true);
    }

    /// Waits until the first GET was answered or has failed. Cancel safe.
    pub(crate) async fn answered(&self) {
        let _ = self
            .answered
            .subscribe()
            .wait_for(|answered| *answered)
            .await;
    }
}
