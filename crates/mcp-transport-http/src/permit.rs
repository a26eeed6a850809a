//! Counted limits.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// A limit on how much of something is in use at once: requests, threads, bytes.
///
/// Cloning returns another handle to the same limit.
#[derive(Clone)]
pub(crate) struct Capacity(Arc<Counter>);

struct Counter {
    used: AtomicUsize,
    limit: usize,
    is_draining: AtomicBool,
    idle: Notify,
}

impl Capacity {
    pub(crate) fn new(limit: usize) -> Self {
        Self(Arc::new(Counter {
            used: AtomicUsize::new(0),
            limit,
            is_draining: AtomicBool::new(false),
            idle: Notify::new(),
        }))
    }

    pub(crate) fn limit(&self) -> usize {
        self.0.limit
    }

    /// Takes one unit, unless the limit is reached.
    pub(crate) fn try_acquire(&self) -> Option<Permit> {
        let mut permit = self.empty_permit();
        permit.try_grow(1).then_some(permit)
    }

    /// Returns a permit of zero units that [grows](Permit::try_grow) in steps.
    #[cfg(feature = "server")]
    pub(crate) fn permit(&self) -> Permit {
        self.empty_permit()
    }

    fn empty_permit(&self) -> Permit {
        Permit {
            counter: Arc::clone(&self.0),
            units: 0,
        }
    }

    #[cfg(feature = "server")]
    pub(crate) fn used(&self) -> usize {
        self.0.used.load(Ordering::Acquire)
    }

    /// Waits until nothing is in use.
    #[cfg(feature = "server")]
    pub(crate) async fn drained(&self) {
        self.0.is_draining.store(true, Ordering::SeqCst);
        loop {
            let idle = self.0.idle.notified();
            if self.0.used.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl fmt::Debug for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capacity")
            .field("used", &self.0.used)
            .field("limit", &self.0.limit)
            .finish_non_exhaustive()
    }
}

/// A part of a [`Capacity`]. Released on drop.
pub(crate) struct Permit {
    counter: Arc<Counter>,
    units: usize,
}

impl Permit {
    /// Takes more units. `false` if that exceeds the limit; the permit is then to be dropped.
    pub(crate) fn try_grow(&mut self, units: usize) -> bool {
        // Counted first, so that a refused permit is released by its `Drop` too.
        self.units += units;
        let used = self.counter.used.fetch_add(units, Ordering::AcqRel) + units;
        used <= self.counter.limit
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let used = self.counter.used.fetch_sub(self.units, Ordering::SeqCst);
        if used == self.units && self.counter.is_draining.load(Ordering::SeqCst) {
            self.counter.idle.notify_one();
        }
    }
}

#[cfg(all(test, feature = "server"))]
mod tests {
    use super::*;

    #[test]
    fn permits_are_released_on_drop_including_refused_ones() {
        let capacity = Capacity::new(2);
        let first = capacity.try_acquire().unwrap();
        let mut second = capacity.permit();
        assert!(second.try_grow(1));
        assert!(capacity.try_acquire().is_none());
        assert!(!second.try_grow(1));
        assert_eq!(capacity.used(), 3);
        drop((first, second));
        assert_eq!(capacity.used(), 0);
        assert!(capacity.try_acquire().is_some());
    }

    #[tokio::test]
    async fn draining_ends_with_the_last_permit() {
        let capacity = Capacity::new(2);
        capacity.drained().await;
        let permit = capacity.try_acquire();
        let waiting = tokio::spawn({
            let capacity = capacity.clone();
            async move { capacity.drained().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(permit);
        waiting.await.unwrap();
    }
}
