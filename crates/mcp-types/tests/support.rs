//! Access to the official schema, and round trips.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_types::{JsonObject, Notification, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Decodes a JSON text and encodes it again.
pub(crate) type RoundTrip = fn(&str) -> Result<String, serde_json::Error>;

/// Round trip of one type, from text as a peer sends it.
pub(crate) fn round_trip<T: Serialize + DeserializeOwned>(
    text: &str,
) -> Result<String, serde_json::Error> {
    serde_json::to_string(&serde_json::from_str::<T>(text)?)
}

/// Round trip of a request: the envelope is kept, the params are decoded into their type.
pub(crate) fn request<R: Request>(text: &str) -> Result<String, serde_json::Error> {
    message::<R::Params>(text, R::METHOD, R::PARAMS_OPTIONAL)
}

/// Round trip of a notification.
pub(crate) fn notification<N: Notification>(text: &str) -> Result<String, serde_json::Error> {
    message::<N::Params>(text, N::METHOD, N::PARAMS_OPTIONAL)
}

fn message<P: Serialize + DeserializeOwned>(
    text: &str,
    method: &str,
    optional: bool,
) -> Result<String, serde_json::Error> {
    let mut message: JsonObject = serde_json::from_str(text)?;
    assert_eq!(message["method"], method);
    if message.contains_key("params") || !optional {
        through::<P>(&mut message, "params")?;
    }
    serde_json::to_string(&message)
}

/// Round trip of a response.
pub(crate) fn response<R: Request>(text: &str) -> Result<String, serde_json::Error> {
    let mut message: JsonObject = serde_json::from_str(text)?;
    through::<R::Result>(&mut message, "result")?;
    serde_json::to_string(&message)
}

fn through<T: Serialize + DeserializeOwned>(
    message: &mut JsonObject,
    member: &str,
) -> Result<(), serde_json::Error> {
    let text = round_trip::<T>(&message[member].to_string())?;
    message.insert(member.to_owned(), serde_json::from_str(&text)?);
    Ok(())
}

/// Asserts that the type preserves this JSON in any member order; `3` and `3.0` differ.
#[track_caller]
pub(crate) fn survives<T: Serialize + DeserializeOwned>(text: &str) {
    let [before, after]: [Value; 2] =
        [text, &round_trip::<T>(text).unwrap()].map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(after, before);
}

/// Returns the text of a decoding error.
#[track_caller]
pub(crate) fn error_of<T: DeserializeOwned>(text: &str) -> String {
    match serde_json::from_str::<T>(text) {
        Ok(_) => panic!("decoded: {text}"),
        Err(error) => error.to_string(),
    }
}

/// Returns the folder of the official schemas. Prints a note if it is not present.
pub(crate) fn schema_dir() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = [
        std::env::var_os("MCP_SCHEMA_DIR").map(PathBuf::from),
        Some(here.join("../../../shared/schema")),
        Some(here.join("../../target/schema")),
    ];
    let found = places
        .into_iter()
        .flatten()
        .find(|place| place.join("2025-11-25/schema.json").is_file());
    if found.is_none() {
        println!(
            "SKIPPED: the official schema is not here; set MCP_SCHEMA_DIR or run `cargo xtask codegen`"
        );
    }
    found
}

/// A schema file with its definitions.
pub(crate) struct Schema {
    /// The whole file.
    pub(crate) whole: Value,
    keyword: &'static str,
}

impl Schema {
    /// Reads the schema of a revision, if it is present.
    pub(crate) fn load(dir: &Path, revision: &str) -> Option<Self> {
        let text = fs::read_to_string(dir.join(revision).join("schema.json")).ok()?;
        let whole: Value = serde_json::from_str(&text).unwrap();
        let keyword = if whole.get("$defs").is_some() {
            "$defs"
        } else {
            "definitions"
        };
        Some(Self { whole, keyword })
    }

    /// Returns the definitions by name.
    pub(crate) fn definitions(&self) -> BTreeMap<&str, &Value> {
        let definitions = self.whole[self.keyword].as_object().unwrap();
        definitions
            .iter()
            .map(|(name, definition)| (name.as_str(), definition))
            .collect()
    }

    /// Returns the target of a `$ref`.
    pub(crate) fn resolve(&self, reference: &str) -> &Value {
        self.whole
            .pointer(reference.strip_prefix('#').unwrap())
            .unwrap()
    }

    /// Returns the schema without unknown members: merged definitions keep only the members they
    /// list.
    pub(crate) fn closed(&self, part: &Value) -> Value {
        let mut part = part["$ref"]
            .as_str()
            .map_or(part, |reference| self.resolve(reference))
            .clone();
        part.as_object_mut()
            .unwrap()
            .shift_remove("additionalProperties");
        part
    }

    /// Returns a validator for one definition.
    pub(crate) fn validator(&self, name: &str) -> jsonschema::Validator {
        let mut root = self.whole.clone();
        root["$ref"] = format!("#/{}/{name}", self.keyword).into();
        jsonschema::validator_for(&root).unwrap()
    }
}

/// Removes members that the schema permits and the types omit on purpose, see `overrides.toml`.
pub(crate) fn forget_mode_of_forms(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("mode").is_some_and(|mode| mode == "form")
                && members.contains_key("requestedSchema")
            {
                members.shift_remove("mode");
            }
            members.values_mut().for_each(forget_mode_of_forms);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_mode_of_forms),
        _ => {}
    }
}
