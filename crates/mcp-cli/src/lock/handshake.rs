//! The description that a server gives of itself: the result of `initialize` or `server/discover`, with all members that the
//! server sends.

use std::sync::{Arc, Mutex};

use mcp_client::types::method;
use mcp_client::{ClientBuilder, RawJson};
use mcp_jsonrpc::check_unique_members;
use mcp_protocol::lock;
use mcp_protocol::middleware::{Next, Request};
use serde_json::Value;

use super::definition::Definition;
use super::list::unlockable;
use crate::arguments::numbers::check_numbers;
use crate::failure::Failure;

/// The member of `_meta` that contains the name of the server, on the stateless revision.
pub(super) const SERVER_INFO: &str = mcp_client::types::SERVER_INFO_KEY;

/// The text of the last result of `initialize` or `server/discover`. This result has determined the revision.
#[derive(Debug, Clone, Default)]
pub(super) struct Handshake(Arc<Mutex<Option<String>>>);

impl Handshake {
    /// Stores the result while the client connects.
    pub(super) fn record(&self, builder: ClientBuilder) -> ClientBuilder {
        let slot = Arc::clone(&self.0);
        builder.layer(move |request: Request, next: Next| {
            let slot = Arc::clone(&slot);
            async move {
                let is_handshake = matches!(
                    request.method(),
                    method::INITIALIZE | method::SERVER_DISCOVER
                );
                let response = next.run(request).await;
                if is_handshake && let Some(text) = response.result_text() {
                    *lock(&slot) = Some(text);
                }
                response
            }
        })
    }

    /// Returns the result as JSON, if all hosts interpret the text in the same way. Otherwise, returns a failure.
    pub(super) fn checked(&self) -> Result<Value, Failure> {
        let text = lock(&self.0).take();
        let text = RawJson::copy(&text.unwrap_or_default());
        let checked = check_unique_members(&text).and_then(|()| text.decode::<Value>());
        let checked = checked.map_err(|error| error.to_string());
        checked
            .and_then(|value| check_numbers(&text).map(|()| value))
            .map_err(|error| unlockable(&format!("the description of the server: {error}")))
    }
}

/// Returns the definition of the server: its description, without the members that are elsewhere in the lock file and without the
/// members that change with each request.
pub(super) fn definition(mut server: Value) -> Definition {
    let is_own = |name: &str| !["protocolVersion", "instructions", "ttlMs"].contains(&name);
    if let Some(members) = server.as_object_mut() {
        members.retain(|name, _| is_own(name));
    }
    strip_name(server.get_mut("serverInfo"));
    let meta = server.get_mut("_meta");
    strip_name(meta.and_then(|meta| meta.get_mut(SERVER_INFO)));
    Definition::new(server)
}

/// Removes the name and the version of a server from an object.
fn strip_name(info: Option<&mut Value>) {
    if let Some(members) = info.and_then(Value::as_object_mut) {
        members.retain(|name, _| !["name", "version"].contains(&&**name));
    }
}
