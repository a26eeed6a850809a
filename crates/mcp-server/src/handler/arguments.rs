//! Decoding of arguments. The decoder of a type must accept everything that the schema of the type admits.

use mcp_jsonrpc::{DecodeError, decode_owned};
use mcp_schema::{Origin, Validator};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::HandlerError;
use crate::schema::{input, validate, without_nulls};

/// Maximum number of digits of an integer that is written with a fraction or an exponent. A 128-bit integer has at most 39
/// digits.
const MAX_DIGITS: usize = 40;

/// Decodes arguments. A number without a fractional part, such as `2.0`, is an integer (JSON Schema, section 4.2.3). A `null`
/// that the type does not accept counts as an absent member.
///
/// # Errors
/// The arguments do not match the type `T`. If a required member is `null`, the error says so.
pub(crate) fn decode_arguments<T: DeserializeOwned + JsonSchema>(
    text: &str,
) -> Result<T, DecodeError> {
    decode_owned(text).or_else(|error| match repaired(text, input::<T>) {
        Some(text) => decode_owned(&text),
        None => Err(error),
    })
}

/// Returns the error for arguments that cannot be decoded. The error names the violation of the type's schema. If the arguments
/// do not violate the schema, the error has the decoder's message.
#[cold]
pub(super) fn arguments_error<T: JsonSchema>(text: &str, error: &DecodeError) -> HandlerError {
    let repaired = repaired(text, input::<T>);
    let value = decode_owned(repaired.as_deref().unwrap_or(text)).ok();
    let violations = value.and_then(|value: Value| {
        let schema = input::<T>().ok()?.schema;
        let validator = Validator::compile(&schema, Origin::Own).ok()?;
        validate(&validator, &value).err()
    });
    match violations {
        Some(violations) => HandlerError::arguments(violations),
        None => HandlerError::from_decode(error),
    }
}

/// Returns the JSON `text` with all integers in integer notation, and without optional members that are `null`. Returns `None` if
/// nothing has changed.
#[cold]
fn repaired(
    text: &str,
    schema: impl FnOnce() -> Result<crate::schema::Input, crate::schema::SchemaError>,
) -> Option<String> {
    let integers = with_integers(text);
    let text = integers.as_deref().unwrap_or(text);
    let without = || {
        let mut value: Value = text.contains("null").then(|| decode_owned(text).ok())??;
        let schema = schema().ok()?.schema;
        without_nulls(&mut value, &schema).then(|| value.to_string())
    };
    without().or(integers)
}

/// Returns the JSON text with all integers in integer notation, which has no fraction and no exponent. Returns `None` if nothing
/// has changed.
fn with_integers(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut out, mut copied) = (String::new(), 0);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part =
                    |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let end = at + bytes[at..].iter().take_while(is_part).count();
                if let Some(integer) = integer(&text[at..end]) {
                    out.push_str(&text[copied..at]);
                    out.push_str(&integer);
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    (copied > 0).then(|| out + &text[copied..])
}

/// Returns the position after the string that begins at `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// Returns the digits of the integer that a JSON `number` denotes, if the number has a fraction or an exponent or is `-0`.
/// Returns `None` for any other number.
pub(super) fn integer(number: &str) -> Option<String> {
    if number.bytes().skip(1).all(|byte| byte.is_ascii_digit()) && number != "-0" {
        return None;
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_end_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    // The number of digits before the decimal point.
    let length = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let length = usize::try_from(length).ok()?;
    let leading = all.len() - all.trim_start_matches('0').len();
    if significant.len() > length || length - leading > MAX_DIGITS {
        return None;
    }
    let integer = format!("{significant:0<length$}");
    Some(format!("{sign}{}", integer.trim_start_matches('0')))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Inner {
        #[serde(default)]
        label: String,
        /// Accepts `null`.
        note: Option<Value>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
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
    fn null_for_an_optional_flattened_member_counts_as_absent() {
        #[derive(Debug, Deserialize, JsonSchema)]
        struct Flat {
            #[serde(flatten)]
            inner: Inner,
        }
        let flat: Flat = decode_arguments(r#"{"label":null}"#).unwrap();
        assert_eq!(flat.inner.label, "");
    }

    #[test]
    fn a_map_entry_with_the_value_null_is_not_dropped() {
        #[derive(Debug, Deserialize, JsonSchema)]
        struct Map {
            #[allow(dead_code, reason = "it is only decoded")]
            names: std::collections::BTreeMap<String, String>,
        }
        let error = decode_arguments::<Map>(r#"{"names":{"A":"1","B":null}}"#).unwrap_err();
        assert_eq!(error.pointer(), "/names/B");
    }

    #[test]
    fn a_number_without_a_fraction_is_an_integer() {
        for (written, expected) in [
            ("2.0", "2"),
            ("-2.00", "-2"),
            ("1e3", "1000"),
            ("1.5E+1", "15"),
            ("1200e-2", "12"),
            ("0.0", "0"),
            ("-0", "0"),
            ("0.5e1", "5"),
            ("9007199254740993.0", "9007199254740993"),
            ("1e39", "1000000000000000000000000000000000000000"),
        ] {
            assert_eq!(integer(written).as_deref(), Some(expected), "{written}");
        }
        for written in ["2", "-7", "2.5", "1e-1", "1e40", "1e999999999999", "12e-3"] {
            assert_eq!(integer(written), None, "{written}");
        }
        let text = r#"{"a\"1.0":"1.0","b":[1.0,2.5,{"c":-3.0}]}"#;
        let expected = r#"{"a\"1.0":"1.0","b":[1,2.5,{"c":-3}]}"#;
        assert_eq!(with_integers(text).as_deref(), Some(expected));
        assert_eq!(with_integers(r#"{"a":1,"b":"2.0"}"#), None);
    }
}
