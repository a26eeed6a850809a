//! A gateway with rules, two clients, and a hostile server behind it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::gateway::two_clients(data));
