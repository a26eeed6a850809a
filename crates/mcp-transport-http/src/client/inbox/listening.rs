//! Whether the client listens to what the server says outside any call.

use tokio::sync::watch;

/// Whether the client listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenState {
    /// It has not listened yet, or the server does not support it.
    Off,
    /// It listens, or is about to.
    On,
    /// It gave up because the server could not be reached; a call that reaches the server starts
    /// it again.
    Suspended,
}

/// The listening of one connection: its state, and whether the server has answered once.
pub(crate) struct Listening {
    state: watch::Sender<ListenState>,
    answered: watch::Sender<bool>,
}

impl Listening {
    pub(crate) fn new() -> Self {
        Self {
            state: watch::Sender::new(ListenState::Off),
            answered: watch::Sender::new(false),
        }
    }

    pub(crate) fn state(&self) -> ListenState {
        *self.state.borrow()
    }

    pub(crate) fn set(&self, state: ListenState) {
        self.state.send_replace(state);
    }

    /// Completes when the client should listen. Cancel safe.
    pub(crate) async fn wanted(&self) {
        let is_on = |state: &ListenState| *state == ListenState::On;
        let _ = self.state.subscribe().wait_for(is_on).await;
    }

    pub(crate) fn set_answered(&self) {
        self.answered.send_replace(true);
    }

    /// Completes when the server has answered the first request for a stream. Cancel safe.
    pub(crate) async fn answered(&self) {
        let _ = self
            .answered
            .subscribe()
            .wait_for(|answered| *answered)
            .await;
    }
}
