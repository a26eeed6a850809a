//! The pages of one server in a list of the gateway.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson};
use mcp_protocol::RequestContext;
use tokio::time::{Instant, timeout_at};

use super::super::mount::MountedServer;
use super::kind::{ListKind, MAX_LIST_BYTES};
use crate::core::ListPage;
use crate::upstream::unavailable;

/// A request for pages of one server.
pub(super) struct PageRequest {
    pub(super) mount: Arc<MountedServer>,
    pub(super) kind: ListKind,
    pub(super) params: Option<RawJson>,
    pub(super) context: RequestContext,
}

/// The pages that a server returned, up to the first error.
pub(super) struct Pages {
    /// The cursor of the first page.
    pub(super) first: Option<String>,
    pub(super) pages: Vec<ListPage>,
    pub(super) error: Option<ErrorObject>,
}

impl PageRequest {
    /// Requests the page at the cursor `first` or, with `is_complete`, this page and all later pages. Stops at `deadline`.
    /// `limit` is the time limit that error messages show.
    pub(super) async fn pages(
        &self,
        first: Option<String>,
        is_complete: bool,
        deadline: Instant,
        limit: Duration,
    ) -> Pages {
        let (mut pages, mut position, mut bytes) = (Vec::new(), first.clone(), 0);
        let error = loop {
            let page = timeout_at(deadline, self.page(position.as_deref())).await;
            let page = page.unwrap_or_else(|_| Err(self.too_late(limit)));
            match page {
                Ok(page) if bytes + page.result.len() > MAX_LIST_BYTES => {
                    let text = format!("its list has more than {MAX_LIST_BYTES} bytes");
                    break Some(unavailable(&self.mount.name, text));
                }
                Ok(page) => {
                    bytes += page.result.len();
                    let next = page.next_cursor();
                    pages.push(page);
                    // A server that repeats a cursor would cause an endless loop.
                    if !is_complete || next.is_none() || next == position {
                        break None;
                    }
                    position = next;
                }
                Err(error) => break Some(error),
            }
        };
        Pages {
            first,
            pages,
            error,
        }
    }

    async fn page(&self, cursor: Option<&str>) -> Result<ListPage, ErrorObject> {
        let core = self.mount.ready().await?.core;
        let params = self.params.as_deref();
        core.list(self.kind.method(), params, cursor, &self.context)
            .await
    }

    fn too_late(&self, limit: Duration) -> ErrorObject {
        let name = &*self.mount.name;
        let text = format!("the server {name:?} did not respond with its list within {limit:?}");
        unavailable(name, text)
    }
}
