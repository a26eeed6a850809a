//! MCP Apps: the extension `io.modelcontextprotocol/ui`.
//!
//! An app is an HTML page of a server. A host shows it in a sandbox beside the result of a tool, and forwards messages between
//! the page and the server. This crate defines the data that server and host exchange: the pages as resources, the metadata
//! of tools and pages, and the capability. It does not define the messages between host and page.
//!
//! ```
//! use mcp_apps::{Apps, Page};
//! use mcp_server::{Server, Tool};
//!
//! let page = Page::new("clock/view.html", "Clock", "<!doctype html><title>Clock</title><p id=time>")
//!     .tool(Tool::new("time", || "12:00").description("Returns the time"));
//! let server = Server::builder("clock", "1.0.0").with(Apps::new().page(page)).build()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A client without the extension ignores the metadata and uses the text of the result. [`RemoteApps`] is the side of the host.
//!
//! The guide `extensions.md` in the folder `docs/guide` of the repository explains more.
//!
//! Specification: [MCP Apps 2026-01-26](https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx).

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
mod metadata;
#[cfg(feature = "client")]
mod policy;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use client::{Error, ErrorKind, HostApps, RemoteApps, View};
pub use metadata::{Csp, PageUi, Permissions, ToolUi, Visibility};
#[cfg(feature = "server")]
pub use server::{Apps, Page, is_supported};

/// The identifier of the extension.
pub const EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The MIME type of a page.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The member of `_meta` with the metadata of tools and pages.
#[cfg(any(feature = "client", feature = "server"))]
const UI: &str = "ui";

/// The scheme of the URI of a page.
#[cfg(any(feature = "client", feature = "server"))]
const SCHEME: &str = "ui://";
