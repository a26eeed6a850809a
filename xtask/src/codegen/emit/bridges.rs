//! `bridges.rs`: conversions of canonical types to those of a later revision, and back.

use std::collections::BTreeSet;

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use minijinja::{Value, context};

use super::scope::{Scope, render};
use crate::codegen::model::{Item, Kind, Presence, Property, Struct};

/// The text of the file, for pairs of a type and its canonical namesake.
pub(crate) fn emit(pairs: &[(&Item, &Item)], scope: &Scope<'_>) -> Result<String, String> {
    let bridged: BTreeSet<&str> = pairs.iter().map(|(item, _)| &*item.name).collect();
    let bridges = pairs.iter().filter_map(|(item, known)| {
        let values = match (&item.kind, &known.kind) {
            (Kind::Struct(own), Kind::Struct(known)) => context! {
                narrow => members(own, own, &bridged),
                widen => members(known, own, &bridged),
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

/// The members of a literal of `target`, from a value that has the members of `own`.
fn members(target: &Struct, own: &Struct, bridged: &BTreeSet<&str>) -> Vec<(String, String)> {
    let constant = target.constant().map(|tag| {
        let path = format!("crate::constant::{}", tag.value.to_upper_camel_case());
        (tag.wire.to_snake_case(), path)
    });
    let fields = target.fields.iter().map(|field| {
        let value = own.field(&field.wire).map(|field| convert(field, bridged));
        (field.rust.clone(), value.unwrap_or("None".to_owned()))
    });
    let extra = target
        .extra
        .then(|| ("extra".to_owned(), "other.extra".to_owned()));
    constant.into_iter().chain(fields).chain(extra).collect()
}

fn convert(field: &Property, bridged: &BTreeSet<&str>) -> String {
    let member = format!("other.{}", field.rust);
    let is_list = field.ty.starts_with("Vec<");
    match field.presence {
        _ if !bridged.contains(field.name()) => member,
        Presence::Optional if is_list => {
            format!("{member}.map(|all| all.into_iter().map(Into::into).collect())")
        }
        Presence::Optional => format!("{member}.map(Into::into)"),
        _ if is_list => format!("{member}.into_iter().map(Into::into).collect()"),
        _ => format!("{member}.into()"),
    }
}
