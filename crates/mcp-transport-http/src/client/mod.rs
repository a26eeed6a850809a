//! The client's side: [`Http`] reaches a server over Streamable HTTP.
//!
//! Each message is a POST of its own. A call's future drives its own exchange: no task, no queue
//! and no channel is between a caller and the response. What has no caller has a task, and
//! all tasks end with the connection: notifications in order (`outbox`), what is said outside any
//! call (`listen`), answers to the server's questions (`reply`), and a new session when the
//! server forgot the old one (`renew`).
//!
//! | A message … | is in |
//! | --- | --- |
//! | becomes a request with headers and credentials | `wire` |
//! | is a call, with its repeats | `call` |
//! | belongs to no session (2026-07-28) | `modern` |
//! | is answered, in either form | `answer`, `stream` |
//! | comes from the server | `receive`, `reply` |
//! | is refused | `refusal` |
//!
//! Specification: [Streamable HTTP](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http).

mod call;
mod inbox;
mod link;
mod options;
mod outbox;
mod session;
mod state;
mod tasks;
mod transport;
mod wire;

pub use self::options::Options;
pub use self::transport::Http;
pub use self::wire::authorize::{AfterRefusal, Authorize};
pub use self::wire::body::RequestBody;
