//! Loads a server, checks its responses and prints their cost as one line of JSON. `cargo xtask bench` runs it.

#[cfg(target_os = "linux")]
fn main() -> Result<(), mcp_tests::bench::Fault> {
    mcp_tests::bench::load::run(std::env::args().skip(1))
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), mcp_tests::bench::Fault> {
    Err("what a process has cost is asked from Linux".into())
}
