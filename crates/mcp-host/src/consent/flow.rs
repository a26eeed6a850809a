//! The untrusted servers whose results are in the conversation.

use std::collections::BTreeSet;
use std::sync::Mutex;

use mcp_client::types::Tool;
use mcp_protocol::lock;

/// The untrusted servers that have returned results to the current conversation.
#[derive(Debug, Default)]
pub(crate) struct UntrustedSources(Mutex<BTreeSet<String>>);

impl UntrustedSources {
    pub(crate) fn add(&self, server: &str) {
        self.lock().insert(server.to_owned());
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Returns all recorded servers except `server`.
    pub(crate) fn except(&self, server: &str) -> Vec<String> {
        let labels = self.lock();
        labels
            .iter()
            .filter(|label| *label != server)
            .cloned()
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        lock(&self.0)
    }
}

/// Returns whether a tool may be destructive. If the tool's annotations say that it is not destructive, they count only if the
/// server is trusted.
pub(crate) fn may_be_destructive(tool: &Tool, is_trusted: bool) -> bool {
    let annotations = tool.annotations.as_ref().filter(|_| is_trusted);
    !annotations.is_some_and(|annotations| {
        annotations.read_only_hint == Some(true) || annotations.destructive_hint == Some(false)
    })
}
