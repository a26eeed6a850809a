//! The server's side of requests that belong to no session.

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

/// Serves requests of revisions without a handshake, one by one.
pub(crate) struct StatelessServer {
    known: Mutex<Option<Arc<Known>>>,
    senders: ClientIdentityCache,
}

/// What the service tells of itself, made ready for use.
struct Known {
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
            known: Mutex::default(),
            senders: ClientIdentityCache::default(),
        }
    }

    fn known(&self, service: &dyn Service) -> Arc<Known> {
        let edition = service.edition();
        let mut slot = lock(&self.known);
        if let Some(known) = slot.as_ref().filter(|it| it.edition == edition) {
            return Arc::clone(known);
        }
        let facts = service.facts();
        let stamp = |hint| Arc::new(ResultMeta::new(&facts.info, hint));
        let known = Arc::new(Known {
            edition,
            offers: Offers::of(&facts.capabilities),
            plain: stamp(None),
            lists: stamp(Some(&facts.lists)),
            reads: stamp(Some(&facts.reads)),
            facts,
        });
        *slot = Some(Arc::clone(&known));
        known
    }

    pub(crate) fn admit(
        &self,
        service: &dyn Service,
        request: &Request<'_>,
        claim: &RawRequestMeta<'_>,
        headers: Option<&StandardHeaders<'_>>,
    ) -> Result<RequestMeta, ErrorObject> {
        let known = self.known(service);
        claim.admit_cached(request, &known.facts.revisions, headers, &self.senders)
    }

    pub(crate) fn serve(
        &self,
        service: &dyn Service,
        request: &Request<'_>,
        envelope: RequestMeta,
        exchange: Exchange,
    ) -> Reply {
        let known = self.known(service);
        let rules = envelope.revision.rules();
        if known.offers.serve(&request.method, rules).is_err() {
            return Reply::error(ErrorObject::method_not_found(&request.method));
        }
        let stamp = match &*request.method {
            method::RESOURCES_READ => &known.reads,
            method if is_cacheable(method) => &known.lists,
            _ => &known.plain,
        };
        if request.method == method::SERVER_DISCOVER {
            let discovered = Reply::ok(Payload::of(known.discovered()));
            return with_result_meta(discovered, stamp);
        }
        let principal = exchange.link().principal().cloned();
        let session = Session::of_request(envelope, known.offers, principal);
        let reply = service.request(request, RequestContext::new(exchange, session));
        with_result_meta(reply, stamp)
    }
}

impl Known {
    fn discovered(&self) -> DiscoverResult {
        let facts = &self.facts;
        let CacheHint { ttl, scope } = facts.lists.clone();
        let versions = facts.revisions.iter().map(|it| it.as_str().to_owned());
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

fn with_result_meta(reply: Reply, stamp: &Arc<ResultMeta>) -> Reply {
    let stamp = Arc::clone(stamp);
    let add = move |outcome: Outcome| outcome.map(|payload| payload.with_result_meta(stamp));
    match reply {
        Reply::Ready(outcome) => Reply::Ready(add(outcome)),
        Reply::Pending(future) => Reply::Pending(Box::pin(async move { add(future.await) })),
        Reply::Blocking(work) => Reply::Blocking(Box::new(move || add(work()))),
    }
}
