//! Requests pages of lists, for a gateway that merges the lists of several servers.

use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, RawJson, decode};
use mcp_protocol::RequestContext;

use super::Core;
use super::params::{ParamsChange, REQUEST_META, SessionClient};
use crate::text::{member, string};

/// One page of a list, as the server sent it.
pub(crate) struct ListPage {
    pub(crate) result: RawJson,
    /// Whether the server uses a newer revision than the client.
    pub(crate) is_newer: bool,
}

impl ListPage {
    /// Returns the cursor of the next page.
    pub(crate) fn next_cursor(&self) -> Option<String> {
        decode(member(&self.result, "nextCursor")?).ok()
    }
}

impl Core {
    /// Requests one page of a list from the server.
    pub(crate) async fn list(
        self: &Arc<Self>,
        method: &'static str,
        params: Option<&str>,
        cursor: Option<&str>,
        context: &RequestContext,
    ) -> Result<ListPage, ErrorObject> {
        let (session, is_stateless_client) = (context.session(), context.rules().stateless);
        let is_stateless_server = self.shared.known().revision.is_stateless();
        let (lease, own);
        let connection = match (is_stateless_client, is_stateless_server) {
            (false, true) | (true, _) => {
                lease = self.stateless_lease(context).await?;
                &*lease.connection
            }
            (false, false) => {
                own = self.session_connection(context).await?;
                &*own
            }
        };
        let cursor = cursor.map(|cursor| ("cursor", string(cursor)));
        let change = ParamsChange {
            without_meta: match is_stateless_client == is_stateless_server {
                true => &[],
                false => &REQUEST_META,
            },
            client: (!is_stateless_client && is_stateless_server).then_some(SessionClient {
                session,
                connection,
            }),
            without: &["cursor"],
            with: cursor.as_slice(),
            ..ParamsChange::default()
        };
        Ok(ListPage {
            result: self
                .send(connection, &method.into(), change.apply(params), None)
                .await?,
            is_newer: connection.client.revision() > session.revision(),
        })
    }
}
