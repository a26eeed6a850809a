//! The server side of the stateless revision.

use std::sync::{Arc, Mutex};

use mcp_jsonrpc::{ErrorObject, Request};
use mcp_types::method;
use mcp_types::v2026_07_28::DiscoverResult;

use super::client_identity::ClientIdentityCache;
use super::result_meta::is_cacheable;
use super::{CacheHint, RawRequestMeta, RequestMeta, ResultMeta, StandardHeaders};
use crate::gate::Offers;
use crate::sync::lock;
use crate::{
    Exchange, Outcome, Payload, Reply, RequestContext, ServerFacts, Service, Session, downgrade,
};

/// Handles requests of the stateless revision.
pub(crate) struct StatelessServer {
    cached: Mutex<Option<Arc<CachedFacts>>>,
    clients: ClientIdentityCache,
}

/// The facts of the service and the result metadata derived from them.
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
        meta.admit_cached(request, &known.facts.revisions, headers, &self.clients)
    }

    pub(crate) fn serve(
        &self,
        service: &dyn Service,
        request: &Request<'_>,
        meta: RequestMeta,
        exchange: Exchange,
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
            let discovered = Reply::ok(Payload::of(known.discovered()));
            return with_result_meta(discovered, result_meta);
        }
        let principal = exchange.link().origin().principal.cloned();
        let session = Session::of_request(meta, known.offers, principal);
        let reply = service.request(request, RequestContext::new(exchange, session));
        with_result_meta(reply, result_meta)
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
            downgrade::modern_capabilities(facts.capabilities.clone()),
            u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
            scope,
        );
        result.instructions.clone_from(&facts.instructions);
        result
    }
}

fn with_result_meta(reply: Reply, result_meta: &Arc<ResultMeta>) -> Reply {
    let result_meta = Arc::clone(result_meta);
    let add = move |outcome: Outcome| outcome.map(|payload| payload.with_result_meta(result_meta));
    match reply {
        Reply::Ready(outcome) => Reply::Ready(add(outcome)),
        Reply::Pending(future) => Reply::Pending(Box::pin(async move { add(future.await) })),
        Reply::Blocking(work) => Reply::Blocking(Box::new(move || add(work()))),
    }
}
