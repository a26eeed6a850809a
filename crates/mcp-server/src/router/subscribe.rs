//! The right to subscribe to resources.

use std::collections::HashSet;
use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use mcp_jsonrpc::{ErrorObject, decode_params};
use mcp_protocol::{
    CallError, Closed, Delivery, Exchange, Extras, Link, MethodName, Outcome, Payload, Reply,
    RequestContext, RequestOrigin, TransportError, guarded,
};
use mcp_types::{SubscribeRequestParams, method};

use super::CancelOnDrop;
use crate::Call;
use crate::registry::access::{FinishAccess, and_then, outcome};
use crate::server::core::Core;
use crate::server::settings::GuardedRequest;

impl Core {
    /// Handles `resources/subscribe`.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        params: Option<&str>,
        context: &RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let SubscribeRequestParams { uri, .. } = decode_params(params)?;
        let checked = self.check_subscription(method::RESOURCES_SUBSCRIBE, &uri, context)?;
        let session = Arc::clone(context.session());
        let owner = context.owner();
        Ok(and_then(checked, move || {
            let subscribed = session.subscribe(&uri, &owner);
            Reply::Ready(subscribed.map(|()| Payload::Empty))
        }))
    }

    /// Returns those URIs of a `subscriptions/listen` request to which the client may subscribe. Checks one URI after the other, and
    /// lets other tasks run in between.
    pub(super) async fn subscribable_uris(
        self: Arc<Self>,
        uris: HashSet<String>,
        context: RequestContext,
    ) -> HashSet<String> {
        let mut subscribable = HashSet::new();
        for (index, uri) in uris.into_iter().enumerate() {
            if index > 0 {
                yield_once().await;
            }
            let method = method::SUBSCRIPTIONS_LISTEN;
            let checked = guarded(|| self.check_subscription(method, &uri, &context));
            let checked = match checked.and_then(|checked| checked) {
                Ok(check) => catch_panics(outcome(check)).await,
                Err(error) => Err(error),
            };
            if checked.is_ok() {
                subscribable.insert(uri);
            }
        }
        subscribable
    }

    /// Checks a subscription to this URI. The guards run twice: first for `method`, then for a read. Afterwards the access check
    /// of the resource runs or, without an access check, the handler of a read. If the client may not subscribe, the result or the
    /// reply is an error.
    fn check_subscription(
        self: &Arc<Self>,
        method: &str,
        uri: &str,
        context: &RequestContext,
    ) -> Result<Reply, ErrorObject> {
        self.settings.check(&GuardedRequest {
            method,
            target: Some(&self.normal_uri(uri, context)),
            context,
        })?;
        self.check_read(uri, context)?;
        let found = self.find_resource(uri, context)?;
        let link = CheckLink(Arc::clone(context.exchange().link()));
        let exchange = Exchange::new(context.exchange().id().clone(), Arc::new(link));
        let cancel_guard = CancelOnDrop(exchange.clone());
        let finish = found.finish(context);
        let context = context.with_exchange(exchange);
        let call = Call::new(found.arguments(), context, self);
        Ok(cancel_guard.attach_to(match found.access() {
            None => call.run(found.run(), method, uri, finish),
            Some(access) => {
                let finish = FinishAccess {
                    uri: finish.uri,
                    rules: finish.rules,
                };
                call.run(&**access, method, uri, finish)
            }
        }))
    }
}

/// Runs a check. If the check panics, returns an error, so that only this resource is left out of the subscription.
async fn catch_panics(check: impl Future<Output = Outcome>) -> Outcome {
    let mut check = pin!(check);
    let polled = poll_fn(|cx| {
        guarded(|| check.as_mut().poll(cx)).unwrap_or_else(|error| Poll::Ready(Err(error)))
    });
    polled.await
}

/// Lets other tasks of the executor run.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The link of a handler that runs only to check a subscription. Its messages are not sent, because the client expects a response
/// or an acknowledgement first.
#[derive(Debug)]
struct CheckLink(Arc<dyn Link>);

impl Link for CheckLink {
    fn notify(&self, _: &str, _: Option<&[u8]>, _: Delivery) -> Result<(), Closed> {
        Ok(())
    }

    fn request_with(&self, _: MethodName, _: Option<Vec<u8>>, _: Extras) -> mcp_protocol::Call {
        let error = TransportError::new(
            "a handler cannot send requests to the client while it checks the right to subscribe; set \
             Resource::readable_if with a check that sends no requests",
        );
        mcp_protocol::Call::failed(CallError::Failed(Arc::new(error)))
    }

    fn origin(&self) -> RequestOrigin<'_> {
        self.0.origin()
    }
}
