//! The dialect of a schema.

use serde_json::{Map, Value};

use super::SchemaError;
use super::words::clip;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Draft4,
    Draft6,
    Draft7,
    Draft201909,
    Draft202012,
}

impl Dialect {
    /// Returns the dialect that the schema declares. Returns 2020-12 if the schema declares none.
    pub(super) fn of(schema: &Map<String, Value>) -> Result<Self, SchemaError> {
        match schema.get("$schema") {
            // MUST treat a schema without `$schema` as 2020-12 (basic#schema-dialect).
            None => Ok(Self::Draft202012),
            Some(Value::String(uri)) => Self::named(uri).ok_or_else(|| unknown(uri)),
            Some(_) => Err(SchemaError::new(
                "\"$schema\" is not a string: set the URI of a dialect, or omit it for 2020-12",
            )),
        }
    }

    fn named(uri: &str) -> Option<Self> {
        let uri = uri.strip_suffix('#').unwrap_or(uri);
        let path = uri
            .strip_prefix("https://")
            .or_else(|| uri.strip_prefix("http://"))?
            .strip_prefix("json-schema.org/")?;
        match path {
            "draft/2020-12/schema" => Some(Self::Draft202012),
            "draft/2019-09/schema" => Some(Self::Draft201909),
            "draft-07/schema" => Some(Self::Draft7),
            "draft-06/schema" => Some(Self::Draft6),
            "draft-04/schema" => Some(Self::Draft4),
            _ => None,
        }
    }

    /// Returns the keyword that gives a schema an identity.
    pub(super) fn id_keyword(self) -> &'static str {
        match self {
            Self::Draft4 => "id",
            _ => "$id",
        }
    }

    /// Returns whether `$ref` overrides the keywords beside it.
    #[cfg_attr(
        feature = "validate",
        expect(dead_code, reason = "the full engine implements this rule")
    )]
    pub(super) fn ref_hides_siblings(self) -> bool {
        matches!(self, Self::Draft4 | Self::Draft6 | Self::Draft7)
    }
}

fn unknown(uri: &str) -> SchemaError {
    SchemaError::new(format!(
        "the dialect {:?} of \"$schema\" is not supported: use 2020-12 \
         (\"https://json-schema.org/draft/2020-12/schema\"), 2019-09, draft-07, draft-06 or draft-04",
        clip(uri)
    ))
}
