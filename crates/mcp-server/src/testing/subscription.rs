//! A subscription to changes, at every revision.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::{ErrorObject, RequestId};
use mcp_types::v2026_07_28::SubscriptionFilter;
use mcp_types::{SUBSCRIPTION_ID_KEY, method};
use serde_json::{Value, json};

use super::TestClient;
use super::link::Notifications;
use crate::Change;

/// The changes that a [`TestClient`] has subscribed to. In revision 2026-07-28, dropping this value ends the subscription. In a
/// session, the subscription lasts as long as the session.
#[must_use = "dropping the subscription ends it"]
pub struct TestSubscription {
    notifications: Arc<Notifications>,
    /// The index of the next unread notification.
    position: usize,
    wanted: Vec<Change>,
    /// The request `subscriptions/listen`.
    request: Option<ListenRequest>,
}

struct ListenRequest {
    id: RequestId,
    /// The pending result; `None` after the end of the subscription.
    result: Option<PendingResult>,
}

type PendingResult = Pin<Box<dyn Future<Output = Result<Value, ErrorObject>> + Send>>;

impl TestSubscription {
    pub(super) async fn open(
        client: &TestClient,
        changes: Vec<Change>,
    ) -> Result<Self, ErrorObject> {
        let wanted = changes
            .iter()
            .map(|change| change.addressee().0.clone())
            .collect();
        let mut subscription = Self {
            notifications: Arc::clone(&client.notifications),
            position: client.notifications.all().len(),
            wanted,
            request: None,
        };
        match client.revision.is_stateless() {
            true => subscription.listen(client).await?,
            false => {
                client.open().await?;
                for uri in subscription.uris() {
                    let params = json!({ "uri": uri });
                    client.request(method::RESOURCES_SUBSCRIBE, params).await?;
                }
            }
        }
        Ok(subscription)
    }

    /// Sends `subscriptions/listen` and waits for the acknowledgement.
    async fn listen(&mut self, client: &TestClient) -> Result<(), ErrorObject> {
        let mut params = json!({ "notifications": self.filter() });
        client.add_meta(&mut params);
        let (id, client) = (client.next_id(), client.clone());
        let request = self.request.insert(ListenRequest {
            id: id.clone(),
            result: Some(Box::pin(async move {
                client
                    .send_as(id, method::SUBSCRIPTIONS_LISTEN, &params)
                    .await
            })),
        });
        let (notifications, position) = (&self.notifications, &mut self.position);
        let accepted = poll_fn(|cx| {
            let ended = request.poll(cx);
            let read = |method: &str, params: &Value| {
                let is_own = method == method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED
                    && request.has(params);
                is_own.then(|| params["notifications"].clone())
            };
            if let Some(accepted) = notifications.find(position, Some(cx.waker()), read) {
                return Poll::Ready(Ok(accepted));
            }
            ended.map(|result| {
                result?;
                let problem = "the server ended the subscription before acknowledging it";
                Err(ErrorObject::internal(problem))
            })
        });
        let accepted: SubscriptionFilter = serde_json::from_value(accepted.await?)
            .map_err(|error| ErrorObject::internal(error.to_string()))?;
        let is_refused = |change: &&Change| match change {
            Change::Tools => accepted.tools_list_changed != Some(true),
            Change::Prompts => accepted.prompts_list_changed != Some(true),
            Change::Resources => accepted.resources_list_changed != Some(true),
            Change::Resource(uri) => {
                let mut uris = accepted.resource_subscriptions.iter().flatten();
                !uris.any(|accepted| accepted == uri)
            }
            Change::ForUser { .. } => true,
        };
        match self.wanted.iter().find(is_refused) {
            Some(change) => Err(ErrorObject::invalid_params(format!(
                "the server does not announce this change to the client: {change:?}"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the next change. Returns `None` after the server has ended the subscription.
    ///
    /// # Cancel safety
    /// No change is lost.
    pub async fn next(&mut self) -> Option<Change> {
        poll_fn(|cx| {
            let has_ended = match &mut self.request {
                Some(request) => request.poll(cx).is_ready(),
                None => false,
            };
            match self.find(Some(cx.waker())) {
                None if !has_ended => Poll::Pending,
                found => Poll::Ready(found),
            }
        })
        .await
    }

    /// Returns the next change if it has already been received.
    pub fn try_next(&mut self) -> Option<Change> {
        self.find(None)
    }

    fn find(&mut self, waker: Option<&Waker>) -> Option<Change> {
        let (wanted, request) = (&self.wanted, &self.request);
        let read = |method: &str, params: &Value| {
            let is_own = match request {
                Some(request) => request.has(params),
                None => true,
            };
            let is_wanted = |change: &&Change| {
                change.method() == method && uri(change).is_none_or(|uri| params["uri"] == *uri)
            };
            let change = wanted.iter().find(is_wanted).filter(|_| is_own);
            change.cloned()
        };
        self.notifications.find(&mut self.position, waker, read)
    }

    fn filter(&self) -> SubscriptionFilter {
        let has = |change| self.wanted.contains(&change).then_some(true);
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = has(Change::Tools);
        filter.prompts_list_changed = has(Change::Prompts);
        filter.resources_list_changed = has(Change::Resources);
        filter.resource_subscriptions = Some(self.uris()).filter(|uris| !uris.is_empty());
        filter
    }

    fn uris(&self) -> Vec<String> {
        self.wanted.iter().filter_map(uri).cloned().collect()
    }
}

impl ListenRequest {
    /// Polls the request, unless it has ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Value, ErrorObject>> {
        let Some(result) = &mut self.result else {
            return Poll::Ready(Ok(Value::Null));
        };
        let polled = result.as_mut().poll(cx);
        if polled.is_ready() {
            self.result = None;
        }
        polled
    }

    /// Returns whether the params of a notification contain the id of this subscription.
    fn has(&self, params: &Value) -> bool {
        params["_meta"][SUBSCRIPTION_ID_KEY] == json!(self.id)
    }
}

/// Returns the URI if the change is about a resource.
fn uri(change: &Change) -> Option<&String> {
    match change {
        Change::Resource(uri) => Some(uri),
        _ => None,
    }
}

impl fmt::Debug for TestSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestSubscription")
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}
