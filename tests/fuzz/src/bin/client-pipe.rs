//! A whole client, with a hostile server on a pipe.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::client::pipe(data));
