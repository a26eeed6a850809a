//! `bridges.rs`: conversions of canonical types to those of a later revision, and back.

use std::collections::BTreeSet;

use minijinja::{Value, context};

use super::scope::{Scope, render};
use crate::codegen::model::{Item, Kind, Presence, Struct};
use crate::workspace::Result;

/// The text of the file, for pairs of a type and its canonical namesake.
pub(crate) fn emit(pairs: &[(&Item, &Item)], scope: &Scope<'_>) -> Result<String> {
    let bridged: BTreeSet<&str> = pairs.iter().map(|(item, _)| &*item.name).collect();
    let bridges = pairs.iter().filter_map(|(item, known)| {
        let values = match (&item.kind, &known.kind) {
            (Kind::Struct(own), Kind::Struct(known)) => context! {
                narrow => literal(own, own, &bridged),
                widen => literal(known, own, &bridged),
                lost => lost(own, known),
            },
            (Kind::Union(own), _) => context!(arms => own.arms),
            _ => return None,
        };
        let (later, canonical) = (scope.path(&item.name), format!("crate::{}", item.name));
        Some(context!(later, canonical, ..values))
    });
    let bridges: Vec<Value> = bridges.collect();
    let values = context!(bridges, ..scope.head("bridges"));
    render(include_str!("bridges.rs.jinja"), values)
}

/// The members that are not converted.
fn lost<'a>(own: &Struct, known: &'a Struct) -> Vec<&'a str> {
    let names = known.fields.iter().map(|field| &*field.wire);
    names.filter(|wire| own.field(wire).is_none()).collect()
}

/// A literal of `target` from a value that has the members of `own`.
fn literal(target: &Struct, own: &Struct, bridged: &BTreeSet<&str>) -> Value {
    let fields = target.fields.iter().map(|field| {
        let own = own.field(&field.wire);
        context! {
            name => field.rust,
            is_known => own.is_some(),
            is_bridged => own.is_some_and(|own| bridged.contains(own.name())),
            is_optional => own.is_some_and(|own| own.presence == Presence::Optional),
            is_list => own.is_some_and(|own| own.ty.starts_with("Vec<")),
        }
    });
    let fields: Vec<Value> = fields.collect();
    context!(fields, constant => target.constant(), extra => target.extra)
}
