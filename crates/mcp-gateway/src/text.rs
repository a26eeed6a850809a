//! Edits JSON text without changing unknown members or the notation of numbers.

use std::collections::HashSet;

use mcp_jsonrpc::{
    ErrorObject, RawJson, check_unique_members, is_member, member_name, members, read_string,
};
use mcp_protocol::WriteJson;
use mcp_types::PROGRESS_TOKEN_KEY;
use serde_json::value::RawValue;

/// Returns the JSON text of a member of an object; `None` if it is missing or `null`.
pub(crate) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    if !may_have(object, name) {
        return None;
    }
    let mut all = members(object).map_while(Result::ok);
    let found = all.find_map(|(key, value)| (is_member(key, name)).then_some(value));
    found.filter(|value| *value != "null")
}

/// Returns whether a JSON text can have a member with this name, at any depth. Searches for the name in the text, because this is
/// faster than parsing JSON. A name without escapes appears in the text unchanged.
pub(crate) fn may_have(text: &str, name: &str) -> bool {
    text.contains(name) || text.contains('\\')
}

/// The members of params and of `ref` that access rules read, or that the gateway writes.
const READ_MEMBERS: [&str; 9] = [
    "_meta",
    "argument",
    "arguments",
    "context",
    "name",
    "notifications",
    "ref",
    "type",
    "uri",
];

/// The members of `argument` in a completion request.
const ARGUMENT_MEMBERS: [&str; 2] = ["name", "value"];

/// The members of list items that affect what hosts do.
const ITEM_MEMBERS: [&str; 10] = [
    "_meta",
    "annotations",
    "arguments",
    "description",
    "inputSchema",
    "name",
    "outputSchema",
    "title",
    "uri",
    "uriTemplate",
];

/// Checks that every JSON parser reads the same members. Otherwise, the server could read a value that the gateway has not
/// checked.
///
/// # Errors
/// An object in the params, at any depth, has a repeated member. A member name of the params, `ref`, `argument` or `context` has
/// an escape, or differs only in case from a name that rules read. Two names in `context.arguments` differ only in case. Some
/// parsers, such as the parser of Go, ignore case.
pub(crate) fn check_members(params: &str) -> Result<(), ErrorObject> {
    let object = |of, name| member(of, name).filter(|value| value.starts_with('{'));
    check_plain_names(params, "params", &READ_MEMBERS)?;
    for (name, known) in [
        ("ref", &READ_MEMBERS[..]),
        ("argument", &ARGUMENT_MEMBERS),
        ("context", &READ_MEMBERS),
    ] {
        if let Some(value) = object(params, name) {
            check_plain_names(value, name, known)?;
        }
    }
    let context = object(params, "context");
    if let Some(arguments) = context.and_then(|context| object(context, "arguments")) {
        check_distinct(arguments, "context.arguments")?;
    }
    // If the server reads the token from a member in another case, its progress notifications reach the call of another client.
    let meta = object(params, "_meta");
    for (key, _) in members(meta.unwrap_or("{}")).map_while(Result::ok) {
        check_case(&member_name(key), &[PROGRESS_TOKEN_KEY], "_meta")?;
    }
    let checked = check_unique_members(params);
    checked.map_err(|error| ErrorObject::invalid_params(format!("params: {}", error.message())))
}

/// Checks that the names of an object's members have no escapes. Errors name the object as `at`.
fn check_plain_names(object: &str, at: &str, known: &[&str]) -> Result<(), ErrorObject> {
    for pair in members(object) {
        let (key, _) =
            pair.map_err(|error| ErrorObject::invalid_params(format!("{at}: {error}")))?;
        if key.contains('\\') {
            let name = member_name(key);
            return Err(ErrorObject::invalid_params(format!(
                "{at}: the name \"{key}\" has an escape; write it as {name:?}"
            )));
        }
        check_case(key, known, at)?;
    }
    Ok(())
}

/// Checks that no two members of an object have names that differ only in case.
fn check_distinct(object: &str, at: &str) -> Result<(), ErrorObject> {
    let mut seen = HashSet::new();
    for (key, _) in members(object).map_while(Result::ok) {
        let name = member_name(key);
        if !seen.insert(without_case(&name)) {
            return Err(ErrorObject::invalid_params(format!(
                "{at}: another member differs from {name:?} only in case; some servers read both as one, so leave one out"
            )));
        }
    }
    Ok(())
}

/// Checks that the name of a member does not differ only in case from one of the names in `known`. A JSON parser that ignores
/// case would confuse these names. Errors name the object of the member as `at`.
fn check_case(name: &str, known: &[&str], at: &str) -> Result<(), ErrorObject> {
    let mut like = known
        .iter()
        .filter(|known| is_same_without_case(known, name));
    match like.find(|known| **known != name) {
        Some(known) => Err(ErrorObject::invalid_params(format!(
            "{at}: some servers read the member {name:?} as {known:?}; leave it out, or write {known:?}"
        ))),
        None => Ok(()),
    }
}

/// Returns whether JSON parsers that ignore case would confuse these two names.
pub(crate) fn is_same_without_case(one: &str, other: &str) -> bool {
    one == other || folded(one).eq(folded(other))
}

/// Folds the case of a text. If the results for two texts are equal, some programs consider the texts equal. For example, `ß`
/// becomes `ss`, and `\u{17f}` becomes `s`.
pub(crate) fn without_case(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => folded(text).collect(),
    }
}

fn folded(text: &str) -> impl Iterator<Item = char> {
    // The upper case of `ß` is `SS`, the lower case of `\u{1e9e}` is `ß`, and that of `\u{17f}` is itself.
    let lower = text.chars().flat_map(char::to_lowercase);
    let upper = lower.flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase)
}

/// Returns whether the name of this member of a list item differs only in case from the name of a known member. A host whose JSON
/// parser ignores case would confuse the two.
pub(crate) fn imitates_member(name: &str) -> bool {
    let mut like = ITEM_MEMBERS.iter();
    like.any(|known| *known != name && is_same_without_case(known, name))
}

/// Returns the elements of an array member as JSON text; `None` if the member is not an array.
pub(crate) fn elements<'a>(object: &'a str, name: &str) -> Option<Vec<&'a RawValue>> {
    serde_json::from_str(member(object, name)?).ok()
}

/// A JSON object that is written member by member.
pub(crate) struct ObjectText(String);

impl ObjectText {
    pub(crate) fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Creates an empty object with memory for this number of bytes of text.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut text = String::with_capacity(bytes + 2);
        text.push('{');
        Self(text)
    }

    /// Adds a member. `key` is JSON text without quotes, such as the key of another object or a name without special
    /// characters; `value` is JSON text.
    pub(crate) fn copy(&mut self, key: &str, value: &str) {
        self.separate();
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
        self.0.push_str(value);
    }

    /// Adds a member; `value` is JSON text.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.separate();
        push_string(&mut self.0, name);
        self.0.push(':');
        self.0.push_str(value);
    }

    /// Adds the members of another object, except members whose names a JSON parser could confuse with a name in `except`.
    /// Returns whether a member was omitted.
    pub(crate) fn copy_all(&mut self, object: &str, except: &[&str]) -> bool {
        self.0.reserve(object.len());
        let mut is_shorter = false;
        for (key, value) in members(object).map_while(Result::ok) {
            let name = member_name(key);
            if except
                .iter()
                .any(|except| is_same_without_case(except, &name))
            {
                is_shorter = true;
            } else {
                self.copy(key, value);
            }
        }
        is_shorter
    }

    pub(crate) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn separate(&mut self) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
    }
}

/// Returns a string as JSON text.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

fn push_string(out: &mut String, text: &str) {
    let is_plain = |byte| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        // A string is always serializable.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}

/// Adds an `elicitationId` to the params of an elicitation by URL, because session-based revisions require it. Returns other
/// params unchanged.
pub(crate) fn with_elicitation_id(params: &str) -> String {
    let mode = member(params, "mode").and_then(read_string);
    if mode.as_deref() != Some("url") || has(params, "elicitationId") {
        return params.to_owned();
    }
    let mut id = [0; 16];
    // Without random bytes, ids repeat. No message refers to an id, because stateless servers do not report the end of an
    // elicitation.
    let _ = getrandom::fill(&mut id);
    let mut text = ObjectText::new();
    text.copy_all(params, &[]);
    text.add(
        "elicitationId",
        &string(&format!("{:032x}", u128::from_ne_bytes(id))),
    );
    text.finish()
}

/// Returns an object without the members with these names.
pub(crate) fn without(object: &RawJson, names: &[&str]) -> RawJson {
    let mut text = ObjectText::with_capacity(object.len());
    match text.copy_all(object, names) {
        true => RawJson::copy(&text.finish()),
        false => object.clone(),
    }
}

fn has(object: &str, name: &str) -> bool {
    let mut all = members(object).map_while(Result::ok);
    all.any(|(key, _)| is_member(key, name))
}

/// A result that is already JSON text.
pub(crate) struct RawResult(pub(crate) RawJson);

impl WriteJson for RawResult {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }

    fn as_text(&self) -> Option<&str> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_that_parsers_can_read_differently_are_refused() {
        for (params, part) in [
            (
                r#"{"uri":"a","uri":"b"}"#,
                r#"params: the member "uri" is repeated"#,
            ),
            (r#"{"uri":"a","\u0075ri":"b"}"#, r#"write it as "uri""#),
            (r#"{"\u0075ri":"b"}"#, r#"write it as "uri""#),
            (r#"{"uri":"a","URI":"b"}"#, r#"the member "URI" as "uri""#),
            (r#"{"Name":"b"}"#, r#"the member "Name" as "name""#),
            ("{\"argument\u{17f}\":{}}", r#"as "arguments""#),
            (r#"{"ref":{"uri":"a","Uri":"b"}}"#, r#"ref: some servers"#),
            (r#"{"_meta":{"ProgressToken":1}}"#, r#"_meta: some servers"#),
            (
                r#"{"argument":{"name":"a","Name":"b"}}"#,
                r#"argument: some servers"#,
            ),
            (
                r#"{"context":{"arguments":{},"Arguments":{}}}"#,
                r#"context: some servers"#,
            ),
            (
                r#"{"context":{"arguments":{"owner":"a","Owner":"b"}}}"#,
                r#"differs from "Owner" only in case"#,
            ),
            (
                r#"{"ref":{"uri":"a","uri":"b"}}"#,
                r#"params: the member "uri" is repeated"#,
            ),
            (
                r#"{"arguments":{"a":1,"\u0061":2}}"#,
                r#"params: the member "a" is repeated"#,
            ),
            (
                r#"{"arguments":{"x":[{"a":1,"\u0061":2}]}}"#,
                r#"params: the member "a" is repeated"#,
            ),
            (
                r#"{"_meta":{"a":1,"a":2}}"#,
                r#"params: the member "a" is repeated"#,
            ),
            (
                r#"{"other":{"b":[[{"a":{"c":1,"c":2}}]]}}"#,
                r#"params: the member "c" is repeated"#,
            ),
        ] {
            let error = check_members(params).unwrap_err();
            assert!(error.message.contains(part), "{params}: {error}");
        }
        for params in [
            "{}",
            r#"{"arguments":{"a":[1,-2,3.5,1e30,true,null,"é\n",{"a":{}},{"a":[]}]}}"#,
            r#"{"a":{"b":1},"b":{"b":1},"arguments":{"\"":1,"\\":2},"ref":"text"}"#,
        ] {
            check_members(params).unwrap();
        }
    }

    #[test]
    fn a_url_elicitation_gets_an_id_even_if_its_mode_is_written_with_escapes() {
        for (params, has_id) in [
            (r#"{"mode":"url"}"#, true),
            (r#"{"m\u006fde":"\u0075rl"}"#, true),
            (r#"{"mode":"form"}"#, false),
            ("{}", false),
        ] {
            assert_eq!(
                has(&with_elicitation_id(params), "elicitationId"),
                has_id,
                "{params}"
            );
        }
    }

    #[test]
    fn the_text_of_numbers_and_of_unknown_members_is_kept() {
        let object = RawJson::copy(r#"{"a":1.0,"b":9007199254740993,"c":{"d":null},"\u0065":1e2}"#);
        let text = without(&object, &["c", "missing"]);
        assert_eq!(
            text.as_str(),
            r#"{"a":1.0,"b":9007199254740993,"\u0065":1e2}"#
        );
        assert_eq!(member(&object, "c"), Some(r#"{"d":null}"#));
        assert_eq!(member(r#"{"c":null}"#, "c"), None);
        assert_eq!(
            without(&object, &["e"]).find("1e2"),
            None,
            "keys are compared decoded"
        );
    }
}
