//! Types of a later revision that the canonical ones turn into, and back.
//!
//! That is so where the later type only lost members that may be left out: one way leaves them out, the other finds none.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Item, Kind, Model, Presence, Rule, Struct, Ty, Union};

/// The names of the bridged types among `own`.
pub(crate) fn bridged(own: &[Item], canonical: &Model) -> BTreeSet<String> {
    let pairs: BTreeMap<&str, (&Kind, &Kind)> = own
        .iter()
        .filter_map(|item| {
            let known = canonical
                .items
                .iter()
                .find(|known| known.name == item.name)?;
            Some((item.name.as_str(), (&item.kind, &known.kind)))
        })
        .collect();
    let all: BTreeSet<&str> = own.iter().map(|item| item.name.as_str()).collect();
    let mut bridged: BTreeSet<&str> = pairs.keys().copied().collect();
    loop {
        // What a type mentions has to be shared, or bridged itself.
        let passes = |name: &str| !all.contains(name) || bridged.contains(name);
        let kept: BTreeSet<&str> = bridged
            .iter()
            .copied()
            .filter(|name| {
                pairs
                    .get(name)
                    .is_some_and(|(later, known)| is_bridge(later, known, &passes))
            })
            .collect();
        if kept.len() == bridged.len() {
            return kept.into_iter().map(str::to_owned).collect();
        }
        bridged = kept;
    }
}

fn is_bridge(later: &Kind, known: &Kind, passes: &impl Fn(&str) -> bool) -> bool {
    let mentioned = later.names().iter().all(|name| passes(name));
    let fits = match (later, known) {
        (Kind::Struct(later), Kind::Struct(known)) => narrows(later, known),
        (Kind::Union(later), Kind::Union(known)) => mirrors(later, known),
        _ => false,
    };
    mentioned && fits
}

/// Whether every member is a member of `known`, which requires no other.
fn narrows(later: &Struct, known: &Struct) -> bool {
    let tags = match (&later.tag, &known.tag) {
        (Some(tag), None) => tag.checked,
        (later, known) => later == known,
    };
    let find = |of: &Struct, wire: &str| {
        let field = of.fields.iter().find(|field| field.wire == wire);
        field.map(|field| (field.ty.clone(), field.presence))
    };
    let (mut own, mut others) = (later.fields.iter(), known.fields.iter());
    tags && later.extra == known.extra
        && own.all(|field| find(known, &field.wire) == Some((field.ty.clone(), field.presence)))
        && others
            .all(|field| field.presence == Presence::Optional || find(later, &field.wire).is_some())
}

fn mirrors(later: &Union, known: &Union) -> bool {
    later.arms.len() == known.arms.len()
        && later.arms.iter().all(|arm| known.arms.contains(arm))
        && !matches!(later.rule, Rule::Embedded { .. })
}

/// Whether a value of this type has to be turned into its namesake.
pub(crate) fn is_turned(ty: &Ty, bridged: &BTreeSet<String>) -> bool {
    ty.name().is_some_and(|name| bridged.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::model::{Property, Tag};

    fn item(name: &str, members: &[(&str, Ty, Presence)]) -> Item {
        let fields = members.iter().map(|(wire, ty, presence)| Property {
            wire: (*wire).to_owned(),
            rust: (*wire).to_owned(),
            ty: ty.clone(),
            presence: *presence,
            range: None,
            keeps_null: false,
        });
        Item {
            name: name.to_owned(),
            definition: None,
            area: "base".to_owned(),
            kind: Kind::Struct(Struct {
                tag: None,
                fields: fields.collect(),
                extra: false,
            }),
        }
    }

    fn names(own: &[Item], canonical: Vec<Item>) -> Vec<String> {
        let canonical = Model {
            items: canonical,
            methods: Vec::new(),
        };
        bridged(own, &canonical).into_iter().collect()
    }

    const OPTIONAL: Presence = Presence::Optional;
    const REQUIRED: Presence = Presence::Required;

    #[test]
    fn a_lost_optional_member_leaves_a_bridge_and_a_new_one_does_not() {
        let canonical = || {
            vec![
                item(
                    "Lost",
                    &[("a", Ty::Bool, REQUIRED), ("b", Ty::Bool, OPTIONAL)],
                ),
                item(
                    "Lacks",
                    &[("a", Ty::Bool, REQUIRED), ("b", Ty::Bool, REQUIRED)],
                ),
                item("Gains", &[]),
            ]
        };
        let own = [
            item("Lost", &[("a", Ty::Bool, REQUIRED)]),
            item("Lacks", &[("a", Ty::Bool, REQUIRED)]),
            item("Gains", &[("c", Ty::Bool, OPTIONAL)]),
        ];
        assert_eq!(names(&own, canonical()), ["Lost"]);
    }

    #[test]
    fn a_bridge_carries_no_type_without_one() {
        let holds = |name: &str, ty: &str| {
            let ty = Ty::Vec(Box::new(Ty::Named(ty.to_owned())));
            item(name, &[("a", ty, REQUIRED)])
        };
        let canonical = vec![
            holds("Outer", "Inner"),
            item("Inner", &[("b", Ty::Bool, REQUIRED)]),
        ];
        let own = [holds("Outer", "Inner"), item("Inner", &[])];
        assert!(names(&own, canonical).is_empty());
    }

    #[test]
    fn a_checked_constant_is_no_obstacle() {
        let mut own = item("Done", &[]);
        if let Kind::Struct(structure) = &mut own.kind {
            structure.tag = Some(Tag {
                wire: "kind".to_owned(),
                value: "done".to_owned(),
                checked: true,
            });
        }
        assert_eq!(names(&[own], vec![item("Done", &[])]), ["Done"]);
    }
}
