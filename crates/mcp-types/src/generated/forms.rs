// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! The fields of an elicitation form.

use crate::{
    JsonObject, LegacyTitledEnumSchema, TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};
use std::fmt;

/// A yes-or-no field.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "boolean")]
#[non_exhaustive]
pub struct BooleanSchema {
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The preselected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
}

impl BooleanSchema {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: bool) -> Self {
        self.default = Some(default);
        self
    }
}

/// Whether a number field accepts fractions.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "closed on purpose, see overrides.toml"
)]
pub enum NumberKind {
    /// Integers only.
    Integer,
    /// Any number.
    Number,
}

impl NumberKind {
    /// All values, in order.
    pub const ALL: &'static [Self] = &[Self::Integer, Self::Number];
    /// The value on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Number => "number",
        }
    }

    /// Reads the value on the wire.
    pub fn from_wire(text: &str) -> Option<Self> {
        match text {
            "integer" => Some(Self::Integer),
            "number" => Some(Self::Number),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for NumberKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::closed(
            deserializer,
            "a NumberKind, one of `integer`, `number`",
            Self::from_wire,
        )
    }
}

impl fmt::Display for NumberKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for NumberKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A number field.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NumberSchema {
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether fractions are allowed.
    #[serde(rename = "type")]
    pub kind: NumberKind,
    /// The smallest allowed value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// The largest allowed value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    /// The default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Number>,
}

impl NumberSchema {
    /// Creates a value from its required members.
    pub fn new(kind: impl Into<NumberKind>) -> Self {
        Self {
            title: None,
            description: None,
            kind: kind.into(),
            minimum: None,
            maximum: None,
            default: None,
        }
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`minimum`](Self::minimum).
    #[must_use]
    pub fn with_minimum(mut self, minimum: impl Into<Number>) -> Self {
        self.minimum = Some(minimum.into());
        self
    }

    /// Sets [`maximum`](Self::maximum).
    #[must_use]
    pub fn with_maximum(mut self, maximum: impl Into<Number>) -> Self {
        self.maximum = Some(maximum.into());
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<Number>) -> Self {
        self.default = Some(default.into());
        self
    }
}

/// One field of a form.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum PrimitiveSchemaDefinition {
    /// `type` is `string` and `enum` is there and `enumNames` is there.
    LegacyTitledEnum(LegacyTitledEnumSchema),
    /// `type` is `string` and `enum` is there.
    UntitledSingleSelectEnum(UntitledSingleSelectEnumSchema),
    /// `type` is `string` and `oneOf` is there.
    TitledSingleSelectEnum(TitledSingleSelectEnumSchema),
    /// `type` is `string`.
    String(StringSchema),
    /// `type` is `number`, or `type` is `integer`.
    Number(NumberSchema),
    /// `type` is `boolean`.
    Boolean(BooleanSchema),
    /// `type` is `array` and `items.anyOf` is there.
    TitledMultiSelectEnum(TitledMultiSelectEnumSchema),
    /// `type` is `array` and `items.enum` is there.
    UntitledMultiSelectEnum(UntitledMultiSelectEnumSchema),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<LegacyTitledEnumSchema> for PrimitiveSchemaDefinition {
    fn from(arm: LegacyTitledEnumSchema) -> Self {
        Self::LegacyTitledEnum(arm)
    }
}

impl From<UntitledSingleSelectEnumSchema> for PrimitiveSchemaDefinition {
    fn from(arm: UntitledSingleSelectEnumSchema) -> Self {
        Self::UntitledSingleSelectEnum(arm)
    }
}

impl From<TitledSingleSelectEnumSchema> for PrimitiveSchemaDefinition {
    fn from(arm: TitledSingleSelectEnumSchema) -> Self {
        Self::TitledSingleSelectEnum(arm)
    }
}

impl From<StringSchema> for PrimitiveSchemaDefinition {
    fn from(arm: StringSchema) -> Self {
        Self::String(arm)
    }
}

impl From<NumberSchema> for PrimitiveSchemaDefinition {
    fn from(arm: NumberSchema) -> Self {
        Self::Number(arm)
    }
}

impl From<BooleanSchema> for PrimitiveSchemaDefinition {
    fn from(arm: BooleanSchema) -> Self {
        Self::Boolean(arm)
    }
}

impl From<TitledMultiSelectEnumSchema> for PrimitiveSchemaDefinition {
    fn from(arm: TitledMultiSelectEnumSchema) -> Self {
        Self::TitledMultiSelectEnum(arm)
    }
}

impl From<UntitledMultiSelectEnumSchema> for PrimitiveSchemaDefinition {
    fn from(arm: UntitledMultiSelectEnumSchema) -> Self {
        Self::UntitledMultiSelectEnum(arm)
    }
}

impl Serialize for PrimitiveSchemaDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::LegacyTitledEnum(arm) => arm.serialize(serializer),
            Self::UntitledSingleSelectEnum(arm) => arm.serialize(serializer),
            Self::TitledSingleSelectEnum(arm) => arm.serialize(serializer),
            Self::String(arm) => arm.serialize(serializer),
            Self::Number(arm) => arm.serialize(serializer),
            Self::Boolean(arm) => arm.serialize(serializer),
            Self::TitledMultiSelectEnum(arm) => arm.serialize(serializer),
            Self::UntitledMultiSelectEnum(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PrimitiveSchemaDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::shaped(deserializer)
    }
}

impl crate::union::ShapedUnion for PrimitiveSchemaDefinition {
    const NAME: &'static str = "PrimitiveSchemaDefinition";
    const REQUIRES: Option<&'static str> = Some("type");

    fn classify(members: &JsonObject) -> Option<usize> {
        if crate::union::is(members, &["type"], "string")
            && crate::union::has(members, &["enum"])
            && crate::union::has(members, &["enumNames"])
        {
            return Some(0);
        }
        if crate::union::is(members, &["type"], "string") && crate::union::has(members, &["enum"]) {
            return Some(1);
        }
        if crate::union::is(members, &["type"], "string") && crate::union::has(members, &["oneOf"])
        {
            return Some(2);
        }
        if crate::union::is(members, &["type"], "string") {
            return Some(3);
        }
        if crate::union::is(members, &["type"], "number") {
            return Some(4);
        }
        if crate::union::is(members, &["type"], "integer") {
            return Some(4);
        }
        if crate::union::is(members, &["type"], "boolean") {
            return Some(5);
        }
        if crate::union::is(members, &["type"], "array")
            && crate::union::has(members, &["items", "anyOf"])
        {
            return Some(6);
        }
        if crate::union::is(members, &["type"], "array")
            && crate::union::has(members, &["items", "enum"])
        {
            return Some(7);
        }
        None
    }

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => LegacyTitledEnumSchema::deserialize(members).map(Self::LegacyTitledEnum),
            1 => UntitledSingleSelectEnumSchema::deserialize(members)
                .map(Self::UntitledSingleSelectEnum),
            2 => {
                TitledSingleSelectEnumSchema::deserialize(members).map(Self::TitledSingleSelectEnum)
            }
            3 => StringSchema::deserialize(members).map(Self::String),
            4 => NumberSchema::deserialize(members).map(Self::Number),
            5 => BooleanSchema::deserialize(members).map(Self::Boolean),
            6 => TitledMultiSelectEnumSchema::deserialize(members).map(Self::TitledMultiSelectEnum),
            _ => UntitledMultiSelectEnumSchema::deserialize(members)
                .map(Self::UntitledMultiSelectEnum),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// The format of a text field.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StringFormat {
    /// A calendar date, such as `2025-11-25`.
    Date,
    /// A timestamp with a time zone, in the format of RFC 3339.
    DateTime,
    /// An e-mail address.
    Email,
    /// An absolute URI.
    Uri,
    /// A value that this crate does not know, unchanged.
    Unknown(Box<str>),
}

impl StringFormat {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for StringFormat {
    fn from(text: &str) -> Self {
        match text {
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            "email" => Self::Email,
            "uri" => Self::Uri,
            other => Self::Unknown(other.into()),
        }
    }
}

impl<'de> Deserialize<'de> for StringFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a StringFormat string")
    }
}

impl fmt::Display for StringFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for StringFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A text field.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string", rename_all = "camelCase")]
#[non_exhaustive]
pub struct StringSchema {
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The format of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<StringFormat>,
    /// A regular expression the text must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The minimum length, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// The maximum length, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// The default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl StringSchema {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`format`](Self::format).
    #[must_use]
    pub fn with_format(mut self, format: impl Into<StringFormat>) -> Self {
        self.format = Some(format.into());
        self
    }

    /// Sets [`pattern`](Self::pattern).
    #[must_use]
    pub fn with_pattern(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// Sets [`min_length`](Self::min_length).
    #[must_use]
    pub fn with_min_length(mut self, min_length: u64) -> Self {
        self.min_length = Some(min_length);
        self
    }

    /// Sets [`max_length`](Self::max_length).
    #[must_use]
    pub fn with_max_length(mut self, max_length: u64) -> Self {
        self.max_length = Some(max_length);
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}
