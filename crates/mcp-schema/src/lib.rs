//! JSON Schema: does this value keep the promise that was advertised?
//!
//! A [`Validator`] is compiled once, when a tool is registered or learnt, and asked for every
//! call. Two engines stand behind it:
//!
//! | | without a cargo feature | with the feature `validate` |
//! | --- | --- | --- |
//! | dialects | 2020-12, 2019-09, draft-07 | these, draft-06 and draft-04 |
//! | keywords | `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `allOf`, `anyOf`, `oneOf`, `$ref` inside the schema, `minimum`, `maximum`, `minLength`, `maxLength`, `minItems`, `maxItems` | all of the dialect |
//!
//! A schema without `$schema` is 2020-12. `format` and the other annotations are read and not
//! enforced. A keyword or a dialect that cannot be checked is an error of
//! [`compile`](Validator::compile), never a promise that is silently not kept.
//!
//! Schemas of a peer are bounded before they are compiled, and no schema, whoever wrote it, is
//! run on a value before an estimate says that the work is bounded: see [`Origin`].
//!
//! Specification: [JSON Schema usage][usage].
//!
//! [usage]: https://modelcontextprotocol.io/specification/2025-11-25/basic#json-schema-usage

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
#[cfg(not(feature = "validate"))]
use self::subset::Engine;

/// Who wrote a schema, which decides how far it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// This program.
    Own,
    /// A peer: at most 256 KiB, 64 levels, 1,000 references and 256 patterns, and every
    /// reference has to stay inside the schema.
    Foreign,
}

/// Checks JSON values against a JSON Schema. Compiled once.
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
    /// The dialect is unknown, the schema is malformed or beyond a limit, or it needs the cargo
    /// feature `validate`. The text names the keyword and what to change.
    pub fn compile(schema: &Map<String, Value>, origin: Origin) -> Result<Self, SchemaError> {
        let root = Value::Object(schema.clone());
        limits::check(&root, origin)?;
        let dialect = Dialect::of(schema)?;
        let graph = Graph::of(&root, dialect, origin)?;
        let cost = Cost::of(&graph)?;
        let engine = Engine::compile(&root, dialect)?;
        Ok(Self { engine, cost })
    }

    /// Checks a value.
    ///
    /// # Errors
    /// The first violation found, or that the value is too large for a schema this entangled.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        let steps = self.cost.admit(value)?;
        self.engine.check(value, steps)
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator")
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}
