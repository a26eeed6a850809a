//! Secrets in arguments, found by schema and by name.

use serde_json::{Map, Value};

/// What replaces a secret.
const REDACTED: &str = "[redacted]";

/// Deeper values are replaced as a whole.
const MAX_DEPTH: usize = 64;

/// Names of members that are secrets, without `_` and `-`, if they are part of the name.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "cookie",
    "credential",
];

/// Names of members that are secrets, in addition to the usual ones.
#[derive(Debug, Default)]
pub(super) struct SecretNames(Vec<String>);

impl SecretNames {
    pub(super) fn add(&mut self, name: &str) {
        self.0.push(normalized(name));
    }

    fn contains(&self, name: &str) -> bool {
        let name = normalized(name);
        let own = self.0.iter().map(String::as_str);
        own.chain(SECRET_NAMES.iter().copied())
            .any(|secret| name.contains(secret))
    }

    /// Returns the arguments without the values whose schema has `format: password`, `x-secret: true` or
    /// `writeOnly: true`, or whose name is that of a secret.
    pub(super) fn redact(&self, arguments: &Value, schema: &Map<String, Value>) -> Value {
        let root = Value::Object(schema.clone());
        Redaction {
            names: self,
            root: &root,
        }
        .value(arguments, &[&root], 0)
    }
}

fn normalized(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | '.'))
        .flat_map(char::to_lowercase)
        .collect()
}

struct Redaction<'a> {
    names: &'a SecretNames,
    root: &'a Value,
}

impl<'a> Redaction<'a> {
    fn value(&self, value: &Value, schemas: &[&'a Value], depth: usize) -> Value {
        let mut all = Vec::new();
        for schema in schemas {
            self.expand(schema, &mut all);
        }
        if depth > MAX_DEPTH || all.iter().any(|schema| is_secret(schema)) {
            return REDACTED.into();
        }
        match value {
            Value::Object(members) => {
                let redact = |(name, value): (&String, &Value)| {
                    let redacted = match self.names.contains(name) {
                        true => REDACTED.into(),
                        false => self.value(value, &members_of(&all, name), depth + 1),
                    };
                    (name.clone(), redacted)
                };
                Value::Object(members.iter().map(redact).collect())
            }
            Value::Array(items) => {
                let schemas = items_of(&all);
                let redact = |item| self.value(item, &schemas, depth + 1);
                Value::Array(items.iter().map(redact).collect())
            }
            plain => plain.clone(),
        }
    }

    /// Adds a schema and those that apply to the same value.
    fn expand(&self, schema: &'a Value, all: &mut Vec<&'a Value>) {
        if all.len() > MAX_DEPTH || all.iter().any(|known| std::ptr::eq(*known, schema)) {
            return;
        }
        all.push(schema);
        let reference = schema.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        if let Some(target) = pointer.and_then(|pointer| self.root.pointer(pointer)) {
            self.expand(target, all);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let branches = schema.get(keyword).and_then(Value::as_array);
            for branch in branches.into_iter().flatten() {
                self.expand(branch, all);
            }
        }
        for keyword in ["if", "then", "else"] {
            if let Some(branch) = schema.get(keyword) {
                self.expand(branch, all);
            }
        }
    }
}

fn is_secret(schema: &Value) -> bool {
    let is_true = |keyword| schema.get(keyword) == Some(&Value::Bool(true));
    let is_password = schema
        .get("format")
        .is_some_and(|format| format == "password");
    is_password || is_true("x-secret") || is_true("writeOnly")
}

/// The schemas of a member. All schemas of other members apply, which redacts too much rather than too little.
fn members_of<'a>(schemas: &[&'a Value], name: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    for schema in schemas {
        let named = schema
            .get("properties")
            .and_then(|properties| properties.get(name));
        found.extend(named);
        if named.is_none() {
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            found.extend(patterns.into_iter().flat_map(Map::values));
            found.extend(schema.get("additionalProperties"));
        }
    }
    found
}

fn items_of<'a>(schemas: &[&'a Value]) -> Vec<&'a Value> {
    let mut found = Vec::new();
    for schema in schemas {
        for keyword in ["items", "prefixItems"] {
            match schema.get(keyword) {
                Some(Value::Array(items)) => found.extend(items),
                Some(item) => found.push(item),
                None => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_found_by_schema_and_by_name() {
        let schema = json!({
            "properties": {
                "pin": { "type": "string", "format": "password" },
                "seed": { "$ref": "#/$defs/hidden" },
                "list": { "items": { "anyOf": [{ "type": "null" }, { "x-secret": true }] } },
                "tree": { "$ref": "#" },
                "path": { "type": "string" }
            },
            "$defs": { "hidden": { "allOf": [{ "x-secret": true }] } }
        });
        let arguments = json!({
            "pin": "1", "seed": { "a": 2 }, "list": ["3"], "tree": { "pin": "4", "path": "shown" },
            "API_Key": "5", "nested": [{ "accessToken": "6", "plain": "shown" }], "mark": "7"
        });
        let mut names = SecretNames::default();
        names.add("mark");
        let redacted = names.redact(&arguments, schema.as_object().unwrap());
        let expected = json!({
            "pin": REDACTED, "seed": REDACTED, "list": [REDACTED],
            "tree": { "pin": REDACTED, "path": "shown" }, "API_Key": REDACTED,
            "nested": [{ "accessToken": REDACTED, "plain": "shown" }], "mark": REDACTED
        });
        assert_eq!(redacted, expected);
    }

    #[test]
    fn circular_references_and_deep_arguments_end() {
        let schema = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#" } } });
        let deep = (0..1_000).fold(json!("shown"), |value, _| json!([value]));
        let redacted = SecretNames::default().redact(&deep, schema.as_object().unwrap());
        assert!(redacted.to_string().contains(REDACTED));
    }
}
