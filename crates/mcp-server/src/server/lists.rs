//! Handles that change the lists of a server while it is served.

use super::Server;
use crate::handler::server::ReportChange as _;
use crate::registry::resource::Registered;
use crate::{Change, IntoPrompts, IntoResources, IntoTools, RegistrationError};

/// A handle that adds and removes tools of a running server. Returned by [`Server::tools`].
#[derive(Debug)]
pub struct Tools<'a, S = ()>(pub(super) &'a Server<S>);

impl<S: Clone + Send + Sync + 'static> Tools<'_, S> {
    /// Adds one or more tools and notifies clients.
    ///
    /// # Errors
    /// A tool cannot be registered, for example because its name is already registered. The error
    /// names the tool and the reason, and none of the tools is added.
    pub fn add(&self, tools: impl IntoTools<S>) -> Result<(), RegistrationError> {
        let Server { core, state } = self.0;
        let tools = tools.into_tools().into_iter();
        let entries: Result<Vec<_>, _> = tools.map(|tool| tool.register(state.clone())).collect();
        core.tools.add(entries?)?;
        core.changed(Change::Tools);
        Ok(())
    }

    /// Removes a tool and notifies clients. Returns whether the tool existed. Running calls of the
    /// tool continue.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.0.core.tools.remove(name);
        if removed {
            self.0.core.changed(Change::Tools);
        }
        removed
    }
}

/// A handle that adds and removes prompts of a running server. Returned by [`Server::prompts`].
#[derive(Debug)]
pub struct Prompts<'a, S = ()>(pub(super) &'a Server<S>);

impl<S: Clone + Send + Sync + 'static> Prompts<'_, S> {
    /// Adds one or more prompts and notifies clients.
    ///
    /// # Errors
    /// A prompt cannot be registered, for example because its name is already registered. The error
    /// names the prompt and the reason, and none of the prompts is added.
    pub fn add(&self, prompts: impl IntoPrompts<S>) -> Result<(), RegistrationError> {
        let Server { core, state } = self.0;
        let prompts = prompts.into_prompts().into_iter();
        let entries: Result<Vec<_>, _> = prompts.map(|it| it.register(state.clone())).collect();
        core.prompts.add(entries?)?;
        core.changed(Change::Prompts);
        Ok(())
    }

    /// Removes a prompt and notifies clients. Returns whether the prompt existed.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.0.core.prompts.remove(name);
        if removed {
            self.0.core.changed(Change::Prompts);
        }
        removed
    }
}

/// A handle that adds and removes resources and resource templates of a running server, and notifies subscribers.
/// Returned by [`Server::resources`].
#[derive(Debug)]
pub struct Resources<'a, S = ()>(pub(super) &'a Server<S>);

impl<S: Clone + Send + Sync + 'static> Resources<'_, S> {
    /// Adds one or more resources and resource templates and notifies clients.
    ///
    /// # Errors
    /// A resource or template cannot be registered, for example because its URI is already
    /// registered. The error names the item and the reason, and none of the items is added.
    pub fn add(&self, resources: impl IntoResources<S>) -> Result<(), RegistrationError> {
        let Server { core, state } = self.0;
        let (mut fixed, mut templates) = (Vec::new(), Vec::new());
        for resource in resources.into_resources() {
            match resource.register(state.clone())? {
                Registered::Fixed(entry) => fixed.push(entry),
                Registered::Template(entry) => templates.push(entry),
            }
        }
        core.add_resources(fixed, templates)?;
        core.changed(Change::Resources);
        Ok(())
    }

    /// Removes a resource by its URI, or a resource template by its URI template, and notifies
    /// clients. Returns whether the item existed.
    pub fn remove(&self, uri: &str) -> bool {
        let core = &self.0.core;
        let removed = core.resources.remove(uri) || core.templates.remove(uri);
        if removed {
            core.changed(Change::Resources);
        }
        removed
    }

    /// Notifies the clients that subscribed to this URI that the resource changed.
    pub fn updated(&self, uri: &str) {
        self.0.core.changed(Change::Resource(uri.to_owned()));
    }
}
