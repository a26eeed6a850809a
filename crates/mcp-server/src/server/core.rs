//! The state that all handles of a server share, and its settings.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Delivery, RequestContext, Revision, Session};
use mcp_types::{Implementation, JsonObject, ResourceUpdatedNotificationParams};

use super::sessions::Sessions;
use super::subscriptions::Subscriptions;
use crate::registry::Registry;
use crate::registry::prompt::PromptEntry;
use crate::registry::resource::{ResourceEntry, TemplateEntry};
use crate::registry::tool::ToolEntry;
use crate::round_trip::StateKeys;
use crate::sync::lock;
use crate::{CacheHint, Change, ChangeBus, RegistrationError};

/// A request that [`Server::guard`](crate::Server::guard) checks before it is served.
#[derive(Debug)]
#[non_exhaustive]
pub struct GuardedRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The tool, prompt or URI of the request; `None` for lists and settings.
    pub target: Option<&'a str>,
    /// The request.
    pub context: &'a RequestContext,
}

/// The part of a server that does not depend on the type of its state.
pub(crate) struct Core {
    pub(crate) tools: Registry<ToolEntry>,
    pub(crate) prompts: Registry<PromptEntry>,
    pub(crate) resources: Registry<ResourceEntry>,
    pub(crate) templates: Registry<TemplateEntry>,
    pub(crate) settings: Mutex<Arc<Settings>>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    #[cfg(feature = "tasks")]
    pub(crate) tasks: Arc<crate::tasks::Tasks>,
    sessions: Mutex<Sessions<Session>>,
    /// Whether a transport serves it; from then on builder methods change a copy.
    is_served: AtomicBool,
    edition: AtomicU64,
    problems: Mutex<Vec<RegistrationError>>,
}

impl Core {
    pub(crate) fn new(name: impl Into<String>, version: impl Into<String>) -> Arc<Self> {
        let subscriptions = Arc::<Subscriptions>::default();
        Arc::new(Self {
            tools: Registry::default(),
            prompts: Registry::default(),
            resources: Registry::default(),
            templates: Registry::default(),
            settings: Mutex::new(Arc::new(Settings::new(name, version))),
            #[cfg(feature = "tasks")]
            tasks: crate::tasks::Tasks::new(Arc::clone(&subscriptions)),
            subscriptions,
            sessions: Mutex::default(),
            is_served: AtomicBool::new(false),
            edition: AtomicU64::new(0),
            problems: Mutex::default(),
        })
    }

    /// Records a failed registration.
    pub(super) fn note(&self, problem: RegistrationError) {
        lock(&self.problems).push(problem);
    }

    /// Returns an independent copy with the same registrations and settings, and no sessions.
    pub(super) fn fork(&self) -> Arc<Self> {
        let subscriptions = Arc::<Subscriptions>::default();
        Arc::new(Self {
            tools: self.tools.fork(),
            prompts: self.prompts.fork(),
            resources: self.resources.fork(),
            templates: self.templates.fork(),
            settings: Mutex::new(self.settings()),
            #[cfg(feature = "tasks")]
            tasks: self.tasks.fork(Arc::clone(&subscriptions)),
            subscriptions,
            sessions: Mutex::default(),
            is_served: AtomicBool::new(false),
            edition: AtomicU64::new(0),
            problems: Mutex::default(),
        })
    }

    pub(super) fn is_served(&self) -> bool {
        self.is_served.load(Ordering::Acquire)
    }

    /// Marks the server as served and starts its work in the background.
    pub(super) fn start(self: &Arc<Self>) {
        self.is_served.store(true, Ordering::Release);
    }

    /// Adds resources and templates, or none of them.
    pub(super) fn add_resources(
        &self,
        resources: Vec<ResourceEntry>,
        templates: Vec<TemplateEntry>,
    ) -> Result<(), RegistrationError> {
        let resources = self.resources.prepare_add(resources)?;
        let templates = self.templates.prepare_add(templates)?;
        resources.commit();
        templates.commit();
        Ok(())
    }

    /// Returns the failed registrations and clears them.
    pub(super) fn ready(&self) -> Result<(), String> {
        let problems = std::mem::take(&mut *lock(&self.problems));
        if problems.is_empty() {
            return Ok(());
        }
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Err(problems.join("; "))
    }

    pub(super) fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    pub(super) fn opened(&self, session: &Arc<Session>) {
        lock(&self.sessions).insert(session);
    }

    pub(super) fn closed(&self, session: &Arc<Session>) {
        lock(&self.sessions).remove(session);
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&lock(&self.settings))
    }

    /// Returns the open sessions.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        lock(&self.sessions).all()
    }

    /// Increments the edition, after a change of registrations or settings.
    pub(crate) fn edited(&self) {
        self.edition.fetch_add(1, Ordering::AcqRel);
    }

    /// Notifies all clients of a change, through the bus if there is one.
    pub(super) fn changed(&self, change: Change) {
        self.edited();
        match &self.settings().bus {
            Some(bus) => bus.publish(change),
            None => self.deliver(&change),
        }
    }

    pub(super) fn deliver(&self, change: &Change) {
        let method = change.method();
        let params = match change {
            Change::Resource(uri) => {
                serde_json::to_vec(&ResourceUpdatedNotificationParams::new(uri)).ok()
            }
            _ => None,
        };
        for session in self.sessions() {
            let wanted = match change {
                Change::Resource(uri) => session.is_subscribed(uri),
                _ => session.announces(method),
            };
            if wanted {
                session.notify(method, params.as_deref(), Delivery::Always);
            }
        }
        self.subscriptions.deliver(change);
    }
}

/// Default deadline of a handler.
const DEADLINE: Duration = Duration::from_secs(600);
/// Default number of items per page of a list.
const PAGE_SIZE: usize = 2_000;

/// A check that runs before a request is served.
pub(super) type RequestCheck =
    Arc<dyn Fn(&GuardedRequest<'_>) -> Result<(), ErrorObject> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) revisions: Vec<Revision>,
    pub(crate) page_size: usize,
    pub(crate) deadline: Option<Duration>,
    pub(crate) logging: bool,
    pub(crate) subscribe: bool,
    pub(crate) list_changed: bool,
    pub(crate) experimental: BTreeMap<String, JsonObject>,
    pub(crate) extensions: BTreeMap<String, JsonObject>,
    pub(crate) lists: CacheHint,
    pub(crate) reads: CacheHint,
    pub(crate) keys: Arc<StateKeys>,
    pub(crate) bus: Option<Arc<dyn ChangeBus>>,
    pub(super) guard: Option<RequestCheck>,
}

impl Settings {
    pub(crate) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            instructions: None,
            revisions: Revision::ALL.to_vec(),
            page_size: PAGE_SIZE,
            deadline: Some(DEADLINE),
            logging: true,
            subscribe: true,
            list_changed: true,
            experimental: BTreeMap::new(),
            extensions: BTreeMap::new(),
            lists: CacheHint::NONE,
            reads: CacheHint::NONE,
            keys: Arc::new(StateKeys::random()),
            bus: None,
            guard: None,
        }
    }

    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    pub(crate) fn check(&self, guarded: &GuardedRequest<'_>) -> Result<(), ErrorObject> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard(guarded))
    }
}
