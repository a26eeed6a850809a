//! The configuration file of a host: the servers that it starts, and the consent requests that it shows before.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::host::config(data));
