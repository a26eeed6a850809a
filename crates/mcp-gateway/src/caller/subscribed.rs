//! The resources that the client of a session has subscribed to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mcp_jsonrpc::{ErrorObject, decode};
use mcp_protocol::lock;
use mcp_types::method;

use crate::catalog::comparable;
use crate::text::member;

/// Maximum number of resources to which the client of one connection can subscribe.
const MAX_SUBSCRIBED: usize = 1_024;
/// Maximum total size of the URIs of the subscribed resources of one connection, in bytes.
const MAX_SUBSCRIBED_BYTES: usize = 64 << 10;

/// A function that returns whether a client that has subscribed to the first URI may be notified of a change of the second URI.
pub(crate) type MayNotify = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// The resources for which the server of a connection sends updates, and the function that applies the access rules to the
/// updates.
pub(crate) struct Subscribed {
    may_notify: MayNotify,
    /// The subscribed URIs, each with its [`comparable`] text.
    uris: Mutex<BTreeMap<String, String>>,
}

impl Subscribed {
    pub(crate) fn new(may_notify: MayNotify) -> Self {
        Self {
            may_notify,
            uris: Mutex::default(),
        }
    }

    /// Records a `resources/subscribe` or `resources/unsubscribe` before it is sent, because an update may follow immediately.
    /// Returns the URI if it was added. If the server then refuses the subscription, the caller must [`remove`](Self::remove) the
    /// URI.
    ///
    /// # Errors
    /// The connection has too many subscriptions.
    pub(crate) fn record(
        &self,
        method: &str,
        params: Option<&str>,
    ) -> Result<Option<String>, ErrorObject> {
        let is_subscribed = match method {
            method::RESOURCES_SUBSCRIBE => true,
            method::RESOURCES_UNSUBSCRIBE => false,
            _ => return Ok(None),
        };
        let uri = params.and_then(|params| member(params, "uri"));
        let Some(uri) = uri.and_then(|uri| decode::<String>(uri).ok()) else {
            // The server refuses the request.
            return Ok(None);
        };
        let mut uris = lock(&self.uris);
        if !is_subscribed {
            uris.remove(&uri);
            return Ok(None);
        }
        if uris.contains_key(&uri) {
            return Ok(None);
        }
        let bytes = uris.keys().map(String::len).sum::<usize>() + uri.len();
        if uris.len() >= MAX_SUBSCRIBED || bytes > MAX_SUBSCRIBED_BYTES {
            return Err(ErrorObject::internal(format!(
                "the session would have more than {MAX_SUBSCRIBED} subscriptions or {MAX_SUBSCRIBED_BYTES} bytes of URIs; unsubscribe first"
            )));
        }
        uris.insert(uri.clone(), comparable(&uri));
        Ok(Some(uri))
    }

    /// Returns the URIs of the subscribed resources.
    pub(crate) fn uris(&self) -> Vec<String> {
        lock(&self.uris).keys().cloned().collect()
    }

    /// Adds the URIs of an earlier connection of the session. The rules were checked on that connection.
    pub(crate) fn restore(&self, uris: &[String]) {
        let uris = uris.iter().map(|uri| (uri.clone(), comparable(uri)));
        lock(&self.uris).extend(uris);
    }

    /// Returns whether the client has subscribed to exactly this resource.
    pub(crate) fn contains(&self, uri: &str) -> bool {
        lock(&self.uris).contains_key(uri)
    }

    pub(crate) fn remove(&self, uri: &str) {
        lock(&self.uris).remove(uri);
    }

    /// Returns whether the client may be notified that a resource has changed: the client has subscribed to the resource, or to a
    /// resource that contains it.
    pub(crate) fn admits(&self, changed: &str) -> bool {
        let text = comparable(changed);
        let uris = lock(&self.uris);
        let mut covering = uris.iter().filter(|(_, known)| covers(known, &text));
        covering.any(|(uri, _)| (self.may_notify)(uri, changed))
    }
}

/// Returns whether the resource `uri` is the subscribed resource or a part of it. Both texts are [`comparable`].
fn covers(subscribed: &str, uri: &str) -> bool {
    let is_whole = subscribed.ends_with(':');
    let rest = uri.strip_prefix(subscribed);
    rest.is_some_and(|rest| rest.is_empty() || is_whole || rest.starts_with(['/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_of_subscribed_resources_and_their_parts_are_admitted() {
        let subscribed = Subscribed::new(Arc::new(|_, changed| !changed.ends_with("secret")));
        let params = |uri: &str| format!("{{\"uri\":\"{uri}\"}}");
        let record = |method, uri| subscribed.record(method, Some(&params(uri))).unwrap();
        assert!(record(method::RESOURCES_SUBSCRIBE, "notes://a").is_some());
        for (uri, expected) in [
            ("notes://a", true),
            ("NOTES://A/", true),
            ("notes://a/b?c", true),
            ("notes://a/secret", false),
            ("notes://ab", false),
            ("notes://b", false),
        ] {
            assert_eq!(subscribed.admits(uri), expected, "{uri}");
        }
        assert!(record(method::RESOURCES_SUBSCRIBE, "notes://a").is_none());
        record(method::RESOURCES_UNSUBSCRIBE, "notes://a");
        assert!(!subscribed.admits("notes://a"));
    }

    #[test]
    fn the_subscriptions_of_a_session_are_limited() {
        let subscribed = Subscribed::new(Arc::new(|_, _| true));
        let record = |uri: &str| {
            let params = format!("{{\"uri\":\"{uri}\"}}");
            subscribed.record(method::RESOURCES_SUBSCRIBE, Some(&params))
        };
        for number in 0..MAX_SUBSCRIBED {
            assert!(record(&format!("a:{number}")).is_ok());
        }
        assert!(record("a:more").is_err());
        subscribed.remove("a:0");
        assert!(record(&"a".repeat(MAX_SUBSCRIBED_BYTES)).is_err());
        assert!(record("a:more").is_ok());
    }

    #[test]
    fn the_uris_of_a_session_share_one_limit() {
        let subscribed = Subscribed::new(Arc::new(|_, _| true));
        let record = |uri: &str| {
            let params = format!("{{\"uri\":\"{uri}\"}}");
            subscribed.record(method::RESOURCES_SUBSCRIBE, Some(&params))
        };
        assert!(record(&"a".repeat(MAX_SUBSCRIBED_BYTES)).is_ok());
        assert!(record("b").is_err());
    }
}
