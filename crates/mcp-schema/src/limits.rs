//! The size of a schema, before anything is built from it.

use std::io;

use serde_json::Value;

use super::{Origin, SchemaError};

/// Most bytes of a peer's schema.
const BYTES: usize = 256 * 1024;
/// Most levels of a peer's schema.
const DEPTH: usize = 64;
/// Most levels of any schema: it is walked by recursion.
const OWN_DEPTH: usize = 128;

pub(super) fn check(schema: &Value, origin: Origin) -> Result<(), SchemaError> {
    let most = match origin {
        Origin::Own => OWN_DEPTH,
        Origin::Foreign => DEPTH,
    };
    if is_deeper(schema, most) {
        return Err(SchemaError::new(format!(
            "the schema is nested more than {most} levels: move parts of it to \"$defs\""
        )));
    }
    if origin == Origin::Foreign && serde_json::to_writer(Left(BYTES), schema).is_err() {
        return Err(SchemaError::new(format!(
            "the schema is larger than {BYTES} bytes: shorten it"
        )));
    }
    Ok(())
}

fn is_deeper(value: &Value, most: usize) -> bool {
    let below = |value: &Value| is_deeper(value, most - 1);
    match value {
        Value::Array(_) | Value::Object(_) if most == 0 => true,
        Value::Array(items) => items.iter().any(below),
        Value::Object(members) => members.values().any(below),
        _ => false,
    }
}

/// Counts what is written and refuses more than was left.
struct Left(usize);

impl io::Write for Left {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
