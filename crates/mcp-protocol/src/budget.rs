//! Limits on bytes that several owners share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A limit on bytes in memory that several owners share, for example all sessions of a server.
///
/// Cloning returns another handle to the same budget.
#[derive(Clone)]
pub struct Budget(Arc<State>);

struct State {
    /// What the bytes are, for errors.
    name: &'static str,
    limit: usize,
    used: AtomicUsize,
}

impl Budget {
    /// Creates a budget of `limit` bytes. `name` says what the bytes are, for errors.
    pub fn new(name: &'static str, limit: usize) -> Self {
        Self(Arc::new(State {
            name,
            limit,
            used: AtomicUsize::new(0),
        }))
    }

    /// Takes bytes from the budget until the permit is dropped.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn acquire(&self, bytes: usize) -> Result<BudgetPermit, OverBudget> {
        let state = &self.0;
        let used = state.used.fetch_add(bytes, Ordering::AcqRel);
        // Released on drop, also if it is refused.
        let permit = BudgetPermit {
            budget: self.clone(),
            bytes,
        };
        if used.saturating_add(bytes) > state.limit {
            return Err(OverBudget {
                name: state.name,
                limit: state.limit,
                bytes,
            });
        }
        Ok(permit)
    }

    /// Returns the number of bytes in use.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.used(), self.0.limit)
    }
}

/// A part of a [`Budget`]. Dropping it returns the bytes.
#[derive(Debug)]
pub struct BudgetPermit {
    budget: Budget,
    bytes: usize,
}

impl Drop for BudgetPermit {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// Error of [`Budget::acquire`]: fewer bytes are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverBudget {
    name: &'static str,
    limit: usize,
    bytes: usize,
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, limit, bytes } = self;
        write!(
            f,
            "{bytes} more bytes of {name} exceed the limit of {limit} for all clients; try again later"
        )
    }
}

impl std::error::Error for OverBudget {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_permit_takes_nothing() {
        let budget = Budget::new("names", 10);
        let seven = budget.acquire(7).unwrap();
        let error = budget.acquire(4).unwrap_err();
        assert_eq!(
            error.to_string(),
            "4 more bytes of names exceed the limit of 10 for all clients; try again later"
        );
        assert_eq!(budget.used(), 7);
        let three = budget.acquire(3).unwrap();
        drop((seven, three));
        assert_eq!(budget.used(), 0);
    }
}
