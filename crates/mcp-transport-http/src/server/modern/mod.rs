//! Requests of the revisions without a handshake: each is a POST of its own that tells all there
//! is to know, is answered there, and ends when its connection does.
//!
//! They belong to no session, whatever headers they carry, so both eras share one URL: [`era`]
//! tells them apart, [`call`] serves them.
//!
//! Specification: [streamable HTTP][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http

mod call;
mod era;
mod headers;
mod live;

use std::sync::Arc;

use mcp_protocol::{Closed, Service};

pub(crate) use call::{Begun, Call, admit, serve};
pub(crate) use era::{Era, era_of};
pub(crate) use headers::is_announced;

use super::options::Options;
use super::session::{HttpSession, shared};
use live::Live;

/// What serves these requests, all of them.
pub(crate) struct Modern {
    /// One for everybody: it keeps nothing of any request.
    session: Arc<HttpSession>,
    live: Arc<Live>,
}

impl Modern {
    pub(crate) fn new(service: &Arc<dyn Service>, options: &Arc<Options>) -> Self {
        Self {
            session: shared(service, options, None),
            live: Arc::default(),
        }
    }

    /// Ends what still runs.
    pub(crate) fn close(&self, reason: &Closed) {
        self.session.close(reason);
        self.live.cancel_all();
    }
}
