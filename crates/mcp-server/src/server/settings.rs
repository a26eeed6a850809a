//! The settings of a server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{RequestContext, Revision, Tolerance};
use mcp_types::{Implementation, JsonObject};

use crate::round_trip::StateKeys;
use crate::{CacheHint, ChangeBus};

/// A request that [`ServerBuilder::guard`](crate::ServerBuilder::guard) checks before it is served.
#[derive(Debug)]
#[non_exhaustive]
pub struct GuardedRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The tool, prompt or URI of the request; `None` for a request without such a target, for example a list.
    pub target: Option<&'a str>,
    /// The context of the request.
    pub context: &'a RequestContext,
}

/// Default deadline of a handler.
const DEADLINE: Duration = Duration::from_secs(600);
/// Default number of items per page of a list.
const PAGE_SIZE: usize = 2_000;

/// A check that runs before a request is served.
pub(super) type RequestCheck =
    Box<dyn Fn(&GuardedRequest<'_>) -> Result<(), ErrorObject> + Send + Sync>;

pub(crate) struct Settings {
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) revisions: Vec<Revision>,
    pub(crate) page_size: usize,
    pub(crate) deadline: Option<Duration>,
    pub(crate) logging: bool,
    pub(crate) subscribe: bool,
    pub(crate) list_changed: bool,
    pub(crate) experimental: BTreeMap<String, JsonObject>,
    pub(crate) extensions: BTreeMap<String, JsonObject>,
    pub(crate) lists: CacheHint,
    pub(crate) reads: CacheHint,
    pub(crate) keys: Arc<StateKeys>,
    pub(crate) bus: Option<Arc<dyn ChangeBus>>,
    pub(crate) tolerance: Arc<Tolerance>,
    pub(super) guards: Vec<RequestCheck>,
}

impl Settings {
    pub(super) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            instructions: None,
            revisions: Revision::ALL.to_vec(),
            page_size: PAGE_SIZE,
            deadline: Some(DEADLINE),
            logging: true,
            subscribe: true,
            list_changed: true,
            experimental: BTreeMap::new(),
            extensions: BTreeMap::new(),
            lists: CacheHint::NONE,
            reads: CacheHint::NONE,
            keys: Arc::new(StateKeys::random()),
            bus: None,
            tolerance: Arc::default(),
            guards: Vec::new(),
        }
    }

    pub(crate) fn is_guarded(&self) -> bool {
        !self.guards.is_empty()
    }

    pub(crate) fn check(&self, guarded: &GuardedRequest<'_>) -> Result<(), ErrorObject> {
        self.guards.iter().try_for_each(|guard| guard(guarded))
    }
}
