//! Extensions of the protocol that a server knows, and whether its client knows them.
//!
//! Specification: [extension negotiation][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_types::{JsonObject, MetaKey, MetaKeyKind};
use serde_json::json;

use crate::{Ctx, HandlerError, RegistrationError, Server};

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Declares that the server knows an extension, with its settings; an empty object where it has
    /// none. None is declared by itself.
    ///
    /// The identifier has a prefix, as in `com.example/search`. One that is not well formed is
    /// reported when the server is served. What the extension adds is up to the handlers, which see
    /// by [`Ctx::extension`] whether the client knows it too.
    #[must_use]
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
                self.note(Err(RegistrationError::new(problem)))
            }
        }
    }
}

impl Ctx {
    /// The client's settings for an extension, if it declared that it knows it. They come from the
    /// client: check them like any other input.
    pub fn extension(&self, identifier: &str) -> Option<&JsonObject> {
        let declared = self.client_capabilities()?.extensions.as_ref()?;
        declared.get(identifier)
    }

    /// The same, for a handler that cannot do without the extension.
    ///
    /// # Errors
    /// The client did not declare it. Passed on with `?`, this refuses the request with code -32021
    /// and the name of the extension.
    pub fn require_extension(&self, identifier: &str) -> Result<&JsonObject, HandlerError> {
        self.extension(identifier).ok_or_else(|| {
            let missing = json!({ "requiredCapabilities": { "extensions": { identifier: {} } } });
            let message =
                format!("the request does not declare the client extension {identifier:?}");
            let code = ErrorCode::MISSING_CLIENT_CAPABILITY;
            HandlerError::protocol(ErrorObject::new(code, message).with_data(missing))
        })
    }
}
