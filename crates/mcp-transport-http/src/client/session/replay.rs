//! The requests that are replayed in a new session.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::sync::lock;
use mcp_types::method;

/// The log level and the subscriptions that a session has requested.
pub(crate) struct ReplayState {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    level: Option<Vec<u8>>,
    subscriptions: BTreeMap<String, Vec<u8>>,
}

impl ReplayState {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// Records a successful request if it must be replayed in a new session.
    pub(crate) fn record(&self, method: &str, params: &[u8]) {
        let is_subscription = match method {
            method::LOGGING_SET_LEVEL => {
                lock(&self.state).level = Some(params.to_vec());
                return;
            }
            method::RESOURCES_SUBSCRIBE => true,
            method::RESOURCES_UNSUBSCRIBE => false,
            _ => return,
        };
        let Some(uri) = uri(params) else {
            return;
        };
        let subscriptions = &mut lock(&self.state).subscriptions;
        if !is_subscription {
            subscriptions.remove(&uri);
        } else if subscriptions.len() < self.limit || subscriptions.contains_key(&uri) {
            subscriptions.insert(uri, params.to_vec());
        } else {
            tracing::warn!(
                limit = self.limit,
                "a subscription will not be restored in a new session; the limit of \
                 ClientOptions::with_max_restored_subscriptions is reached"
            );
        }
    }

    /// Returns the methods and params of the requests to replay.
    pub(crate) fn requests(&self) -> Vec<(&'static str, Vec<u8>)> {
        let state = lock(&self.state);
        let level = state
            .level
            .iter()
            .map(|params| (method::LOGGING_SET_LEVEL, params));
        let subscriptions = state.subscriptions.values();
        let subscriptions = subscriptions.map(|params| (method::RESOURCES_SUBSCRIBE, params));
        level
            .chain(subscriptions)
            .map(|(method, params)| (method, params.clone()))
            .collect()
    }
}

fn uri(params: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(params).ok()?;
    let (_, uri) = mcp_jsonrpc::members(text)
        .flatten()
        .find(|(key, _)| mcp_jsonrpc::is_member(key, "uri"))?;
    mcp_jsonrpc::decode(uri).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(replay: &ReplayState) -> Vec<String> {
        let requests = replay.requests().into_iter();
        requests
            .map(|(method, params)| format!("{method} {}", String::from_utf8(params).unwrap()))
            .collect()
    }

    #[test]
    fn the_last_log_level_and_open_subscriptions_are_requested_in_a_new_session() {
        let replay = ReplayState::new(2);
        let record = |method, params: &str| replay.record(method, params.as_bytes());
        record(method::LOGGING_SET_LEVEL, r#"{"level":"debug"}"#);
        record(method::LOGGING_SET_LEVEL, r#"{"level":"error"}"#);
        record(
            method::RESOURCES_SUBSCRIBE,
            r#"{"_meta":{},"uri":"a:\u0031"}"#,
        );
        record(method::RESOURCES_SUBSCRIBE, r#"{"uri":"a:2"}"#);
        record(method::RESOURCES_SUBSCRIBE, r#"{"uri":"a:3"}"#);
        record(method::RESOURCES_SUBSCRIBE, r#"{"uri":7}"#);
        record(method::RESOURCES_UNSUBSCRIBE, r#"{"uri":"a:1"}"#);
        record(method::TOOLS_CALL, r#"{"uri":"a:4"}"#);
        assert_eq!(
            replayed(&replay),
            [
                r#"logging/setLevel {"level":"error"}"#,
                r#"resources/subscribe {"uri":"a:2"}"#
            ]
        );
    }
}
