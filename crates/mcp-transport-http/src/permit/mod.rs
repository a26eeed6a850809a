//! Limits on a number of units, and permits that take units.

#[cfg(feature = "server")]
pub(crate) mod share;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

#[cfg(feature = "server")]
use crate::permit::share::{KnownOwner, OwnerShare, Shares};

/// A limit on the number of units that are in use at once. A unit is, for example, a request, a thread or a byte.
///
/// Cloning returns another handle to the same limit.
#[derive(Clone)]
pub(crate) struct Capacity(Arc<Counter>);

struct Counter {
    used: AtomicUsize,
    limit: usize,
    /// While at most this many units are in use, clients are not distinguished. The value is not greater than `limit`.
    #[cfg(feature = "server")]
    common: usize,
    #[cfg(feature = "server")]
    shares: Option<Arc<Shares>>,
    is_draining: AtomicBool,
    idle: Notify,
}

/// Which limit was reached.
#[cfg(feature = "server")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    /// All units are in use.
    Limit,
    /// More than half of the units are in use, and the client already uses its share.
    Share,
}

impl Capacity {
    pub(crate) fn new(limit: usize) -> Self {
        Self(Arc::new(Counter {
            used: AtomicUsize::new(0),
            limit,
            #[cfg(feature = "server")]
            common: limit,
            #[cfg(feature = "server")]
            shares: None,
            is_draining: AtomicBool::new(false),
            idle: Notify::new(),
        }))
    }

    /// Creates a limit. Any owner can take the units of the first half. From the second half, each owner can take at most
    /// `percent` of the limit, so that one owner cannot take all units. The last eighth of the units is reserved for owners that
    /// have not taken a unit from the second half yet.
    #[cfg(feature = "server")]
    pub(crate) fn with_shares(limit: usize, percent: u8) -> Self {
        let shares = Shares::of(limit, percent);
        Self(Arc::new(Counter {
            used: AtomicUsize::new(0),
            limit,
            common: if percent >= 100 { limit } else { limit / 2 },
            shares: Some(Arc::new(shares)),
            is_draining: AtomicBool::new(false),
            idle: Notify::new(),
        }))
    }

    pub(crate) fn limit(&self) -> usize {
        self.0.limit
    }

    /// Returns a permit for one unit, unless the limit is reached.
    pub(crate) fn try_acquire(&self) -> Option<Permit> {
        let mut permit = self.empty_permit();
        let used = permit.add(1);
        (used <= self.0.limit).then_some(permit)
    }

    /// Returns a permit for one unit of an owner.
    ///
    /// # Errors
    /// All units are in use, or the owner already uses its share.
    #[cfg(feature = "server")]
    pub(crate) fn try_acquire_for(
        &self,
        owner: impl FnOnce() -> Option<KnownOwner>,
    ) -> Result<Permit, Exhausted> {
        let mut permit = self.empty_permit();
        permit.try_grow(1, owner)?;
        Ok(permit)
    }

    /// Returns a permit of zero units. It can [take units](Permit::try_grow) later.
    #[cfg(feature = "server")]
    pub(crate) fn permit(&self) -> Permit {
        self.empty_permit()
    }

    fn empty_permit(&self) -> Permit {
        Permit {
            counter: Arc::clone(&self.0),
            units: 0,
            #[cfg(feature = "server")]
            share: None,
        }
    }

    #[cfg(feature = "server")]
    pub(crate) fn used(&self) -> usize {
        self.0.used.load(Ordering::Acquire)
    }

    /// Returns whether more than seven eighths of the units are in use.
    #[cfg(feature = "server")]
    #[inline]
    pub(crate) fn is_nearly_used(&self) -> bool {
        self.0.is_nearly_used()
    }

    /// Returns whether an owner uses units from the second half. Also returns `true` for an owner without an address or a
    /// principal, which cannot be distinguished from other owners.
    #[cfg(feature = "server")]
    #[cold]
    pub(crate) fn has_share(&self, owner: impl FnOnce() -> Option<KnownOwner>) -> bool {
        match (owner(), &self.0.shares) {
            (Some(owner), Some(shares)) => shares.has_part(&owner),
            _ => true,
        }
    }

    /// Waits until no units are in use.
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

#[cfg(feature = "server")]
impl Counter {
    fn is_nearly_used(&self) -> bool {
        self.used.load(Ordering::Acquire) > self.limit / 8 * 7
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

/// A number of units of a [`Capacity`]. The units are released when the permit is dropped.
pub(crate) struct Permit {
    counter: Arc<Counter>,
    units: usize,
    /// The units of this permit that count towards the owner's share.
    #[cfg(feature = "server")]
    share: Option<Box<OwnerShare>>,
}

impl Permit {
    /// Adds units to this permit, and returns how many units are in use in total. The units are added before the limit is
    /// checked. If the permit is then refused, `Drop` releases them.
    fn add(&mut self, units: usize) -> usize {
        self.units += units;
        self.counter.used.fetch_add(units, Ordering::AcqRel) + units
    }

    fn subtract(&mut self, units: usize) {
        self.units -= units;
        let used = self.counter.used.fetch_sub(units, Ordering::SeqCst);
        if used == units && self.counter.is_draining.load(Ordering::SeqCst) {
            self.counter.idle.notify_one();
        }
    }
}

#[cfg(feature = "server")]
impl Permit {
    pub(crate) fn units(&self) -> usize {
        self.units
    }

    /// Takes more units for an owner. Calls `owner` only if more than half of the limit is in use.
    ///
    /// # Errors
    /// The limit is reached, or the owner already uses its share. The permit is then unchanged.
    pub(crate) fn try_grow(
        &mut self,
        units: usize,
        owner: impl FnOnce() -> Option<KnownOwner>,
    ) -> Result<(), Exhausted> {
        let used = self.add(units);
        if used <= self.counter.common {
            return Ok(());
        }
        let taken = if used > self.counter.limit {
            Err(Exhausted::Limit)
        } else {
            // The rest is in the common half.
            self.take_share(units.min(used - self.counter.common), owner())
        };
        if taken.is_err() {
            self.subtract(units);
        }
        taken
    }

    #[cold]
    fn take_share(&mut self, units: usize, owner: Option<KnownOwner>) -> Result<(), Exhausted> {
        // Without an address or a principal, all clients look the same.
        let (Some(owner), Some(shares)) = (owner, &self.counter.shares) else {
            return Ok(());
        };
        if self.counter.is_nearly_used() && shares.has_part(&owner) {
            return Err(Exhausted::Share);
        }
        let share = match &mut self.share {
            Some(share) => share,
            none => none.insert(Box::new(OwnerShare::new(shares, owner))),
        };
        share.try_grow(units).then_some(()).ok_or(Exhausted::Share)
    }

    /// Releases units until this permit has at most `kept` units.
    pub(crate) fn shrink_to(&mut self, kept: usize) {
        if self.units > kept {
            drop(self.split_to(kept));
        }
    }

    /// Keeps `kept` units, and moves all other units into the returned permit.
    pub(crate) fn split_to(&mut self, kept: usize) -> Self {
        let units = self.units.saturating_sub(kept);
        self.units -= units;
        Self {
            counter: Arc::clone(&self.counter),
            units,
            share: self.share.as_mut().map(|share| share.split(units)),
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.subtract(self.units);
    }
}

#[cfg(all(test, feature = "server"))]
mod tests {
    use super::*;

    fn unknown() -> Option<KnownOwner> {
        None
    }

    fn address(last: u8) -> Option<KnownOwner> {
        Some(KnownOwner::address([10, 0, 0, last].into()))
    }

    #[test]
    fn dropping_a_permit_releases_it_even_after_a_refused_growth() {
        let capacity = Capacity::new(2);
        assert_eq!(capacity.limit(), 2);
        let first = capacity.try_acquire().unwrap();
        let mut second = capacity.permit();
        assert_eq!(second.try_grow(1, unknown), Ok(()));
        assert!(capacity.try_acquire().is_none());
        assert_eq!(second.try_grow(1, unknown), Err(Exhausted::Limit));
        assert_eq!(capacity.used(), 2);
        drop((first, second));
        assert_eq!(capacity.used(), 0);
        assert!(capacity.try_acquire().is_some());
    }

    #[test]
    fn one_owner_can_take_half_of_a_limit_and_its_share() {
        let capacity = Capacity::with_shares(100, 10);
        let mut greedy = capacity.permit();
        assert_eq!(greedy.try_grow(50, || panic!("not needed yet")), Ok(()));
        assert_eq!(greedy.try_grow(10, || address(1)), Ok(()));
        assert_eq!(greedy.try_grow(1, || address(1)), Err(Exhausted::Share));
        let other = capacity.try_acquire_for(|| address(1));
        assert_eq!(other.err(), Some(Exhausted::Share));
        // Other owners are served.
        let others: Vec<Permit> = (2..42)
            .map(|last| capacity.try_acquire_for(|| address(last)).unwrap())
            .collect();
        assert_eq!(capacity.used(), 100);
        let full = capacity.try_acquire_for(|| address(99));
        assert_eq!(full.err(), Some(Exhausted::Limit));
        // Units go back to the share that they came from.
        let mut part = greedy.split_to(55);
        part.shrink_to(2);
        drop(others);
        assert_eq!(greedy.try_grow(3, || address(1)), Ok(()));
        assert_eq!(greedy.try_grow(1, || address(1)), Err(Exhausted::Share));
        drop((part, greedy));
        assert_eq!(capacity.used(), 0);
        assert!(capacity.0.shares.as_ref().unwrap().is_empty());
    }

    #[test]
    fn the_last_eighth_is_for_owners_without_a_part_of_the_second_half() {
        let capacity = Capacity::with_shares(80, 30);
        let taken = |last, units| {
            let mut permit = capacity.permit();
            permit.try_grow(units, || address(last)).map(|()| permit)
        };
        let mut held = vec![taken(1, 40), taken(2, 15), taken(3, 15)];
        assert_eq!(taken(2, 1).err(), Some(Exhausted::Share));
        for last in 4..=12 {
            held.push(taken(last, 1));
            assert_eq!(taken(last, 1).err(), Some(Exhausted::Share));
        }
        held.push(taken(13, 1));
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(taken(14, 1).err(), Some(Exhausted::Limit));
        drop(held);
        assert_eq!(capacity.used(), 0);
    }

    #[test]
    fn every_owner_can_use_the_rest_of_the_common_half() {
        let capacity = Capacity::with_shares(100, 10);
        let mut large = capacity.permit();
        assert_eq!(large.try_grow(60, || address(1)), Ok(()));
        assert_eq!(large.try_grow(1, || address(1)), Err(Exhausted::Share));
        drop(large);
        let mut larger = capacity.permit();
        let refused = larger.try_grow(61, || address(1));
        assert_eq!(refused, Err(Exhausted::Share));
        assert_eq!(capacity.used(), 0);
        drop(larger);
        assert!(capacity.0.shares.as_ref().unwrap().is_empty());
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
