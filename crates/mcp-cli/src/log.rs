//! The log of `mcp serve` and `mcp bridge`, on stderr.

use std::io::{self, Write};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::output;

/// The variable with what is logged, such as `debug` or `mcp_gateway=debug,warn`.
const VARIABLE: &str = "MCP_LOG";
/// What is logged without the variable.
const DEFAULT: &str = "warn,mcp_gateway=info";

/// Begins to log. Without effect if the process logs already.
pub(crate) fn start() {
    let filter = std::env::var(VARIABLE).ok();
    let parsed = filter.as_deref().map(str::parse::<Targets>);
    let filter = match parsed {
        Some(Ok(filter)) => Some(filter),
        Some(Err(error)) => {
            output::say(&format!("{VARIABLE}: {error}; {DEFAULT:?} is used"));
            None
        }
        None => None,
    };
    let Some(filter) = filter.or_else(|| DEFAULT.parse().ok()) else {
        return;
    };
    let format = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(|| CleanStderr);
    // Fails if there is a log already.
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(format)
        .try_init();
}

/// Writes lines to stderr, without characters that change what a terminal shows.
struct CleanStderr;

impl Write for CleanStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        io::stderr().write_all(output::clean(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
