//! A whole client, with hostile HTTP responses and event streams.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::client::sse(data));
