//! The tables of mcp-protocol, with the locks and atomics of loom. The tests run every interleaving of three operations on
//! three threads. A lost wake-up is a deadlock, which loom reports.

// The copies have more than the tests use.
#![allow(dead_code, unused_imports)]

mod sync {
    //! Locks, as in mcp-protocol.

    use loom::sync::{Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        match mutex.lock() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

mod exchange {
    //! Copies of the modules with the same names.

    pub mod incoming {
        include!(concat!(env!("OUT_DIR"), "/incoming.rs"));
    }
    pub mod outgoing {
        include!(concat!(env!("OUT_DIR"), "/outgoing.rs"));
    }
    pub mod state {
        include!(concat!(env!("OUT_DIR"), "/state.rs"));
    }
}

mod mux {
    //! Copies of the modules with the same names.

    pub mod outbox {
        include!(concat!(env!("OUT_DIR"), "/outbox.rs"));
    }
}

pub use exchange::state::Exchange;
pub(crate) use mcp_protocol::{
    Answer, BoxFuture, Call, CallError, Closed, Delivery, Extras, Kept, Link, Outcome, Rate, TokenBucket, TransportError,
};

#[cfg(test)]
mod tests;
