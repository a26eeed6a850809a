//! The log of `mcp serve` and `mcp bridge`, on stderr.

use std::io::{self, Write};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::hidden::hide;
use crate::output;

/// The environment variable that contains the filter of the log, for example `debug` or `mcp_gateway=debug,warn`.
const VARIABLE: &str = "MCP_LOG";
/// The filter of the log if the environment variable is not set.
const DEFAULT: &str = "warn,mcp_auth=info,mcp_gateway=info";

/// Starts the log. Has no effect if the process already has a log.
pub(crate) fn start() {
    let filter = std::env::var(VARIABLE).ok();
    let parsed = filter.as_deref().map(str::parse::<Targets>);
    let filter = match parsed {
        Some(Ok(filter)) => Some(filter),
        Some(Err(error)) => {
            output::say(&format!(
                "{VARIABLE} is not a valid filter: {error}; the default {DEFAULT:?} is used"
            ));
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
    // Fails if the process already has a log.
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(format)
        .try_init();
}

/// A writer to stderr that hides secrets, and replaces characters that change the display of a terminal.
struct CleanStderr;

impl Write for CleanStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Each event is one write. Values of servers and clients can have line ends.
        let text = String::from_utf8_lossy(bytes);
        let line = output::one_line(&hide(text.trim_end_matches('\n')));
        io::stderr().write_all((line + "\n").as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
