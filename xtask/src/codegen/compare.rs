//! Comparison of a later revision with the canonical one.

use std::collections::BTreeSet;

use super::model::{Item, Kind, Method, Model, Presence, Property, Rule, Struct};

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

/// The types of a later revision that convert to their canonical namesakes and back, each with its namesake.
///
/// These are the types that only lost members that may be left out: one direction leaves them out, the other finds none.
pub(super) fn bridged<'a>(own: &'a Model, canonical: &'a Model) -> Vec<(&'a Item, &'a Item)> {
    let pair = |item: &'a Item| Some((item, find(canonical, &item.name)?));
    let mut pairs: Vec<_> = own.items.iter().filter_map(pair).collect();
    pairs.retain(|(item, known)| fits(&item.kind, &known.kind));
    loop {
        // A type that is mentioned must be shared or bridged.
        let bridged: BTreeSet<&str> = pairs.iter().map(|(item, _)| &*item.name).collect();
        let converts = |name: &&str| bridged.contains(name) || find(own, name).is_none();
        let before = pairs.len();
        pairs.retain(|(item, _)| item.kind.names().iter().all(converts));
        if pairs.len() == before {
            return pairs;
        }
    }
}

fn fits(later: &Kind, known: &Kind) -> bool {
    match (later, known) {
        (Kind::Struct(later), Kind::Struct(known)) => narrows(later, known),
        (Kind::Union(later), Kind::Union(known)) => {
            let mut arms = later.arms.iter();
            later.arms.len() == known.arms.len()
                && arms.all(|arm| known.arms.contains(arm))
                && later.rule != Rule::Embedded
        }
        _ => false,
    }
}

/// Whether every member is a member of `known`, which requires no other.
fn narrows(later: &Struct, known: &Struct) -> bool {
    let tags = match (&later.tag, &known.tag) {
        (Some(tag), None) => tag.checked,
        (later, known) => later == known,
    };
    let is_same = |field: &Property| {
        let known = known.field(&field.wire);
        known.is_some_and(|known| (&known.ty, known.presence) == (&field.ty, field.presence))
    };
    let may_lack = |known: &Property| {
        known.presence == Presence::Optional || later.field(&known.wire).is_some()
    };
    tags && later.extra == known.extra
        && later.fields.iter().all(is_same)
        && known.fields.iter().all(may_lack)
}
