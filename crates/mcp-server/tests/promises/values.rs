//! Values that match a schema, and values that just miss it; the same in each run.

use serde_json::{Map, Value, json};

/// A generator of pseudo-random numbers (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Returns a value that matches the schema.
pub(crate) fn matching(schema: &Value, root: &Value, random: &mut Random, depth: usize) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        return matching(target, root, random, depth);
    }
    if let Some(choices) = schema["enum"].as_array() {
        return random.pick(choices).clone();
    }
    let mut value = of_type(schema, root, random, depth);
    for all in schema["allOf"].as_array().into_iter().flatten() {
        merge(&mut value, matching(all, root, random, depth));
    }
    for union in ["anyOf", "oneOf"] {
        if let Some(alternatives) = schema[union].as_array() {
            // The last alternatives of recursive types are the deepest ones.
            let at = if depth > 4 {
                0
            } else {
                random.below(alternatives.len())
            };
            merge(&mut value, matching(&alternatives[at], root, random, depth));
        }
    }
    value
}

fn merge(value: &mut Value, other: Value) {
    match (value, other) {
        (Value::Object(members), Value::Object(more)) => members.extend(more),
        (value, other) => *value = other,
    }
}

fn of_type(schema: &Value, root: &Value, random: &mut Random, depth: usize) -> Value {
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        Value::Null if schema.get("properties").is_some() => vec![json!("object")],
        kind => vec![kind.clone()],
    };
    match random.pick(&kinds).as_str() {
        Some("object") => object(schema, root, random, depth),
        Some("array") => {
            let min = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap();
            let max = schema["maxItems"]
                .as_u64()
                .map_or(min + 3, |max| usize::try_from(max).unwrap());
            let count = if depth > 4 {
                min
            } else {
                min + random.below(max - min + 1)
            };
            let item = |_| matching(&schema["items"], root, random, depth + 1);
            (0..count).map(item).collect()
        }
        Some("string") => string(schema, random),
        Some("integer") => integer(schema, random),
        Some("number") => json!(random.below(2_000) as f64 / 4.0 - 100.0),
        Some("boolean") => json!(random.below(2) == 0),
        Some("null") => Value::Null,
        _ => random
            .pick(&[json!("any"), json!(1), json!([true])])
            .clone(),
    }
}

fn object(schema: &Value, root: &Value, random: &mut Random, depth: usize) -> Value {
    let mut members = Map::new();
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if required.contains(&&**name) || (depth < 5 && random.below(3) > 0) {
            members.insert(name.clone(), matching(schema, root, random, depth + 1));
        }
    }
    let others = &schema["additionalProperties"];
    if others.is_object() && depth < 5 {
        for n in 0..random.below(3) {
            members.insert(format!("{n}"), matching(others, root, random, depth + 1));
        }
    }
    members.into()
}

fn string(schema: &Value, random: &mut Random) -> Value {
    if schema["format"] == "ip" {
        return json!("127.0.0.1");
    }
    let min = usize::try_from(schema["minLength"].as_u64().unwrap_or(0)).unwrap();
    let max = schema["maxLength"]
        .as_u64()
        .map_or(min + 4, |max| usize::try_from(max).unwrap());
    let count = min + random.below(max - min + 1);
    (0..count)
        .map(|_| *random.pick(&['a', 'é', '1', '"', ' ']))
        .collect::<String>()
        .into()
}

fn integer(schema: &Value, random: &mut Random) -> Value {
    let (min, max) = (&schema["minimum"], &schema["maximum"]);
    let zero = json!(0);
    let small = json!(1 + random.below(100));
    let fits = |value: &&Value| {
        min.as_f64()
            .is_none_or(|min| value.as_f64().unwrap() >= min)
            && max
                .as_f64()
                .is_none_or(|max| value.as_f64().unwrap() <= max)
    };
    let limits = [min, max, &small, &small, &zero];
    let is_integer = |value: &&Value| value.is_i64() || value.is_u64();
    let all: Vec<&Value> = limits.into_iter().filter(is_integer).filter(fits).collect();
    (*random.pick(&all)).clone()
}

/// Returns the value with one change: another type, a fraction, a number outside of the limits, a member less or more.
pub(crate) fn changed(value: &Value, random: &mut Random) -> Value {
    let mut value = value.clone();
    let count = nodes(&mut value, &mut |_, _| ());
    let at = random.below(count);
    nodes(&mut value, &mut |index, value| {
        if index == at {
            change(value, random);
        }
    });
    value
}

/// Calls `visit` with each value inside of this one and its number, and returns how many there are.
fn nodes(value: &mut Value, visit: &mut dyn FnMut(usize, &mut Value)) -> usize {
    fn walk(value: &mut Value, count: &mut usize, visit: &mut dyn FnMut(usize, &mut Value)) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, count, visit)),
            Value::Object(members) => members
                .values_mut()
                .for_each(|item| walk(item, count, visit)),
            _ => {}
        }
        visit(*count, value);
        *count += 1;
    }
    let mut count = 0;
    walk(value, &mut count, visit);
    count
}

fn change(value: &mut Value, random: &mut Random) {
    let others = [
        json!(true),
        json!(0),
        json!(1),
        json!(2.0),
        json!(2.5),
        json!(-1),
        json!(1e3),
        json!(-0.0),
        json!(u64::MAX),
        json!(1e30),
        json!(""),
        json!("1"),
        json!("other"),
        json!([]),
        json!([1, 2]),
        json!({}),
        json!({"a": null}),
        Value::Null,
    ];
    match value {
        Value::Object(members) if random.below(3) > 0 => {
            let names: Vec<String> = members.keys().cloned().collect();
            match random.below(3) {
                0 if !names.is_empty() => drop(members.shift_remove(random.pick(&names))),
                1 => drop(members.insert("unknown".to_owned(), random.pick(&others).clone())),
                // As a list, as decoders of structs accept it.
                _ => *value = members.values().cloned().collect(),
            }
        }
        Value::String(text) if random.below(4) == 0 => *value = json!({ &**text: null }),
        Value::Number(number) if random.below(3) == 0 => {
            // Above 2^53, a number with an exponent is not the integer that it is near to.
            let number = number.as_f64().unwrap() % 2_f64.powi(40);
            *value = json!(number * *random.pick(&[1.0, -1.0, 2.0, 1e3]));
        }
        value => *value = random.pick(&others).clone(),
    }
}
