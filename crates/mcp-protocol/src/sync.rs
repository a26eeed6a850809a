//! Locks without poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, even if another holder has panicked.
///
/// Each critical section of this crate leaves its data consistent after every statement, so a
/// poisoned mutex is safe to use.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
