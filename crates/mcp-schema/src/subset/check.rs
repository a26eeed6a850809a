//! Validation of a value by a compiled schema.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{Id, Node, Range, Type};
use crate::{Violation, words};

/// Maximum number of schemas applied to one value.
const STEPS: u64 = 10_000_000;
/// Maximum depth of nested schemas.
const DEPTH: u32 = 1_024;

pub(super) fn run(nodes: &[Node], value: &Value) -> Result<(), Violation> {
    let mut run = Run {
        nodes,
        steps: STEPS,
        depth: DEPTH,
    };
    run.check(0, value).map_err(|fail| match fail {
        Fail::Violation(violation) => violation,
        Fail::Budget => Violation::here(
            "the value takes too long to check against this schema: send a smaller or flatter one",
        ),
    })
}

struct Run<'a> {
    nodes: &'a [Node],
    steps: u64,
    depth: u32,
}

enum Fail {
    Violation(Violation),
    /// The step limit was reached. Separate, because an undecided alternative must not count as a
    /// mismatch.
    Budget,
}

impl Fail {
    fn inside(self, name: &str) -> Self {
        match self {
            Self::Violation(mut violation) => {
                let segment = format!("/{}", words::segment(name));
                violation.pointer.insert_str(0, &segment);
                Self::Violation(violation)
            }
            Self::Budget => Self::Budget,
        }
    }
}

fn fail(message: impl Into<String>) -> Result<(), Fail> {
    Err(Fail::Violation(Violation::here(message)))
}

impl Run<'_> {
    fn check(&mut self, id: Id, value: &Value) -> Result<(), Fail> {
        if self.steps == 0 || self.depth == 0 {
            return Err(Fail::Budget);
        }
        self.steps -= 1;
        self.depth -= 1;
        let outcome = self.node(&self.nodes[id], value);
        self.depth += 1;
        outcome
    }

    fn node(&mut self, node: &Node, value: &Value) -> Result<(), Fail> {
        if node.never {
            return fail("no value is allowed here");
        }
        if !node.types.is_empty() && !node.types.iter().any(|kind| is(*kind, value)) {
            let names = node.types.iter().map(|kind| kind.name());
            return fail(words::wrong_type(names, value));
        }
        choice(node, value)?;
        match value {
            Value::Object(members) => self.object(node, members)?,
            Value::Array(items) => self.array(node, items)?,
            Value::String(text) => {
                within(&node.length, || text.chars().count(), "characters")?;
            }
            Value::Number(number) => bounds(node, number, value)?,
            Value::Null | Value::Bool(_) => {}
        }
        for &id in &node.all {
            self.check(id, value)?;
        }
        self.count(&node.any, value, 1)?;
        if self.count(&node.one, value, 2)? > 1 {
            return fail(words::too_many_alternatives());
        }
        Ok(())
    }

    fn object(&mut self, node: &Node, members: &Map<String, Value>) -> Result<(), Fail> {
        for name in &node.required {
            if !members.contains_key(name) {
                return fail(words::missing(name));
            }
        }
        for (name, member) in members {
            let Some(id) = node.properties.get(name).copied().or(node.additional) else {
                continue;
            };
            if self.nodes[id].never {
                return fail(words::unexpected(name));
            }
            self.check(id, member).map_err(|fail| fail.inside(name))?;
        }
        Ok(())
    }

    fn array(&mut self, node: &Node, items: &[Value]) -> Result<(), Fail> {
        within(&node.count, || items.len(), "items")?;
        let Some(id) = node.items else {
            return Ok(());
        };
        for (index, item) in items.iter().enumerate() {
            self.check(id, item)
                .map_err(|fail| fail.inside(&index.to_string()))?;
        }
        Ok(())
    }

    /// Counts the alternatives that match, up to `enough`.
    ///
    /// # Errors
    /// None of them matches.
    fn count(&mut self, ids: &[Id], value: &Value, enough: usize) -> Result<usize, Fail> {
        let mut fits = 0;
        let mut violations = Vec::new();
        for &id in ids {
            match self.check(id, value) {
                Ok(()) => fits += 1,
                Err(Fail::Violation(violation)) => violations.push(violation),
                Err(Fail::Budget) => return Err(Fail::Budget),
            }
            if fits == enough {
                return Ok(fits);
            }
        }
        if fits == 0 && !violations.is_empty() {
            let violation = words::no_alternative(violations.into_iter());
            return Err(Fail::Violation(violation));
        }
        Ok(fits)
    }
}

fn choice(node: &Node, value: &Value) -> Result<(), Fail> {
    if let Some(options) = &node.options
        && !options.iter().any(|option| same(option, value))
    {
        return fail(words::not_among(options, value));
    }
    if let Some(constant) = &node.constant
        && !same(constant, value)
    {
        return fail(words::not_among(std::slice::from_ref(constant), value));
    }
    Ok(())
}

fn is(kind: Type, value: &Value) -> bool {
    match kind {
        Type::Array => value.is_array(),
        Type::Boolean => value.is_boolean(),
        // JSON Schema: 1.0 is an integer.
        Type::Integer => match value {
            Value::Number(number) => {
                number.is_i64()
                    || number.is_u64()
                    || number.as_f64().is_some_and(|n| n.fract() == 0.0)
            }
            _ => false,
        },
        Type::Null => value.is_null(),
        Type::Number => value.is_number(),
        Type::Object => value.is_object(),
        Type::String => value.is_string(),
    }
}

fn within(range: &Range, length: impl Fn() -> usize, unit: &str) -> Result<(), Fail> {
    if range.min.is_none() && range.max.is_none() {
        return Ok(());
    }
    let n = length() as u64;
    match (range.min, range.max) {
        (Some(min), _) if n < min => fail(words::count(n, "at least", min, unit)),
        (_, Some(max)) if n > max => fail(words::count(n, "at most", max, unit)),
        _ => Ok(()),
    }
}

fn bounds(node: &Node, number: &Number, value: &Value) -> Result<(), Fail> {
    match (&node.minimum, &node.maximum) {
        (Some(min), _) if compare(number, min) == Some(Ordering::Less) => {
            fail(words::bound(value, "of at least", min))
        }
        (_, Some(max)) if compare(number, max) == Some(Ordering::Greater) => {
            fail(words::bound(value, "of at most", max))
        }
        _ => Ok(()),
    }
}

/// Compares integers exactly, and other numbers as floats.
fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// Equality as in JSON Schema: 1 equals 1.0.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            compare(left, right) == Some(Ordering::Equal)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, l)| right.get(name).is_some_and(|r| same(l, r)))
        }
        _ => left == right,
    }
}
