//! `WWW-Authenticate` headers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::parsers::www_authenticate(data));
