//! Replaces names of types in errors about a file with plain words.
//!
//! An error of a decoder names the types of the program, such as `nonzero u32`, and quotes the value, which can be a secret. The
//! author of a file does not know these types, and an error must not show a secret.

/// The types that a decoder expects, without an article, and the plain words for each type. For integers, see [`integers`].
const EXPECTED: [(&str, &str); 11] = [
    ("struct ", "an object"),
    ("map", "an object"),
    ("sequence", "a list"),
    ("tuple ", "a list"),
    ("path string", "a path"),
    ("string or map", "one of the known words"),
    ("enum ", "one of the known words"),
    ("string", "text"),
    ("borrowed string", "text"),
    ("boolean", "true or false"),
    ("f64", "a number"),
];

/// The types that a decoder has found, and the plain words for each type.
const FOUND: [(&str, &str); 10] = [
    ("boolean", "true or false"),
    ("integer", "a number"),
    ("floating point", "a number with a fraction"),
    ("string", "text"),
    ("character", "text"),
    ("byte array", "text"),
    ("null", "null"),
    ("unit", "null"),
    ("map", "an object"),
    ("sequence", "a list"),
];

/// Replaces the names of types in an error of a decoder: `expected struct TlsSection` by `expected an object`. A value of the
/// wrong type is not quoted.
pub fn without_type_names(error: &str) -> String {
    // The file has a list instead of an object.
    if let Some((start, rest)) = error.split_once("invalid length ")
        && rest.contains("expected struct ")
    {
        return format!("{start}expected an object, found a list");
    }
    // The decoder expected one of several words, but the value is not text. An error in the syntax would name a line.
    if let Some(start) = error.strip_suffix(": expected value") {
        return format!("{start}: expected one of the known words");
    }
    let (start, rest) = match error
        .find("invalid type: ")
        .or(error.find("invalid value: "))
    {
        Some(start) => error.split_at(start),
        None => return error.to_owned(),
    };
    // A quoted value can contain the words `, expected `, so the last place counts.
    let Some((found, expected)) = rest.rsplit_once(", expected ") else {
        return error.to_owned();
    };
    let (expected, place) = match expected.rfind(" at line ") {
        Some(end) => expected.split_at(end),
        None => (expected, ""),
    };
    let expected = plain(expected);
    match found.strip_prefix("invalid value: ") {
        Some(value) => format!(
            "{start}{} is not possible; expected {expected}{place}",
            bare(value)
        ),
        None => {
            let found = &found["invalid type: ".len()..];
            let known = FOUND.iter().find(|(word, _)| found.starts_with(word));
            let found = known.map_or("another value", |(_, plain)| plain);
            format!("{start}expected {expected}, found {found}{place}")
        }
    }
}

/// Returns the plain words for the expected type.
fn plain(expected: &str) -> String {
    let bare = ["a ", "an "]
        .iter()
        .find_map(|article| expected.strip_prefix(article));
    let bare = bare.unwrap_or(expected);
    let is_known = |word: &str| bare == word || word.ends_with(' ') && bare.starts_with(word);
    match EXPECTED.iter().find(|(word, _)| is_known(word)) {
        Some((_, plain)) => (*plain).to_owned(),
        None => integers(bare).unwrap_or_else(|| expected.to_owned()),
    }
}

/// Returns the range of an integer type, in plain words.
fn integers(name: &str) -> Option<String> {
    let (first, name) = match name.strip_prefix("nonzero ") {
        Some(name) => (1, name),
        None => (0, name),
    };
    let last = match name {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        // The limit has no meaning for the author of a file.
        "u64" | "usize" => return Some(format!("a number of at least {first}")),
        "i8" | "i16" | "i32" | "i64" | "isize" => {
            return Some("a number without a fraction".to_owned());
        }
        _ => return None,
    };
    Some(format!("a number from {first} to {last}"))
}

/// Returns a value without the name of its type: `0` for ``integer `0` ``.
fn bare(value: &str) -> &str {
    match value.split_once('`') {
        Some((_, rest)) => rest.trim_end_matches('`'),
        None => value.strip_prefix("string ").unwrap_or(value),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::{NonZeroU32, NonZeroUsize};

    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Word {
        Allow,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only decoded")]
    struct Object {
        word: Word,
    }

    fn error<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
        let error = mcp_jsonrpc::decode_owned::<T>(text).unwrap_err();
        without_type_names(&error.to_string())
    }

    #[test]
    fn errors_about_files_name_no_rust_types() {
        for (error, plain) in [
            (
                error::<NonZeroU32>("0"),
                "0 is not possible; expected a number from 1 to 4294967295",
            ),
            (
                error::<NonZeroU32>("\"4\""),
                "expected a number from 1 to 4294967295, found text",
            ),
            (
                error::<u16>("-1"),
                "-1 is not possible; expected a number from 0 to 65535",
            ),
            (
                error::<NonZeroUsize>("1.5"),
                "expected a number of at least 1, found a number with a fraction",
            ),
            (error::<Object>("7"), "expected an object, found a number"),
            (
                error::<Vec<Object>>("{}"),
                "expected a list, found an object",
            ),
            (
                error::<Vec<Object>>("[\", expected u16\"]"),
                "/0: expected an object, found text",
            ),
            (
                error::<BTreeMap<String, bool>>("{\"a\": null}"),
                "/a: expected true or false, found null",
            ),
            (
                error::<BTreeMap<String, bool>>("[]"),
                "expected an object, found a list",
            ),
            (error::<Object>("[]"), "expected an object, found a list"),
            (error::<String>("[]"), "expected text, found a list"),
            (
                error::<f64>("true"),
                "expected a number, found true or false",
            ),
            (error::<(u8, u8)>("{}"), "expected a list, found an object"),
        ] {
            assert_eq!(error, plain);
        }
    }

    #[test]
    fn errors_without_type_names_are_unchanged_and_keep_their_line() {
        let number = error::<Object>("{\"word\": 7}");
        assert_eq!(number, "/word: expected one of the known words");
        let unknown = error::<Object>("{\"word\": \"deny\"}");
        assert_eq!(unknown, "/word: unknown variant `deny`, expected `allow`");
        let error = mcp_jsonrpc::decode_document::<Object>("[\n7]").unwrap_err();
        let text = without_type_names(&error.to_string());
        assert!(text.contains(" at line "), "{text}");
    }
}
