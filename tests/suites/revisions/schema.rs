//! The official schemas, and the definition that each message must match.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Value, json};

/// The schema of one revision.
pub(super) struct Schema {
    keyword: &'static str,
    definitions: Value,
    /// The definition of each request and notification, by method.
    methods: HashMap<String, String>,
    compiled: HashMap<String, Validator>,
}

impl Schema {
    /// Loads the schema of a revision. Prints a line if it is not on this machine.
    #[expect(clippy::print_stdout, reason = "what is skipped is said")]
    pub(super) fn load(revision: &str) -> Option<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let places = [
            std::env::var_os("MCP_SCHEMA_DIR").map(PathBuf::from),
            Some(here.join("../../shared/schema")),
            Some(here.join("../target/schema")),
        ];
        let mut files = places
            .into_iter()
            .flatten()
            .map(|place| place.join(revision).join("schema.json"));
        let Some(text) = files.find_map(|file| fs::read_to_string(file).ok()) else {
            println!(
                "SKIPPED: the schema of {revision} is not here; set MCP_SCHEMA_DIR or run `cargo xtask codegen`"
            );
            return None;
        };
        let mut whole: Value = serde_json::from_str(&text).expect("the schema is JSON");
        let keyword = if whole.get("$defs").is_some() {
            "$defs"
        } else {
            "definitions"
        };
        let definitions = whole[keyword].take();
        let mut methods = HashMap::new();
        for (name, definition) in definitions.as_object().expect("definitions") {
            if let Some(method) = definition["properties"]["method"]["const"].as_str() {
                methods.insert(method.to_owned(), name.clone());
            }
        }
        let compiled = HashMap::new();
        Some(Self {
            keyword,
            definitions,
            methods,
            compiled,
        })
    }

    /// Returns whether a request or notification with this method exists.
    pub(super) fn knows(&self, method: &str) -> bool {
        self.methods.contains_key(method)
    }

    /// Asserts that a request or notification matches its definition.
    pub(super) fn check_message(&mut self, message: &Value) {
        let method = message["method"].as_str().expect("a method");
        let name = self
            .methods
            .get(method)
            .unwrap_or_else(|| panic!("no {method} in this revision: {message}"));
        let name = name.clone();
        self.check(&name, message);
    }

    /// Asserts that the result of a method matches its definition.
    pub(super) fn check_result(&mut self, method: &str, result: &Value) {
        let request = self
            .methods
            .get(method)
            .unwrap_or_else(|| panic!("no {method} in this revision"));
        let named = request.replace("Request", "Result");
        let name = if result["resultType"] == "input_required" {
            "InputRequiredResult".to_owned()
        } else if result["task"].is_object() {
            // SCHEMA-019: missing in the unions of results.
            "CreateTaskResult".to_owned()
        } else if self.definitions.get(&named).is_some() {
            named
        } else {
            "EmptyResult".to_owned()
        };
        self.check(&name, result);
    }

    /// Asserts that a value matches a definition.
    pub(super) fn check(&mut self, name: &str, value: &Value) {
        let keyword = self.keyword;
        let validator = self.compiled.entry(name.to_owned()).or_insert_with(|| {
            let mut root = json!({ "$ref": format!("#/{keyword}/{name}") });
            root[keyword] = self.definitions.clone();
            jsonschema::validator_for(&root).expect("a schema")
        });
        if let Some(error) = validator.iter_errors(value).next() {
            panic!("{name} at {}: {error}\n{value}", error.instance_path());
        }
    }
}
