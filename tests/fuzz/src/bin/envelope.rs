//! JSON-RPC messages and batches.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::parsers::envelope(data));
