//! The fixture server as a program: `everything-server --stdio`.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("--stdio") => Ok(mcp_transport_stdio::serve(mcp_tests::everything::server()).await?),
        _ => Err("usage: everything-server --stdio".into()),
    }
}
