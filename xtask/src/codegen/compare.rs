//! Comparison of a later revision with the canonical one.

use std::collections::BTreeSet;

use super::model::{Item, Method, Model};
use crate::workspace::Result;

/// A later revision, split into what is new in it and what it shares.
#[derive(Debug)]
pub(super) struct Split {
    /// Types that differ from the canonical ones or are new, and all methods.
    pub(super) own: Model,
    /// Types and markers that are the canonical ones.
    pub(super) shared: BTreeSet<String>,
    /// Methods that the canonical revision does not have.
    pub(super) novel: Vec<Method>,
}

/// A type written by hand, and the generated type inside it, of which it knows the canonical revision only.
const WRAPPER: (&str, &str) = ("FormProperties", "PrimitiveSchemaDefinition");

/// Compares member by member; a type also differs when one that it mentions does. A hand-written wrapper of a type that
/// differs is an error.
pub(super) fn split(later: &Model, canonical: &Model) -> Result<Split> {
    let mut own = BTreeSet::new();
    loop {
        let differs = |item: &&Item| {
            let known = find(canonical, &item.name);
            known.is_none_or(|known| known.kind != item.kind)
                || item.kind.names().iter().any(|name| own.contains(*name))
        };
        let items = later.items.iter().filter(differs);
        let found: BTreeSet<String> = items.map(|item| item.name.clone()).collect();
        if found == own {
            break;
        }
        own = found;
    }
    let (wrapper, wrapped) = WRAPPER;
    let mut names = later.items.iter().flat_map(|item| item.kind.names());
    if own.contains(wrapped) && names.any(|name| name == wrapper) {
        return Err(format!(
            "{wrapper} is written by hand around {wrapped}, which differs from the canonical one"
        ));
    }
    let items = later.items.iter().cloned();
    let (items, others): (Vec<_>, Vec<_>) = items.partition(|item| own.contains(&item.name));
    let mut shared: BTreeSet<String> = others.into_iter().map(|item| item.name).collect();
    let mut novel = Vec::new();
    for method in &later.methods {
        let mut methods = canonical.methods.iter();
        match methods.find(|known| known.method == method.method) {
            None => novel.push(method.clone()),
            Some(known) if !known.is_same(method) => {}
            Some(_) if method.types().any(|name| own.contains(name)) => {}
            Some(_) => drop(shared.insert(method.name.clone())),
        }
    }
    let methods = later.methods.clone();
    let own = Model { items, methods };
    Ok(Split { own, shared, novel })
}

pub(super) fn find<'a>(model: &'a Model, name: &str) -> Option<&'a Item> {
    model.items.iter().find(|item| item.name == name)
}
