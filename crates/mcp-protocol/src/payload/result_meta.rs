//! Members that the stateless revision adds to each result.

use std::time::Duration;

use mcp_jsonrpc::{is_member, member_name, members};

use mcp_types::{Implementation, SERVER_INFO_KEY, method};

pub use mcp_types::v2026_07_28::CacheScope;

/// The cache hint of a list or a resource: time to live and scope.
///
/// Specification: [caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheHint {
    /// How long the result is fresh. Zero means that it must be requested again each time.
    pub ttl: Duration,
    /// Whether caches may share the result between users.
    pub scope: CacheScope,
}

impl CacheHint {
    /// A hint which says that a result must not be cached.
    pub const NONE: Self = Self {
        ttl: Duration::ZERO,
        scope: CacheScope::Private,
    };

    /// Creates a hint for a result that is fresh for `ttl`, for the same user only.
    pub fn private(ttl: Duration) -> Self {
        let scope = CacheScope::Private;
        Self { ttl, scope }
    }

    /// Creates a hint for a result that is fresh for `ttl` and equal for all users, so that caches may share it.
    pub fn public(ttl: Duration) -> Self {
        let scope = CacheScope::Public;
        Self { ttl, scope }
    }
}

impl Default for CacheHint {
    fn default() -> Self {
        Self::NONE
    }
}

/// The members that the server adds to a result: the result type, the identity of the server, and the cache hint.
#[derive(Debug, Clone)]
pub struct ResultMeta {
    /// The server identity as members of `_meta`: JSON text without braces.
    identity: Box<[u8]>,
    /// The cache hint as JSON text without braces: `"ttlMs":…,"cacheScope":…`
    hint: Box<[u8]>,
}

/// Returns whether the results of the method have cache hints.
pub(crate) fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        method::SERVER_DISCOVER
            | method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_READ
    )
}

impl ResultMeta {
    /// Creates the result metadata that a server adds to the results of one method.
    pub fn new(server: &Implementation, hint: Option<&CacheHint>) -> Self {
        let mut identity = Vec::new();
        // The identity is optional, so an error is ignored.
        if let Ok(info) = serde_json::to_string(server) {
            identity.extend_from_slice(format!("\"{}\":{info}", SERVER_INFO_KEY).as_bytes());
        }
        let hint = hint.map_or_else(String::new, |hint| {
            let ttl = u64::try_from(hint.ttl.as_millis()).unwrap_or(u64::MAX);
            let scope = match hint.scope {
                CacheScope::Public => "public",
                _ => "private",
            };
            format!("\"ttlMs\":{ttl},\"cacheScope\":\"{scope}\"")
        });
        Self {
            identity: identity.into(),
            hint: hint.into_bytes().into(),
        }
    }

    /// Adds the missing members to the JSON object that begins at `start` in `out`. Does not change existing members. `plain`
    /// says that the object has none of the members.
    pub fn apply(&self, out: &mut Vec<u8>, start: usize, plain: bool) {
        let text = out.get(start..).unwrap_or_default();
        if !(text.starts_with(b"{") && text.ends_with(b"}")) {
            // Not an object, so no member can be added.
            return;
        }
        let present = if plain {
            Present::default()
        } else {
            Present::read(text)
        };
        out.pop();
        let is_empty = out.len() == start + 1;
        self.add_missing(out, &present, start, is_empty);
        out.push(b'}');
    }

    /// Appends all members. Use it for a result that has none of these members.
    pub(crate) fn write_members(&self, out: &mut Vec<u8>) {
        self.add_missing(out, &Present::default(), 0, true);
    }

    /// Appends the members that the object does not have. The object starts at `start` and has no closing brace yet.
    fn add_missing(&self, out: &mut Vec<u8>, present: &Present, start: usize, is_empty: bool) {
        let mut separate = !is_empty;
        let mut add = |out: &mut Vec<u8>, members: &[u8]| {
            if std::mem::replace(&mut separate, true) {
                out.push(b',');
            }
            out.extend_from_slice(members);
        };
        if !present.kind {
            add(out, b"\"resultType\":\"complete\"");
        }
        if !self.hint.is_empty() && !present.kind && !present.hint {
            add(out, &self.hint);
        }
        if !self.identity.is_empty() {
            match present.meta {
                None => {
                    add(out, b"\"_meta\":{");
                    out.extend_from_slice(&self.identity);
                    out.push(b'}');
                }
                Some((at, is_empty)) if !present.identity => {
                    let at = start + at;
                    let comma: &[u8] = if is_empty { b"" } else { b"," };
                    let added = self.identity.iter().chain(comma).copied();
                    out.splice(at..at, added);
                }
                Some(_) => {}
            }
        }
    }
}

/// The members of the result metadata that a result already has.
#[derive(Default)]
struct Present {
    kind: bool,
    hint: bool,
    identity: bool,
    /// The position after the opening brace of `_meta`, and whether `_meta` is empty. `None` if there is no `_meta`.
    meta: Option<(usize, bool)>,
}

impl Present {
    fn read(text: &[u8]) -> Self {
        let mut present = Self::default();
        let text = std::str::from_utf8(text).unwrap_or_default();
        for (key, value) in members(text).map_while(Result::ok) {
            match &*member_name(key) {
                "resultType" => present.kind = true,
                "ttlMs" | "cacheScope" => present.hint = true,
                "_meta" if value.starts_with('{') => {
                    let at = value.as_ptr().addr() - text.as_ptr().addr() + 1;
                    let mut inner = members(value).map_while(Result::ok).peekable();
                    present.meta = Some((at, inner.peek().is_none()));
                    present.identity = inner.any(|(key, _)| is_member(key, SERVER_INFO_KEY));
                }
                _ => {}
            }
        }
        present
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn with_result_meta(result: &str, hint: Option<&CacheHint>) -> Value {
        let meta = ResultMeta::new(&Implementation::new("s", "1"), hint);
        let mut out = b"before".to_vec();
        out.extend_from_slice(result.as_bytes());
        meta.apply(&mut out, 6, false);
        serde_json::from_slice(&out[6..]).unwrap()
    }

    #[test]
    fn a_result_that_is_not_an_object_is_not_changed() {
        let meta = ResultMeta::new(&Implementation::new("s", "1"), None);
        for text in ["null", "[1]", "\"}\"", ""] {
            let mut out = format!("before{text}").into_bytes();
            meta.apply(&mut out, 6, true);
            assert_eq!(out, format!("before{text}").as_bytes());
        }
    }

    // proves: M-META-013, M-META-014, M-CACHE-001, M-CACHE-002, M-CACHE-009, M-CACHE-015
    #[test]
    fn missing_members_are_added_to_a_result() {
        let identity = json!({"name": "s", "version": "1"});
        let key = SERVER_INFO_KEY;
        assert_eq!(
            with_result_meta("{}", None),
            json!({"resultType": "complete", "_meta": {key: identity}})
        );
        let hint = CacheHint::public(Duration::from_millis(1500));
        assert_eq!(
            with_result_meta(r#"{"tools":[]}"#, Some(&hint)),
            json!({
                "tools": [], "resultType": "complete", "ttlMs": 1500, "cacheScope": "public",
                "_meta": {key: identity}
            })
        );
        assert_eq!(
            with_result_meta(r#"{"_meta":{"a":{"_meta":{}}},"x":1}"#, None),
            json!({"_meta": {"a": {"_meta": {}}, key: identity}, "x": 1, "resultType": "complete"})
        );
        assert_eq!(
            with_result_meta(r#"{"_meta":{ },"x":1}"#, None)["_meta"],
            json!({key: identity})
        );
        assert_eq!(
            with_result_meta(
                r#"{"resultType":"input_required","requestState":"s"}"#,
                Some(&hint)
            ),
            json!({"resultType": "input_required", "requestState": "s", "_meta": {key: identity}})
        );
    }
}
