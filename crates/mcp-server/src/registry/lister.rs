//! Lists of resources from a data source: the page that a handler returns, and its cursor.

use std::sync::Arc;

use mcp_jsonrpc::decode;
use mcp_protocol::{Outcome, Payload, Principal, RequestContext, Rules, downgrade};
use mcp_types::{ListResourcesResult, Resource};
use serde::Deserialize;

use crate::handler::output::{Finish, IntoOutput, Kind, Plain, seal};
use crate::handler::{Call, Erased};
use crate::registry::cursor::Cursors;
use crate::round_trip::StateKeys;
use crate::{Extraction, FromCall, HandlerError};

/// The name of this list in the authentication code of its cursors.
const LIST: &str = "listed resources";

/// One page of resources from a data source.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ResourcePage {
    /// The resources.
    pub resources: Vec<Resource>,
    /// The position after which the next page starts, at most 1,500 bytes; `None` on the last page. The client receives it in an
    /// authenticated cursor: the client can read the position, but cannot invent or change a position. A cursor is valid only for
    /// the principal that received it, and as long as the server has the same [keys](crate::ServerBuilder::state_keys).
    pub next: Option<String>,
}

impl ResourcePage {
    /// Creates a page. `next` is the position after the page; `None` on the last page.
    pub fn new(resources: Vec<Resource>, next: impl Into<Option<String>>) -> Self {
        Self {
            resources,
            next: next.into(),
        }
    }
}

impl From<Vec<Resource>> for ResourcePage {
    fn from(resources: Vec<Resource>) -> Self {
        Self::new(resources, None)
    }
}

/// The position of the requested page: [`ResourcePage::next`] of the previous page, or `None` for the first page. This type is an
/// extractor for handlers of [`ServerBuilder::list_resources`](crate::ServerBuilder::list_resources).
#[derive(Debug, Clone, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "taken apart in parameter lists")]
pub struct Cursor(pub Option<String>);

impl<S> FromCall<S> for Cursor {
    const KEEPS_CONTEXT: bool = false;

    fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
        match decode(call.arguments) {
            Ok(position) => Extraction::Ready(Self(position)),
            Err(error) => Extraction::End(HandlerError::from_decode(&error)),
        }
    }
}

/// A marker type for handlers that list resources.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForResourceList;

seal!(ForResourceList, FinishResourceList);

impl Kind for ForResourceList {
    type Output = ResourcePage;
    type Finish = FinishResourceList;
}

pub(crate) type Lister = Erased<ForResourceList>;

impl<T: Into<ResourcePage>> IntoOutput<ForResourceList, Plain> for T {
    fn into_output(self) -> Result<ResourcePage, HandlerError> {
        Ok(self.into())
    }
}

/// The last step of a request for the list of resources.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishResourceList {
    /// The registered resources that begin the first page; empty for all later pages.
    registered: Vec<Resource>,
    /// The prefix of the mounted server that the data source belongs to; `None` if the server is not mounted.
    pub(crate) prefix: Option<String>,
    principal: Option<Principal>,
    keys: Arc<StateKeys>,
    rules: &'static Rules,
}

impl FinishResourceList {
    pub(crate) fn new(
        registered: Vec<Resource>,
        context: &RequestContext,
        keys: &Arc<StateKeys>,
    ) -> Self {
        Self {
            registered,
            prefix: None,
            principal: context.principal().cloned(),
            keys: Arc::clone(keys),
            rules: context.rules(),
        }
    }
}

impl Finish<ResourcePage> for FinishResourceList {
    fn finish(self, output: Result<ResourcePage, HandlerError>) -> Outcome {
        let own =
            |error: HandlerError| downgrade::handler_error(error.into_logged_error(), self.rules);
        let mut page = output.map_err(own)?;
        for resource in &mut page.resources {
            if let Some(mounted) = self
                .prefix
                .iter()
                .find_map(|it| prefixed(it, &resource.uri))
            {
                resource.uri = mounted;
            }
        }
        let mut resources = self.registered;
        resources.extend(page.resources);
        for resource in &mut resources {
            downgrade::resource(resource, self.rules);
        }
        let mut result = ListResourcesResult::new(resources);
        let cursors = Cursors::new(LIST, self.principal.as_ref(), &self.keys);
        result.next_cursor = page.next.map(|position| cursors.encode_text(&position));
        Ok(Payload::of(result))
    }
}

/// Inserts the prefix of a mounted server after `://`. Returns `None` if the URI has no `://`.
pub(crate) fn prefixed(prefix: &str, uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once("://")?;
    let rest = rest.trim_start_matches('/');
    Some(format!("{scheme}://{prefix}/{rest}"))
}

/// Returns the position in the cursor of a request, or an error if this server did not issue the
/// cursor to this principal.
pub(crate) fn position(
    cursor: Option<&str>,
    principal: Option<&Principal>,
    keys: &StateKeys,
) -> Result<Option<String>, mcp_jsonrpc::ErrorObject> {
    let cursors = Cursors::new(LIST, principal, keys);
    cursor.map(|cursor| cursors.decode_text(cursor)).transpose()
}
