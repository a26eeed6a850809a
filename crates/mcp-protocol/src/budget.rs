//! Memory limits that several owners share.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use mcp_jsonrpc::TreeSize;
use serde::Serialize;

use crate::Owner;
use crate::sync::lock;

/// A limit in bytes on the memory that several owners use together, for example all sessions of a server. An owner that is
/// [known](Owner::is_known) can use at most half of the limit.
///
/// Cloning returns another handle to the same budget.
#[derive(Clone)]
pub struct Budget(Arc<State>);

struct State {
    /// The purpose of the memory, for error messages.
    name: &'static str,
    limit: usize,
    usage: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    total: usize,
    /// The number of bytes that each known owner uses.
    owners: HashMap<Owner, usize>,
}

impl Budget {
    /// Creates a budget of `limit` bytes. `name` is the purpose of the memory, for error messages.
    pub fn new(name: &'static str, limit: usize) -> Self {
        Self(Arc::new(State {
            name,
            limit,
            usage: Mutex::default(),
        }))
    }

    /// Takes bytes from the budget until the permit is dropped.
    ///
    /// # Errors
    /// The budget has fewer than `bytes` bytes left, or the owner would use more than half of the limit.
    pub fn acquire(&self, owner: &Owner, bytes: usize) -> Result<BudgetPermit, OverBudget> {
        let mut permit = BudgetPermit {
            budget: self.clone(),
            owner: owner.clone(),
            bytes: 0,
        };
        permit.grow(bytes)?;
        Ok(permit)
    }

    /// Returns the number of bytes in use.
    pub fn used(&self) -> usize {
        lock(&self.0.usage).total
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
    owner: Owner,
    bytes: usize,
}

impl BudgetPermit {
    /// Takes `bytes` more bytes from the budget.
    ///
    /// # Errors
    /// The same as for [`Budget::acquire`]; the permit is then unchanged.
    pub fn grow(&mut self, bytes: usize) -> Result<(), OverBudget> {
        let State { name, limit, usage } = &*self.budget.0;
        let usage = &mut *lock(usage);
        let taken = usage.owners.get(&self.owner).copied().unwrap_or(0);
        // Unknown owners cannot be distinguished, so the limit for one owner does not apply to them.
        let is_over_share = self.owner.is_known() && taken.saturating_add(bytes) > limit / 2;
        if is_over_share || usage.total.saturating_add(bytes) > *limit {
            return Err(OverBudget {
                name,
                limit: *limit,
                bytes,
                is_share: is_over_share,
            });
        }
        usage.total += bytes;
        if self.owner.is_known() {
            usage.owners.insert(self.owner.clone(), taken + bytes);
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Returns `bytes` bytes of the permit to the budget, or all of them if the permit has fewer.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        let usage = &mut *lock(&self.budget.0.usage);
        usage.total -= bytes;
        if let Some(taken) = usage.owners.get_mut(&self.owner) {
            *taken -= bytes;
            if *taken == 0 {
                usage.owners.remove(&self.owner);
            }
        }
    }
}

impl Drop for BudgetPermit {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

/// The error of [`Budget::acquire`]: the budget has fewer bytes left than requested, or the owner would use more than half of the
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverBudget {
    name: &'static str,
    limit: usize,
    bytes: usize,
    /// Whether the budget has enough bytes, but the owner would use more than half of the limit.
    is_share: bool,
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name, limit, bytes, ..
        } = self;
        let (part, scope) = match self.is_share {
            true => ("half of ", "which is the share of one client"),
            false => ("", "for all clients"),
        };
        write!(
            f,
            "{bytes} more bytes of {name} exceed {part}the limit of {limit}, {scope}; release some, or try again later"
        )
    }
}

impl std::error::Error for OverBudget {}

/// Returns an upper bound of the memory of a value that contains JSON trees.
pub(crate) fn tree_bytes(value: &(impl Serialize + ?Sized)) -> usize {
    serde_json::to_string(value).map_or(0, |text| TreeSize::of(&text).heap_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(address: [u8; 4]) -> Owner {
        Owner::new(None, Some(address.into()))
    }

    #[test]
    fn a_refused_permit_takes_nothing() {
        let budget = Budget::new("names", 10);
        let unknown = Owner::default();
        let seven = budget.acquire(&unknown, 7).unwrap();
        let error = budget.acquire(&unknown, 4).unwrap_err();
        assert_eq!(
            error.to_string(),
            "4 more bytes of names exceed the limit of 10, for all clients; release some, or try again later"
        );
        assert_eq!(budget.used(), 7);
        let three = budget.acquire(&unknown, 3).unwrap();
        drop((seven, three));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn one_owner_can_take_at_most_half_of_a_budget() {
        let budget = Budget::new("names", 10);
        let (one, two) = (owner([10, 0, 0, 1]), owner([10, 0, 0, 2]));
        let mut first = budget.acquire(&one, 3).unwrap();
        first.grow(2).unwrap();
        let error = budget.acquire(&one, 1).unwrap_err();
        assert!(
            error.to_string().contains("exceed half of the limit of 10"),
            "{error}"
        );
        let second = budget.acquire(&two, 5).unwrap();
        first.shrink(1);
        assert!(first.grow(2).is_err());
        first.grow(1).unwrap();
        drop((first, second));
        assert_eq!(budget.used(), 0);
        assert!(lock(&budget.0.usage).owners.is_empty());
    }
}
