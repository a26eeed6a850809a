//! The protocol machines, seen from outside: no I/O, no clock.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod interleavings;
mod mux;
mod pair;
