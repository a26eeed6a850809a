//! Locks that ignore poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks `mutex`, even if another holder has panicked.
///
/// Each critical section of these crates leaves its data consistent after every statement, so a
/// poisoned lock is safe to use.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `values` for reading, even if another holder has panicked; see [`lock`].
pub fn read_lock<T: ?Sized>(values: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    values.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `values` for writing, even if another holder has panicked; see [`lock`].
pub fn write_lock<T: ?Sized>(values: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    values.write().unwrap_or_else(PoisonError::into_inner)
}
