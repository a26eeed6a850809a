//! Protocol extensions that the server or its client supports.
//!
//! Specification: [extension negotiation][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_types::{JsonObject, MetaKey, MetaKeyKind};
use serde_json::json;

use crate::{Ctx, HandlerError, RegistrationError, ServerBuilder};

impl<S: Clone + Send + Sync + 'static> ServerBuilder<S> {
    /// Declares support for an extension, with its settings; pass an empty object for an extension
    /// without settings.
    ///
    /// The identifier needs a prefix, for example `com.example/search`. An invalid identifier is
    /// reported when the server is built. Handlers implement the extension; [`Ctx::extension`]
    /// returns whether the client supports it too.
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
    /// Returns the client's settings for an extension, if the client declared it. The settings are
    /// untrusted input.
    pub fn extension(&self, identifier: &str) -> Option<&JsonObject> {
        let declared = self.client_capabilities()?.extensions.as_ref()?;
        declared.get(identifier)
    }

    /// Like [`extension`](Self::extension), for a handler that requires the extension.
    ///
    /// # Errors
    /// The client did not declare the extension. Returned with `?`, the error rejects the request
    /// with code -32021 and the name of the extension.
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
