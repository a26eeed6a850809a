//! What a later revision has of its own, found by comparing its model with the canonical one.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Item, Method, Model};

/// A later revision, taken apart.
#[derive(Debug)]
pub(crate) struct Split {
    /// Types and markers that differ from the canonical ones, or have none.
    pub(crate) own: Model,
    /// Types and markers that are the canonical ones.
    pub(crate) shared: BTreeSet<String>,
    /// Methods the canonical revision does not know.
    pub(crate) novel: Vec<Method>,
}

/// Compares member by member; a type also differs when one it mentions does.
pub(crate) fn split(
    later: Model,
    canonical: &Model,
    wrappers: &BTreeMap<String, String>,
) -> Result<Split, String> {
    let differing = differing(&later.items, canonical);
    for (wrapper, wrapped) in wrappers {
        if differing.contains(wrapped) && mentions(&later.items, wrapper) {
            return Err(format!(
                "{wrapper} is written by hand around {wrapped}, which is another type by now"
            ));
        }
    }
    let mut shared = BTreeSet::new();
    let mut items = Vec::new();
    for item in later.items {
        if differing.contains(&item.name) {
            items.push(item);
        } else {
            shared.insert(item.name);
        }
    }
    let (mut methods, mut novel) = (Vec::new(), Vec::new());
    for method in later.methods {
        let known = canonical
            .methods
            .iter()
            .find(|known| known.method == method.method);
        if known.is_none() {
            novel.push(method.clone());
        }
        let moved = method.types().iter().any(|name| differing.contains(*name));
        if !moved && known.is_some_and(|known| known.is_same(&method)) {
            shared.insert(method.name.clone());
        }
        methods.push(method);
    }
    Ok(Split {
        own: Model { items, methods },
        shared,
        novel,
    })
}

fn differing(later: &[Item], canonical: &Model) -> BTreeSet<String> {
    let known: BTreeMap<&str, &Item> = canonical
        .items
        .iter()
        .map(|item| (item.name.as_str(), item))
        .collect();
    let mut differing: BTreeSet<String> = later
        .iter()
        .filter(|item| {
            known
                .get(item.name.as_str())
                .is_none_or(|known| known.kind != item.kind)
        })
        .map(|item| item.name.clone())
        .collect();
    loop {
        let reached: Vec<_> = later
            .iter()
            .filter(|item| !differing.contains(&item.name))
            .filter(|item| {
                item.kind
                    .names()
                    .iter()
                    .any(|name| differing.contains(*name))
            })
            .map(|item| item.name.clone())
            .collect();
        if reached.is_empty() {
            return differing;
        }
        differing.extend(reached);
    }
}

fn mentions(items: &[Item], name: &str) -> bool {
    items.iter().any(|item| item.kind.names().contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::model::{Kind, Presence, Property, Struct, Ty};

    fn holder(name: &str, members: &[(&str, &str)]) -> Item {
        let fields = members.iter().map(|(wire, ty)| Property {
            wire: (*wire).to_owned(),
            rust: (*wire).to_owned(),
            ty: Ty::Vec(Box::new(Ty::Named((*ty).to_owned()))),
            presence: Presence::Optional,
            range: None,
            keeps_null: false,
        });
        Item {
            name: name.to_owned(),
            definition: Some(name.to_owned()),
            area: "base".to_owned(),
            kind: Kind::Struct(Struct {
                tag: None,
                fields: fields.collect(),
                extra: false,
            }),
        }
    }

    fn model(items: Vec<Item>) -> Model {
        Model {
            items,
            methods: Vec::new(),
        }
    }

    fn names(items: &[Item]) -> Vec<&str> {
        items.iter().map(|item| item.name.as_str()).collect()
    }

    #[test]
    fn a_type_differs_with_what_it_mentions_however_far_away() {
        let leaf = |extra: &[(&str, &str)]| holder("Leaf", extra);
        let rest = || {
            vec![
                holder("Branch", &[("leaf", "Leaf")]),
                holder("Tree", &[("branch", "Branch")]),
                holder("Stone", &[]),
            ]
        };
        let canonical = model([vec![leaf(&[])], rest()].concat());
        let later = model([vec![leaf(&[("vein", "Stone")])], rest()].concat());
        let split = split(later, &canonical, &BTreeMap::new()).unwrap();
        assert_eq!(names(&split.own.items), ["Leaf", "Branch", "Tree"]);
        assert_eq!(split.shared, BTreeSet::from(["Stone".to_owned()]));
    }

    #[test]
    fn a_wrapper_written_by_hand_may_not_be_left_behind() {
        let canonical = model(vec![holder("Leaf", &[])]);
        let later = model(vec![
            holder("Leaf", &[("a", "Stone")]),
            holder("Tree", &[("b", "Leaves")]),
        ]);
        let wrappers = BTreeMap::from([("Leaves".to_owned(), "Leaf".to_owned())]);
        let error = split(later, &canonical, &wrappers).unwrap_err();
        assert!(
            error.starts_with("Leaves is written by hand around Leaf"),
            "{error}"
        );
    }
}
