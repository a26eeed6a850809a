//! Comparison of a later revision with the canonical one.

use std::collections::BTreeSet;

use super::model::{Item, Method, Model};

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
pub(super) fn split(later: &Model, canonical: &Model) -> Result<Split, String> {
    let differs =
        |item: &&Item| find(canonical, &item.name).is_none_or(|known| known.kind != item.kind);
    let own = later.items.iter().filter(differs);
    let mut own: BTreeSet<String> = own.map(|item| item.name.clone()).collect();
    loop {
        let mentions_own = |item: &&Item| item.kind.names().iter().any(|name| own.contains(*name));
        let further = later.items.iter().filter(mentions_own);
        let further: Vec<_> = further.map(|item| item.name.clone()).collect();
        let before = own.len();
        own.extend(further);
        if own.len() == before {
            break;
        }
    }
    let (wrapper, wrapped) = WRAPPER;
    let mut names = later.items.iter().flat_map(|item| item.kind.names());
    if own.contains(wrapped) && names.any(|name| name == wrapper) {
        return Err(format!(
            "{wrapper} is written by hand around {wrapped}, which differs from the canonical one"
        ));
    }
    let mut items = later.items.clone();
    items.retain(|item| own.contains(&item.name));
    let names = later.items.iter().map(|item| item.name.clone());
    let mut shared: BTreeSet<String> = names.filter(|name| !own.contains(name)).collect();
    let mut novel = Vec::new();
    for method in &later.methods {
        let mut methods = canonical.methods.iter();
        let known = methods.find(|known| known.method == method.method);
        let is_shared = known.is_some_and(|known| known.is_same(method));
        if known.is_none() {
            novel.push(method.clone());
        } else if is_shared && !method.types().any(|name| own.contains(name)) {
            shared.insert(method.name.clone());
        }
    }
    let own = Model {
        items,
        methods: later.methods.clone(),
    };
    Ok(Split { own, shared, novel })
}

pub(super) fn find<'a>(model: &'a Model, name: &str) -> Option<&'a Item> {
    model.items.iter().find(|item| item.name == name)
}
