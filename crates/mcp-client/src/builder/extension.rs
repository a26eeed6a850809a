//! Protocol extensions that the builder of a client installs.

use mcp_types::JsonObject;

use super::ClientBuilder;
use crate::inbound::custom::Custom;

/// A protocol extension of a client as a value, for [`ClientBuilder::with`].
///
/// ```
/// use mcp_client::types::JsonObject;
/// use mcp_client::{Client, ClientBuilder, Extension};
///
/// struct Scales;
///
/// impl Extension for Scales {
///     fn id(&self) -> &str {
///         "com.example/scales"
///     }
///
///     fn install(self, client: ClientBuilder) -> ClientBuilder {
///         client.on_notification("com.example/weighed", |weight: JsonObject| println!("{weight:?}"))
///     }
/// }
///
/// let client = Client::builder("host", "1.0.0").with(Scales);
/// # let _ = client;
/// ```
pub trait Extension {
    /// Returns the identifier, with a prefix: `com.example/name`.
    fn id(&self) -> &str;

    /// Returns the settings that are declared to the server. Default: none.
    fn settings(&self) -> JsonObject {
        JsonObject::new()
    }

    /// Returns the identifiers of other extensions that the client must have. Default: none.
    fn requires(&self) -> Vec<String> {
        Vec::new()
    }

    /// Adds the methods, notifications and middleware of the extension to an empty builder. Other
    /// settings of the builder are ignored.
    ///
    /// The methods and notifications are handled only if the server declares the extension.
    fn install(self, client: ClientBuilder) -> ClientBuilder
    where
        Self: Sized;
}

impl ClientBuilder {
    /// Declares an extension and installs its handlers. If a method or notification of the extension already has a handler, the
    /// extension is not installed, and [`connect`](Self::connect) reports the problem. `connect` also checks that all required
    /// extensions are installed, so the order of the calls does not matter.
    pub fn with(mut self, extension: impl Extension) -> Self {
        let id = extension.id().to_owned();
        let (settings, requires) = (extension.settings(), extension.requires());
        let empty = Self::new("", "");
        let installed = extension.install(empty).handlers.custom;
        let custom = &mut self.handlers.custom;
        if let Some(problem) = custom.clash(&id, &installed) {
            custom.problems.push(problem);
            return self;
        }
        custom.include(&id, requires, installed);
        self.extension(id, settings)
    }
}

impl Custom {
    /// Returns the reason why the extension `id` cannot be installed, or `None` if it can. `new` has the handlers of the
    /// extension.
    fn clash(&self, id: &str, new: &Self) -> Option<String> {
        let refuse = |why: String| Some(format!("extension {id:?} was not installed: {why}"));
        if self.requires.contains_key(id) {
            return refuse("it is installed already".to_owned());
        }
        if let Some(problem) = new.problems.first() {
            return refuse(problem.clone());
        }
        if let Err(name) = new.check_names() {
            return refuse(format!(
                "method {name:?}: this name is reserved by the protocol; use a prefix, as in \"com.example/name\""
            ));
        }
        let owned = |name: &&String| {
            self.methods.contains_key(*name) || self.notifications.contains_key(*name)
        };
        let name = new.names().find(owned)?;
        refuse(format!("method {name:?} has a handler already"))
    }

    fn include(&mut self, id: &str, requires: Vec<String>, new: Self) {
        let owners = new.names().map(|name| (name.clone(), id.to_owned()));
        self.owners.extend(owners);
        self.requires.insert(id.to_owned(), requires);
        self.methods.extend(new.methods);
        self.notifications.extend(new.notifications);
        self.layers.extend(new.layers);
    }
}
