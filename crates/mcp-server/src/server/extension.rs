//! Protocol extensions that the server or its client supports.
//!
//! Specification: [extension negotiation][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation

use std::ops::RangeInclusive;

use mcp_protocol::Revision;
use mcp_types::{JsonObject, MetaKey, MetaKeyKind};

use crate::registry::extension::{InstalledExtension, Requirement};
use crate::registry::method::{MethodOwner, missing_extension};
use crate::{Ctx, HandlerError, RegistrationError, ServerBuilder};

/// A protocol extension as a value, for [`ServerBuilder::with`].
///
/// ```
/// use mcp_server::types::JsonObject;
/// use mcp_server::{Args, Extension, Json, Server, ServerBuilder};
///
/// struct Search;
///
/// impl<S: Clone + Send + Sync + 'static> Extension<S> for Search {
///     fn id(&self) -> &str {
///         "com.example/search"
///     }
///
///     fn install(self, server: ServerBuilder<S>) -> ServerBuilder<S> {
///         server.method("com.example/search", |Args(query): Args<JsonObject>| Json(query))
///     }
/// }
///
/// let server = Server::builder("library", "1.0.0").with(Search).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
pub trait Extension<S> {
    /// Returns the identifier, with a prefix: `com.example/name`.
    fn id(&self) -> &str;

    /// Returns the settings that are declared to clients. Default: none.
    fn settings(&self) -> JsonObject {
        JsonObject::new()
    }

    /// Returns the requirements of the extension on the server. Default: none.
    fn requires(&self) -> Vec<Requirement> {
        Vec::new()
    }

    /// Returns the revisions in which the methods of the extension exist. Default: all.
    fn revisions(&self) -> RangeInclusive<Revision> {
        Revision::ALL[0]..=Revision::LATEST
    }

    /// Returns whether clients that do not declare the extension can use its methods and send its
    /// notifications. Default: `false`.
    fn serves_all_clients(&self) -> bool {
        false
    }

    /// Adds the methods, notifications, tools, prompts, resources and middleware of the extension to
    /// an empty builder. Other settings of the builder are ignored.
    ///
    /// Only clients that declare the extension can use its methods and send its notifications, unless
    /// [`serves_all_clients`](Self::serves_all_clients) returns `true`. If one item cannot be registered, no part of the
    /// extension is installed, and [`ServerBuilder::build`] reports the problem.
    fn install(self, server: ServerBuilder<S>) -> ServerBuilder<S>
    where
        Self: Sized;
}

impl<S: Clone + Send + Sync + 'static> ServerBuilder<S> {
    /// Installs an extension. [`build`](Self::build) checks its requirements, so the order of extensions does not matter.
    pub fn with(mut self, extension: impl Extension<S>) -> Self {
        let id = extension.id().to_owned();
        let installed = &self.parts.extensions;
        if installed.iter().any(|other| other.id == id) {
            let problem = format!("extension {id:?} is installed twice");
            return self.problem(RegistrationError::new(problem));
        }
        let owner = MethodOwner {
            extension: id.as_str().into(),
            revisions: extension.revisions(),
            serves_all_clients: extension.serves_all_clients(),
        };
        let (settings, requires) = (extension.settings(), extension.requires());
        let mut parts = *extension.install(self.empty()).parts;
        if !parts.problems.is_empty() {
            let problems = parts.problems.into_iter().map(|problem| {
                RegistrationError::new(format!("extension {id:?} was not installed: {problem}"))
            });
            self.parts.problems.extend(problems);
            return self;
        }
        for method in &mut parts.methods {
            method.owner = Some(owner.clone());
        }
        for notification in &mut parts.notifications {
            notification.owner = Some(owner.clone());
        }
        let layers = std::mem::take(&mut parts.layers);
        self.parts.layers.extend(layers);
        self.parts.extensions.push(InstalledExtension {
            id: id.clone(),
            requires,
        });
        self.include(parts).extension(id, settings)
    }

    /// Declares support for an extension, with its settings; pass an empty object for an extension
    /// without settings.
    ///
    /// The identifier needs a prefix, for example `com.example/search`. An invalid identifier is reported when the server is
    /// built. Handlers implement the extension. In a handler, [`Ctx::extension`] returns the client's settings if the client
    /// supports the extension, too.
    pub fn extension(self, identifier: impl Into<String>, settings: JsonObject) -> Self {
        let identifier = identifier.into();
        match MetaKey::check(&identifier) {
            Ok(MetaKeyKind::Prefixed | MetaKeyKind::Reserved) => self.set(|all| {
                all.extensions.insert(identifier, settings);
            }),
            _ => {
                let problem = format!(
                    "extension {identifier:?}: the identifier needs a prefix, as in \"com.example/name\""
                );
                self.problem(RegistrationError::new(problem))
            }
        }
    }
}

impl Ctx {
    /// Returns the client's settings for an extension, or `None` if the client did not declare the extension. The settings are
    /// untrusted input.
    pub fn extension(&self, identifier: &str) -> Option<&JsonObject> {
        let declared = self.client_capabilities()?.extensions.as_ref()?;
        declared.get(identifier)
    }

    /// Like [`extension`](Self::extension), for a handler that requires the extension.
    ///
    /// # Errors
    /// The client did not declare the extension. If the handler returns this error, the request is
    /// rejected with code -32021 and the name of the extension.
    pub fn require_extension(&self, identifier: &str) -> Result<&JsonObject, HandlerError> {
        self.extension(identifier)
            .ok_or_else(|| HandlerError::protocol(missing_extension(identifier)))
    }
}
