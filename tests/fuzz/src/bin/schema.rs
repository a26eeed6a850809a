//! A JSON Schema of a peer and a value.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::parsers::schema(data));
