//! The client that is measured; see `tests/src/bench/client.rs`.

#[cfg(target_os = "linux")]
#[tokio::main]
async fn main() -> Result<(), mcp_tests::bench::Fault> {
    mcp_tests::bench::client::run(std::env::args().skip(1)).await
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), mcp_tests::bench::Fault> {
    Err("what a process has cost is asked from Linux".into())
}
