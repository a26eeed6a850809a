//! Several HTTP requests to one endpoint.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::server::http_endpoint(data));
