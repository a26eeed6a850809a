//! Finds secrets in arguments by their schemas and names.

use serde_json::{Map, Value};

/// The text that replaces a secret.
const REDACTED: &str = "[redacted]";

/// Maximum depth of arguments. Deeper values are replaced as a whole.
const MAX_DEPTH: usize = 64;

/// Maximum number of schemas that apply to one value. If more schemas apply, the value is replaced.
const MAX_SCHEMAS: usize = 256;

/// The keywords that refer to another schema.
const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];

/// Texts that mark secrets. A member is a secret if its name contains one of these texts, after all characters that are not
/// letters or digits are removed from the name.
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
    "passcode",
    "pwd",
    "bearer",
    "jwt",
];

/// Names that mark secrets only as a whole, because they are parts of harmless words.
const WHOLE_NAMES: &[&str] = &["pass", "pat", "pin", "key", "auth", "otp", "creds"];

/// Texts in names of members that mark secrets, in addition to the default texts.
#[derive(Debug, Default)]
pub(super) struct SecretNames(Vec<String>);

impl SecretNames {
    pub(super) fn add(&mut self, name: &str) {
        self.0.push(normalized(name));
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        let name = normalized(name);
        let own = self.0.iter().map(String::as_str);
        let mut parts = own.chain(SECRET_NAMES.iter().copied());
        WHOLE_NAMES.contains(&&*name) || parts.any(|secret| name.contains(secret))
    }

    /// Replaces secrets in arguments. A value is a secret if its schema has `format: password`, `x-secret: true` or
    /// `writeOnly: true`, or if its name marks a secret.
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
        .filter(|c| c.is_alphanumeric())
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
        let is_known = schemas.iter().all(|schema| self.expand(schema, &mut all));
        if !is_known || depth > MAX_DEPTH || all.iter().any(|schema| is_secret(schema)) {
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

    /// Adds a schema and all schemas that apply to the same value. Returns `false` if there are too many schemas, or if a
    /// reference is not a JSON pointer within the schema.
    fn expand(&self, schema: &'a Value, all: &mut Vec<&'a Value>) -> bool {
        if all.iter().any(|known| std::ptr::eq(*known, schema)) {
            return true;
        }
        if all.len() >= MAX_SCHEMAS {
            return false;
        }
        all.push(schema);
        let references = REFERENCES.iter().filter_map(|keyword| schema.get(keyword));
        let targets: Option<Vec<_>> = references.map(|reference| self.target(reference)).collect();
        let lists = ["allOf", "anyOf", "oneOf"].map(|keyword| schema.get(keyword));
        let lists = lists.into_iter().flatten().filter_map(Value::as_array);
        let maps = ["dependentSchemas", "dependencies"].map(|keyword| schema.get(keyword));
        let maps = maps.into_iter().flatten().filter_map(Value::as_object);
        let single = ["if", "then", "else", "not"].map(|keyword| schema.get(keyword));
        let mut applied = single.into_iter().flatten().chain(lists.flatten());
        let Some(targets) = targets else {
            return false;
        };
        targets.into_iter().all(|target| self.expand(target, all))
            && applied.all(|branch| self.expand(branch, all))
            && maps
                .flat_map(Map::values)
                .all(|branch| self.expand(branch, all))
    }

    fn target(&self, reference: &Value) -> Option<&'a Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }
}

fn is_secret(schema: &Value) -> bool {
    let is_true = |keyword| schema.get(keyword) == Some(&Value::Bool(true));
    let is_password = schema
        .get("format")
        .is_some_and(|format| format == "password");
    is_password || is_true("x-secret") || is_true("writeOnly")
}

/// Returns the schemas of a member. Includes the schemas of all patterns, even if the name does not match: it is safer to redact
/// too much than too little. Includes the schemas of additional members only if no other schema is for this name.
fn members_of<'a>(schemas: &[&'a Value], name: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    for schema in schemas {
        let named = schema
            .get("properties")
            .and_then(|properties| properties.get(name));
        found.extend(named);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        found.extend(patterns.into_iter().flat_map(Map::values));
        if named.is_none() {
            found.extend(schema.get("additionalProperties"));
            found.extend(schema.get("unevaluatedProperties"));
        }
    }
    found
}

/// The keywords whose schemas apply to the items of an array.
const ITEMS: &[&str] = &[
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
];

fn items_of<'a>(schemas: &[&'a Value]) -> Vec<&'a Value> {
    let mut found = Vec::new();
    for schema in schemas {
        for keyword in ITEMS {
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
    fn secrets_are_found_below_every_schema_keyword() {
        let secret = json!({ "x-secret": true });
        let many: Vec<Value> = (0..200)
            .map(|number| json!({ "minimum": number }))
            .collect();
        for schema in [
            json!({ "properties": { "a": { "$ref": "#hidden" } }, "$defs": { "x": { "$anchor": "hidden", "x-secret": true } } }),
            json!({ "properties": { "a": { "$dynamicRef": "#hidden" } },
                "$defs": { "x": { "$dynamicAnchor": "hidden", "x-secret": true } } }),
            json!({ "properties": { "a": { "$ref": "hidden.json" } }, "$defs": { "x": { "$id": "hidden.json", "x-secret": true } } }),
            json!({ "properties": { "a": { "$ref": "https://example.com/secret" } } }),
            json!({ "properties": { "a": { "$ref": "#/$defs/a%20b" } }, "$defs": { "a b": secret } }),
            json!({ "dependentSchemas": { "b": { "properties": { "a": secret } } } }),
            json!({ "dependencies": { "b": { "properties": { "a": secret } } } }),
            json!({ "properties": { "a": { "type": "string" } }, "patternProperties": { "^a$": secret } }),
            json!({ "not": { "properties": { "a": secret } } }),
            json!({ "unevaluatedProperties": secret }),
            json!({ "properties": { "a": { "anyOf": [{ "allOf": many }, secret] } } }),
        ] {
            let arguments = json!({ "a": "1", "b": "shown" });
            let redacted = SecretNames::default().redact(&arguments, schema.as_object().unwrap());
            assert_eq!(redacted["a"], REDACTED, "{schema}");
        }
        for list in [
            json!({ "contains": secret }),
            json!({ "unevaluatedItems": secret }),
            json!({ "prefixItems": [{}], "additionalItems": secret }),
        ] {
            let schema = json!({ "properties": { "a": list } });
            let redacted =
                SecretNames::default().redact(&json!({ "a": ["1"] }), schema.as_object().unwrap());
            assert_eq!(redacted["a"], json!([REDACTED]), "{schema}");
        }
    }

    #[test]
    fn redaction_ends_for_circular_references_and_deep_arguments() {
        let schema = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#" } } });
        let deep = (0..1_000).fold(json!("shown"), |value, _| json!([value]));
        let redacted = SecretNames::default().redact(&deep, schema.as_object().unwrap());
        assert!(redacted.to_string().contains(REDACTED));
    }
}
