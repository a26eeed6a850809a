//! The encrypted `requestState` of a call.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::server::request_state(data));
