//! The protocol machines, seen from outside: no I/O, no clock.

mod interleavings;
mod mux;
mod pair;
