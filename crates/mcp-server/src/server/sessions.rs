//! The open sessions of a server.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Minimum value of [`Sessions::sweep_at`].
const MIN_SWEEP: usize = 64;

/// The open sessions, by memory address. Opening and closing a session take constant time on average.
pub(super) struct Sessions<T> {
    entries: HashMap<usize, Weak<T>>,
    /// When the map has this many entries, the entries of sessions that were dropped without [`remove`](Self::remove) are
    /// removed.
    sweep_at: usize,
}

impl<T> Default for Sessions<T> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            sweep_at: MIN_SWEEP,
        }
    }
}

impl<T> Sessions<T> {
    pub(super) fn insert(&mut self, session: &Arc<T>) {
        if self.entries.len() >= self.sweep_at {
            self.entries.retain(|_, session| session.strong_count() > 0);
            self.sweep_at = (2 * self.entries.len()).max(MIN_SWEEP);
        }
        // A weak pointer keeps the memory allocated, so no two entries have the same address.
        self.entries
            .insert(address(session), Arc::downgrade(session));
    }

    pub(super) fn remove(&mut self, session: &Arc<T>) {
        self.entries.remove(&address(session));
    }

    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.entries.values().filter_map(Weak::upgrade).collect()
    }
}

fn address<T>(session: &Arc<T>) -> usize {
    Arc::as_ptr(session).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_sessions_are_removed_at_once_and_dropped_sessions_in_bulk() {
        let mut sessions = Sessions::default();
        let open: Vec<Arc<usize>> = (0..10).map(Arc::new).collect();
        for session in &open {
            sessions.insert(session);
        }
        sessions.remove(&open[3]);
        let mut numbers: Vec<usize> = sessions.all().iter().map(|number| **number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 4, 5, 6, 7, 8, 9]);
        for number in 0..10_000 {
            sessions.insert(&Arc::new(number));
        }
        assert!(sessions.entries.len() <= MIN_SWEEP + 1);
        assert_eq!(sessions.all().len(), 9);
    }
}
