//! The nesting depth of tool calls and sampling requests.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use mcp_protocol::lock;

tokio::task_local! {
    /// The depth of the sampling request that a model answers in this task.
    static DEPTH: u32;
}

/// Runs a future as a part of a sampling request that has this depth.
pub(crate) async fn within<F: Future>(depth: u32, future: F) -> F::Output {
    DEPTH.scope(depth, future).await
}

/// The number of running tool calls of one server, by depth. A call that belongs to a sampling request has the depth of the
/// request; other calls have depth 0. The depth of sampling requests is limited, so the size of the map is limited too.
#[derive(Debug, Default)]
pub(crate) struct RunningCalls(Mutex<BTreeMap<u32, usize>>);

/// A running call. The call ends when this value is dropped.
pub(super) struct RunningCall<'a> {
    calls: &'a RunningCalls,
    depth: u32,
}

impl RunningCalls {
    /// Counts a call with the depth of the current task.
    pub(super) fn start(&self) -> RunningCall<'_> {
        let depth = DEPTH.try_with(|depth| *depth).unwrap_or_default();
        *self.by_depth().entry(depth).or_default() += 1;
        RunningCall { calls: self, depth }
    }

    /// Returns the greatest depth of the running calls. It is used for requests of the server, because a request does not say to
    /// which call it belongs.
    pub(crate) fn max_depth(&self) -> u32 {
        self.by_depth()
            .last_key_value()
            .map_or(0, |(depth, _)| *depth)
    }

    fn by_depth(&self) -> MutexGuard<'_, BTreeMap<u32, usize>> {
        lock(&self.0)
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let mut by_depth = self.calls.by_depth();
        if let Some(count) = by_depth.get_mut(&self.depth) {
            *count -= 1;
            if *count == 0 {
                by_depth.remove(&self.depth);
            }
        }
    }
}
