//! The least that a server can cost: `bench-baseline --stdio [--tools N]`, or `--http ADDRESS [--tools N]`.

#[cfg(unix)]
fn main() -> Result<(), mcp_tests::bench::Fault> {
    mcp_tests::bench::baseline::run(std::env::args().skip(1))
}

#[cfg(not(unix))]
fn main() -> Result<(), mcp_tests::bench::Fault> {
    Err("the baselines are for Unix".into())
}
