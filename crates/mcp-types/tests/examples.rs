//! The examples of the specification for 2026-07-28, decoded into the types and validated against
//! the schema.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_types::v2026_07_28::{
    InputRequest, MissingRequiredClientCapability, UnsupportedProtocolVersion,
};
use serde_json::Value;

use crate::generated_table_2026_07_28::TABLE;
use crate::support::{RoundTrip, Schema, forget_mode_of_forms, round_trip, schema_dir};

const REVISION: &str = "2026-07-28";

/// Definitions that mcp-jsonrpc decodes: the error object and the error response.
const ERRORS: &[(&str, RoundTrip)] = &[
    ("HeaderMismatchError", answer::<Value>),
    ("InternalError", round_trip::<ErrorObject>),
    ("InvalidParamsError", round_trip::<ErrorObject>),
    ("MethodNotFoundError", round_trip::<ErrorObject>),
    (
        "MissingRequiredClientCapabilityError",
        answer::<MissingRequiredClientCapability>,
    ),
    ("ParseError", round_trip::<ErrorObject>),
    (
        "UnsupportedProtocolVersionError",
        answer::<UnsupportedProtocolVersion>,
    ),
];

/// The one example without the required cache hints. They are read as defaults and written.
const WITHOUT_HINTS: &str = "ReadResourceResultResponse/read-resource-result-response.json";

/// Round trip of an error response with typed data.
fn answer<D: serde::Serialize + serde::de::DeserializeOwned>(
    text: &str,
) -> Result<String, serde_json::Error> {
    let mut message: Value = serde_json::from_str(text)?;
    let error = message["error"].to_string();
    let mut error: ErrorObject = serde_json::from_str(&error)?;
    if let Some(data) = &error.data {
        let data = round_trip::<D>(&data.to_string())?;
        error.data = Some(serde_json::from_str(&data)?);
    }
    message["error"] = serde_json::to_value(error)?;
    serde_json::to_string(&message)
}

/// Name and text of every example, by definition; empty if the folder is not present.
fn examples(dir: &Path) -> BTreeMap<String, Vec<(String, String)>> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let paths = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path())
    };
    paths(&dir.join(REVISION).join("examples"))
        .map(|folder| {
            let files =
                paths(&folder).map(|file| (name(&file), fs::read_to_string(&file).unwrap()));
            (name(&folder), files.collect())
        })
        .collect()
}

// proves: M-BASE-026
#[test]
fn every_example_round_trips_and_is_valid() {
    let Some(dir) = schema_dir() else { return };
    let examples = examples(&dir);
    if examples.is_empty() {
        println!("SKIPPED: the examples of {REVISION} are not here");
        return;
    }
    let schema = Schema::load(&dir, REVISION).unwrap();
    let trips: BTreeMap<&str, RoundTrip> = TABLE.iter().chain(ERRORS).copied().collect();
    let mut count = 0;
    for (definition, files) in &examples {
        let round_trip = trips[definition.as_str()];
        let validator = schema.validator(definition);
        for (file, text) in files {
            let at = format!("{definition}/{file}");
            let text = round_trip(text).map_err(|error| format!("{at}: {error}"));
            let encoded: Value = serde_json::from_str(&text.unwrap()).unwrap();
            let (_, original) = files.iter().find(|(name, _)| name == file).unwrap();
            let mut expected: Value = serde_json::from_str(original).unwrap();
            forget_mode_of_forms(&mut expected);
            if at == WITHOUT_HINTS {
                assert!(
                    expected["result"].get("ttlMs").is_none(),
                    "{at} is fixed in the \
                 examples: remove the exception"
                );
                expected["result"]["ttlMs"] = 0.into();
                expected["result"]["cacheScope"] = "private".into();
            }
            assert_eq!(encoded, expected, "{at}");
            if let Err(error) = validator.validate(&encoded) {
                panic!("{at}: {error}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 129);
}

#[test]
fn examples_of_errors_have_the_codes_of_the_envelope() {
    let Some(dir) = schema_dir() else { return };
    let examples = examples(&dir);
    let codes = [
        ("HeaderMismatchError", ErrorCode::HEADER_MISMATCH),
        ("InternalError", ErrorCode::INTERNAL_ERROR),
        ("InvalidParamsError", ErrorCode::INVALID_PARAMS),
        ("MethodNotFoundError", ErrorCode::METHOD_NOT_FOUND),
        (
            "MissingRequiredClientCapabilityError",
            MissingRequiredClientCapability::CODE,
        ),
        ("ParseError", ErrorCode::PARSE_ERROR),
        (
            "UnsupportedProtocolVersionError",
            UnsupportedProtocolVersion::CODE,
        ),
    ];
    for (definition, code) in codes {
        for (file, text) in examples.get(definition).into_iter().flatten() {
            let example: Value = serde_json::from_str(text).unwrap();
            let error = example.get("error").unwrap_or(&example);
            assert_eq!(error["code"], code.0, "{definition}/{file}");
        }
    }
}

/// Examples of input requests also occur inside other results.
#[test]
fn examples_of_input_requests_decode() {
    let Some(dir) = schema_dir() else { return };
    let examples = examples(&dir);
    for definition in ["CreateMessageRequest", "ElicitRequest", "ListRootsRequest"] {
        for (file, text) in examples.get(definition).into_iter().flatten() {
            let question: InputRequest = serde_json::from_str(text).unwrap();
            let at = format!("{definition}/{file}");
            assert!(!matches!(question, InputRequest::Unknown(_)), "{at}");
            let mut expected: Value = serde_json::from_str(text).unwrap();
            // An input request has no id, but one of the examples has.
            expected.as_object_mut().unwrap().shift_remove("id");
            forget_mode_of_forms(&mut expected);
            assert_eq!(serde_json::to_value(question).unwrap(), expected, "{at}");
        }
    }
}
