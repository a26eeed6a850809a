//! `overrides.toml`: where the types differ from a plain reading of the schema, each entry with its reason.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::model::Arm;
use crate::workspace::{At as _, Result, none_in};

/// The file, and which of its entries have not been used yet.
#[derive(Debug, Deserialize)]
pub(super) struct Overrides {
    /// Members, from the first to the last; `*` is the place of the others.
    order: Vec<String>,
    /// The types of each module.
    areas: BTreeMap<String, Vec<String>>,
    /// The other tables, by kind.
    #[serde(flatten)]
    entries: BTreeMap<String, Vec<Entry>>,
    #[serde(skip)]
    unused: RefCell<BTreeSet<String>>,
}

/// An entry of any kind; each kind has some of these keys.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Entry {
    reason: String,
    /// Definitions, types, or members as `Type.member` or `*.member`.
    names: Vec<String>,
    /// The same, with new names; `add`: members that the schema lacks, with their types.
    to: BTreeMap<String, String>,
    /// `lift`: the part of the definition that becomes a type in its place.
    pub(super) pointer: String,
    /// `field`: the type of the members.
    #[serde(rename = "type")]
    pub(super) ty: String,
    /// `constant`: the only value.
    pub(super) value: String,
    /// `constant`: whether this is what a missing member means.
    pub(super) absent: bool,
    /// `enum`: the values, where the schema lists none, or where they have a rank.
    pub(super) values: Vec<String>,
    /// `enum`: whether an unknown value is an error; if so, listed values are in the order of their rank.
    pub(super) closed: bool,
    /// `union`: a member whose absence is an error.
    pub(super) requires: Option<String>,
    /// `union`: the arms, in the order in which their conditions are tested.
    pub(super) arms: Vec<Arm>,
}

impl Entry {
    fn names(&self) -> impl Iterator<Item = &String> {
        self.names.iter().chain(self.to.keys())
    }
}

impl Overrides {
    pub(super) fn load() -> Result<Self> {
        let overrides = toml::from_str(include_str!("overrides.toml"));
        let mut overrides: Self = overrides.at("overrides.toml")?;
        let entries = overrides.entries.values().flatten();
        let mut reasons = entries.map(|entry| &entry.reason);
        if reasons.any(|reason| reason.trim().is_empty()) {
            return Err("overrides.toml: an entry has no reason".to_owned());
        }
        let entries = overrides.entries.iter();
        let names = entries.flat_map(|(kind, entries)| {
            let names = entries.iter().flat_map(Entry::names);
            names.map(move |name| format!("{kind} {name}"))
        });
        let typed = overrides.areas.values().flatten();
        let typed = typed.map(|name| format!("area {name}"));
        overrides.unused = names.chain(typed).collect::<BTreeSet<_>>().into();
        Ok(overrides)
    }

    fn of(&self, kind: &str) -> impl Iterator<Item = &Entry> {
        self.entries.get(kind).into_iter().flatten()
    }

    fn mark(&self, kind: &str, name: &str) {
        self.unused.borrow_mut().remove(&format!("{kind} {name}"));
    }

    /// The entry for a name, or else for this member of every type, and the name that it has there.
    fn lookup(&self, kind: &str, name: &str) -> Option<(String, &Entry)> {
        let member = name.split_once('.').map_or(name, |(_, member)| member);
        let names = [name.to_owned(), format!("*.{member}")];
        let (name, entry) = names.into_iter().find_map(|name| {
            let mut entries = self.of(kind);
            let entry = entries.find(|entry| entry.names().any(|known| *known == name))?;
            Some((name, entry))
        })?;
        self.mark(kind, &name);
        Some((name, entry))
    }

    pub(super) fn find(&self, kind: &str, name: &str) -> Option<&Entry> {
        self.lookup(kind, name).map(|(_, entry)| entry)
    }

    pub(super) fn has(&self, kind: &str, name: &str) -> bool {
        self.lookup(kind, name).is_some()
    }

    pub(super) fn renamed(&self, kind: &str, name: &str) -> Option<&str> {
        let (name, entry) = self.lookup(kind, name)?;
        entry.to.get(&name).map(String::as_str)
    }

    /// Members and their types that this type has, even where the schema does not list them.
    pub(super) fn added(&self, owner: &str) -> Vec<(&str, &str)> {
        let members = self.of("add").flat_map(|entry| &entry.to);
        let members = members.filter_map(|(name, ty)| Some((name.split_once('.')?, &**ty)));
        let own = members.filter(|((name, _), _)| *name == owner);
        own.map(|((_, wire), ty)| (wire, ty)).collect()
    }

    /// The module of a type.
    pub(super) fn area(&self, name: &str) -> Option<&str> {
        let mut areas = self.areas.iter();
        let (area, _) = areas.find(|(_, names)| names.iter().any(|known| known == name))?;
        self.mark("area", name);
        Some(area)
    }

    /// The place of a member in the order.
    pub(super) fn rank(&self, wire: &str) -> Option<usize> {
        let place = |name| self.order.iter().position(|known| known == name);
        place(wire).or_else(|| place("*"))
    }

    /// Fails on entries that match nothing in any revision: misspelt, or the schemas changed.
    pub(super) fn check(&self) -> Result {
        let problem = "overrides.toml: entries that match nothing:";
        none_in(&self.unused.borrow(), problem)
    }
}
