//! A URI template and a URI.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::parsers::uri_template(data));
