// Generated from the official schema: do not edit. Run `cargo xtask codegen`.

//!

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde_json::Number;
use serde_json::Value;
use std::fmt;

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "boolean")]
#[non_exhaustive]
pub struct BooleanSchema {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
}

impl BooleanSchema {
    /// An empty `BooleanSchema`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EnumOption {
    ///
    pub title: String,
    ///
    #[serde(rename = "const")]
    pub value: String,
}

impl EnumOption {
    /// A `EnumOption` with its required members.
    pub fn new(title: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            value: value.into(),
        }
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string", rename_all = "camelCase")]
#[non_exhaustive]
pub struct LegacyTitledEnumSchema {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enum_names: Option<Vec<String>>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl LegacyTitledEnumSchema {
    /// A `LegacyTitledEnumSchema` with its required members.
    pub fn new(values: Vec<String>) -> Self {
        Self {
            title: None,
            description: None,
            values,
            enum_names: None,
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

    /// Sets [`enum_names`](Self::enum_names).
    #[must_use]
    pub fn with_enum_names(mut self, enum_names: Vec<String>) -> Self {
        self.enum_names = Some(enum_names);
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "closed on purpose, see overrides.toml"
)]
pub enum NumberKind {
    ///
    Number,
    ///
    Integer,
}

impl NumberKind {
    /// Every value in order.
    pub const ALL: &'static [Self] = &[Self::Number, Self::Integer];
    /// The value on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Integer => "integer",
        }
    }

    /// Reads the value on the wire.
    pub fn from_wire(text: &str) -> Option<Self> {
        match text {
            "number" => Some(Self::Number),
            "integer" => Some(Self::Integer),
            _ => None,
        }
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

impl<'de> Deserialize<'de> for NumberKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::closed(
            deserializer,
            "a NumberKind, one of `number`, `integer`",
            Self::from_wire,
        )
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NumberSchema {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    #[serde(rename = "type")]
    pub kind: NumberKind,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Number>,
}

impl NumberSchema {
    /// A `NumberSchema` with its required members.
    pub fn new(kind: impl Into<NumberKind>) -> Self {
        Self {
            title: None,
            description: None,
            kind: kind.into(),
            maximum: None,
            minimum: None,
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

    /// Sets [`maximum`](Self::maximum).
    #[must_use]
    pub fn with_maximum(mut self, maximum: impl Into<Number>) -> Self {
        self.maximum = Some(maximum.into());
        self
    }

    /// Sets [`minimum`](Self::minimum).
    #[must_use]
    pub fn with_minimum(mut self, minimum: impl Into<Number>) -> Self {
        self.minimum = Some(minimum.into());
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<Number>) -> Self {
        self.default = Some(default.into());
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "arms are decoded in place; a box would cost every reader"
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
    /// An object this crate does not know, kept as it came.
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
    fn classify(members: &crate::JsonObject) -> Option<usize> {
        if crate::union::is(members, &["type"], "string")
            && crate::union::has(members, &["enum"])
            && crate::union::has(members, &["enumNames"])
        {
            return Some(0usize);
        }
        if crate::union::is(members, &["type"], "string") && crate::union::has(members, &["enum"]) {
            return Some(1usize);
        }
        if crate::union::is(members, &["type"], "string") && crate::union::has(members, &["oneOf"])
        {
            return Some(2usize);
        }
        if crate::union::is(members, &["type"], "string") {
            return Some(3usize);
        }
        if crate::union::is(members, &["type"], "number") {
            return Some(4usize);
        }
        if crate::union::is(members, &["type"], "integer") {
            return Some(4usize);
        }
        if crate::union::is(members, &["type"], "boolean") {
            return Some(5usize);
        }
        if crate::union::is(members, &["type"], "array")
            && crate::union::has(members, &["items", "anyOf"])
        {
            return Some(6usize);
        }
        if crate::union::is(members, &["type"], "array")
            && crate::union::has(members, &["items", "enum"])
        {
            return Some(7usize);
        }
        None
    }

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0usize => LegacyTitledEnumSchema::deserialize(members).map(Self::LegacyTitledEnum),
            1usize => UntitledSingleSelectEnumSchema::deserialize(members)
                .map(Self::UntitledSingleSelectEnum),
            2usize => {
                TitledSingleSelectEnumSchema::deserialize(members).map(Self::TitledSingleSelectEnum)
            }
            3usize => StringSchema::deserialize(members).map(Self::String),
            4usize => NumberSchema::deserialize(members).map(Self::Number),
            5usize => BooleanSchema::deserialize(members).map(Self::Boolean),
            6usize => {
                TitledMultiSelectEnumSchema::deserialize(members).map(Self::TitledMultiSelectEnum)
            }
            _ => UntitledMultiSelectEnumSchema::deserialize(members)
                .map(Self::UntitledMultiSelectEnum),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StringFormat {
    ///
    Date,
    ///
    DateTime,
    ///
    Email,
    ///
    Uri,
    /// A value this crate does not know, kept as it came.
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

impl<'de> Deserialize<'de> for StringFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a StringFormat string")
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string", rename_all = "camelCase")]
#[non_exhaustive]
pub struct StringSchema {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<StringFormat>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl StringSchema {
    /// An empty `StringSchema`; every member is optional.
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

    /// Sets [`max_length`](Self::max_length).
    #[must_use]
    pub fn with_max_length(mut self, max_length: u64) -> Self {
        self.max_length = Some(max_length);
        self
    }

    /// Sets [`min_length`](Self::min_length).
    #[must_use]
    pub fn with_min_length(mut self, min_length: u64) -> Self {
        self.min_length = Some(min_length);
        self
    }

    /// Sets [`pattern`](Self::pattern).
    #[must_use]
    pub fn with_pattern(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "array", rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledMultiSelectEnumSchema {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    pub items: TitledMultiSelectItems,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

impl TitledMultiSelectEnumSchema {
    /// A `TitledMultiSelectEnumSchema` with its required members.
    pub fn new(items: TitledMultiSelectItems) -> Self {
        Self {
            title: None,
            description: None,
            items,
            max_items: None,
            min_items: None,
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

    /// Sets [`max_items`](Self::max_items).
    #[must_use]
    pub fn with_max_items(mut self, max_items: u64) -> Self {
        self.max_items = Some(max_items);
        self
    }

    /// Sets [`min_items`](Self::min_items).
    #[must_use]
    pub fn with_min_items(mut self, min_items: u64) -> Self {
        self.min_items = Some(min_items);
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: Vec<String>) -> Self {
        self.default = Some(default);
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledMultiSelectItems {
    ///
    pub any_of: Vec<EnumOption>,
}

impl TitledMultiSelectItems {
    /// A `TitledMultiSelectItems` with its required members.
    pub fn new(any_of: Vec<EnumOption>) -> Self {
        Self { any_of }
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string", rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledSingleSelectEnumSchema {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    pub one_of: Vec<EnumOption>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl TitledSingleSelectEnumSchema {
    /// A `TitledSingleSelectEnumSchema` with its required members.
    pub fn new(one_of: Vec<EnumOption>) -> Self {
        Self {
            title: None,
            description: None,
            one_of,
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

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "array", rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledMultiSelectEnumSchema {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    pub items: UntitledMultiSelectItems,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

impl UntitledMultiSelectEnumSchema {
    /// A `UntitledMultiSelectEnumSchema` with its required members.
    pub fn new(items: UntitledMultiSelectItems) -> Self {
        Self {
            title: None,
            description: None,
            items,
            max_items: None,
            min_items: None,
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

    /// Sets [`max_items`](Self::max_items).
    #[must_use]
    pub fn with_max_items(mut self, max_items: u64) -> Self {
        self.max_items = Some(max_items);
        self
    }

    /// Sets [`min_items`](Self::min_items).
    #[must_use]
    pub fn with_min_items(mut self, min_items: u64) -> Self {
        self.min_items = Some(min_items);
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: Vec<String>) -> Self {
        self.default = Some(default);
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string")]
#[non_exhaustive]
pub struct UntitledMultiSelectItems {
    ///
    #[serde(rename = "enum")]
    pub values: Vec<String>,
}

impl UntitledMultiSelectItems {
    /// A `UntitledMultiSelectItems` with its required members.
    pub fn new(values: Vec<String>) -> Self {
        Self { values }
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string")]
#[non_exhaustive]
pub struct UntitledSingleSelectEnumSchema {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    ///
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl UntitledSingleSelectEnumSchema {
    /// A `UntitledSingleSelectEnumSchema` with its required members.
    pub fn new(values: Vec<String>) -> Self {
        Self {
            title: None,
            description: None,
            values,
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

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}
