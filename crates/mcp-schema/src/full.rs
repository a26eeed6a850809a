//! The full engine: the `jsonschema` crate, without its resolvers and with linear regular
//! expressions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError};
use serde_json::Value;

use super::dialect::Dialect;
use super::graph::Graph;
use super::{Origin, SchemaError, Violation, words};

/// Maximum size of one compiled regular expression, in bytes.
const PATTERN_BYTES: usize = 256 * 1024;
/// Maximum total size of the compiled regular expressions in a schema from a peer, in bytes.
const PATTERNS_BYTES: usize = 4 << 20;
/// Maximum number of steps for which the position of a violation is reported. To find the position, the engine collects the
/// errors of all alternatives, which takes memory.
const DETAILED_STEPS: u64 = 100_000;

pub(super) struct Engine(jsonschema::Validator);

impl Engine {
    pub(super) fn compile(
        root: &Value,
        dialect: Dialect,
        graph: &Graph,
        origin: Origin,
    ) -> Result<Self, SchemaError> {
        let pattern_bytes = match origin {
            Origin::Own => PATTERN_BYTES,
            Origin::Foreign => PATTERN_BYTES.min(PATTERNS_BYTES / graph.patterns.max(1)),
        };
        let patterns = PatternOptions::regex()
            .size_limit(pattern_bytes)
            .dfa_size_limit(pattern_bytes);
        let options = jsonschema::options()
            .with_draft(draft(dialect))
            .with_pattern_options(patterns)
            // In 2020-12, `format` is an annotation. This crate treats it so in all dialects.
            .should_validate_formats(false)
            .offline();
        // The `jsonschema` crate panics if two schemas inside `root` have the same `$id`.
        match catch_unwind(AssertUnwindSafe(|| options.build(root))) {
            Ok(Ok(validator)) => Ok(Self(validator)),
            Ok(Err(error)) => Err(refused(&error, pattern_bytes)),
            Err(_) => Err(SchemaError::new(
                "the schema uses the same \"$id\" for different schemas: make each \"$id\" unique",
            )),
        }
    }

    /// Checks a value against the schema.
    ///
    /// # Errors
    /// The value does not match the schema. The list has the first violations, at most `max`.
    pub(super) fn check(
        &self,
        value: &Value,
        steps: u64,
        max: usize,
    ) -> Result<(), Vec<Violation>> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        if steps > DETAILED_STEPS {
            return Err(vec![Violation::here(
                "does not match the schema; the value is too large to report the position",
            )]);
        }
        let errors = self.0.iter_errors(value).take(max);
        let violations: Vec<Violation> = errors.map(|error| violation(&error)).collect();
        match violations.is_empty() {
            true => Ok(()),
            false => Err(violations),
        }
    }
}

fn draft(dialect: Dialect) -> jsonschema::Draft {
    match dialect {
        Dialect::Draft4 => jsonschema::Draft::Draft4,
        Dialect::Draft6 => jsonschema::Draft::Draft6,
        Dialect::Draft7 => jsonschema::Draft::Draft7,
        Dialect::Draft201909 => jsonschema::Draft::Draft201909,
        Dialect::Draft202012 => jsonschema::Draft::Draft202012,
    }
}

/// Converts the engine's error for a schema that violates its dialect, or that refers to another schema document.
fn refused(error: &ValidationError<'_>, pattern_bytes: usize) -> SchemaError {
    let at = error.instance_path().as_str();
    if let ValidationErrorKind::Referencing(error) = error.kind() {
        return SchemaError::new(format!(
            "a reference cannot be resolved: {error}; only references inside the schema are \
             resolved, so copy the target to \"$defs\""
        ));
    }
    let pattern = ["/pattern", "/patternProperties"];
    if pattern.iter().any(|keyword| at.ends_with(keyword)) || at.contains("/patternProperties/") {
        return SchemaError::new(format!(
            "the regular expression at {at:?} is not supported: {}; look-around and \
             back-references are not available, and a compiled expression has at most \
             {pattern_bytes} bytes",
            words::describe(error.instance())
        ));
    }
    let Violation { pointer, message } = violation(error);
    SchemaError::new(format!(
        "the schema is malformed at {pointer:?}: {message}; correct it, or name its dialect with \
         \"$schema\""
    ))
}

fn violation(error: &ValidationError<'_>) -> Violation {
    use ValidationErrorKind as Kind;
    let value = error.instance().as_ref();
    let message = match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } if !context.is_empty() => {
            let first = context.iter().filter_map(|errors| errors.first());
            return words::no_alternative(first.map(violation));
        }
        Kind::OneOfMultipleValid { .. } => words::too_many_alternatives().to_owned(),
        Kind::Type { kind } => match kind {
            TypeKind::Single(name) => words::wrong_type([name.as_str()].into_iter(), value),
            TypeKind::Multiple(names) => {
                words::wrong_type(names.iter().map(|name| name.as_str()), value)
            }
        },
        Kind::Required { property } => words::missing(property.as_str().unwrap_or_default()),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            words::unexpected(unexpected.first().map_or("", String::as_str))
        }
        Kind::PropertyNames { error } => words::bad_name(&violation(error).message),
        Kind::Enum { options } => {
            words::not_among(options.as_array().map_or(&[], Vec::as_slice), value)
        }
        Kind::Constant { expected_value } => {
            words::not_among(std::slice::from_ref(expected_value.as_ref()), value)
        }
        Kind::Minimum { limit } => words::bound(value, "of at least", limit),
        Kind::Maximum { limit } => words::bound(value, "of at most", limit),
        Kind::ExclusiveMinimum { limit } => words::bound(value, "above", limit),
        Kind::ExclusiveMaximum { limit } => words::bound(value, "below", limit),
        Kind::MinLength { limit } => words::count(length(value), "at least", *limit, "characters"),
        Kind::MaxLength { limit } => words::count(length(value), "at most", *limit, "characters"),
        Kind::MinItems { limit } => words::count(length(value), "at least", *limit, "items"),
        Kind::MaxItems { limit } => words::count(length(value), "at most", *limit, "items"),
        Kind::Pattern { pattern } => words::no_match(pattern, value),
        // These messages describe the schema; the value itself is masked.
        _ => words::clip_to(&error.masked().to_string(), words::LIST),
    };
    Violation {
        pointer: pointer(error.instance_path().as_str()),
        message,
    }
}

fn length(value: &Value) -> u64 {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    length as u64
}

/// Clips each name in a JSON pointer from the engine. The names are already escaped.
fn pointer(path: &str) -> String {
    let names: Vec<String> = path.split('/').map(words::clip).collect();
    names.join("/")
}
