//! The client transport: [`HttpTransport`] reaches a server over Streamable HTTP.
//!
//! Each message is a separate POST. The future of a call drives the HTTP exchange of this call, so there is no task, queue or
//! channel between a caller and the response. Messages that do not belong to a call are handled by tasks, which end with the
//! connection: `deliver` sends notifications in order, and `inbox` handles the GET stream and server requests.
//! `opening::reinitialize` opens a new session after the server has lost the old one.
//!
//! | Folder | Contents |
//! | --- | --- |
//! | `wire` | one HTTP request and its response: headers, credentials, redirects, bodies, events |
//! | `call` | one JSON-RPC request: retries, its response as JSON or as an event stream, resumption |
//! | `opening` | opening a session: `initialize`, re-initialization, HTTP+SSE |
//! | `session` | the session of a connection, and what is repeated in a new one |
//! | `inbox` | messages from the server: responses, server requests, the GET stream |
//! | `deliver`, `outbox` | notifications and responses to the server |
//!
//! Specification: [Streamable
//! HTTP](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http).

mod call;
mod deliver;
mod inbox;
mod link;
mod listening;
mod opening;
mod options;
mod outbox;
mod refusal;
mod renew;
mod resume;
mod session;
mod state;
mod transport;
mod user_headers;
mod wire;

pub use self::options::ClientOptions;
pub use self::transport::HttpTransport;
pub use self::wire::authorize::{AfterRefusal, Authorize};
