//! Validation of a value by a compiled schema.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{Id, Node, Range, Type};
use crate::{Violation, words};

/// Maximum number of times that a schema is applied while one value is checked.
const STEPS: u64 = 10_000_000;
/// Maximum length of a chain of schemas in which each schema applies the next schema.
const DEPTH: u32 = 1_024;

/// Returns the first violations, at most `max`.
pub(super) fn run(nodes: &[Node], value: &Value, max: usize) -> Result<(), Vec<Violation>> {
    let mut run = Run {
        nodes,
        steps: STEPS,
        depth: DEPTH,
        max,
    };
    run.check(0, value).map_err(|fail| match fail {
        Fail::Violations(violations) => violations,
        Fail::Budget => vec![Violation::here(
            "the value takes too long to check against this schema: send a smaller or flatter value",
        )],
    })
}

struct Run<'a> {
    nodes: &'a [Node],
    steps: u64,
    depth: u32,
    /// Maximum number of violations to find, at least 1.
    max: usize,
}

enum Fail {
    /// The value has these violations. The list has at least one violation.
    Violations(Vec<Violation>),
    /// The step limit was reached. This is a separate variant, because an alternative that was not checked to its end must not be
    /// treated as a mismatch.
    Budget,
}

impl Fail {
    fn inside(self, name: &str) -> Self {
        match self {
            Self::Violations(mut violations) => {
                let segment = format!("/{}", words::segment(name));
                for violation in &mut violations {
                    violation.pointer.insert_str(0, &segment);
                }
                Self::Violations(violations)
            }
            Self::Budget => Self::Budget,
        }
    }
}

/// The violations of the members of an object, or of the items of an array.
struct ViolationList {
    violations: Vec<Violation>,
    max: usize,
}

impl ViolationList {
    /// Adds the violations of a member.
    ///
    /// # Errors
    /// The check must end, because there are enough violations or a limit was reached.
    fn add(&mut self, checked: Result<(), Fail>) -> Result<(), Fail> {
        match checked {
            Ok(()) => return Ok(()),
            Err(Fail::Violations(more)) => self.violations.extend(more),
            Err(Fail::Budget) if self.violations.is_empty() => return Err(Fail::Budget),
            Err(Fail::Budget) => self.max = 0,
        }
        match self.violations.len() < self.max {
            true => Ok(()),
            false => self.end(),
        }
    }

    /// Returns all added violations as an error, if there are any.
    fn end(&mut self) -> Result<(), Fail> {
        let violations = std::mem::take(&mut self.violations);
        match violations.is_empty() {
            true => Ok(()),
            false => Err(Fail::Violations(violations)),
        }
    }
}

fn fail(message: impl Into<String>) -> Result<(), Fail> {
    Err(Fail::Violations(vec![Violation::here(message)]))
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
        let mut found = self.found();
        for name in &node.required {
            if !members.contains_key(name) {
                found.add(fail(words::missing(name)))?;
            }
        }
        for (name, member) in members {
            let Some(id) = node.properties.get(name).copied().or(node.additional) else {
                continue;
            };
            found.add(match self.nodes[id].never {
                true => fail(words::unexpected(name)),
                false => self.check(id, member).map_err(|fail| fail.inside(name)),
            })?;
        }
        found.end()
    }

    fn array(&mut self, node: &Node, items: &[Value]) -> Result<(), Fail> {
        within(&node.count, || items.len(), "items")?;
        let Some(id) = node.items else {
            return Ok(());
        };
        let mut found = self.found();
        for (index, item) in items.iter().enumerate() {
            let checked = self.check(id, item);
            found.add(checked.map_err(|fail| fail.inside(&index.to_string())))?;
        }
        found.end()
    }

    fn found(&self) -> ViolationList {
        ViolationList {
            violations: Vec::new(),
            max: self.max,
        }
    }

    /// Counts the alternatives that match the value. Stops when `enough` alternatives match.
    ///
    /// # Errors
    /// No alternative matches.
    fn count(&mut self, ids: &[Id], value: &Value, enough: usize) -> Result<usize, Fail> {
        let mut fits = 0;
        let mut violations = Vec::new();
        for &id in ids {
            // The first violation of each alternative is enough.
            let max = std::mem::replace(&mut self.max, 1);
            let checked = self.check(id, value);
            self.max = max;
            match checked {
                Ok(()) => fits += 1,
                Err(Fail::Violations(found)) => violations.extend(found),
                Err(Fail::Budget) => return Err(Fail::Budget),
            }
            if fits == enough {
                return Ok(fits);
            }
        }
        if fits == 0 && !violations.is_empty() {
            let violation = words::no_alternative(violations.into_iter());
            return Err(Fail::Violations(vec![violation]));
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

/// Returns whether two values are equal as in JSON Schema: 1 equals 1.0.
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
