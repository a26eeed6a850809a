//! The metadata of requests on the stateless revision.
//!
//! Specification:
//! [`_meta`](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta).

use std::sync::Mutex;

use mcp_protocol::{Extras, Revision, StatelessRequest, lock};
use mcp_types::{
    CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, ClientCapabilities, Implementation, JsonObject,
    LOG_LEVEL_KEY, LoggingLevel, PROGRESS_TOKEN_KEY, PROTOCOL_VERSION_KEY, ProgressToken,
    v2026_07_28,
};
use serde_json::Value;

use crate::Error;

/// The keys of `_meta` that the caller cannot set, because the protocol sets them.
const RESERVED_KEYS: [&str; 5] = [
    PROTOCOL_VERSION_KEY,
    CLIENT_INFO_KEY,
    CLIENT_CAPABILITIES_KEY,
    LOG_LEVEL_KEY,
    PROGRESS_TOKEN_KEY,
];

/// The constant part of `_meta`, and the log level.
pub(crate) struct MetaTemplate {
    revision: Revision,
    /// The constant members as JSON text, without braces.
    fixed: Vec<u8>,
    level: Mutex<Option<LoggingLevel>>,
    tasks: bool,
}

impl MetaTemplate {
    /// Creates the template. Without `info`, the requests do not name the client.
    pub(crate) fn new(
        revision: Revision,
        info: Option<&Implementation>,
        capabilities: ClientCapabilities,
    ) -> Result<Self, Error> {
        let capabilities = v2026_07_28::ClientCapabilities::from(capabilities);
        let extensions = capabilities.extensions.as_ref();
        let tasks = extensions.is_some_and(|all| all.contains_key(v2026_07_28::TASKS_EXTENSION));
        let text = |value: Result<String, serde_json::Error>| {
            value.map_err(|error| Error::invalid(error.to_string()))
        };
        let mut fixed = format!("\"{PROTOCOL_VERSION_KEY}\":\"{revision}\"").into_bytes();
        if let Some(info) = info {
            let info = text(serde_json::to_string(info))?;
            add(&mut fixed, CLIENT_INFO_KEY, &info);
        }
        let capabilities = text(serde_json::to_string(&capabilities))?;
        add(&mut fixed, CLIENT_CAPABILITIES_KEY, &capabilities);
        Ok(Self {
            revision,
            fixed,
            level: Mutex::default(),
            tasks,
        })
    }

    /// Returns whether the client declares tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tasks
    }

    /// Sets the level of the log messages that the client requests.
    pub(crate) fn set_level(&self, level: LoggingLevel) {
        *lock(&self.level) = Some(level);
    }

    /// Writes the params as JSON text. Keeps the caller's members of `_meta`, except for members that only the protocol may set.
    pub(crate) fn write(
        &self,
        params: &JsonObject,
        token: Option<&ProgressToken>,
        more: &[(&str, String)],
    ) -> Vec<u8> {
        let mut out = b"{\"_meta\":{".to_vec();
        out.extend_from_slice(&self.fixed);
        if let Some(token) = token.and_then(|token| serde_json::to_string(token).ok()) {
            add(&mut out, PROGRESS_TOKEN_KEY, &token);
        }
        if let Some(level) = *lock(&self.level) {
            add(&mut out, LOG_LEVEL_KEY, &format!("\"{}\"", level.as_str()));
        }
        let meta = params.get("_meta").and_then(Value::as_object);
        for (key, value) in meta.into_iter().flatten() {
            if !RESERVED_KEYS.contains(&&**key) {
                add(&mut out, key, &value.to_string());
            }
        }
        out.push(b'}');
        for (name, value) in params.iter().filter(|(name, _)| *name != "_meta") {
            add(&mut out, name, &value.to_string());
        }
        for (name, value) in more {
            add(&mut out, name, value);
        }
        out.push(b'}');
        out
    }

    /// Returns the properties of a request that the transport needs for its headers. `name` is the value of the `Mcp-Name`
    /// header.
    pub(crate) fn extras(&self, name: Option<String>) -> Extras {
        Extras::of_stateless(StatelessRequest::new(self.revision.as_str(), name))
    }
}

/// Appends a member to `out`. `value` is JSON text.
fn add(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(b',');
    mcp_jsonrpc::write_string(out, name);
    out.push(b':');
    out.extend_from_slice(value.as_bytes());
}

#[cfg(test)]
mod tests {
    use mcp_types::RootsCapability;
    use serde_json::json;

    use super::*;

    fn template(info: bool) -> MetaTemplate {
        let info = info.then(|| Implementation::new("host", "1"));
        let roots = RootsCapability::default().with_list_changed(true);
        let capabilities = ClientCapabilities::default().with_roots(roots);
        MetaTemplate::new(Revision::V2026_07_28, info.as_ref(), capabilities).unwrap()
    }

    fn sent(template: &MetaTemplate, params: &Value) -> Value {
        let token = ProgressToken::Number(7);
        let bytes = template.write(params.as_object().unwrap(), Some(&token), &[]);
        serde_json::from_slice(&bytes).unwrap()
    }

    // proves: M-META-001, M-META-002, M-META-003, M-META-006, M-META-008, M-META-028, M-ROOT-002
    #[test]
    fn each_request_contains_revision_client_capabilities_and_level() {
        let named = template(true);
        let bare: Value =
            serde_json::from_slice(&named.write(&JsonObject::new(), None, &[])).unwrap();
        let expected = json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "host", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
        }});
        assert_eq!(bare, expected);

        let anonymous = template(false);
        anonymous.set_level(LoggingLevel::Warning);
        let own = json!({ "com.example/trace": "x", "progressToken": "mine",
            "io.modelcontextprotocol/clientInfo": { "name": "spoofed", "version": "0" },
            "io.modelcontextprotocol/protocolVersion": "1900-01-01" });
        let all = sent(&anonymous, &json!({ "uri": "a:\"b\"", "_meta": own }));
        let expected = json!({ "uri": "a:\"b\"", "_meta": {
            "com.example/trace": "x",
            "progressToken": 7,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
            "io.modelcontextprotocol/logLevel": "warning",
        }});
        assert_eq!(all, expected);
    }
}
