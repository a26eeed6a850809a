//! The nesting depth of tool calls and sampling requests.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use mcp_protocol::lock;

tokio::task_local! {
    /// The depth of the sampling request whose model runs in this task.
    static DEPTH: u32;
}

/// Runs a future as part of a sampling request of this depth.
pub(crate) async fn within<F: Future>(depth: u32, future: F) -> F::Output {
    DEPTH.scope(depth, future).await
}

/// The running tool calls of one server: the number of calls that belong to sampling requests of each depth. Other calls have
/// depth 0. The depth of sampling requests is limited, so the size of the map is limited, too.
#[derive(Debug, Default)]
pub(crate) struct RunningCalls(Mutex<BTreeMap<u32, usize>>);

/// A running call, which ends on drop.
pub(super) struct RunningCall<'a> {
    calls: &'a RunningCalls,
    depth: u32,
}

impl RunningCalls {
    /// Counts a call of the current task.
    pub(super) fn start(&self) -> RunningCall<'_> {
        let depth = DEPTH.try_with(|depth| *depth).unwrap_or_default();
        *self.by_depth().entry(depth).or_default() += 1;
        RunningCall { calls: self, depth }
    }

    /// Returns the greatest depth of the running calls. A request of a server does not say which call it
    /// belongs to.
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
