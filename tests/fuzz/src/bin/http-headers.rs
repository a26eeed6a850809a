//! The `Mcp-*` headers of a correct call.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::server::http_headers(data));
