//! The fixture server of the conformance suite, on public API only.

mod listen;
mod prompts;
mod questions;
mod resources;
mod rounds;
mod tasks;
mod tools;

use mcp_protocol::Revision;
use mcp_server::Server;

pub use listen::serve_http;

/// A PNG of one pixel, in base64.
pub const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A WAV without samples, in base64.
pub const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/// The server with everything in it.
pub fn server() -> Server {
    let server = plain().tools(rounds::tools()).prompts(rounds::prompts());
    server.tools(tasks::tools())
}

/// The same at the revisions with sessions alone, and without what was made to be asked in rounds.
pub fn sessions() -> Server {
    plain().revisions(Revision::WITH_SESSIONS)
}

fn plain() -> Server {
    let server = Server::new("everything", env!("CARGO_PKG_VERSION"))
        .title("Everything")
        .description("One of each thing a server can have")
        .instructions("A fixture: every feature of the protocol, with fixed answers.")
        .tools(tools::all())
        .tools(questions::all())
        .prompts(prompts::all())
        .resources(resources::all());
    let changing = tools::changing(&server);
    server.tools(changing)
}
