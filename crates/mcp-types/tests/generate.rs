//! Random JSON that a schema definition permits.
//!
//! The choices come from a list of numbers that proptest draws and shrinks, so a failure shrinks to
//! small JSON.

use serde_json::{Map, Number, Value, json};

use crate::support::Schema;

/// Generates values for the definitions of one schema.
pub(crate) struct Generator<'a> {
    schema: &'a Schema,
    choices: &'a [u32],
    next: usize,
}

impl<'a> Generator<'a> {
    /// Creates a generator with a list of choices.
    pub(crate) fn new(schema: &'a Schema, choices: &'a [u32]) -> Self {
        Self {
            schema,
            choices,
            next: 0,
        }
    }

    /// Returns a value below `bound`; zero after the end of the list, so that every value is
    /// finite.
    fn below(&mut self, bound: usize) -> usize {
        let choice = self.choices.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        choice as usize % bound.max(1)
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Returns a value that the schema permits.
    pub(crate) fn value(&mut self, schema: &Value) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.value(self.schema.resolve(reference));
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        for keyword in ["enum", "anyOf"] {
            if let Some(choices) = schema[keyword].as_array() {
                let choice = &choices[self.below(choices.len())];
                return if keyword == "enum" {
                    choice.clone()
                } else {
                    self.value(choice)
                };
            }
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let closed: Vec<Value> = parts.iter().map(|part| self.schema.closed(part)).collect();
            let parts = closed.iter().map(|part| self.value(part));
            let members = parts.flat_map(|part| part.as_object().unwrap().clone());
            return members.collect::<Map<_, _>>().into();
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::String(single) => vec![single],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => return self.anything(2),
        };
        match types[self.below(types.len())] {
            "null" => Value::Null,
            "boolean" => self.coin().into(),
            "integer" => self.integer(types.contains(&"string")),
            "number" => self.number(schema),
            "string" => self.string(schema),
            "array" => (0..self.below(4))
                .map(|_| self.value(&schema["items"]))
                .collect(),
            "object" => self.object(schema),
            other => panic!("no rule for type {other}"),
        }
    }

    /// Ids and tokens, the only integers in a union of types, may be negative; counts may not.
    fn integer(&mut self, negative: bool) -> Value {
        let magnitude = [0, 1, 42, 4_294_967_296, 9_007_199_254_740_993, i64::MAX];
        let number = magnitude[self.below(magnitude.len())];
        if negative && self.coin() {
            (-number).into()
        } else {
            number.into()
        }
    }

    fn number(&mut self, schema: &Value) -> Value {
        if schema["maximum"] == 1 {
            return [json!(0), json!(0.25), json!(0.5), json!(1)][self.below(4)].clone();
        }
        [
            json!(0),
            json!(3),
            json!(3.5),
            json!(-7),
            json!(1e-3),
            json!(12345.75),
        ][self.below(6)]
        .clone()
    }

    fn string(&mut self, schema: &Value) -> Value {
        let choices: &[&str] = match schema["format"].as_str() {
            Some("uri") => &[
                "https://example.test/a?b=c",
                "file:///tmp/x",
                "urn:isbn:0451450523",
            ],
            Some("uri-template") => &["file:///{path}", "https://example.test/{+a}{?b}"],
            Some("byte") => &["", "aGk=", "AAECAwQ="],
            _ => &[
                "",
                "a",
                "text",
                "two\nlines",
                "\"quoted\" \\ \u{7f}",
                "größe 漢字 🦀",
                "null",
                "\u{0}",
            ],
        };
        choices[self.below(choices.len())].into()
    }

    fn object(&mut self, schema: &Value) -> Value {
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut members = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&name.as_str()) || self.coin() {
                members.insert(name.clone(), self.value(property));
            }
        }
        let extra = match &schema["additionalProperties"] {
            Value::Null | Value::Bool(false) => return members.into(),
            extra => extra,
        };
        for name in &["x", "com.example/y", "größe"][..self.below(4)] {
            let value = if extra.is_object() {
                self.value(extra)
            } else {
                self.anything(2)
            };
            members.insert((*name).to_owned(), value);
        }
        members.into()
    }

    fn anything(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => self.coin().into(),
            2 => Value::Number(Number::from(self.below(1000))),
            3 => json!(-0.5),
            4 => self.string(&Value::Null),
            5 => (0..self.below(3))
                .map(|_| self.anything(depth - 1))
                .collect(),
            _ => (0..self.below(3))
                .map(|index| (format!("k{index}"), self.anything(depth - 1)))
                .collect::<Map<_, _>>()
                .into(),
        }
    }
}
