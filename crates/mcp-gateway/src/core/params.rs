//! The params of a request, as the server receives them.

use mcp_jsonrpc::{member_name, members};
use mcp_protocol::Session;
use mcp_types::{
    CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, PROGRESS_TOKEN_KEY,
    PROTOCOL_VERSION_KEY, v2026_07_28,
};

use crate::connection::UpstreamConnection;
use crate::text::{ObjectText, may_have, string};

/// The members of `_meta` that describe a stateless request.
pub(super) const REQUEST_META: [&str; 4] = [
    PROTOCOL_VERSION_KEY,
    CLIENT_INFO_KEY,
    CLIENT_CAPABILITIES_KEY,
    LOG_LEVEL_KEY,
];

/// Initial capacity of the buffer for the metadata of a request, in bytes.
const META_CAPACITY: usize = 512;

/// The changes that the gateway makes to the params of a request.
#[derive(Default)]
pub(super) struct ParamsChange<'a> {
    /// The progress token that the gateway sends to the server.
    pub(super) token: Option<i64>,
    pub(super) without_meta: &'a [&'a str],
    /// The client that the gateway describes in the request metadata.
    pub(super) client: Option<SessionClient<'a>>,
    pub(super) without: &'a [&'a str],
    pub(super) with: &'a [(&'static str, String)],
}

impl ParamsChange<'_> {
    pub(super) fn apply(&self, params: Option<&str>) -> Option<String> {
        let is_unchanged = self.token.is_none()
            && self.client.is_none()
            && self.with.is_empty()
            && self.without.is_empty()
            && self.without_meta.is_empty();
        if is_unchanged
            && !params.is_some_and(|params| may_have(params, v2026_07_28::TASKS_EXTENSION))
        {
            return params.map(str::to_owned);
        }
        let params = params.unwrap_or("{}");
        let mut text = ObjectText::with_capacity(params.len() + META_CAPACITY);
        let mut known = None;
        for (key, value) in members(params).map_while(Result::ok) {
            match &*member_name(key) {
                "_meta" => known = known.or(Some(value)),
                name if self.without.contains(&name) => {}
                _ => text.copy(key, value),
            }
        }
        for (name, value) in self.with {
            text.copy(name, value);
        }
        // `_meta` is last, so that the other members are found without reading it.
        let meta = self.meta(known.filter(|value| *value != "null"));
        if meta != "{}" {
            text.copy("_meta", &meta);
        }
        Some(text.finish())
    }

    /// Returns the metadata of the request; `known` is the metadata that the client sent.
    fn meta(&self, known: Option<&str>) -> String {
        let mut meta = ObjectText::with_capacity(META_CAPACITY);
        for (key, value) in members(known.unwrap_or("{}")).map_while(Result::ok) {
            let name = member_name(key);
            if name == PROGRESS_TOKEN_KEY || self.without_meta.contains(&&*name) {
                continue;
            }
            match name == CLIENT_CAPABILITIES_KEY && may_have(value, v2026_07_28::TASKS_EXTENSION) {
                true => meta.copy(key, &without_tasks(value)),
                false => meta.copy(key, value),
            }
        }
        if let Some(token) = self.token {
            meta.copy(PROGRESS_TOKEN_KEY, &token.to_string());
        }
        if let Some(client) = &self.client {
            client.write(&mut meta);
        }
        meta.finish()
    }
}

/// Returns client capabilities without tasks. The gateway does not forward requests about tasks, so the client could not poll a
/// task of the server.
fn without_tasks(capabilities: &str) -> String {
    let mut text = ObjectText::with_capacity(capabilities.len());
    for (key, value) in members(capabilities).map_while(Result::ok) {
        match &*member_name(key) {
            "tasks" => {}
            "extensions" => {
                let mut extensions = ObjectText::with_capacity(value.len());
                extensions.copy_all(value, &[v2026_07_28::TASKS_EXTENSION]);
                text.copy(key, &extensions.finish());
            }
            _ => text.copy(key, value),
        }
    }
    text.finish()
}

/// A client with a session, and the connection on which the gateway sends the client's requests to the stateless server.
pub(super) struct SessionClient<'a> {
    pub(super) session: &'a Session,
    pub(super) connection: &'a UpstreamConnection,
}

impl SessionClient<'_> {
    /// Adds the request metadata that tells the server about the client.
    fn write(&self, meta: &mut ObjectText) {
        let Self {
            session,
            connection,
        } = self;
        let mut capabilities = session.client_capabilities().cloned().unwrap_or_default();
        capabilities.tasks = None;
        if let Some(extensions) = &mut capabilities.extensions {
            extensions.remove(v2026_07_28::TASKS_EXTENSION);
        }
        let capabilities = v2026_07_28::ClientCapabilities::from(capabilities);
        let revision = connection.client.revision();
        meta.copy(PROTOCOL_VERSION_KEY, &string(revision.as_str()));
        // These types are always serializable.
        let text = serde_json::to_string(&capabilities).unwrap_or_else(|_| "{}".to_owned());
        meta.copy(CLIENT_CAPABILITIES_KEY, &text);
        if let Some(Ok(info)) = session.client().map(serde_json::to_string) {
            meta.copy(CLIENT_INFO_KEY, &info);
        }
        if let (Some(level), Some(_)) = (
            session.log_level(),
            &connection.client.capabilities().logging,
        ) {
            meta.copy(LOG_LEVEL_KEY, &string(level.as_str()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_not_declared_to_the_server() {
        let without = |params: &str| ParamsChange::default().apply(Some(params)).unwrap();
        for key in [
            v2026_07_28::TASKS_EXTENSION,
            r"io.modelcontextprotocol\/tasks",
        ] {
            let params = format!(
                r#"{{"name":"a","_meta":{{"{CLIENT_CAPABILITIES_KEY}":{{"tasks":{{}},"elicitation":{{}},"extensions":{{"{key}":{{}},"x/y":{{"n":1.0}}}}}}}}}}"#
            );
            let expected = format!(
                r#"{{"name":"a","_meta":{{"{CLIENT_CAPABILITIES_KEY}":{{"elicitation":{{}},"extensions":{{"x/y":{{"n":1.0}}}}}}}}}}"#
            );
            assert_eq!(without(&params), expected);
        }
        let other = r#"{"name":"a","arguments":{"b": null}}"#;
        assert_eq!(without(other), other);
    }
}
