//! The intermediate form between a schema file and Rust: what will be emitted, already named and typed.

use std::fmt;

/// Everything one revision generates.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) items: Vec<Item>,
    pub(crate) methods: Vec<Method>,
}

/// One Rust type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// The Rust name.
    pub(crate) name: String,
    /// The definition it decodes as a whole; none for nested objects.
    pub(crate) definition: Option<String>,
    /// The module it lives in.
    pub(crate) area: String,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Struct(Struct),
    Enum(StringEnum),
    Union(Union),
    Alias(Ty),
    /// An object without known members.
    Open,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Struct {
    /// A constant member, written first and ignored on input.
    pub(crate) tag: Option<Tag>,
    pub(crate) fields: Vec<Property>,
    /// Whether unknown members are kept.
    pub(crate) extra: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tag {
    pub(crate) wire: String,
    pub(crate) value: String,
    /// Whether another value on input is an error; one that is left out never is.
    pub(crate) checked: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Property {
    pub(crate) wire: String,
    pub(crate) rust: String,
    pub(crate) ty: Ty,
    pub(crate) presence: Presence,
    /// The bounds of a number, where the schema sets both.
    pub(crate) range: Option<(f64, f64)>,
    /// Whether null is a value of the member, and not the same as leaving it out.
    pub(crate) keeps_null: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
    /// Must be there, may be null.
    Nullable,
    /// Always written; read as the default of its type when left out.
    Defaulted,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ty {
    String,
    Bool,
    I64,
    U64,
    F64,
    Number,
    Value,
    Object,
    Meta,
    Vec(Box<Self>),
    Map(Box<Self>),
    OneOrMany(Box<Self>),
    /// A generated or hand-written type of the crate.
    Named(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StringEnum {
    /// Wire values.
    pub(crate) values: Vec<String>,
    pub(crate) closed: bool,
    /// Whether the order of the values is a rank.
    pub(crate) ranked: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Union {
    pub(crate) rule: Rule,
    pub(crate) arms: Vec<Arm>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arm {
    pub(crate) name: String,
    pub(crate) ty: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rule {
    /// One string member names the arm; `values` are in arm order.
    Tagged {
        tag: String,
        values: Vec<String>,
        default: Option<usize>,
    },
    /// The first case whose conditions hold names the arm by index.
    Shaped {
        requires: Option<String>,
        cases: Vec<(Vec<Condition>, usize)>,
    },
    /// A message without an envelope: the method names the arm, which holds the params.
    Embedded {
        methods: Vec<String>,
        /// Per arm, whether the params may be left out.
        optional: Vec<bool>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    Has(Vec<String>),
    Is(Vec<String>, String),
}

/// One request or notification.
#[derive(Debug, Clone)]
pub(crate) struct Method {
    /// The definition, which is also the marker's name.
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) params: String,
    pub(crate) params_optional: bool,
    /// The result type of a request; none for a notification.
    pub(crate) result: Option<String>,
    pub(crate) from_client: bool,
    pub(crate) from_server: bool,
    /// The definition of the whole answer, where the schema has one.
    pub(crate) response: Option<String>,
}

impl Method {
    /// The types of params and result.
    pub(crate) fn types(&self) -> Vec<&str> {
        let result = self.result.as_deref();
        std::iter::once(self.params.as_str())
            .chain(result)
            .collect()
    }

    /// Whether both markers say the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.types() == other.types()
            && self.params_optional == other.params_optional
    }
}

impl Kind {
    /// The named types it mentions.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Struct(structure) => {
                let types = structure.fields.iter();
                types.filter_map(|field| field.ty.name()).collect()
            }
            Self::Union(union) => union.arms.iter().map(|arm| arm.ty.as_str()).collect(),
            Self::Alias(ty) => ty.name().into_iter().collect(),
            Self::Enum(_) | Self::Open => Vec::new(),
        }
    }
}

impl Ty {
    /// The named type inside, if there is one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Vec(inner) | Self::Map(inner) | Self::OneOrMany(inner) => inner.name(),
            Self::Named(name) => Some(name),
            _ => None,
        }
    }

    /// Reads the type notation of `overrides.toml`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some((outer, inner)) = text.strip_suffix('>').and_then(|text| text.split_once('<')) {
            let inner = Box::new(Self::parse(inner)?);
            return match outer {
                "Vec" => Ok(Self::Vec(inner)),
                "Map" => Ok(Self::Map(inner)),
                "OneOrMany" => Ok(Self::OneOrMany(inner)),
                _ => Err(format!("overrides.toml: no such type: {text}")),
            };
        }
        Ok(match text {
            "String" => Self::String,
            "bool" => Self::Bool,
            "i64" => Self::I64,
            "u64" => Self::U64,
            "f64" => Self::F64,
            "Number" => Self::Number,
            "Value" => Self::Value,
            "JsonObject" => Self::Object,
            "Meta" => Self::Meta,
            name => Self::Named(name.to_owned()),
        })
    }
}

impl Condition {
    /// Reads `member`, `member.member` or `member=value`.
    pub(crate) fn parse(text: &str) -> Self {
        let path = |text: &str| text.split('.').map(str::to_owned).collect();
        match text.split_once('=') {
            Some((member, value)) => Self::Is(path(member), value.to_owned()),
            None => Self::Has(path(text)),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_notation_is_read() {
        let many = Ty::OneOrMany(Box::new(Ty::Named("Block".to_owned())));
        assert_eq!(Ty::parse("OneOrMany<Block>"), Ok(many));
        assert_eq!(
            Ty::parse("Map<Vec<u64>>"),
            Ok(Ty::Map(Box::new(Ty::Vec(Box::new(Ty::U64)))))
        );
        assert!(Ty::parse("Box<u64>").is_err());
    }

    #[test]
    fn condition_notation_is_read() {
        let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
        assert_eq!(
            Condition::parse("items.enum"),
            Condition::Has(path(&["items", "enum"]))
        );
        assert_eq!(
            Condition::parse("type=a"),
            Condition::Is(path(&["type"]), "a".to_owned())
        );
    }
}
