//! `subscriptions/listen` of the stateless revision.

use std::collections::HashSet;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, decode_params};
use mcp_protocol::{Reply, RequestContext};
use mcp_types::method;
use mcp_types::v2026_07_28::SubscriptionFilter;

use crate::Change;
use crate::registry::access::outcome;
use crate::server::core::Core;
use crate::server::settings::GuardedRequest;
use crate::subscriptions::Filter;

/// Maximum number of resources in one subscription.
const MAX_SUBSCRIBED: usize = 1_024;
/// Maximum total size of the URIs in one subscription, in bytes.
const MAX_SUBSCRIBED_BYTES: usize = 64 << 10;

impl Core {
    /// Opens a subscription for those parts of the requested filter that the server supports.
    pub(super) fn listen(
        self: &Arc<Self>,
        params: Option<&str>,
        context: &RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let params: ListenParams = decode_params(params)?;
        let requested = params.notifications;
        #[cfg(feature = "tasks")]
        let tasks = self.subscribed_tasks(&requested, context)?;
        let uris = requested.resource_subscriptions;
        let uris = uris.filter(|_| self.settings.subscribe).unwrap_or_default();
        check_uris(&uris)?;
        self.settings.check(&GuardedRequest {
            method: method::SUBSCRIPTIONS_LISTEN,
            target: None,
            context,
        })?;
        let session = context.session();
        let announced = |requested: Option<bool>, change: &Change| {
            requested == Some(true) && session.announces(change.method())
        };
        let filter = Filter {
            tools: announced(requested.tools_list_changed, &Change::Tools),
            prompts: announced(requested.prompts_list_changed, &Change::Prompts),
            resources: announced(requested.resources_list_changed, &Change::Resources),
            uris: HashSet::new(),
            tasks: HashSet::new(),
        };
        let (checking, of_checks) = (Arc::clone(self), context.clone());
        let (core, context) = (Arc::clone(self), context.clone());
        let open = move |filter| {
            #[cfg(feature = "tasks")]
            if !tasks.is_empty() {
                return Ok(core.subscribe_to_tasks(filter, tasks, &context));
            }
            let subscription = core.subscriptions.open(&context, filter)?;
            Ok(Reply::Pending(Box::pin(subscription)))
        };
        if uris.is_empty() {
            return open(filter);
        }
        of_checks.exchange().set_subscribing();
        // The future is boxed, so that its memory is freed after the checks.
        let subscribable_uris =
            Box::pin(checking.subscribable_uris(uris.into_iter().collect(), of_checks));
        Ok(Reply::Pending(Box::pin(async move {
            let uris = subscribable_uris.await;
            outcome(open(Filter { uris, ..filter })?).await
        })))
    }
}

/// Checks the number and the size of the URIs of a subscription.
fn check_uris(uris: &[String]) -> Result<(), ErrorObject> {
    if uris.len() > MAX_SUBSCRIBED {
        return Err(ErrorObject::invalid_params(format!(
            "a subscription may name at most {MAX_SUBSCRIBED} resources, not {}",
            uris.len()
        )));
    }
    let bytes: usize = uris.iter().map(String::len).sum();
    if bytes > MAX_SUBSCRIBED_BYTES {
        return Err(ErrorObject::invalid_params(format!(
            "the URIs of the subscription have {bytes} bytes; the limit is {MAX_SUBSCRIBED_BYTES}"
        )));
    }
    Ok(())
}

/// The params of `subscriptions/listen` without `_meta`, which is handled earlier.
#[derive(serde::Deserialize)]
struct ListenParams {
    notifications: SubscriptionFilter,
}
