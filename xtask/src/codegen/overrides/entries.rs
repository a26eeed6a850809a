//! The tables of `overrides.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Skip {
    pub(super) names: Vec<String>,
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rename {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    pub(super) names: BTreeMap<String, String>,
    pub(super) reason: String,
}

/// A part of a definition that becomes a type in its stead.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lift {
    pub(crate) definition: String,
    pub(crate) pointer: String,
    pub(crate) to: String,
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    pub(super) first: Vec<String>,
    pub(super) last: Vec<String>,
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FieldType {
    pub(super) at: Vec<String>,
    #[serde(rename = "type")]
    pub(super) ty: String,
    #[serde(default)]
    pub(super) add: bool,
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct At {
    pub(super) at: Vec<String>,
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Extra {
    pub(super) names: Vec<String>,
    pub(super) reason: String,
}

/// How one string enum differs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnumRule {
    pub(super) name: String,
    /// The values, where the schema lists none.
    pub(crate) values: Option<Vec<String>>,
    /// The values in rank order, where the rank matters.
    pub(crate) order: Option<Vec<String>>,
    /// Whether an unknown value is an error.
    #[serde(default)]
    pub(crate) closed: bool,
    pub(super) reason: String,
}

/// How a union without a discriminator is told apart.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnionRule {
    pub(super) name: String,
    /// A member whose absence is an error.
    pub(crate) requires: Option<String>,
    pub(crate) arms: Vec<ArmRule>,
    pub(super) reason: String,
}

/// One arm: taken when every condition (`member` or `member=value`) holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArmRule {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) ty: String,
    pub(crate) when: Vec<String>,
}

/// A member that has one value in every object of its type.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Constant {
    pub(super) at: String,
    pub(super) value: String,
    /// Whether this is what a missing member means.
    #[serde(default)]
    pub(super) absent: bool,
    pub(super) reason: String,
}

/// A type written by hand around a generated one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wraps {
    pub(super) names: BTreeMap<String, String>,
    pub(super) reason: String,
}
