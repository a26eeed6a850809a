//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. The data is valid after a panic of another thread, because no change is left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
