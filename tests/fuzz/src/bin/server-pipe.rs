//! A whole server on a pipe, all revisions.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::server::pipe(data));
