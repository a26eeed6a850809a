//! From the [`Model`] to Rust source.

pub(crate) mod bridges;
mod embedded;
mod enums;
mod methods;
pub(crate) mod print;
pub(crate) mod scope;
mod structs;
mod unions;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::model::{Item, Kind, Model, Ty};
use print::{HEADER, head, print};
use scope::Scope;
use uses::Uses;

/// The names of types that are passed as they are.
pub(crate) fn plain(model: &Model) -> BTreeSet<String> {
    let plain = model.items.iter().filter(|item| match &item.kind {
        Kind::Struct(_) | Kind::Open => true,
        Kind::Alias(ty) => *ty != Ty::String,
        Kind::Enum(_) | Kind::Union(_) => false,
    });
    plain.map(|item| item.name.clone()).collect()
}

/// The generated files of one revision, by path below the module folder.
pub(crate) fn emit(model: &Model, scope: &Scope<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut areas: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for item in &model.items {
        areas.entry(&item.area).or_default().push(item);
    }
    let mut files = BTreeMap::new();
    let mut modules = String::new();
    for (area, items) in &areas {
        files.insert(format!("{area}.rs"), emit_area(area, items, scope)?);
        modules.push_str(&format!("mod {area};\npub use {area}::*;\n"));
    }
    files.insert("methods.rs".to_owned(), methods::emit(model, scope)?);
    let revision = scope.revision;
    let head = match scope.module {
        None => {
            modules.push_str("pub(crate) mod methods;\npub use methods::*;\n");
            for module in scope.later {
                modules.push_str(&format!("pub(crate) mod {module};\n"));
            }
            format!("{HEADER}\n//! Types of revision {revision}, one module per area.\n\n")
        }
        Some(_) => {
            modules.push_str("mod bridges;\nmod methods;\npub use methods::*;\n");
            let shared: Vec<_> = scope.shared.iter().map(String::as_str).collect();
            format!(
                "{HEADER}\n//! Types that are specific to revision {revision}, and the types that it shares with other revisions.\n\npub use crate::{{{}}};\n\n",
                shared.join(", ")
            )
        }
    };
    files.insert("mod.rs".to_owned(), head + &modules);
    Ok(files)
}

fn emit_area(area: &str, items: &[&Item], scope: &Scope<'_>) -> Result<String, String> {
    let docs = scope.docs;
    let mut uses = Uses::new(scope);
    let mut body = String::new();
    for item in items {
        let doc = docs.item(&item.name, area);
        let tokens = match &item.kind {
            Kind::Struct(structure) => structs::emit(&item.name, structure, &doc, docs, &mut uses),
            Kind::Enum(string_enum) => enums::emit(&item.name, string_enum, &doc, docs, &mut uses),
            Kind::Union(union) => unions::emit(&item.name, union, &doc, &mut uses),
            Kind::Alias(ty) => emit_alias(&item.name, ty, &doc, &mut uses),
            Kind::Open => emit_open(&item.name, &doc, &mut uses),
        };
        body.push_str(&print(tokens)?);
    }
    let own: BTreeSet<String> = items.iter().map(|item| item.name.clone()).collect();
    Ok(format!(
        "{}{}{body}",
        head(&docs.module(area)),
        uses.print(&own)
    ))
}

fn emit_alias(name: &str, ty: &Ty, doc: &TokenStream, uses: &mut Uses<'_>) -> TokenStream {
    let ident = format_ident!("{name}");
    let ty = uses.ty(ty);
    quote!(#doc pub type #ident = #ty;)
}

fn emit_open(name: &str, doc: &TokenStream, uses: &mut Uses<'_>) -> TokenStream {
    uses.serde("Deserialize");
    uses.serde("Serialize");
    uses.path("std::ops::Deref");
    uses.path("std::ops::DerefMut");
    uses.named("JsonObject");
    let ident = format_ident!("{name}");
    quote! {
        #doc
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct #ident(JsonObject);

        impl #ident {
            /// Creates a value without members.
            pub fn new() -> Self {
                Self::default()
            }

            /// Returns the members as a map.
            pub fn into_inner(self) -> JsonObject {
                self.0
            }
        }

        impl Deref for #ident {
            type Target = JsonObject;

            fn deref(&self) -> &JsonObject {
                &self.0
            }
        }

        impl DerefMut for #ident {
            fn deref_mut(&mut self) -> &mut JsonObject {
                &mut self.0
            }
        }

        impl From<JsonObject> for #ident {
            fn from(members: JsonObject) -> Self {
                Self(members)
            }
        }

        impl From<#ident> for JsonObject {
            fn from(open: #ident) -> Self {
                open.0
            }
        }
    }
}
