//! The state of a server that all its handles share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use mcp_protocol::{Delivery, Session};
use mcp_types::ResourceUpdatedNotificationParams;

use super::settings::Settings;
use super::subscriptions::Subscriptions;
use crate::registry::Registry;
use crate::registry::prompt::PromptEntry;
use crate::registry::resource::{ResourceEntry, TemplateEntry};
use crate::registry::tool::ToolEntry;
use crate::sync::lock;
use crate::{Change, RegistrationError};

/// Everything that does not depend on the state's type.
pub(crate) struct Core {
    pub(crate) tools: Registry<ToolEntry>,
    pub(crate) prompts: Registry<PromptEntry>,
    pub(crate) resources: Registry<ResourceEntry>,
    pub(crate) templates: Registry<TemplateEntry>,
    pub(crate) settings: Mutex<Arc<Settings>>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    #[cfg(feature = "tasks")]
    pub(crate) tasks: Arc<crate::tasks::Tasks>,
    sessions: Mutex<Vec<Weak<Session>>>,
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
            edition: AtomicU64::new(0),
            problems: Mutex::default(),
        })
    }

    /// Remembers a registration that failed.
    pub(super) fn note(&self, problem: RegistrationError) {
        lock(&self.problems).push(problem);
    }

    pub(super) fn ready(&self) -> Result<(), String> {
        let problems = lock(&self.problems);
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
        let mut sessions = lock(&self.sessions);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }

    pub(super) fn closed(&self, session: &Arc<Session>) {
        lock(&self.sessions).retain(|known| !std::ptr::eq(known.as_ptr(), &**session));
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&lock(&self.settings))
    }

    /// The sessions that live.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        let sessions = lock(&self.sessions);
        sessions.iter().filter_map(Weak::upgrade).collect()
    }

    /// Something was registered, removed or set.
    pub(crate) fn edited(&self) {
        self.edition.fetch_add(1, Ordering::AcqRel);
    }

    /// Something changed: all clients hear of it, those of other processes too.
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
