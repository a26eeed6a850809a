//! The programs of the reliability campaign; see `tests/src/reliability`.

#[cfg(target_os = "linux")]
fn main() -> Result<(), mcp_tests::bench::Fault> {
    mcp_tests::reliability::run(std::env::args().skip(1))
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), mcp_tests::bench::Fault> {
    Err("the memory of processes is read from /proc".into())
}
