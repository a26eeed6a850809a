//! The configuration file of a host: what it starts, and what it shows the user before.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::host::config(data));
