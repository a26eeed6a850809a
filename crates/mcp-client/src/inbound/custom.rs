//! Middleware, and messages that are not part of the protocol.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::middleware::{Layers, SharedMiddleware};
use mcp_protocol::{BoxFuture, Outcome, gate};
use mcp_types::JsonObject;

use crate::Error;

pub(crate) type MethodHandler =
    Arc<dyn Fn(Option<&str>) -> Result<BoxFuture<'static, Outcome>, ErrorObject> + Send + Sync>;
/// The extensions that a server declared.
pub(crate) type Declared = Option<BTreeMap<String, JsonObject>>;
pub(crate) type NotificationHandler = Arc<dyn Fn(&str) + Send + Sync>;

/// The handlers of custom messages, by method, and the middleware.
#[derive(Default, Clone)]
pub(crate) struct Custom {
    pub(crate) methods: BTreeMap<String, MethodHandler>,
    pub(crate) notifications: BTreeMap<String, NotificationHandler>,
    pub(crate) layers: Vec<SharedMiddleware>,
    /// The extension that a method or notification belongs to.
    pub(crate) owners: BTreeMap<String, String>,
    /// The installed extensions, each with the extensions that it requires.
    pub(crate) requires: BTreeMap<String, Vec<String>>,
    /// The reasons why extensions were not installed.
    pub(crate) problems: Vec<String>,
}

impl Custom {
    /// Checks the names of methods, and that the required extensions are among the `declared` extensions.
    ///
    /// # Errors
    /// The protocol has a method with the name of a custom method; an extension was not installed; or a required extension is
    /// missing.
    pub(crate) fn check(&self, declared: &BTreeMap<String, JsonObject>) -> Result<(), Error> {
        if let Some(problem) = self.problems.first() {
            return Err(Error::invalid(problem.clone()));
        }
        for (id, required) in &self.requires {
            if let Some(missing) = required.iter().find(|id| !declared.contains_key(*id)) {
                return Err(Error::invalid(format!(
                    "extension {id:?} requires the extension {missing:?}, which the client does not have"
                )));
            }
        }
        self.check_names().map_err(|name| {
            Error::invalid(format!(
                "method {name:?}: the protocol already uses this name; choose another name, such as \
                 \"com.example/name\""
            ))
        })
    }

    /// Checks that no custom method or notification has a name of the protocol. The error is the first such name.
    pub(crate) fn check_names(&self) -> Result<(), &String> {
        let taken = self.names().find(|name| gate::is_core_method(name));
        taken.map_or(Ok(()), Err)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.methods.keys().chain(self.notifications.keys())
    }

    /// Returns the handler of a method. Returns `None` if the method belongs to an extension that the server did not declare.
    pub(crate) fn method(&self, name: &str, server: &Declared) -> Option<&MethodHandler> {
        let handler = self.methods.get(name)?;
        self.is_for(name, server).then_some(handler)
    }

    /// Returns the handler of a notification. Returns `None` if the notification belongs to an extension that the server did not
    /// declare.
    pub(crate) fn notification(
        &self,
        name: &str,
        server: &Declared,
    ) -> Option<&NotificationHandler> {
        let handler = self.notifications.get(name)?;
        self.is_for(name, server).then_some(handler)
    }

    fn is_for(&self, name: &str, server: &Declared) -> bool {
        let owner = self.owners.get(name);
        owner.is_none_or(|owner| server.as_ref().is_some_and(|all| all.contains_key(owner)))
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
            .field("extensions", &self.requires.keys())
            .finish()
    }
}
