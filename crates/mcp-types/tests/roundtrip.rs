//! Every generated type against the official schemas.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use crate::generate::Generator;
use crate::generated_table::TABLE;
use crate::generated_table_2026_07_28;
use crate::support::{RoundTrip, Schema, forget_mode_of_forms, schema_dir};

const CASES: u32 = 96;

fn definition<'a>(schema: &'a Schema, name: &str) -> Option<&'a Value> {
    schema.definitions().get(name).copied()
}

/// Generates values of a definition and passes them to `check`.
fn for_all(schema: &Schema, name: &str, check: impl Fn(Value) -> Result<(), TestCaseError>) {
    let definition = definition(schema, name).unwrap();
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config)
        .run(&prop::collection::vec(any::<u32>(), 0..200), |choices| {
            check(Generator::new(schema, &choices).value(definition))
        });
    if let Err(error) = outcome {
        panic!("{name}: {error}");
    }
}

/// The JSON without the members that an empty result drops.
fn expected(name: &str, mut value: Value) -> Value {
    forget_mode_of_forms(&mut value);
    if let ("EmptyResult", Value::Object(members)) = (name, &mut value) {
        members.retain(|key, _| matches!(key.as_str(), "_meta" | "resultType"));
    }
    value
}

fn is_valid(validator: &Validator, value: &Value) -> Result<(), TestCaseError> {
    match validator.validate(value) {
        Ok(()) => Ok(()),
        Err(error) => Err(TestCaseError::fail(format!("{error} in {value}"))),
    }
}

/// The JSON with the type of its result; the schema only requires a string.
fn of_its_kind(name: &str, mut value: Value) -> Value {
    let result = if name.ends_with("ResultResponse") {
        &mut value["result"]
    } else {
        &mut value
    };
    if let Value::Object(members) = result
        && name != "Result"
        && members.contains_key("resultType")
    {
        let asks = match name {
            "InputRequiredResult" => true,
            "CallToolResultResponse" => !members.contains_key("content"),
            "GetPromptResultResponse" => !members.contains_key("messages"),
            "ReadResourceResultResponse" => !members.contains_key("contents"),
            _ => false,
        };
        let kind = if asks { "input_required" } else { "complete" };
        members.insert("resultType".to_owned(), kind.into());
    }
    value
}

fn check_all(revision: &str, table: &[(&str, RoundTrip)]) {
    let Some(dir) = schema_dir() else { return };
    let schema = Schema::load(&dir, revision).unwrap();
    assert!(table.len() > 80);
    for (name, round_trip) in table {
        let validator = schema.validator(name);
        for_all(&schema, name, |value| {
            let value = of_its_kind(name, value);
            is_valid(&validator, &value)?;
            let text = round_trip(&value.to_string())
                .map_err(|error| TestCaseError::fail(format!("{error} in {value}")))?;
            let encoded: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&encoded, &expected(name, value));
            is_valid(&validator, &encoded)
        });
    }
}

#[test]
fn every_definition_round_trips_and_is_valid() {
    check_all("2025-11-25", TABLE);
}

#[test]
fn every_definition_of_2026_07_28_round_trips_and_is_valid() {
    check_all("2026-07-28", generated_table_2026_07_28::TABLE);
}

/// Older revisions are subsets: their messages decode into the same types without a loss.
#[test]
fn older_revisions_decode_into_the_same_types() {
    let Some(dir) = schema_dir() else { return };
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let Some(schema) = Schema::load(&dir, revision) else {
            continue;
        };
        for (name, round_trip) in TABLE {
            if definition(&schema, name).is_none() || is_base(name) {
                continue;
            }
            for_all(&schema, name, |value| {
                let decoded = round_trip(&value.to_string());
                let text = decoded.map_err(|error| {
                    TestCaseError::fail(format!("{revision}: {error} in {value}"))
                })?;
                let encoded: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(encoded, expected(name, value), "{}", revision);
                Ok(())
            });
        }
    }
}

/// Returns whether the older schemas use the definition only as a base of others.
fn is_base(name: &str) -> bool {
    matches!(name, "ResourceContents")
}

/// The examples of the specification for 2026-07-28 decode into the canonical types.
#[test]
fn examples_of_2026_07_28_decode() {
    let Some(dir) = schema_dir() else { return };
    let mut decoded = 0;
    for (name, round_trip) in TABLE {
        let folder = dir.join("2026-07-28/examples").join(name);
        for (file, text) in examples(&folder) {
            if let Err(error) = round_trip(&text) {
                panic!("{name}/{file}: {error}");
            }
            decoded += 1;
        }
    }
    if decoded == 0 {
        println!("SKIPPED: the examples of 2026-07-28 are not here");
    }
}

fn examples(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read_to_string(&path).unwrap(),
            )
        })
        .collect()
}
