//! `overrides.toml`: where the types differ from a plain reading of the schema, each entry with its reason.

mod entries;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use entries::{
    At, Constant, EnumRule, Extra, FieldType, Lift, Names, Order, Rename, Skip, UnionRule, Wraps,
};

const FILE: &str = include_str!("../overrides.toml");

/// The parsed file, plus which entries have been used.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Overrides {
    skip: Vec<Skip>,
    rename: Vec<Rename>,
    field_name: Vec<Names>,
    inline: Vec<Names>,
    lift: Vec<Lift>,
    wraps: Wraps,
    constant: Vec<Constant>,
    order: Order,
    field: Vec<FieldType>,
    optional: Vec<At>,
    default: Vec<At>,
    null: Vec<At>,
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
        let mut all = vec![self.order.reason.as_str(), self.wraps.reason.as_str()];
        all.extend(self.constant.iter().map(|entry| entry.reason.as_str()));
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
        let places = self.optional.iter().chain(&self.default);
        let places = places.chain(&self.null).chain(&self.drop_tag);
        all.extend(places.map(|entry| entry.reason.as_str()));
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
        places(at).iter().find_map(|at| {
            let name = self.inline.iter().find_map(|entry| entry.names.get(at))?;
            self.mark("inline", at);
            Some(name.as_str())
        })
    }

    /// The type asked for the member at `Type.member`.
    pub(crate) fn field_type(&self, at: &str) -> Option<&str> {
        places(at).iter().find_map(|at| {
            let mut entries = self.field.iter();
            let entry = entries.find(|entry| entry.at.contains(at))?;
            self.mark("field", at);
            Some(entry.ty.as_str())
        })
    }

    /// Members this type has even where the schema does not list them.
    pub(crate) fn added_fields(&self, owner: &str) -> Vec<(&str, &str)> {
        let added = self.field.iter().filter(|entry| entry.add);
        let all =
            added.flat_map(|entry| entry.at.iter().map(|at| (at.as_str(), entry.ty.as_str())));
        all.filter_map(|(at, ty)| {
            let (name, wire) = at.split_once('.')?;
            (name == owner).then_some((wire, ty))
        })
        .collect()
    }

    /// Notes that a member was added.
    pub(crate) fn was_added(&self, owner: &str, wire: &str) {
        self.mark("field", &format!("{owner}.{wire}"));
        self.mark("add", &format!("{owner}.{wire}"));
    }

    /// Whether the member at `Type.member` may be left out although the schema requires it.
    pub(crate) fn is_optional(&self, at: &str) -> bool {
        self.lists("optional", &self.optional, at)
    }

    /// Whether the member at `Type.member` is read as a default when it is left out.
    pub(crate) fn is_defaulted(&self, at: &str) -> bool {
        self.lists("default", &self.default, at)
    }

    /// Whether null is a value of the member at `Type.member`.
    pub(crate) fn keeps_null(&self, at: &str) -> bool {
        self.lists("null", &self.null, at)
    }

    /// Whether the constant at `Type.member` is read but not written.
    pub(crate) fn drops_tag(&self, at: &str) -> bool {
        self.lists("drop_tag", &self.drop_tag, at)
    }

    fn lists(&self, kind: &str, list: &[At], at: &str) -> bool {
        let found = places(at)
            .into_iter()
            .find(|at| list.iter().any(|entry| entry.at.contains(at)));
        if let Some(at) = &found {
            self.mark(kind, at);
        }
        found.is_some()
    }

    /// The one value of the member at `Type.member`, where the schema does not say so.
    pub(crate) fn constant(&self, at: &str) -> Option<&str> {
        places(at).iter().find_map(|at| {
            let entry = self.constant.iter().find(|entry| entry.at == *at)?;
            self.mark("constant", at);
            Some(entry.value.as_str())
        })
    }

    /// Whether a constant of this value may be left out.
    pub(crate) fn is_default_constant(&self, value: &str) -> bool {
        let mut entries = self.constant.iter();
        entries.any(|entry| entry.absent && entry.value == value)
    }

    /// The part of a definition that becomes a type in its stead.
    pub(crate) fn lift(&self, definition: &str) -> Option<&Lift> {
        let mut entries = self.lift.iter();
        let entry = entries.find(|entry| entry.definition == definition)?;
        self.mark("lift", definition);
        Some(entry)
    }

    /// Types written by hand, and the generated one inside each.
    pub(crate) fn wrappers(&self) -> &BTreeMap<String, String> {
        &self.wraps.names
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

    /// Fails on entries that matched nothing in any revision: misspelt, or the schemas changed.
    pub(crate) fn check(&self) -> Result<(), String> {
        let unused = self.unused();
        if unused.is_empty() {
            return Ok(());
        }
        Err(format!(
            "overrides.toml: entries that match nothing:\n  {}",
            unused.join("\n  ")
        ))
    }

    fn unused(&self) -> Vec<String> {
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
        for entry in &self.field {
            for at in &entry.at {
                note("field", at);
                if entry.add {
                    note("add", at);
                }
            }
        }
        for entry in &self.lift {
            note("lift", &entry.definition);
        }
        for entry in &self.constant {
            note("constant", &entry.at);
        }
        let places = [
            ("optional", &self.optional),
            ("default", &self.default),
            ("null", &self.null),
            ("drop_tag", &self.drop_tag),
        ];
        for (kind, list) in places {
            for at in list.iter().flat_map(|entry| &entry.at) {
                note(kind, at);
            }
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

/// The ways to name a member: of its type, or of every type.
fn places(at: &str) -> [String; 2] {
    let member = at.split_once('.').map_or(at, |(_, member)| member);
    [at.to_owned(), format!("*.{member}")]
}
