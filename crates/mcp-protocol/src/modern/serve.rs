//! The server's side of requests that belong to no session.

use std::sync::{Arc, Mutex};

use mcp_jsonrpc::{ErrorObject, Request};
use mcp_types::method;
use mcp_types::v2026_07_28::DiscoverResult;

use super::sender::Senders;
use super::stamp::is_cacheable;
use super::{CacheHint, Claim, Envelope, Headers, Stamp};
use crate::gate::Offers;
use crate::{
    Exchange, Outcome, Payload, Reply, RequestContext, ServerFacts, Service, Session, lock, lower,
};

/// Serves requests of revisions without a handshake, one by one.
pub(crate) struct Desk {
    known: Mutex<Option<Arc<Known>>>,
    senders: Senders,
}

/// What the service tells of itself, made ready for use.
struct Known {
    edition: u64,
    facts: ServerFacts,
    offers: Offers,
    plain: Arc<Stamp>,
    lists: Arc<Stamp>,
    reads: Arc<Stamp>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self {
            known: Mutex::default(),
            senders: Senders::default(),
        }
    }

    fn known(&self, service: &dyn Service) -> Arc<Known> {
        let edition = service.edition();
        let mut slot = lock(&self.known);
        if let Some(known) = slot.as_ref().filter(|it| it.edition == edition) {
            return Arc::clone(known);
        }
        let facts = service.facts();
        let stamp = |hint| Arc::new(Stamp::new(&facts.info, hint));
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
        claim: &Claim<'_>,
        headers: Option<&Headers<'_>>,
    ) -> Result<Envelope, ErrorObject> {
        let known = self.known(service);
        claim.admit_known(request, &known.facts.revisions, headers, &self.senders)
    }

    pub(crate) fn serve(
        &self,
        service: &dyn Service,
        request: &Request<'_>,
        envelope: Envelope,
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
            return stamped(discovered, stamp);
        }
        let principal = exchange.link().principal().cloned();
        let session = Session::of_request(envelope, known.offers, principal);
        let reply = service.request(request, RequestContext::new(exchange, session));
        stamped(reply, stamp)
    }
}

impl Known {
    fn discovered(&self) -> DiscoverResult {
        let facts = &self.facts;
        let CacheHint { ttl, scope } = facts.lists.clone();
        let versions = facts.revisions.iter().map(|it| it.as_str().to_owned());
        let mut result = DiscoverResult::new(
            versions.collect(),
            lower::modern_capabilities(facts.capabilities.clone()),
            u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
            scope,
        );
        result.instructions.clone_from(&facts.instructions);
        result
    }
}

fn stamped(reply: Reply, stamp: &Arc<Stamp>) -> Reply {
    let stamp = Arc::clone(stamp);
    let add = move |outcome: Outcome| outcome.map(|payload| payload.stamped(stamp));
    match reply {
        Reply::Ready(outcome) => Reply::Ready(add(outcome)),
        Reply::Pending(future) => Reply::Pending(Box::pin(async move { add(future.await) })),
        Reply::Blocking(work) => Reply::Blocking(Box::new(move || add(work()))),
    }
}
