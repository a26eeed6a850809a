//! OpenTelemetry for Model Context Protocol servers and clients: spans and metrics of the
//! [conventions for MCP][conventions], as middleware.
//!
//! [`Telemetry`] is added to the builder of a server or client with `layer`. It depends on the
//! OpenTelemetry API, not on its SDK: the program decides where spans and metrics go.
//!
//! - **Spans.** `{method} {target}`, of kind `CLIENT` for requests that this side sends, and of
//!   kind `SERVER` for requests that it receives. The handler runs in the context of its span.
//! - **Propagation.** The context travels in `params._meta` ([SEP-414][sep]), in the form of the
//!   configured propagator.
//! - **Metrics.** `mcp.{client,server}.operation.duration`, `mcp.{client,server}.session.duration`,
//!   and the counters `mcp.{client,server}.discarded.frames` and
//!   `mcp.{client,server}.discarded.responses`.
//! - **Names.** A name that the peer may have invented is `_other` in metrics and absent from span
//!   names; see [`Telemetry::with_max_names`].
//!
//! ```
//! use mcp_otel::Telemetry;
//! use mcp_server::{Server, Tool};
//!
//! // First set the providers and the propagator of `opentelemetry::global`.
//! let server = Server::builder("clock", "1.0.0")
//!     .tool(Tool::new("tick", || "tock"))
//!     .layer(Telemetry::new());
//! # let _ = server;
//! ```
//!
//! The conventions have the status *Development*. If they change, the attributes may change in a
//! minor version of this crate.
//!
//! The guide `telemetry.md` in the folder `docs/guide` of the repository explains more.
//!
//! [conventions]: https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
//! [sep]: https://modelcontextprotocol.io/community/seps/414-request-meta

mod attributes;
mod instruments;
mod names;
mod operation;
mod propagation;
mod telemetry;

/// The API of OpenTelemetry. If a program contains two versions of the crate `opentelemetry`, each version has separate global
/// providers, so one version does not export the data that the other version records. A program that uses this re-export has the
/// same version as [`Telemetry`].
pub use opentelemetry;
pub use telemetry::Telemetry;
