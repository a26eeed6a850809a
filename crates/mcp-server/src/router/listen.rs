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
        let uris = requested.resource_subscriptions.unwrap_or_default();
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
        self.settings.check(&GuardedRequest {
            method: method::SUBSCRIPTIONS_LISTEN,
            target: None,
            context,
        })?;
        let session = context.session();
        let announced = |requested: Option<bool>, change: &Change| {
            requested == Some(true) && session.announces(change.method())
        };
        let (uris, unchecked) = self.readable(uris, context);
        let mut filter = Filter {
            tools: announced(requested.tools_list_changed, &Change::Tools),
            prompts: announced(requested.prompts_list_changed, &Change::Prompts),
            resources: announced(requested.resources_list_changed, &Change::Resources),
            uris,
            tasks: HashSet::new(),
        };
        let (core, context) = (Arc::clone(self), context.clone());
        let open = move |filter| {
            #[cfg(feature = "tasks")]
            if !tasks.is_empty() {
                return Ok(core.subscribe_to_tasks(filter, tasks, &context));
            }
            let subscription = core.subscriptions.open(&context, filter)?;
            Ok(Reply::Pending(Box::pin(subscription)))
        };
        if unchecked.is_empty() {
            return open(filter);
        }
        Ok(Reply::Pending(Box::pin(async move {
            for (uri, check) in unchecked {
                if outcome(check).await.is_ok() {
                    filter.uris.insert(uri);
                }
            }
            outcome(open(filter)?).await
        })))
    }

    /// Returns the URIs to which the client may subscribe. The second value has the URIs whose access check has not finished,
    /// each with its check.
    fn readable(
        self: &Arc<Self>,
        uris: Vec<String>,
        context: &RequestContext,
    ) -> (HashSet<String>, Vec<(String, Reply)>) {
        let (mut readable, mut unchecked) = (HashSet::new(), Vec::new());
        for uri in uris.into_iter().filter(|_| self.settings.subscribe) {
            match self.check_subscription(method::SUBSCRIPTIONS_LISTEN, &uri, context) {
                Ok(Reply::Ready(Ok(_))) => drop(readable.insert(uri)),
                Ok(Reply::Ready(Err(_))) | Err(_) => {}
                Ok(check) => unchecked.push((uri, check)),
            }
        }
        (readable, unchecked)
    }
}

/// The params of `subscriptions/listen` without `_meta`, which is handled earlier.
#[derive(serde::Deserialize)]
struct ListenParams {
    notifications: SubscriptionFilter,
}
