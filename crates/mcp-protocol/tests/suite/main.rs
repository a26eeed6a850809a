//! Tests of the protocol state machines through their public interface, without I/O and clock.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod forms;
mod interleavings;
mod mux;
mod pair;
