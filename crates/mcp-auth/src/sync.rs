//! Locks.

/// Takes a lock whatever a panicking holder left behind: every critical section here leaves the
/// data consistent at each step.
pub(crate) fn lock<T: ?Sized>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
