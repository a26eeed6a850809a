//! What a revision without a handshake wants of each result.

use std::time::Duration;

use mcp_jsonrpc::members;

use mcp_types::{Implementation, SERVER_INFO_KEY, method};

pub use mcp_types::v2026_07_28::CacheScope;

/// How long clients may keep a list or a resource, and who may see what was kept.
///
/// Specification: [caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheHint {
    /// For how long it is fresh; zero means that it is stale at once.
    pub ttl: Duration,
    /// Whether what is kept for one user may be shown to another.
    pub scope: CacheScope,
}

impl CacheHint {
    /// Not to be kept.
    pub const NONE: Self = Self {
        ttl: Duration::ZERO,
        scope: CacheScope::Private,
    };

    /// Fresh for `ttl`, for whoever asked.
    pub fn private(ttl: Duration) -> Self {
        let scope = CacheScope::Private;
        Self { ttl, scope }
    }

    /// Fresh for `ttl`, and the same for everybody: caches may share it across users.
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

/// Adds to a result its type, the server's identity, and how long it may be kept.
#[derive(Debug, Clone)]
pub struct ResultMeta {
    /// The members of `_meta`, without braces.
    identity: Box<[u8]>,
    /// `"ttlMs":…,"cacheScope":…`
    hint: Box<[u8]>,
}

/// Whether results of the method carry hints for caches.
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
    /// The stamp of a server on results of one method.
    pub fn new(server: &Implementation, hint: Option<&CacheHint>) -> Self {
        let mut identity = Vec::new();
        // What cannot be written is left out: it is a courtesy.
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

    /// Stamps the JSON object that stands in `out` from `start` to the end. What it says itself
    /// is left alone.
    pub fn apply(&self, out: &mut Vec<u8>, start: usize, plain: bool) {
        let text = out.get(start..).unwrap_or_default();
        if !(text.starts_with(b"{") && text.ends_with(b"}")) {
            // Not a result that could carry anything.
            return;
        }
        let says = if plain {
            Says::default()
        } else {
            Says::read(text)
        };
        out.pop();
        let is_empty = out.len() == start + 1;
        self.add_missing(out, &says, start, is_empty);
        out.push(b'}');
    }

    /// Appends what it adds to a result that says nothing of this itself.
    pub(crate) fn write_members(&self, out: &mut Vec<u8>) {
        self.add_missing(out, &Says::default(), 0, true);
    }

    /// Appends what an object that starts at `start` and is not closed yet does not say itself.
    fn add_missing(&self, out: &mut Vec<u8>, says: &Says, start: usize, is_empty: bool) {
        let mut separate = !is_empty;
        let mut add = |out: &mut Vec<u8>, members: &[u8]| {
            if std::mem::replace(&mut separate, true) {
                out.push(b',');
            }
            out.extend_from_slice(members);
        };
        if !says.kind {
            add(out, b"\"resultType\":\"complete\"");
        }
        if !self.hint.is_empty() && !says.kind && !says.hint {
            add(out, &self.hint);
        }
        if !self.identity.is_empty() {
            match says.meta {
                None => {
                    add(out, b"\"_meta\":{");
                    out.extend_from_slice(&self.identity);
                    out.push(b'}');
                }
                Some((at, is_empty)) if !says.identity => {
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

/// What a result says already.
#[derive(Default)]
struct Says {
    kind: bool,
    hint: bool,
    identity: bool,
    /// Where the first member of its `_meta` starts, and whether there is none.
    meta: Option<(usize, bool)>,
}

impl Says {
    fn read(text: &[u8]) -> Self {
        let mut says = Self::default();
        let text = std::str::from_utf8(text).unwrap_or_default();
        for (key, value) in members(text).map_while(Result::ok) {
            match key {
                "resultType" => says.kind = true,
                "ttlMs" | "cacheScope" => says.hint = true,
                "_meta" if value.starts_with('{') => {
                    let at = value.as_ptr().addr() - text.as_ptr().addr() + 1;
                    let mut inner = members(value).map_while(Result::ok).peekable();
                    says.meta = Some((at, inner.peek().is_none()));
                    says.identity = inner.any(|(key, _)| key == SERVER_INFO_KEY);
                }
                _ => {}
            }
        }
        says
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn with_result_meta(result: &str, hint: Option<&CacheHint>) -> Value {
        let stamp = ResultMeta::new(&Implementation::new("s", "1"), hint);
        let mut out = b"before".to_vec();
        out.extend_from_slice(result.as_bytes());
        stamp.apply(&mut out, 6, false);
        serde_json::from_slice(&out[6..]).unwrap()
    }

    #[test]
    fn what_is_no_object_is_left_as_it_is() {
        let stamp = ResultMeta::new(&Implementation::new("s", "1"), None);
        for text in ["null", "[1]", "\"}\"", ""] {
            let mut out = format!("before{text}").into_bytes();
            stamp.apply(&mut out, 6, true);
            assert_eq!(out, format!("before{text}").as_bytes());
        }
    }

    // proves: M-META-013, M-META-014, M-CACHE-001, M-CACHE-002, M-CACHE-009, M-CACHE-015
    #[test]
    fn a_result_gets_what_it_does_not_say_itself() {
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
