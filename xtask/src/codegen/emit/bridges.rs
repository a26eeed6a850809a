//! `bridges.rs`: how canonical types turn into those of a later revision, and back.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::print::{head, print};
use super::scope::Scope;
use crate::codegen::bridge;
use crate::codegen::model::{Item, Kind, Model, Presence, Property, Struct, Ty, Union};
use crate::codegen::naming;

/// The text of the file.
pub(crate) fn emit(
    own: &Model,
    canonical: &Model,
    bridged: &BTreeSet<String>,
    scope: &Scope<'_>,
) -> Result<String, String> {
    let mut text = head(&scope.docs.module("bridges"));
    for item in own.items.iter().filter(|item| bridged.contains(&item.name)) {
        let known = canonical.items.iter().find(|known| known.name == item.name);
        let known = known.ok_or_else(|| format!("{item} has no canonical namesake"))?;
        text.push_str(&print(emit_both(item, known, bridged, scope))?);
    }
    Ok(text)
}

fn emit_both(
    item: &Item,
    known: &Item,
    bridged: &BTreeSet<String>,
    scope: &Scope<'_>,
) -> TokenStream {
    let ident = format_ident!("{}", item.name);
    let (later, canonical) = (scope.path(&item.name), quote!(crate::#ident));
    let (line, narrow, widen) = match (&item.kind, &known.kind) {
        (Kind::Struct(own), Kind::Struct(known)) => (
            lost(own, known),
            emit_fields(own, own, bridged),
            emit_fields(known, own, bridged),
        ),
        (Kind::Union(own), Kind::Union(_)) => {
            (None, emit_arms(own, &canonical), emit_arms(own, &later))
        }
        _ => return quote!(),
    };
    let line = line.map(|line| quote!(#[doc = #line]));
    quote! {
        #line
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

/// What does not get across.
fn lost(own: &Struct, known: &Struct) -> Option<String> {
    let lost: Vec<_> = known
        .fields
        .iter()
        .filter(|field| own.fields.iter().all(|other| other.wire != field.wire))
        .map(|field| format!("`{}`", field.wire))
        .collect();
    (!lost.is_empty()).then(|| format!(" Leaves out {}.", lost.join(", ")))
}

/// A literal of `target` from a value that has the members of `own`.
fn emit_fields(target: &Struct, own: &Struct, bridged: &BTreeSet<String>) -> TokenStream {
    let constant = target.tag.as_ref().filter(|tag| tag.checked).map(|tag| {
        let member = format_ident!("{}", naming::snake(&tag.wire));
        let ty = format_ident!("{}", naming::pascal(&tag.value));
        quote!(#member: crate::constant::#ty,)
    });
    let fields = target.fields.iter().map(|field| {
        let member = format_ident!("{}", field.rust);
        let there = own.fields.iter().any(|other| other.wire == field.wire);
        let value = if there {
            turn(field, quote!(other.#member), bridged)
        } else {
            quote!(None)
        };
        quote!(#member: #value,)
    });
    let extra = target.extra.then(|| quote!(extra: other.extra,));
    quote!(Self { #constant #(#fields)* #extra })
}

fn turn(field: &Property, value: TokenStream, bridged: &BTreeSet<String>) -> TokenStream {
    if !bridge::is_turned(&field.ty, bridged) {
        return value;
    }
    let many = matches!(field.ty, Ty::Vec(_));
    match (field.presence, many) {
        (Presence::Optional, true) => {
            quote!(#value.map(|all| all.into_iter().map(Into::into).collect()))
        }
        (Presence::Optional, false) => quote!(#value.map(Into::into)),
        (_, true) => quote!(#value.into_iter().map(Into::into).collect()),
        (_, false) => quote!(#value.into()),
    }
}

fn emit_arms(union: &Union, source: &TokenStream) -> TokenStream {
    let arms = union.arms.iter().map(|arm| {
        let variant = format_ident!("{}", arm.name);
        quote!(#source::#variant(arm) => Self::#variant(arm.into()),)
    });
    quote! {
        match other {
            #(#arms)*
            #source::Unknown(raw) => Self::Unknown(raw),
        }
    }
}
