//! `bridges.rs`: conversions of canonical types to those of a later revision, and back.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::file::{Scope, ident, print};
use super::structs::constant;
use crate::codegen::model::{Item, Kind, Presence, Property, Struct, Union};

/// The text of the file, for pairs of a type and its canonical namesake.
pub(crate) fn emit(pairs: &[(&Item, &Item)], scope: &Scope<'_>) -> Result<String, String> {
    let bridged: BTreeSet<&str> = pairs.iter().map(|(item, _)| &*item.name).collect();
    let items = pairs
        .iter()
        .map(|(item, known)| emit_both(item, known, &bridged, scope));
    Ok(scope.head("bridges") + &print(&items.collect::<Vec<_>>())?)
}

fn emit_both(
    item: &Item,
    known: &Item,
    bridged: &BTreeSet<&str>,
    scope: &Scope<'_>,
) -> TokenStream {
    let name = ident(&item.name);
    let (later, canonical) = (scope.path(&item.name), quote!(crate::#name));
    let (line, narrow, widen) = match (&item.kind, &known.kind) {
        (Kind::Struct(own), Kind::Struct(known)) => (
            lost(own, known),
            emit_fields(own, own, bridged),
            emit_fields(known, own, bridged),
        ),
        (Kind::Union(own), _) => (None, emit_arms(own, &canonical), emit_arms(own, &later)),
        _ => return quote!(),
    };
    let line = line.iter();
    quote! {
        #(#[doc = #line])*
        impl From<#canonical> for #later {
            fn from(other: #canonical) -> Self {
                #narrow
            }
        }

        impl From<#later> for #canonical {
            fn from(other: #later) -> Self {
                #widen
            }
        }
    }
}

/// The members that are not converted.
fn lost(own: &Struct, known: &Struct) -> Option<String> {
    let lost = known
        .fields
        .iter()
        .filter(|field| own.field(&field.wire).is_none());
    let lost: Vec<_> = lost.map(|field| format!("`{}`", field.wire)).collect();
    (!lost.is_empty()).then(|| format!(" Leaves out {}.", lost.join(", ")))
}

/// A literal of `target` from a value that has the members of `own`.
fn emit_fields(target: &Struct, own: &Struct, bridged: &BTreeSet<&str>) -> TokenStream {
    let constant = constant(target).map(|(member, ty, _)| quote!(#member: crate::constant::#ty,));
    let fields = target.fields.iter().map(|field| {
        let member = ident(&field.rust);
        let value = match own.field(&field.wire) {
            Some(field) => convert(field, bridged),
            None => quote!(None),
        };
        quote!(#member: #value,)
    });
    let extra = target.extra.then(|| quote!(extra: other.extra,));
    quote!(Self { #constant #(#fields)* #extra })
}

fn convert(field: &Property, bridged: &BTreeSet<&str>) -> TokenStream {
    let member = ident(&field.rust);
    if !bridged.contains(field.name()) {
        return quote!(other.#member);
    }
    match (
        field.presence == Presence::Optional,
        field.ty.starts_with("Vec<"),
    ) {
        (true, true) => quote!(other.#member.map(|all| all.into_iter().map(Into::into).collect())),
        (true, false) => quote!(other.#member.map(Into::into)),
        (false, true) => quote!(other.#member.into_iter().map(Into::into).collect()),
        (false, false) => quote!(other.#member.into()),
    }
}

fn emit_arms(union: &Union, source: &TokenStream) -> TokenStream {
    let variants = union.arms.iter().map(|arm| ident(&arm.name));
    quote! {
        match other {
            #(#source::#variants(arm) => Self::#variants(arm.into()),)*
            #source::Unknown(raw) => Self::Unknown(raw),
        }
    }
}
