//! A server without an SDK, whose cost is the baseline: `bench-baseline --stdio [--tools N]`, or `--http ADDRESS [--tools N]`.

#[cfg(unix)]
fn main() -> Result<(), mcp_tests::bench::Fault> {
    mcp_tests::bench::baseline::run(std::env::args().skip(1))
}

#[cfg(not(unix))]
fn main() -> Result<(), mcp_tests::bench::Fault> {
    Err("the baselines are for Unix".into())
}
