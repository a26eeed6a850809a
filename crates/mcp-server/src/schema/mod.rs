//! JSON Schema from types, in the shape that hosts accept.
//!
//! Hosts pass the schema of a tool to the API of a model, and these APIs support only a part of JSON Schema. The root must be an
//! object without `$ref` or a union, and every array must describe its items. Nullable types and the integer formats of a
//! programming language are not supported. The derive of schemars produces other forms. [`clean`] therefore rewrites each
//! subschema, and [`root`] rewrites the root. A rewritten schema is never stricter: it admits all arguments that the type
//! accepts.
//!
//! - An optional member is not required, and `null` is not advertised for it.
//! - Definitions are inlined, unless they are recursive.
//! - An enum of objects at the root becomes one object with the members of all variants.
//! - Doc comments on the variants of a fieldless enum move into its description.

mod clean;
mod enforced;
mod keywords;
mod nulls;
mod root;
#[cfg(test)]
mod tests;

use std::any::type_name;
use std::borrow::Cow;
use std::fmt;

use mcp_schema::Validator;
use mcp_types::JsonObject;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use self::keywords::strings;
pub(crate) use self::nulls::without_nulls;

/// Maximum number of violations in one error.
const MAX_VIOLATIONS: usize = 5;

/// Validates arguments or the content of a form.
///
/// # Errors
/// The text of the first violations.
pub(crate) fn validate(validator: &Validator, value: &Value) -> Result<(), String> {
    let violations = validator.violations(value, MAX_VIOLATIONS);
    let texts: Vec<String> = violations.iter().map(ToString::to_string).collect();
    match texts.is_empty() {
        true => Ok(()),
        false => Err(texts.join("; ")),
    }
}

/// The direction of the values that a schema describes: read from a peer, or written to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The server reads the values, and models write them.
    Input,
    /// The server reads the values, and users write them. Choices keep their titles.
    Form,
    /// The client reads the values, and the server writes them.
    Output,
}

/// The schema of arguments.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) schema: JsonObject,
    /// Whether the schema describes an object without members.
    pub(crate) is_empty: bool,
    /// Whether the decoder of the type rejects every value that the schema rejects.
    pub(crate) is_enforced: bool,
}

/// The schema of structured output.
#[derive(Debug)]
pub(crate) struct Output {
    /// The schema of the type, which may describe any value.
    pub(crate) schema: JsonObject,
    /// The schema inside `{"result": …}`, for revisions that require an object; `None` if the schema already describes an object.
    pub(crate) wrapped: Option<JsonObject>,
}

impl From<JsonObject> for Output {
    fn from(schema: JsonObject) -> Self {
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        Self {
            wrapped: (!is_object).then(|| root::wrapped(&schema)),
            schema,
        }
    }
}

/// The error for a type from which no usable schema can be derived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaError(String);

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SchemaError {}

/// Returns the schema of an argument type. Does not test whether the decoder of the type enforces the schema.
pub(crate) fn input<T: JsonSchema>() -> Result<Input, SchemaError> {
    input_of(&Derived::of::<T>(), Side::Input)
}

/// Returns the schema of a form.
pub(crate) fn form<T: JsonSchema>() -> Result<Input, SchemaError> {
    input_of(&Derived::of::<T>(), Side::Form)
}

/// Returns the schema of an argument type. Tests whether the decoder of the type enforces the schema.
pub(crate) fn arguments<T: JsonSchema + DeserializeOwned>() -> Result<Input, SchemaError> {
    let mut input = input::<T>()?;
    let accepts = |text: &str| mcp_jsonrpc::decode::<T>(text).is_ok();
    input.is_enforced = enforced::is_enforced(&input.schema, &accepts);
    Ok(input)
}

fn input_of(derived: &Derived, side: Side) -> Result<Input, SchemaError> {
    let mut schema = derived.generate(side);
    clean::clean(&mut schema, side);
    let schema = root::object(schema, side, &(derived.name)());
    let mut schema = schema.map_err(|found| {
        SchemaError(format!(
            "arguments must be a JSON object, but `{}` is {found}: use a struct with named fields",
            derived.type_name
        ))
    })?;
    // The recommended schema of a tool without parameters (server/tools#tool).
    let is_empty =
        !schema.contains_key("properties") && !schema.contains_key("additionalProperties");
    if is_empty {
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    with_properties(&mut schema);
    Ok(Input {
        schema,
        is_empty,
        is_enforced: false,
    })
}

/// Adds `properties` if it is missing. The specification does not require `properties`, but hosts and the APIs of models do.
pub(crate) fn with_properties(schema: &mut JsonObject) {
    let properties = schema.entry("properties");
    properties.or_insert_with(|| Value::Object(JsonObject::new()));
}

/// Returns the schema of a structured output type.
pub(crate) fn output<T: JsonSchema>() -> Output {
    output_of(&Derived::of::<T>())
}

fn output_of(derived: &Derived) -> Output {
    let mut raw = derived.generate(Side::Output);
    clean::clean(&mut raw, Side::Output);
    let object = root::object(raw.clone(), Side::Output, &(derived.name)());
    Output::from(object.unwrap_or_else(|_| match raw {
        Value::Object(schema) => schema,
        // The schema `true` admits any value, as the empty schema does.
        _ => JsonObject::new(),
    }))
}

/// The functions that derive the schema of a type. They are function pointers, so that the code that rewrites schemas is compiled
/// only once.
struct Derived {
    root: fn(SchemaGenerator) -> Schema,
    name: fn() -> Cow<'static, str>,
    type_name: &'static str,
}

impl Derived {
    fn of<T: JsonSchema>() -> Self {
        Self {
            root: SchemaGenerator::into_root_schema_for::<T>,
            name: T::schema_name,
            type_name: type_name::<T>(),
        }
    }

    fn generate(&self, side: Side) -> Value {
        let mut settings = SchemaSettings::draft2020_12();
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        let settings = match side {
            Side::Input | Side::Form => settings.for_deserialize(),
            Side::Output => settings.for_serialize(),
        };
        (self.root)(settings.into_generator()).to_value()
    }
}

/// Calls `visit` on each direct subschema of this schema.
fn for_each_schema(schema: &mut JsonObject, visit: &mut dyn FnMut(&str, &str, &mut Value)) {
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
                | "definitions",
                Value::Object(members),
            ) => {
                for (name, schema) in members {
                    visit(keyword, name, schema);
                }
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                for schema in schemas {
                    visit(keyword, "", schema);
                }
            }
            (
                "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contentSchema"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else",
                schema,
            ) => visit(keyword, "", schema),
            _ => {}
        }
    }
}
