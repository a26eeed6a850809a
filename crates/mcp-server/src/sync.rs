//! Waiting for a future by blocking the current thread.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::Thread;

/// Creates a waker of this thread, for [`std::thread::park`].
pub(crate) fn thread_waker() -> Waker {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    Waker::from(Arc::new(Unpark(std::thread::current())))
}
