//! The builder methods for settings.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::Revision;
use mcp_types::{Icon, JsonObject};

use super::Server;
use super::core::{GuardedRequest, Settings};
#[cfg(feature = "seal")]
use crate::StateKeys;
use crate::sync::lock;
use crate::{CacheHint, ChangeBus};

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Sets instructions for the model on how to use the server.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.set(|settings| settings.instructions = Some(instructions.into()))
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.set(|settings| settings.info.title = Some(title.into()))
    }

    /// Sets the description of the server.
    #[must_use]
    pub fn description(self, description: impl Into<String>) -> Self {
        self.set(|settings| settings.info.description = Some(description.into()))
    }

    /// Sets the URL of the website.
    #[must_use]
    pub fn website(self, url: impl Into<String>) -> Self {
        self.set(|settings| settings.info.website_url = Some(url.into()))
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(self, icon: Icon) -> Self {
        self.set(|settings| settings.info.icons.get_or_insert_default().push(icon))
    }

    /// Sets the supported revisions. Default: all.
    #[must_use]
    pub fn revisions(self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.set(|settings| settings.revisions = revisions.into_iter().collect())
    }

    /// Sets the number of items per page of a list. Default: 2,000.
    #[must_use]
    pub fn page_size(self, items: usize) -> Self {
        self.set(|settings| settings.page_size = items)
    }

    /// Sets how long a handler may run before its request is answered with an error; `None` for no
    /// limit. Default: 10 minutes.
    #[must_use]
    pub fn deadline(self, deadline: impl Into<Option<Duration>>) -> Self {
        self.set(|settings| settings.deadline = deadline.into())
    }

    /// Sets whether to declare logging. Without it no log messages are sent. Default: yes.
    #[must_use]
    pub fn logging(self, logging: bool) -> Self {
        self.set(|settings| settings.logging = logging)
    }

    /// Sets whether clients may subscribe to resources. Default: yes.
    #[must_use]
    pub fn subscriptions(self, subscribe: bool) -> Self {
        self.set(|settings| settings.subscribe = subscribe)
    }

    /// Sets whether clients are notified when a list changes. Default: yes.
    #[must_use]
    pub fn announce_changes(self, announce: bool) -> Self {
        self.set(|settings| settings.list_changed = announce)
    }

    /// Declares an experimental capability.
    #[must_use]
    pub fn experimental(self, name: impl Into<String>, value: JsonObject) -> Self {
        self.set(|settings| {
            settings.experimental.insert(name.into(), value);
        })
    }

    /// Sets how long clients of the stateless revision may cache lists. Default: no caching. Lists
    /// that are not the same for all clients are always private: lists with
    /// [hidden](crate::Tool::visible_if) items, and lists with more than one page, whose cursors
    /// belong to one principal.
    #[must_use]
    pub fn cache_lists(self, hint: CacheHint) -> Self {
        self.set(|settings| settings.lists = hint)
    }

    /// Sets how long clients of the stateless revision may cache resource contents. Default: no
    /// caching.
    #[must_use]
    pub fn cache_resources(self, hint: CacheHint) -> Self {
        self.set(|settings| settings.reads = hint)
    }

    /// Sets the keys that encrypt the state of a call between its round trips, for servers with
    /// several processes. Default: a random key.
    #[cfg(feature = "seal")]
    #[must_use]
    pub fn state_keys(self, keys: StateKeys) -> Self {
        self.set(|settings| settings.keys = Arc::new(keys))
    }

    /// Sets the bus that distributes change notifications to other processes; see [`ChangeBus`].
    #[must_use]
    pub fn change_bus(self, bus: impl ChangeBus) -> Self {
        self.set(|settings| settings.bus = Some(Arc::new(bus)))
    }

    /// Sets a check that runs before each request and may reject it, for example for access control
    /// or rate limits. A later call replaces the check.
    #[must_use]
    pub fn guard(
        self,
        guard: impl Fn(&GuardedRequest<'_>) -> Result<(), ErrorObject> + Send + Sync + 'static,
    ) -> Self {
        self.set(|settings| settings.guard = Some(Arc::new(guard)))
    }

    pub(crate) fn set(self, change: impl FnOnce(&mut Settings)) -> Self {
        let server = self.for_building();
        change(Arc::make_mut(&mut lock(&server.core.settings)));
        server.core.edited();
        server
    }
}
