//! Changes that clients are notified of.

use mcp_types::method;

/// A change that clients can subscribe to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The tool list changed.
    Tools,
    /// The prompt list changed.
    Prompts,
    /// The resource list changed.
    Resources,
    /// The resource with this URI changed.
    Resource(String),
}

impl Change {
    /// Returns the method of the change notification.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tools => method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
            Self::Prompts => method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
            Self::Resources => method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
            Self::Resource(_) => method::NOTIFICATIONS_RESOURCES_UPDATED,
        }
    }
}

/// Distributes change notifications to all processes of a server.
///
/// Without a bus, only clients of the process that made the change are notified. With a bus, the
/// server calls [`publish`](Self::publish), and every process, including this one, must call
/// [`Server::deliver`](crate::Server::deliver) with each change it receives.
pub trait ChangeBus: Send + Sync + 'static {
    /// Publishes a change. Must not block; a change that cannot be sent is dropped.
    fn publish(&self, change: Change);
}

impl<F: Fn(Change) + Send + Sync + 'static> ChangeBus for F {
    fn publish(&self, change: Change) {
        self(change);
    }
}
