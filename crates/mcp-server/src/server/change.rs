//! Changes that clients are notified of.

use mcp_types::method;

/// Something that clients may want to hear of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools is another.
    Tools,
    /// The list of prompts is another.
    Prompts,
    /// The list of resources is another.
    Resources,
    /// This resource is another.
    Resource(String),
}

impl Change {
    /// The notification that tells of it.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tools => method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
            Self::Prompts => method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
            Self::Resources => method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
            Self::Resource(_) => method::NOTIFICATIONS_RESOURCES_UPDATED,
        }
    }
}

/// Carries news of changes to all processes that serve the same things.
///
/// Without one a change is told to the clients of the process that made it. With one,
/// [`publish`](Self::publish) hands it to the others, and each of them, this one too, calls
/// [`Server::deliver`](crate::Server::deliver) with what it hears.
pub trait ChangeBus: Send + Sync + 'static {
    /// Takes a change along. Must not block; what cannot be sent is lost.
    fn publish(&self, change: Change);
}

impl<F: Fn(Change) + Send + Sync + 'static> ChangeBus for F {
    fn publish(&self, change: Change) {
        self(change);
    }
}
