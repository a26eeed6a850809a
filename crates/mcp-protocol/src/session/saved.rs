//! The state of a session as data, so that another process can continue the session.

use std::sync::Arc;

use mcp_types::LoggingLevel;
use serde::{Deserialize, Serialize};

use crate::Revision;
use crate::modern::ClientIdentity;
use crate::task::keep;

/// The state of an initialized session. It contains everything that another process needs to answer the client's requests.
///
/// The state contains no running requests, no cached roots and no values of handlers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    #[serde(with = "keep::revision")]
    pub(crate) revision: Revision,
    #[serde(with = "keep::shared", default)]
    pub(crate) client: Arc<ClientIdentity>,
    /// The minimum level of log messages to send. `None` means that no log messages are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) log_level: Option<LoggingLevel>,
    /// The URIs of the resource subscriptions, in ascending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) subscriptions: Vec<String>,
    /// Whether `notifications/initialized` was received.
    #[serde(default)]
    pub(crate) is_open: bool,
}

impl SessionState {
    /// Returns the negotiated revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns whether `notifications/initialized` was received.
    pub fn is_open(&self) -> bool {
        self.is_open
    }
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::Request;
    use mcp_types::{Implementation, ServerCapabilities};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Budget, Owner, Reply, RequestContext, ServerFacts, ServerSession, Service};

    /// A server that supports log levels and subscriptions. The shared limit of its sessions is enough for two short URIs.
    struct Server(Budget);

    impl Service for Server {
        fn facts(&self) -> ServerFacts {
            let capabilities = json!({"logging": {}, "resources": {"subscribe": true}});
            let capabilities: ServerCapabilities = serde_json::from_value(capabilities).unwrap();
            let mut facts = ServerFacts::new(Implementation::new("server", "1"), capabilities);
            facts
                .revisions
                .retain(|revision| *revision != Revision::ASSUMED);
            facts
        }

        fn request(&self, _: &Request<'_>, _: RequestContext) -> Reply {
            Reply::error(mcp_jsonrpc::ErrorObject::internal("not called"))
        }

        fn subscription_budget(&self) -> Budget {
            self.0.clone()
        }
    }

    fn state(members: &Value) -> SessionState {
        let mut state = json!({"revision": "2025-11-25", "is_open": true});
        for (name, value) in members.as_object().unwrap() {
            state[name] = value.clone();
        }
        serde_json::from_value(state).unwrap()
    }

    fn server() -> (Budget, Arc<dyn Service>) {
        let budget = Budget::new("subscriptions", 2 * 128 + 6);
        (budget.clone(), Arc::new(Server(budget)))
    }

    #[test]
    fn a_restored_session_has_the_same_state() {
        let (budget, server) = server();
        let client = json!({
            "info": {"name": "c", "version": "1"}, "capabilities": {"elicitation": {}},
        });
        for saved in [
            state(
                &json!({"client": client, "log_level": "error", "subscriptions": ["a:1", "b:2"]}),
            ),
            state(&json!({"is_open": false})),
        ] {
            let restored =
                ServerSession::restore(Arc::clone(&server), &saved, Owner::default()).unwrap();
            assert!(!restored.session().is_open(), "it is not connected yet");
            restored.reopen(&saved);
            assert_eq!(restored.session().state(), Some(saved.clone()));
            assert_eq!(restored.session().is_open(), saved.is_open());
        }
        assert_eq!(budget.used(), 0, "the sessions are gone");
    }

    #[test]
    fn each_change_of_the_session_state_is_counted() {
        let ((_, server), owner) = (server(), Owner::default());
        let saved = state(&json!({"subscriptions": ["a:1"]}));
        let restored = ServerSession::restore(server, &saved, Owner::default()).unwrap();
        let session = restored.session();
        let mut changes = session.changes();
        let mut is_changed = || std::mem::replace(&mut changes, session.changes()) != changes;
        session.subscribe("a:1", &owner).unwrap();
        assert!(!is_changed(), "it is subscribed already");
        session.unsubscribe("b:2");
        assert!(!is_changed(), "it is not subscribed");
        session.subscribe("b:2", &owner).unwrap();
        assert!(is_changed());
        session.unsubscribe("a:1");
        assert!(is_changed());
        session.set_log_level(LoggingLevel::Alert);
        assert!(is_changed());
        restored.reopen(&saved);
        assert!(is_changed());
        let expected = json!({"log_level": "alert", "subscriptions": ["b:2"]});
        assert_eq!(session.state(), Some(state(&expected)));
    }

    #[test]
    fn the_subscriptions_of_a_session_have_limits() {
        // A budget that the session does not reach.
        let server: Arc<dyn Service> = Arc::new(Server(Budget::new("subscriptions", 1 << 20)));
        let restored = ServerSession::restore(server, &state(&json!({})), Owner::default());
        let restored = restored.unwrap();
        let (session, owner) = (restored.session(), Owner::default());
        for number in 0..1_024 {
            session.subscribe(&format!("a:{number}"), &owner).unwrap();
        }
        let error = session.subscribe("b:1", &owner).unwrap_err();
        assert!(error.message.contains("1024 subscriptions"), "{error}");
        session.subscribe("a:7", &owner).unwrap();
        session.unsubscribe("a:7");
        session.subscribe("b:1", &owner).unwrap();
        for number in 0..1_024 {
            session.unsubscribe(&format!("a:{number}"));
        }
        session.unsubscribe("b:1");
        let half = "x".repeat(32 << 10);
        session.subscribe(&half, &owner).unwrap();
        session.subscribe(&half, &owner).unwrap();
        let error = session.subscribe(&format!("{half}y"), &owner).unwrap_err();
        assert!(error.message.contains("the limit is 65536"), "{error}");
        session.subscribe(&half.replace('x', "y"), &owner).unwrap();
    }

    #[test]
    fn a_session_beyond_the_limits_of_the_server_is_not_restored() {
        let (budget, server) = server();
        let revision = state(&json!({"revision": Revision::ASSUMED.as_str()}));
        let error =
            ServerSession::restore(Arc::clone(&server), &revision, Owner::default()).unwrap_err();
        assert!(error.message.contains("2025-03-26"), "{error}");
        let long = state(&json!({"subscriptions": ["a:1", "a:22"]}));
        let error = ServerSession::restore(server, &long, Owner::default()).unwrap_err();
        assert!(error.message.contains("subscriptions"), "{error}");
        assert_eq!(budget.used(), 0);
    }
}
