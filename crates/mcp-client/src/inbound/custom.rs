//! Middleware, and messages that are not part of the protocol.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::middleware::{Layers, SharedMiddleware};
use mcp_protocol::{BoxFuture, Outcome, gate};

use crate::Error;

pub(crate) type MethodHandler =
    Arc<dyn Fn(Option<&str>) -> Result<BoxFuture<'static, Outcome>, ErrorObject> + Send + Sync>;
pub(crate) type NotificationHandler = Arc<dyn Fn(&str) + Send + Sync>;

/// The handlers of custom messages, by method, and the middleware.
#[derive(Default, Clone)]
pub(crate) struct Custom {
    pub(crate) methods: BTreeMap<String, MethodHandler>,
    pub(crate) notifications: BTreeMap<String, NotificationHandler>,
    pub(crate) layers: Vec<SharedMiddleware>,
}

impl Custom {
    /// Checks the names of methods.
    ///
    /// # Errors
    /// The protocol has a method with this name.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut names = self.methods.keys().chain(self.notifications.keys());
        match names.find(|name| gate::is_core_method(name)) {
            None => Ok(()),
            Some(name) => Err(Error::invalid(format!(
                "method {name:?}: the protocol has this name; choose another one, such as \
                 \"com.example/name\""
            ))),
        }
    }

    pub(crate) fn layers(&self) -> Option<Layers> {
        // No handler of a client blocks.
        Layers::new(self.layers.clone(), |work| Box::pin(async move { work() }))
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom")
            .field("methods", &self.methods.keys())
            .field("notifications", &self.notifications.keys())
            .field("layers", &self.layers)
            .finish()
    }
}
