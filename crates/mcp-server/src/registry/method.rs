//! Methods and notifications that are not part of the protocol.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorCode, ErrorObject, quote};
use mcp_protocol::{Outcome, Payload, RequestContext, Revision, gate};
use serde::Serialize;
use serde_json::{Value, json};

use crate::handler::Erased;
use crate::handler::output::{Finish, IntoOutput, Json, Kind, Plain, seal};
use crate::{HandlerError, RegistrationError};

/// Maximum length of the name of a method, in bytes.
const MAX_NAME: usize = 128;

/// A marker type for handlers of [custom methods](crate::ServerBuilder::method).
#[derive(Debug)]
#[non_exhaustive]
pub struct ForMethod;

seal!(ForMethod, FinishMethod, ForNotification, FinishNotification);

impl Kind for ForMethod {
    type Output = Payload;
    type Finish = FinishMethod;
}

/// The last step of a request of a custom method.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishMethod;

impl Finish<Payload> for FinishMethod {
    fn finish(self, output: Result<Payload, HandlerError>) -> Outcome {
        output.map_err(HandlerError::into_logged_error)
    }
}

/// The result is the value as JSON. The value must be an object.
impl<T: Serialize + Send + Sync + 'static> IntoOutput<ForMethod, Plain> for Json<T> {
    fn into_output(self) -> Result<Payload, HandlerError> {
        Ok(Payload::of(self.0))
    }
}

/// The result is an empty object.
impl IntoOutput<ForMethod, Plain> for () {
    fn into_output(self) -> Result<Payload, HandlerError> {
        Ok(Payload::Empty)
    }
}

impl IntoOutput<ForMethod, Plain> for Value {
    fn into_output(self) -> Result<Payload, HandlerError> {
        Ok(Payload::of(self))
    }
}

/// A marker type for handlers of [custom notifications](crate::ServerBuilder::on_notification).
#[derive(Debug)]
#[non_exhaustive]
pub struct ForNotification;

impl Kind for ForNotification {
    type Output = ();
    type Finish = FinishNotification;
}

/// The last step of a custom notification: it logs an error of the handler.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishNotification {
    pub(crate) method: String,
}

impl Finish<()> for FinishNotification {
    fn finish(self, output: Result<(), HandlerError>) -> Outcome {
        if let Err(error) = output {
            let error = error.into_error();
            tracing::warn!(method = self.method, %error, "the handler of a notification failed");
        }
        Ok(Payload::Empty)
    }
}

impl IntoOutput<ForNotification, Plain> for () {
    fn into_output(self) -> Result<(), HandlerError> {
        Ok(())
    }
}

/// The extension to which the method belongs.
#[derive(Debug, Clone)]
pub(crate) struct MethodOwner {
    pub(crate) extension: Arc<str>,
    pub(crate) revisions: RangeInclusive<Revision>,
    pub(crate) serves_all_clients: bool,
}

/// A custom method or notification.
pub(crate) struct MethodEntry<K: Kind> {
    pub(crate) name: String,
    pub(crate) run: Erased<K>,
    pub(crate) owner: Option<MethodOwner>,
}

impl<K: Kind> MethodEntry<K> {
    /// Checks whether the client may use the method.
    ///
    /// # Errors
    /// The extension that defines the method does not exist in the revision, or the client does not declare the extension.
    pub(crate) fn admit(&self, context: &RequestContext) -> Result<(), ErrorObject> {
        let Some(owner) = &self.owner else {
            return Ok(());
        };
        let session = context.session();
        if !owner.revisions.contains(&session.revision()) {
            return Err(ErrorObject::method_not_found(&self.name));
        }
        if owner.serves_all_clients {
            return Ok(());
        }
        let declared = session.client_capabilities();
        let declared = declared.and_then(|capabilities| capabilities.extensions.as_ref());
        if declared.is_some_and(|declared| declared.contains_key(&*owner.extension)) {
            return Ok(());
        }
        if !context.rules().stateless {
            return Err(ErrorObject::method_not_found(&self.name));
        }
        Err(missing_extension(&owner.extension))
    }
}

/// Returns the error for a request that needs the client extension `identifier` but does not declare it.
pub(crate) fn missing_extension(identifier: &str) -> ErrorObject {
    let missing = json!({ "requiredCapabilities": { "extensions": { identifier: {} } } });
    let message = format!("the request does not declare the client extension {identifier:?}");
    ErrorObject::new(ErrorCode::MISSING_CLIENT_CAPABILITY, message).with_data(missing)
}

/// The custom methods or notifications of a server, by name.
pub(crate) struct Methods<K: Kind>(BTreeMap<String, MethodEntry<K>>);

impl<K: Kind> Methods<K> {
    /// Registers the entries. Adds the reasons why entries cannot be registered to `problems`.
    pub(crate) fn new(
        entries: Vec<MethodEntry<K>>,
        what: &str,
        problems: &mut Vec<RegistrationError>,
    ) -> Self {
        let mut all = BTreeMap::new();
        for entry in entries {
            let mut fail = |problem: &str| {
                let name = quote(&entry.name, MAX_NAME);
                problems.push(RegistrationError::new(format!("{what} {name}: {problem}")));
            };
            if gate::is_core_method(&entry.name) {
                fail(
                    "the protocol already uses this name; choose another name, such as \"com.example/name\"",
                );
            } else if !is_name(&entry.name) {
                fail(
                    "a name must have 1 to 128 visible ASCII characters and must not start with \"rpc.\"",
                );
            } else if all.contains_key(&entry.name) {
                fail("registered twice");
            } else {
                all.insert(entry.name.clone(), entry);
            }
        }
        Self(all)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&MethodEntry<K>> {
        // Servers without custom methods do not compare names.
        if self.0.is_empty() {
            return None;
        }
        self.0.get(name)
    }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic())
        && !name.starts_with("rpc.")
}
