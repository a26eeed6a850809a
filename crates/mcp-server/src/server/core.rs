//! The state that all handles of a server share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use mcp_protocol::middleware::{Layers, SharedMiddleware};
use mcp_protocol::{Delivery, Session, lock};
use mcp_types::ResourceUpdatedNotificationParams;

use super::sessions::Sessions;
use super::settings::Settings;
use crate::handler::layered::run_blocking;
use crate::handler::server::{CallServer, ReportChange};
use crate::registry::Registry;
use crate::registry::extension::{self, InstalledExtension};
use crate::registry::lister::Lister;
use crate::registry::method::{ForMethod, ForNotification, MethodEntry, Methods};
use crate::registry::prompt::PromptEntry;
use crate::registry::resource::{ResourceEntry, TemplateEntry};
use crate::registry::tool::ToolEntry;
use crate::subscriptions::{Subscriptions, is_addressed};
#[cfg(feature = "tasks")]
use crate::task_table::{TaskConfig, Tasks};
use crate::{Change, RegistrationError};

/// The items, settings and middleware that the builder of a server collects.
pub(crate) struct Parts {
    pub(super) tools: Vec<ToolEntry>,
    pub(super) prompts: Vec<PromptEntry>,
    pub(super) resources: Vec<ResourceEntry>,
    pub(super) templates: Vec<TemplateEntry>,
    pub(super) lister: Option<Lister>,
    pub(super) methods: Vec<MethodEntry<ForMethod>>,
    pub(super) notifications: Vec<MethodEntry<ForNotification>>,
    pub(super) extensions: Vec<InstalledExtension>,
    pub(super) settings: Settings,
    pub(super) layers: Vec<SharedMiddleware>,
    #[cfg(feature = "tasks")]
    pub(crate) tasks: TaskConfig,
    pub(super) problems: Vec<RegistrationError>,
}

impl Parts {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            lister: None,
            methods: Vec::new(),
            notifications: Vec::new(),
            extensions: Vec::new(),
            settings,
            layers: Vec::new(),
            #[cfg(feature = "tasks")]
            tasks: TaskConfig::default(),
            problems: Vec::new(),
        }
    }
}

/// The part of a server that does not depend on the type of its state.
pub(crate) struct Core {
    pub(crate) tools: Registry<ToolEntry>,
    pub(crate) prompts: Registry<PromptEntry>,
    pub(crate) resources: Registry<ResourceEntry>,
    pub(crate) templates: Registry<TemplateEntry>,
    pub(crate) lister: Option<Lister>,
    pub(crate) methods: Methods<ForMethod>,
    pub(crate) notifications: Methods<ForNotification>,
    pub(crate) layers: Option<Layers>,
    pub(crate) settings: Settings,
    pub(crate) subscriptions: Arc<Subscriptions>,
    #[cfg(feature = "tasks")]
    pub(crate) tasks: Arc<Tasks>,
    sessions: Mutex<Sessions<Session>>,
    edition: AtomicU64,
}

impl CallServer for Arc<Core> {
    fn reporter(&self) -> Weak<dyn ReportChange> {
        let core: Weak<Core> = Self::downgrade(self);
        core
    }

    fn to_boxed(&self) -> Box<dyn CallServer> {
        Box::new(Self::clone(self))
    }
}

impl ReportChange for Core {
    fn changed(&self, change: Change) {
        self.edition.fetch_add(1, Ordering::AcqRel);
        match &self.settings.bus {
            Some(bus) => bus.publish(change),
            None => self.deliver(&change),
        }
    }
}

impl Core {
    /// Creates a server from the parts that its builder collected. If there are problems, returns all of them.
    pub(super) fn new(parts: Parts) -> Result<Self, Vec<RegistrationError>> {
        let mut problems = parts.problems;
        let subscriptions = Arc::<Subscriptions>::default();
        let core = Self {
            tools: Registry::new(parts.tools, &mut problems),
            prompts: Registry::new(parts.prompts, &mut problems),
            resources: Registry::new(parts.resources, &mut problems),
            templates: Registry::new(parts.templates, &mut problems),
            lister: parts.lister,
            methods: Methods::new(parts.methods, "method", &mut problems),
            notifications: Methods::new(parts.notifications, "notification", &mut problems),
            layers: Layers::new(parts.layers, run_blocking),
            settings: parts.settings,
            #[cfg(feature = "tasks")]
            tasks: Tasks::new(Arc::clone(&subscriptions), parts.tasks),
            subscriptions,
            sessions: Mutex::default(),
            edition: AtomicU64::new(0),
        };
        let capabilities = core.facts().capabilities;
        problems.extend(extension::check(&parts.extensions, &capabilities));
        match problems.is_empty() {
            true => Ok(core),
            false => Err(problems),
        }
    }

    /// Adds all given resources and templates. If one of them cannot be added, adds none.
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

    pub(super) fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    pub(super) fn opened(&self, session: &Arc<Session>) {
        lock(&self.sessions).insert(session);
    }

    pub(super) fn closed(&self, session: &Arc<Session>) {
        lock(&self.sessions).remove(session);
    }

    /// Returns the open sessions.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        lock(&self.sessions).all()
    }

    pub(super) fn deliver(&self, change: &Change) {
        let (change, user) = change.addressee();
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
            if wanted && is_addressed(user, session.principal()) {
                session.notify(method, params.as_deref(), Delivery::Always);
            }
        }
        self.subscriptions.deliver(change, user);
    }
}
