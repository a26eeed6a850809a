//! The limits on the size of a schema. They depend on the author of the schema. They are checked before the schema is compiled.

use std::io;

use serde_json::Value;

use super::SchemaError;

/// Maximum size of a schema from a peer, in bytes.
const MAX_FOREIGN_BYTES: usize = 256 * 1024;
/// Maximum number of arrays and objects in a schema from a peer.
const MAX_FOREIGN_CONTAINERS: usize = 8_192;
/// Maximum nesting depth of a schema from a peer.
const MAX_FOREIGN_DEPTH: usize = 64;
/// Maximum nesting depth of any schema. The limit protects the stack, because schemas are traversed by recursion.
const MAX_DEPTH: usize = 128;

/// The author of a schema: this program or a peer. Only schemas of this program are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// This program wrote the schema, so it is trusted.
    Own,
    /// A peer wrote the schema. It may have at most 256 KiB, 8,192 arrays and objects, 64 levels, 1,000 references and 256
    /// patterns. All compiled patterns together are limited to 4 MiB. References must stay inside the schema.
    Foreign,
}

pub(super) fn check(schema: &Value, origin: Origin) -> Result<(), SchemaError> {
    let max = match origin {
        Origin::Own => MAX_DEPTH,
        Origin::Foreign => MAX_FOREIGN_DEPTH,
    };
    if is_deeper(schema, max) {
        return Err(SchemaError::new(format!(
            "the schema is nested more than {max} levels: move parts of it to \"$defs\""
        )));
    }
    if origin == Origin::Foreign
        && serde_json::to_writer(ByteBudget(MAX_FOREIGN_BYTES), schema).is_err()
    {
        return Err(SchemaError::new(format!(
            "the schema is larger than {MAX_FOREIGN_BYTES} bytes: shorten it"
        )));
    }
    if origin == Origin::Foreign && containers(schema) > MAX_FOREIGN_CONTAINERS {
        return Err(SchemaError::new(format!(
            "the schema has more than {MAX_FOREIGN_CONTAINERS} arrays and objects: move repeated parts of it to \
             \"$defs\""
        )));
    }
    Ok(())
}

fn containers(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(containers).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(containers).sum::<usize>(),
        _ => 0,
    }
}

fn is_deeper(value: &Value, max: usize) -> bool {
    let below = |value: &Value| is_deeper(value, max - 1);
    match value {
        Value::Array(_) | Value::Object(_) if max == 0 => true,
        Value::Array(items) => items.iter().any(below),
        Value::Object(members) => members.values().any(below),
        _ => false,
    }
}

/// A writer that only counts bytes. It fails when more bytes are written than the budget allows.
struct ByteBudget(usize);

impl io::Write for ByteBudget {
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
