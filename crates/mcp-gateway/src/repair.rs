//! Repairs results of servers, so that the messages of the gateway follow the specification. Without the repair, a strict client
//! would refuse the whole list of all servers because of one element.

use mcp_jsonrpc::{DecodeError, RawJson, decode, member_name, members};
use mcp_protocol::DECORATIONS;
use mcp_types::{Prompt, Resource, ResourceTemplate, Tool, method};

use crate::text::{ObjectText, elements, without};
use mcp_protocol::LogLimit;

/// The members that [`Repairs`] removes if they are `null`: the optional members that the protocol defines in lists, content and
/// their elements. The value `null` of other members, for example members of vendors, is kept.
const OPTIONAL: [&str; 30] = [
    "_meta",
    "annotations",
    "arguments",
    "audience",
    "blob",
    "cacheScope",
    "description",
    "destructiveHint",
    "execution",
    "icons",
    "idempotentHint",
    "inputSchema",
    "isError",
    "lastModified",
    "mimeType",
    "nextCursor",
    "openWorldHint",
    "outputSchema",
    "priority",
    "readOnlyHint",
    "required",
    "resultType",
    "size",
    "sizes",
    "structuredContent",
    "taskSupport",
    "text",
    "theme",
    "title",
    "ttlMs",
];
/// The members in whose values `null` members are also removed. The values of all other members, for example schemas and
/// structured content, are copied unchanged.
const PARTS: [&str; 12] = [
    "annotations",
    "arguments",
    "content",
    "contents",
    "execution",
    "icons",
    "messages",
    "prompts",
    "resource",
    "resourceTemplates",
    "resources",
    "tools",
];

/// Maximum depth of values that are repaired; deeper values are copied unchanged. The deepest value to repair is an icon of a
/// resource in the content of a message.
const MAX_DEPTH: usize = 10;

/// A function that checks the JSON text of an element of a list.
type Check = fn(&str) -> Result<(), DecodeError>;

/// The repair of results, with a limit on the log messages about elements that are left out.
#[derive(Debug, Default)]
pub(crate) struct Repairs(LogLimit);

impl Repairs {
    /// Removes members that are `null` from a result of `server`. If the result is a list, also removes elements that do not
    /// match their schema. If an element does not match, first removes its descriptive members and checks the element again.
    pub(crate) fn repaired(&self, method: &str, result: RawJson, server: &str) -> RawJson {
        let (list, check): (_, Check) = match method {
            method::TOOLS_LIST => ("tools", |item| decode::<Tool>(item).map(drop)),
            method::PROMPTS_LIST => ("prompts", |item| decode::<Prompt>(item).map(drop)),
            method::RESOURCES_LIST => ("resources", |item| decode::<Resource>(item).map(drop)),
            method::RESOURCES_TEMPLATES_LIST => ("resourceTemplates", |item| {
                decode::<ResourceTemplate>(item).map(drop)
            }),
            method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ => {
                return without_nulls(result);
            }
            _ => return result,
        };
        let result = without_nulls(result);
        let Some(items) = elements(&result, list) else {
            return result;
        };
        let mut kept = Vec::with_capacity(items.len());
        let mut is_changed = false;
        for item in items {
            let Err(error) = check(item.get()) else {
                kept.push(RawJson::copy(item.get()));
                continue;
            };
            is_changed = true;
            let plain = without(&RawJson::copy(item.get()), &DECORATIONS);
            let is_usable = check(&plain).is_ok();
            if let Some(omitted) = self.0.admit(std::time::Instant::now()) {
                let left_out = if is_usable {
                    "descriptions"
                } else {
                    "the element"
                };
                tracing::warn!(server, method, %error, left_out, omitted, "an element of a list does not match its schema");
            }
            if is_usable {
                kept.push(plain);
            }
        }
        if !is_changed {
            return result;
        }
        let kept: Vec<&str> = kept.iter().map(|item| &**item).collect();
        let mut text = ObjectText::with_capacity(result.len());
        text.copy_all(&result, &[list]);
        text.add(list, &format!("[{}]", kept.join(",")));
        RawJson::copy(&text.finish())
    }
}

/// Removes members that are `null`, except in values in which `null` is allowed. Does not change any other text.
fn without_nulls(result: RawJson) -> RawJson {
    if memchr::memmem::find(result.as_bytes(), b"null").is_none() {
        return result;
    }
    let mut text = String::with_capacity(result.len());
    copy_without_nulls(&result, 0, &mut text);
    RawJson::copy(&text)
}

fn copy_without_nulls(value: &str, depth: usize, text: &mut String) {
    match value.as_bytes().first() {
        Some(b'{') if depth < MAX_DEPTH => {
            text.push('{');
            let start = text.len();
            for (key, value) in members(value).map_while(Result::ok) {
                let name = member_name(key);
                if value == "null" && OPTIONAL.contains(&&*name) {
                    continue;
                }
                if text.len() > start {
                    text.push(',');
                }
                text.extend(["\"", key, "\":"]);
                match PARTS.contains(&&*name) {
                    true => copy_without_nulls(value, depth + 1, text),
                    false => text.push_str(value),
                }
            }
            text.push('}');
        }
        Some(b'[') if depth < MAX_DEPTH => {
            let items: Vec<&serde_json::value::RawValue> =
                serde_json::from_str(value).unwrap_or_default();
            text.push('[');
            for (number, item) in items.into_iter().enumerate() {
                if number > 0 {
                    text.push(',');
                }
                copy_without_nulls(item.get(), depth + 1, text);
            }
            text.push(']');
        }
        _ => text.push_str(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_null_members_of_the_protocol_are_removed() {
        let result = r#"{"tools":[{"name":"a","title":null,"n":1.0,"vendor":null,"annotations":{"title":null,"readOnlyHint":true},
            "inputSchema":{"type":"object","properties":{"b":{"default":null}}},"_meta":{"c":null}}],"nextCursor":null,"text":"null"}"#;
        let expected = r#"{"tools":[{"name":"a","n":1.0,"vendor":null,"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"b":{"default":null}}},"_meta":{"c":null}}],"text":"null"}"#;
        assert_eq!(without_nulls(RawJson::copy(result)).as_str(), expected);
    }

    #[test]
    fn elements_that_do_not_match_their_schema_are_left_out_of_every_list() {
        let repairs = Repairs::default();
        for (method, list, valid) in [
            (
                method::TOOLS_LIST,
                "tools",
                r#"{"name":"a","inputSchema":{"type":"object"}}"#,
            ),
            (method::PROMPTS_LIST, "prompts", r#"{"name":"a"}"#),
            (
                method::RESOURCES_LIST,
                "resources",
                r#"{"name":"a","uri":"a:b"}"#,
            ),
            (
                method::RESOURCES_TEMPLATES_LIST,
                "resourceTemplates",
                r#"{"name":"a","uriTemplate":"a:{b}"}"#,
            ),
        ] {
            let result = format!(r#"{{"{list}":[{valid},{{"name":1}}],"nextCursor":null}}"#);
            let repaired = repairs.repaired(method, RawJson::copy(&result), "s");
            assert_eq!(repaired.as_str(), format!(r#"{{"{list}":[{valid}]}}"#));
        }
    }

    #[test]
    fn values_deeper_than_the_maximum_depth_are_copied_unchanged() {
        let nested = |levels, value: &str| {
            let (start, end) = ("{\"resource\":".repeat(levels), "}".repeat(levels));
            format!("{start}{value}{end}")
        };
        let cleaned = |levels, value: &str| {
            let result = without_nulls(RawJson::copy(&nested(levels, value)));
            result.as_str().to_owned()
        };
        let (object, list) = (r#"{"title":null}"#, r#"[ {"title":null} ]"#);
        let deepest = MAX_DEPTH - 1;
        assert_eq!(cleaned(deepest, object), nested(deepest, "{}"));
        assert_eq!(
            cleaned(deepest, list),
            nested(deepest, r#"[{"title":null}]"#)
        );
        for copied in [object, list] {
            assert_eq!(cleaned(MAX_DEPTH, copied), nested(MAX_DEPTH, copied));
        }
    }

    #[test]
    fn null_in_structured_content_is_kept() {
        let result = r#"{"content":[{"type":"text","text":"a","annotations":null},null],"structuredContent":{"a":null},"isError":null}"#;
        let expected =
            r#"{"content":[{"type":"text","text":"a"},null],"structuredContent":{"a":null}}"#;
        assert_eq!(without_nulls(RawJson::copy(result)).as_str(), expected);
    }
}
