//! The methods that set a server up.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::Revision;
use mcp_types::{Icon, JsonObject};

use super::Server;
use super::settings::{GuardedRequest, Settings};
#[cfg(feature = "seal")]
use crate::StateKeys;
use crate::sync::lock;
use crate::{CacheHint, ChangeBus};

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Advice for the model on how to use the server.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.set(|settings| settings.instructions = Some(instructions.into()))
    }

    /// The name to show to people.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.set(|settings| settings.info.title = Some(title.into()))
    }

    /// What the server is for.
    #[must_use]
    pub fn description(self, description: impl Into<String>) -> Self {
        self.set(|settings| settings.info.description = Some(description.into()))
    }

    /// Where to read more.
    #[must_use]
    pub fn website(self, url: impl Into<String>) -> Self {
        self.set(|settings| settings.info.website_url = Some(url.into()))
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(self, icon: Icon) -> Self {
        self.set(|settings| settings.info.icons.get_or_insert_default().push(icon))
    }

    /// The revisions to serve; default: all.
    #[must_use]
    pub fn revisions(self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.set(|settings| settings.revisions = revisions.into_iter().collect())
    }

    /// Items on one page of a list; default 2,000. Set it before the server is served.
    #[must_use]
    pub fn page_size(self, items: usize) -> Self {
        self.set(|settings| settings.page_size = items)
    }

    /// How long a handler may take before its request is answered with an error; default 10
    /// minutes, `None` for no limit.
    #[must_use]
    pub fn deadline(self, deadline: impl Into<Option<Duration>>) -> Self {
        self.set(|settings| settings.deadline = deadline.into())
    }

    /// Whether to declare logging, without which no log message is sent; default: yes.
    #[must_use]
    pub fn logging(self, logging: bool) -> Self {
        self.set(|settings| settings.logging = logging)
    }

    /// Whether clients may subscribe to resources; default: yes.
    #[must_use]
    pub fn subscriptions(self, subscribe: bool) -> Self {
        self.set(|settings| settings.subscribe = subscribe)
    }

    /// Whether to tell clients when a list changes; default: yes.
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

    /// How long clients of revisions without sessions may keep the lists; default: not at all.
    /// Lists that are not the same for everybody, because something on them is
    /// [hidden](crate::Tool::visible_if) from some, are private whatever is set here.
    #[must_use]
    pub fn cache_lists(self, hint: CacheHint) -> Self {
        self.set(|settings| settings.lists = hint)
    }

    /// How long they may keep what they read of resources; default: not at all.
    #[must_use]
    pub fn cache_resources(self, hint: CacheHint) -> Self {
        self.set(|settings| settings.reads = hint)
    }

    /// The keys that protect what a call has to remember while its client answers questions, for
    /// servers of several processes; default: a random one.
    #[cfg(feature = "seal")]
    #[must_use]
    pub fn state_keys(self, keys: StateKeys) -> Self {
        self.set(|settings| settings.keys = Arc::new(keys))
    }

    /// Carries news of changes to other processes; see [`ChangeBus`].
    #[must_use]
    pub fn change_bus(self, bus: impl ChangeBus) -> Self {
        self.set(|settings| settings.bus = Some(Arc::new(bus)))
    }

    /// Adds a check that runs before any request is served and may refuse it: access control,
    /// rate limits. The last one set counts.
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
