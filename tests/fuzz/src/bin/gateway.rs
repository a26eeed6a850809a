//! A gateway with rules between two clients and a hostile server.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::gateway::two_clients(data));
