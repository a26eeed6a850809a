//! The server side of the stateless revision.

use std::mem;
use std::sync::{Arc, Mutex, Weak};

use mcp_jsonrpc::{ErrorObject, Notification, Request, RequestId};
use mcp_types::method;
use mcp_types::v2026_07_28::DiscoverResult;

use super::readiness;
use crate::gate::Offers;
use crate::middleware::Layers;
use crate::modern::{ClientIdentityCache, RawRequestMeta, RequestMeta, StandardHeaders};
use crate::payload::{CacheHint, ResultMeta, is_cacheable};
use crate::sync::lock;
use crate::{
    Exchange, Link, Outcome, Payload, Reply, RequestContext, ServerFacts, Service, Session,
    downgrade,
};

/// Handles requests of the stateless revision.
pub(crate) struct StatelessServer {
    cached: Mutex<Option<Arc<CachedFacts>>>,
    clients: ClientIdentityCache,
}

/// The facts of the service, and the result metadata that is derived from these facts.
struct CachedFacts {
    edition: u64,
    facts: ServerFacts,
    offers: Offers,
    plain: Arc<ResultMeta>,
    lists: Arc<ResultMeta>,
    reads: Arc<ResultMeta>,
}

impl StatelessServer {
    pub(crate) fn new() -> Self {
        Self {
            cached: Mutex::default(),
            clients: ClientIdentityCache::default(),
        }
    }

    fn facts(&self, service: &dyn Service) -> Arc<CachedFacts> {
        let edition = service.edition();
        let mut slot = lock(&self.cached);
        if let Some(known) = slot.as_ref().filter(|known| known.edition == edition) {
            return Arc::clone(known);
        }
        let facts = service.facts();
        let result_meta = |hint| Arc::new(ResultMeta::new(&facts.info, hint));
        let known = Arc::new(CachedFacts {
            edition,
            offers: Offers::of(&facts.capabilities),
            plain: result_meta(None),
            lists: result_meta(Some(&facts.lists)),
            reads: result_meta(Some(&facts.reads)),
            facts,
        });
        *slot = Some(Arc::clone(&known));
        known
    }

    pub(crate) fn admit(
        &self,
        service: &dyn Service,
        request: &Request<'_>,
        meta: &RawRequestMeta<'_>,
        headers: Option<&StandardHeaders<'_>>,
    ) -> Result<RequestMeta, ErrorObject> {
        let known = self.facts(service);
        let revisions = &known.facts.revisions;
        let has_method = |method: &str| service.has_method(method);
        let tolerance = &known.facts.tolerance;
        meta.admit_cached(
            request,
            revisions,
            headers,
            &self.clients,
            tolerance,
            &has_method,
        )
    }

    /// Returns the session object for a notification that has request metadata and belongs to no session. `link` is the link of
    /// its connection. Returns `None` for other notifications.
    pub(crate) fn session_of(
        &self,
        service: &dyn Service,
        notification: &Notification<'_>,
        link: Option<&Weak<dyn Link>>,
    ) -> Option<Arc<Session>> {
        let meta = RawRequestMeta::of_params(notification.params?)?;
        let known = self.facts(service);
        // A notification passes the checks of a request, except for the checks of the headers and the method.
        let id = RequestId::Number(0);
        let request = Request::new(id, &*notification.method, notification.params);
        let revisions = &known.facts.revisions;
        let tolerance = &known.facts.tolerance;
        let clients = &self.clients;
        let admitted = meta.admit_cached(&request, revisions, None, clients, tolerance, &|_| true);
        match admitted {
            Ok(meta) => Some(Session::of_notification(
                meta,
                known.offers,
                link,
                tolerance,
            )),
            Err(error) => {
                tracing::debug!(%error, "dropped a notification");
                None
            }
        }
    }

    pub(crate) fn serve(
        &self,
        service: &dyn Service,
        request: &Request<'_>,
        meta: RequestMeta,
        exchange: Exchange,
        layers: Option<&Layers>,
    ) -> Reply {
        let known = self.facts(service);
        let rules = meta.revision.rules();
        if known.offers.serve(&request.method, rules).is_err() {
            return Reply::error(ErrorObject::method_not_found(&request.method));
        }
        let result_meta = match &*request.method {
            method::RESOURCES_READ => &known.reads,
            method if is_cacheable(method) => &known.lists,
            _ => &known.plain,
        };
        if request.method == method::SERVER_DISCOVER {
            let mut discovered = Payload::of(known.discovered());
            discovered.add_result_meta(Arc::clone(result_meta));
            return readiness::answer(service, request, discovered);
        }
        let principal = exchange.link().origin().principal.cloned();
        let session = Session::of_request(meta, known.offers, principal, &known.facts.tolerance);
        let mut context = RequestContext::new(exchange, session);
        if let Some(layers) = layers {
            context.add_layers(layers);
        }
        let mut reply = service.request(request, context);
        add_result_meta(&mut reply, Arc::clone(result_meta));
        reply
    }
}

impl CachedFacts {
    fn discovered(&self) -> DiscoverResult {
        let facts = &self.facts;
        let CacheHint { ttl, scope } = facts.lists.clone();
        let versions = facts
            .revisions
            .iter()
            .map(|revision| revision.as_str().to_owned());
        let mut result = DiscoverResult::new(
            versions.collect(),
            downgrade::stateless_capabilities(facts.capabilities.clone()),
            u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
            scope,
        );
        result.instructions.clone_from(&facts.instructions);
        result
    }
}

/// Adds result metadata to the outcome of a reply. Changes the outcome in place, because it is large.
fn add_result_meta(reply: &mut Reply, meta: Arc<ResultMeta>) {
    let add = move |outcome: &mut Outcome| {
        if let Ok(payload) = outcome {
            payload.add_result_meta(meta);
        }
    };
    match reply {
        Reply::Ready(outcome) => add(outcome),
        running => {
            *running = match mem::replace(running, Reply::ok(Payload::Empty)) {
                Reply::Pending(future) => Reply::Pending(Box::pin(async move {
                    let mut outcome = future.await;
                    add(&mut outcome);
                    outcome
                })),
                Reply::Blocking(work) => Reply::Blocking(Box::new(move || {
                    let mut outcome = work();
                    add(&mut outcome);
                    outcome
                })),
                Reply::Ready(outcome) => Reply::Ready(outcome),
            }
        }
    }
}
