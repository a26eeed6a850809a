//! Reads and writes the trace context in `params._meta`.
//!
//! Specification: [SEP-414](https://modelcontextprotocol.io/community/seps/414-request-meta).

use std::borrow::Cow;

use mcp_jsonrpc::{is_member, members, read_string, write_string};
use mcp_protocol::RequestOrigin;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::{Context, global};

/// The propagator of a [`Telemetry`](crate::Telemetry): a custom propagator, or the global propagator.
#[derive(Debug, Default)]
pub(crate) struct Propagation(pub(crate) Option<Box<dyn TextMapPropagator + Send + Sync>>);

impl Propagation {
    fn with<T>(&self, mut use_it: impl FnMut(&dyn TextMapPropagator) -> T) -> T {
        match &self.0 {
            Some(propagator) => use_it(&**propagator),
            None => global::get_text_map_propagator(use_it),
        }
    }

    /// Returns `base` with the trace context from a `_meta`; unchanged if `_meta` has no context.
    pub(crate) fn extract(&self, base: &Context, meta: &str) -> Context {
        self.with(|propagator| propagator.extract_with_context(base, &MetaFields(meta)))
    }

    /// Returns `base` with the trace context from the headers of the HTTP request; unchanged if the headers have no context.
    pub(crate) fn extract_headers(&self, base: &Context, origin: RequestOrigin<'_>) -> Context {
        self.with(|propagator| propagator.extract_with_context(base, &HeaderFields(origin)))
    }

    /// Returns the params with the trace context in their `_meta`; `None` if there is nothing to add.
    pub(crate) fn inject(&self, context: &Context, params: Option<&str>) -> Option<String> {
        let mut fields = InjectedFields::default();
        self.with(|propagator| propagator.inject_context(context, &mut fields));
        (!fields.0.is_empty()).then(|| add_fields(params.unwrap_or("{}"), &fields.0))?
    }
}

/// The fields of a `_meta` object.
struct MetaFields<'a>(&'a str);

impl Extractor for MetaFields<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let mut all = members(self.0).filter_map(Result::ok);
        let (_, value) = all.find(|(name, _)| name.eq_ignore_ascii_case(key))?;
        match read_string(value)? {
            Cow::Borrowed(text) => Some(text),
            // No format of the trace context uses characters that need an escape in JSON.
            Cow::Owned(_) => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        let all = members(self.0).filter_map(Result::ok);
        all.map(|(name, _)| name).collect()
    }
}

/// The headers of the HTTP request that contains a message.
struct HeaderFields<'a>(RequestOrigin<'a>);

impl Extractor for HeaderFields<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.header(key)
    }

    fn keys(&self) -> Vec<&str> {
        Vec::new()
    }
}

#[derive(Default)]
struct InjectedFields(Vec<(String, String)>);

impl Injector for InjectedFields {
    fn set(&mut self, key: &str, value: String) {
        // A propagator can set an empty value, for example for `tracestate`. Empty values are not sent.
        if !value.is_empty() {
            self.0.push((key.to_owned(), value));
        }
    }
}

/// Returns the params with these fields in their `_meta`. The fields replace fields with the same names. Returns `None` if the
/// params are not an object.
fn add_fields(params: &str, fields: &[(String, String)]) -> Option<String> {
    let mut out = Vec::with_capacity(params.len() + 256);
    out.push(b'{');
    let mut meta = None;
    for member in members(params) {
        let (key, value) = member.ok()?;
        if is_member(key, "_meta") {
            meta = Some(value);
        } else {
            push(&mut out, key, value);
        }
    }
    start(&mut out, "_meta");
    out.push(b'{');
    let kept = members(meta.unwrap_or("{}")).filter_map(Result::ok);
    for (key, value) in kept.filter(|(key, _)| !fields.iter().any(|(name, _)| is_member(key, name)))
    {
        push(&mut out, key, value);
    }
    for (name, value) in fields {
        start(&mut out, name);
        write_string(&mut out, value);
    }
    out.extend_from_slice(b"}}");
    String::from_utf8(out).ok()
}

/// Writes a member of an object. Key and value are JSON text.
fn push(out: &mut Vec<u8>, key: &str, value: &str) {
    start(out, key);
    out.extend_from_slice(value.as_bytes());
}

fn start(out: &mut Vec<u8>, key: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_fields_are_added_to_the_metadata_of_the_params() {
        let fields = [("traceparent".to_owned(), "00-\"a".to_owned())];
        for (params, expected) in [
            ("{}", r#"{"_meta":{"traceparent":"00-\"a"}}"#),
            (
                r#"{"name": "x", "_meta": null}"#,
                r#"{"name":"x","_meta":{"traceparent":"00-\"a"}}"#,
            ),
            (
                r#"{"_meta":{"traceparent":"old","k\n":{"z":[1.50]}},"name":"x"}"#,
                r#"{"name":"x","_meta":{"k\n":{"z":[1.50]},"traceparent":"00-\"a"}}"#,
            ),
        ] {
            assert_eq!(add_fields(params, &fields).as_deref(), Some(expected));
        }
        assert_eq!(add_fields("[]", &fields), None);
    }

    #[test]
    fn only_text_members_without_escapes_are_read_as_trace_fields() {
        let meta = MetaFields(r#"{"a":"x","b":1,"c":"\n","d":"y"}"#);
        assert_eq!(meta.get("A"), Some("x"));
        assert_eq!((meta.get("b"), meta.get("c")), (None, None));
        assert_eq!(meta.get("d"), Some("y"));
        assert_eq!(meta.keys(), ["a", "b", "c", "d"]);
        assert_eq!(MetaFields("7").get("a"), None);
    }
}
