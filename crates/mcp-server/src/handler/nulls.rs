//! `null` for optional arguments: models write it for a member that they omit.

use mcp_jsonrpc::{DecodeError, decode};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum number of attempts to decode the arguments of one call.
const MAX_ATTEMPTS: usize = 32;

/// Decodes arguments. A `null` that the type does not accept counts as an absent member.
///
/// # Errors
/// The arguments do not fit. A `null` for a required member is reported as such.
pub(super) fn decode_arguments<T: DeserializeOwned>(text: &str) -> Result<T, DecodeError> {
    decode(text).or_else(|error| {
        let mut without = Without::new(text);
        let mut problems = vec![error];
        while let Some(text) = without.next(problems.last().map_or("", DecodeError::pointer)) {
            match decode(&text) {
                Ok(arguments) => return Ok(arguments),
                Err(next) => problems.push(next),
            }
        }
        Err(cause(&problems))
    })
}

/// Returns the last problem, or the `null` that was removed from the member that it misses.
fn cause(problems: &[DecodeError]) -> DecodeError {
    let missing = problems.last().map_or("", DecodeError::message);
    let is_cause = |problem: &&DecodeError| {
        let (_, name) = problem.pointer().rsplit_once('/').unwrap_or_default();
        missing == format!("missing field `{name}`")
    };
    let cause = problems.iter().find(is_cause).or(problems.last());
    cause
        .cloned()
        .unwrap_or_else(|| DecodeError::new("", "invalid arguments"))
}

/// The arguments without the members that were rejected.
struct Without {
    value: Value,
    attempts: usize,
}

impl Without {
    fn new(text: &str) -> Self {
        let has_null = text.contains("null");
        Self {
            value: has_null
                .then(|| decode(text).ok())
                .flatten()
                .unwrap_or_default(),
            attempts: MAX_ATTEMPTS,
        }
    }

    /// Removes the `null` at this JSON pointer, or those directly inside, and returns the text.
    fn next(&mut self, pointer: &str) -> Option<String> {
        self.attempts = self.attempts.checked_sub(1)?;
        let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
        let is_null = self.value.pointer(pointer).is_some_and(Value::is_null);
        let object = if is_null { parent } else { pointer };
        let members = self.value.pointer_mut(object)?.as_object_mut()?;
        let before = members.len();
        if is_null {
            members.remove(&name.replace("~1", "/").replace("~0", "~"));
        } else {
            members.retain(|_, value| !value.is_null());
        }
        (members.len() < before).then(|| self.value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        #[serde(default)]
        label: String,
        /// Accepts `null`.
        note: Option<Value>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        count: u32,
        #[serde(default)]
        label: String,
        #[serde(default)]
        list: Vec<Option<u8>>,
        #[serde(default)]
        any: Value,
        inner: Option<Inner>,
    }

    #[test]
    fn null_counts_as_absent_where_the_type_does_not_accept_it() {
        let text = r#"{"count":1,"label":null,"list":null,"any":null,
            "inner":{"label":null,"note":null}}"#;
        let outer: Outer = decode_arguments(text).unwrap();
        assert_eq!((outer.count, &*outer.label, &*outer.list), (1, "", &[][..]));
        assert_eq!(outer.inner.unwrap().label, "");
        let kept: Outer = decode_arguments(r#"{"count":1,"list":[1,null],"label":null}"#).unwrap();
        assert_eq!(kept.list, [Some(1), None]);
    }

    #[test]
    fn null_for_a_required_argument_is_reported() {
        for text in [
            r#"{"count":null,"label":null}"#,
            r#"{"label":null,"count":null}"#,
        ] {
            let error = decode_arguments::<Outer>(text).unwrap_err();
            assert_eq!(error.pointer(), "/count");
            assert!(error.message().contains("null"), "{error}");
        }
        let error = decode_arguments::<Outer>(r#"{"count":"x","label":null}"#).unwrap_err();
        assert_eq!(error.pointer(), "/count");
    }

    #[test]
    fn flattened_members_are_arguments_like_others() {
        #[derive(Debug, Deserialize)]
        struct Flat {
            #[serde(flatten)]
            inner: Inner,
        }
        let flat: Flat = decode_arguments(r#"{"label":null}"#).unwrap();
        assert_eq!(flat.inner.label, "");
    }
}
