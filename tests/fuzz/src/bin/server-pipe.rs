//! A server on a pipe.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::server::pipe(data));
