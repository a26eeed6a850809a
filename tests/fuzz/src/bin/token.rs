//! A signed access token.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::parsers::token(data));
