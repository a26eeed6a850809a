//! Bounded JSON Schema validation for the Model Context Protocol.
//!
//! A [`Validator`] is compiled once for each tool and used for every call. The feature selects one of
//! two engines:
//!
//! | | without a cargo feature | with the feature `validate` |
//! | --- | --- | --- |
//! | dialects | 2020-12, 2019-09, draft-07 | these, draft-06 and draft-04 |
//! | keywords | `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `allOf`, `anyOf`, `oneOf`, `$ref` inside the schema, `minimum`, `maximum`, `minLength`, `maxLength`, `minItems`, `maxItems` | all of the dialect |
//!
//! A schema without `$schema` is 2020-12. `format` and the other annotations are accepted and not
//! enforced. A keyword or a dialect that cannot be checked is an error of
//! [`compile`](Validator::compile); it is never ignored silently.
//!
//! Schemas of a peer are limited in size before they are compiled; see [`Origin`]. Before any schema
//! is applied to a value, an estimate checks that the work is bounded.
//!
//! Specification: [JSON Schema usage][usage].
//!
//! [usage]: https://modelcontextprotocol.io/specification/2025-11-25/basic#json-schema-usage

#![cfg_attr(docsrs, feature(doc_cfg))]

mod cost;
mod dialect;
mod error;
#[cfg(feature = "validate")]
mod full;
mod graph;
mod limits;
#[cfg(not(feature = "validate"))]
mod subset;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use serde_json::{Map, Value};

use self::cost::Cost;
use self::dialect::Dialect;
pub use self::error::{SchemaError, Violation};
#[cfg(feature = "validate")]
use self::full::Engine;
use self::graph::Graph;
pub use self::limits::Origin;
#[cfg(not(feature = "validate"))]
use self::subset::Engine;

/// A compiled JSON Schema, which validates JSON values.
///
/// ```
/// use mcp_schema::{Origin, Validator};
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"count": {"type": "integer", "minimum": 1}},
///     "required": ["count"],
/// });
/// let validator = Validator::compile(schema.as_object().unwrap(), Origin::Own)?;
/// assert!(validator.check(&json!({"count": 3})).is_ok());
///
/// let violation = validator.check(&json!({"count": "3"})).unwrap_err();
/// assert_eq!(
///     violation.to_string(),
///     r#"/count: expected an integer, got the string "3""#
/// );
/// # Ok::<(), mcp_schema::SchemaError>(())
/// ```
pub struct Validator {
    engine: Engine,
    cost: Cost,
}

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// The dialect is unknown, the schema is malformed or exceeds a limit, or it needs the cargo
    /// feature `validate`. The text names the keyword and what to change.
    pub fn compile(schema: &Map<String, Value>, origin: Origin) -> Result<Self, SchemaError> {
        let root = Value::Object(schema.clone());
        limits::check(&root, origin)?;
        let dialect = Dialect::of(schema)?;
        let graph = Graph::of(&root, dialect, origin)?;
        let cost = Cost::of(&graph)?;
        let engine = Engine::compile(&root, dialect, &graph, origin)?;
        Ok(Self { engine, cost })
    }

    /// Validates a value.
    ///
    /// # Errors
    /// The first violation, or an error if the value is too large for the complexity of the schema.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        match self.violations(value, 1).pop() {
            None => Ok(()),
            Some(violation) => Err(violation),
        }
    }

    /// Validates a value, and returns its first violations, at most `max`. A `max` of 0 is treated as 1. Several violations let
    /// the author of the value correct all of them at once. The first violations of all alternatives (`anyOf`, `oneOf`) are
    /// combined into one.
    ///
    /// The value is valid if the list is empty. A value that is too large for the complexity of the schema has one violation that says so.
    #[must_use]
    pub fn violations(&self, value: &Value, max: usize) -> Vec<Violation> {
        let max = max.max(1);
        let checked = match self.cost.admit(value) {
            Ok(steps) => self.engine.check(value, steps, max),
            Err(violation) => Err(vec![violation]),
        };
        let mut violations = checked.err().unwrap_or_default();
        violations.truncate(max);
        violations
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator")
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}
