//! `overrides.toml`: where the types differ from a plain reading of the schema, each entry with its reason.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

const FILE: &str = include_str!("overrides.toml");

/// The parsed file, plus which entries have been used.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Overrides {
    skip: Vec<Skip>,
    rename: Vec<Rename>,
    field_name: Vec<Names>,
    inline: Vec<Names>,
    pub(crate) lift: Vec<Lift>,
    order: Order,
    field: Vec<FieldType>,
    optional: Vec<At>,
    drop_tag: Vec<At>,
    extra: Vec<Extra>,
    #[serde(rename = "enum")]
    enums: Vec<EnumRule>,
    #[serde(rename = "union")]
    unions: Vec<UnionRule>,
    areas: BTreeMap<String, Vec<String>>,
    #[serde(skip)]
    used: RefCell<BTreeSet<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Skip {
    names: Vec<String>,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    from: String,
    to: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    names: BTreeMap<String, String>,
    reason: String,
}

/// A part of a definition that becomes a type in its stead.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lift {
    pub(crate) definition: String,
    pub(crate) pointer: String,
    pub(crate) to: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    first: Vec<String>,
    last: Vec<String>,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldType {
    at: Vec<String>,
    #[serde(rename = "type")]
    ty: String,
    #[serde(default)]
    add: bool,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct At {
    at: Vec<String>,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extra {
    names: Vec<String>,
    reason: String,
}

/// How one string enum differs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnumRule {
    name: String,
    /// The values, where the schema lists none.
    pub(crate) values: Option<Vec<String>>,
    /// The values in rank order, where the rank matters.
    pub(crate) order: Option<Vec<String>>,
    /// Whether an unknown value is an error.
    #[serde(default)]
    pub(crate) closed: bool,
    reason: String,
}

/// How a union without a discriminator is told apart.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnionRule {
    name: String,
    /// A member whose absence is an error.
    pub(crate) requires: Option<String>,
    pub(crate) arms: Vec<ArmRule>,
    reason: String,
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

impl Overrides {
    /// Reads the file compiled into this command.
    pub(crate) fn load() -> Result<Self, String> {
        let overrides: Self =
            toml::from_str(FILE).map_err(|error| format!("overrides.toml: {error}"))?;
        match overrides
            .reasons()
            .iter()
            .position(|reason| reason.trim().is_empty())
        {
            Some(_) => Err("overrides.toml: an entry has an empty reason".to_owned()),
            None => Ok(overrides),
        }
    }

    fn reasons(&self) -> Vec<&str> {
        let mut all = vec![self.order.reason.as_str()];
        all.extend(self.skip.iter().map(|entry| entry.reason.as_str()));
        all.extend(self.rename.iter().map(|entry| entry.reason.as_str()));
        all.extend(
            self.field_name
                .iter()
                .chain(&self.inline)
                .map(|entry| entry.reason.as_str()),
        );
        all.extend(self.lift.iter().map(|entry| entry.reason.as_str()));
        all.extend(self.field.iter().map(|entry| entry.reason.as_str()));
        all.extend(self.optional.iter().map(|entry| entry.reason.as_str()));
        all.extend(self.drop_tag.iter().map(|entry| entry.reason.as_str()));
        all.extend(self.extra.iter().map(|entry| entry.reason.as_str()));
        all.extend(self.enums.iter().map(|entry| entry.reason.as_str()));
        all.extend(self.unions.iter().map(|entry| entry.reason.as_str()));
        all
    }

    fn mark(&self, kind: &str, key: &str) {
        self.used.borrow_mut().insert(format!("{kind} {key}"));
    }

    /// Whether the definition has no Rust type.
    pub(crate) fn is_skipped(&self, definition: &str) -> bool {
        let found = self
            .skip
            .iter()
            .any(|entry| entry.names.iter().any(|name| name == definition));
        if found {
            self.mark("skip", definition);
        }
        found
    }

    /// The Rust name asked for a definition.
    pub(crate) fn rename(&self, definition: &str) -> Option<&str> {
        let entry = self.rename.iter().find(|entry| entry.from == definition)?;
        self.mark("rename", definition);
        Some(&entry.to)
    }

    /// The Rust name asked for a member.
    pub(crate) fn field_name(&self, wire: &str) -> Option<&str> {
        self.field_name
            .iter()
            .find_map(|entry| entry.names.get(wire))
            .map(String::as_str)
    }

    /// The name of the anonymous type at `Type.member` or `Type.member[]`.
    pub(crate) fn inline(&self, at: &str) -> Option<&str> {
        let name = self.inline.iter().find_map(|entry| entry.names.get(at))?;
        self.mark("inline", at);
        Some(name)
    }

    /// The type asked for the member at `Type.member`.
    pub(crate) fn field_type(&self, at: &str) -> Option<&str> {
        let entry = self
            .field
            .iter()
            .find(|entry| entry.at.iter().any(|known| known == at))?;
        self.mark("field", at);
        Some(&entry.ty)
    }

    /// Members the schema does not have on this type.
    pub(crate) fn added_fields(&self, owner: &str) -> Vec<(&str, &str)> {
        let added = self.field.iter().filter(|entry| entry.add);
        let all =
            added.flat_map(|entry| entry.at.iter().map(|at| (at.as_str(), entry.ty.as_str())));
        let own: Vec<_> = all
            .filter_map(|(at, ty)| {
                let (name, wire) = at.split_once('.')?;
                (name == owner).then_some((wire, ty))
            })
            .collect();
        for (wire, _) in &own {
            self.mark("field", &format!("{owner}.{wire}"));
        }
        own
    }

    /// Whether the member at `Type.member` may be left out although the schema requires it.
    pub(crate) fn is_optional(&self, at: &str) -> bool {
        let found = self
            .optional
            .iter()
            .any(|entry| entry.at.iter().any(|known| known == at));
        if found {
            self.mark("optional", at);
        }
        found
    }

    /// Whether the constant at `Type.member` is read but not written.
    pub(crate) fn drops_tag(&self, at: &str) -> bool {
        let found = self
            .drop_tag
            .iter()
            .any(|entry| entry.at.iter().any(|known| known == at));
        if found {
            self.mark("drop_tag", at);
        }
        found
    }

    /// Whether the type keeps unknown members.
    pub(crate) fn keeps_extra(&self, name: &str) -> bool {
        let found = self
            .extra
            .iter()
            .any(|entry| entry.names.iter().any(|known| known == name));
        if found {
            self.mark("extra", name);
        }
        found
    }

    /// The rule for one string enum.
    pub(crate) fn string_enum(&self, name: &str) -> Option<&EnumRule> {
        let rule = self.enums.iter().find(|rule| rule.name == name)?;
        self.mark("enum", name);
        Some(rule)
    }

    /// The rule for one union.
    pub(crate) fn union(&self, name: &str) -> Option<&UnionRule> {
        let rule = self.unions.iter().find(|rule| rule.name == name)?;
        self.mark("union", name);
        Some(rule)
    }

    /// The module a type belongs to.
    pub(crate) fn area(&self, name: &str) -> Option<&str> {
        let (area, _) = self
            .areas
            .iter()
            .find(|(_, names)| names.iter().any(|known| known == name))?;
        self.mark("area", name);
        Some(area)
    }

    /// Sort key of a member: listed first ones, the others by name, listed last ones.
    pub(crate) fn rank(&self, wire: &str) -> (usize, usize) {
        let place = |list: &[String]| list.iter().position(|known| known == wire);
        match (place(&self.order.first), place(&self.order.last)) {
            (Some(index), _) => (0, index),
            (None, Some(index)) => (2, index),
            (None, None) => (1, 0),
        }
    }

    /// Entries that matched nothing: misspelt, or the schema changed.
    pub(crate) fn unused(&self) -> Vec<String> {
        let mut all = BTreeSet::new();
        let mut note = |kind: &str, key: &str| all.insert(format!("{kind} {key}"));
        for name in self.skip.iter().flat_map(|entry| &entry.names) {
            note("skip", name);
        }
        for entry in &self.rename {
            note("rename", &entry.from);
        }
        for at in self.inline.iter().flat_map(|entry| entry.names.keys()) {
            note("inline", at);
        }
        for at in self.field.iter().flat_map(|entry| &entry.at) {
            note("field", at);
        }
        for at in self.optional.iter().flat_map(|entry| &entry.at) {
            note("optional", at);
        }
        for at in self.drop_tag.iter().flat_map(|entry| &entry.at) {
            note("drop_tag", at);
        }
        for name in self.extra.iter().flat_map(|entry| &entry.names) {
            note("extra", name);
        }
        for rule in &self.enums {
            note("enum", &rule.name);
        }
        for rule in &self.unions {
            note("union", &rule.name);
        }
        for name in self.areas.values().flatten() {
            note("area", name);
        }
        all.difference(&self.used.borrow()).cloned().collect()
    }
}
