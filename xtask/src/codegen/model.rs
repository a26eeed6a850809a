//! What will be emitted: the types and methods of a revision, already with Rust names and types.

use heck::ToLowerCamelCase as _;
use serde::{Deserialize, Serialize};

/// Everything that one revision generates.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) items: Vec<Item>,
    pub(super) methods: Vec<Method>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) name: String,
    /// The definition that it decodes as a whole; none for nested objects.
    pub(super) definition: Option<String>,
    /// Its module.
    pub(super) area: String,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Struct(Struct),
    Enum(StringEnum),
    Union(Union),
    Alias(String),
    /// An object without known members.
    Open,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Struct {
    /// A constant member, written first and ignored on input.
    pub(super) tag: Option<Tag>,
    pub(super) fields: Vec<Property>,
    /// Whether unknown members are kept.
    pub(super) extra: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Tag {
    pub(super) wire: String,
    pub(super) value: String,
    /// Whether another value on input is an error; a missing one never is.
    pub(super) checked: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Property {
    pub(super) wire: String,
    pub(super) rust: String,
    pub(super) ty: String,
    pub(super) presence: Presence,
    /// The bounds of a number, where the schema sets both.
    pub(super) range: Option<(f64, f64)>,
    /// Whether null is a value of the member, and not the same as a missing member.
    pub(super) keeps_null: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Presence {
    Required,
    Optional,
    /// Required, but may be null.
    Nullable,
    /// Always written; a missing one is read as the default of its type.
    Defaulted,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct StringEnum {
    pub(super) values: Vec<String>,
    pub(super) closed: bool,
    /// Whether the order of the values is a rank.
    pub(super) ranked: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Union {
    pub(super) rule: Rule,
    pub(super) arms: Vec<Arm>,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Arm {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) ty: String,
    /// The value of the tag, or the method of an embedded message.
    #[serde(skip_deserializing)]
    pub(super) value: String,
    /// Whether an embedded message may have no params.
    #[serde(skip_deserializing)]
    pub(super) optional: bool,
    /// The arm is chosen if all conditions of one of these lists hold: `member`, `member.member` or `member=value`.
    pub(super) when: Vec<Vec<String>>,
}

/// What names the arm of a union.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Rule {
    /// The value of one member; the index of the arm without it.
    Tagged { tag: String, default: Option<usize> },
    /// The first arm whose conditions hold; the absence of one member is an error.
    Shaped { requires: Option<String> },
    /// The method of a message without an envelope; the arm has its params.
    Embedded,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Method {
    /// The definition, which is also the name of the marker.
    pub(super) name: String,
    pub(super) method: String,
    pub(super) params: String,
    pub(super) params_optional: bool,
    /// The result type of a request; none for a notification.
    pub(super) result: Option<String>,
    /// A variant of `Direction`; none if neither side sends it.
    pub(super) direction: Option<&'static str>,
    /// The definition of the whole response, where the schema has one.
    pub(super) response: Option<String>,
}

impl Method {
    pub(super) fn kind(&self) -> &'static str {
        match self.result {
            Some(_) => "request",
            None => "notification",
        }
    }

    pub(super) fn types(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.params).chain(self.result.as_deref())
    }

    /// Whether both markers have the same content.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.types().eq(other.types())
            && self.params_optional == other.params_optional
    }
}

impl Struct {
    /// A constant that input is checked for.
    pub(super) fn constant(&self) -> Option<&Tag> {
        self.tag.as_ref().filter(|tag| tag.checked)
    }

    /// The member with a name in JSON.
    pub(super) fn field(&self, wire: &str) -> Option<&Property> {
        self.fields.iter().find(|field| field.wire == wire)
    }
}

impl Kind {
    /// The types that it mentions, with those around them, such as `Vec`.
    pub(super) fn names(&self) -> Vec<&str> {
        let types: Vec<&String> = match self {
            Self::Struct(structure) => structure.fields.iter().map(|field| &field.ty).collect(),
            Self::Union(union) => union.arms.iter().map(|arm| &arm.ty).collect(),
            Self::Alias(ty) => vec![ty],
            Self::Enum(_) | Self::Open => Vec::new(),
        };
        types.into_iter().flat_map(|ty| words(ty)).collect()
    }
}

impl Property {
    /// Whether its name in JSON is not that of the field in camel case.
    pub(super) fn is_renamed(&self) -> bool {
        self.rust.to_lower_camel_case() != self.wire
    }

    /// The type of the field.
    pub(super) fn held(&self) -> String {
        match self.presence {
            Presence::Required | Presence::Defaulted => self.ty.clone(),
            Presence::Optional | Presence::Nullable => format!("Option<{}>", self.ty),
        }
    }
}

/// The names in a text of Rust.
pub(super) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric())
}
