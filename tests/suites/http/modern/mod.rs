//! Requests of the stateless revision, beside sessions and alone.

mod ends;
mod forwarding;
mod mixed_revisions;
mod params;
mod request_checks;
mod streams;
mod wire;

use mcp_jsonrpc::Request;
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::{Payload, Reply, RequestContext, ServerFacts, Service};
use mcp_types::{Implementation, ServerCapabilities};

use crate::gate::OnDrop;
use crate::prelude::*;

type Handler = dyn Fn(RequestContext) -> Reply + Send + Sync;

/// A service whose tools all do the same.
struct Probe {
    handler: Box<Handler>,
    closing: Box<dyn Fn() + Send + Sync>,
    deadline: Option<Duration>,
    /// The schema of every tool except `plain`.
    schema: Value,
    /// How often a handler was called.
    runs: Arc<AtomicUsize>,
}

impl Probe {
    fn new(handler: impl Fn(RequestContext) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            handler: Box::new(handler),
            closing: Box::new(|| {}),
            deadline: None,
            schema: json!({}),
            runs: Arc::default(),
        }
    }

    /// Creates a service that returns at once.
    fn ready() -> Self {
        Self::new(|_| Reply::ok(Payload::of(json!({"content": []}))))
    }

    fn endpoint(self) -> Endpoint {
        self.endpoint_with(ServerOptions::new())
    }

    fn endpoint_with(self, options: ServerOptions) -> Endpoint {
        Endpoint::with_options(self, options).unwrap()
    }
}

impl Service for Probe {
    fn facts(&self) -> ServerFacts {
        let capabilities: ServerCapabilities =
            serde_json::from_value(json!({"tools": {}})).unwrap();
        ServerFacts::new(Implementation::new("probe", "1"), capabilities)
    }

    fn request(&self, request: &Request<'_>, context: RequestContext) -> Reply {
        self.runs.fetch_add(1, Ordering::AcqRel);
        let params: Value = serde_json::from_str(request.params.unwrap()).unwrap();
        if params["arguments"].is_string() {
            return Reply::error(ErrorObject::invalid_params("arguments are text"));
        }
        (self.handler)(context)
    }

    fn header_params(&self, tool: &str) -> Option<Arc<HeaderParams>> {
        let schema = self.schema.as_object().filter(|_| tool != "plain")?;
        Some(Arc::new(HeaderParams::of(schema).unwrap()))
    }

    fn closing(&self) {
        (self.closing)();
    }

    fn deadline(&self) -> Option<Duration> {
        self.deadline
    }
}

/// Adds a permit when the guard is dropped.
fn permit_on_drop(permits: &Arc<Semaphore>) -> OnDrop<impl FnMut() + Send + use<>> {
    let permits = Arc::clone(permits);
    OnDrop(move || permits.add_permits(1))
}
