//! From the [`Model`] to Rust source: one file per area, `methods.rs`, `mod.rs` and `bridges.rs`.

mod bridges;
mod enums;
mod file;
mod methods;
mod structs;
mod unions;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::quote;

use super::model::{Item, Kind, Model};
use file::{ident, ty};

pub(super) use bridges::emit as bridges;
pub(super) use file::Scope;

/// The files of one revision, except `bridges.rs`, by name.
pub(super) fn files(model: &Model, scope: &Scope<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut areas: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for item in &model.items {
        areas.entry(&item.area).or_default().push(item);
    }
    let (revision, header) = (scope.docs.revision, &scope.header);
    let mut root = match &scope.module {
        None => format!("{header}\n//! Types of revision {revision}, one module per area.\n\n"),
        Some((_, split)) => format!(
            "{header}\n//! Types that are specific to revision {revision}, and the types that it shares with other revisions.\n\n\
             pub use crate::{{{}}};\n\n",
            Vec::from_iter(split.shared.iter().map(String::as_str)).join(", ")
        ),
    };
    let mut files = BTreeMap::new();
    for (area, items) in areas {
        root += &format!("mod {area};\npub use {area}::*;\n");
        let tokens = items.iter().map(|item| emit_item(item, scope));
        let text = scope.file(area, &items, &Vec::from_iter(tokens))?;
        files.insert(area.to_owned(), text);
    }
    if scope.module.is_none() {
        root += "pub(crate) mod methods;\npub use methods::*;\n";
        for module in scope.later.keys() {
            root += &format!("pub(crate) mod {module};\n");
        }
    } else {
        root += "mod bridges;\nmod methods;\npub use methods::*;\n";
    }
    files.insert("methods".to_owned(), methods::emit(model, scope)?);
    files.insert("mod".to_owned(), root);
    Ok(files)
}

fn emit_item(item: &Item, scope: &Scope<'_>) -> TokenStream {
    let doc = scope.docs.item(&item.name, &item.area);
    let name = ident(&item.name);
    let definition = match &item.kind {
        Kind::Struct(structure) => structs::emit(&item.name, structure, scope),
        Kind::Enum(string_enum) => enums::emit(&item.name, string_enum, scope.docs),
        Kind::Union(union) => unions::emit(&item.name, union),
        Kind::Alias(alias) => {
            let alias = ty(alias);
            quote!(pub type #name = #alias;)
        }
        Kind::Open => emit_open(&item.name),
    };
    quote!(#doc #definition)
}

fn emit_open(name: &str) -> TokenStream {
    let name = ident(name);
    quote! {
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct #name(JsonObject);

        impl #name {
            /// Creates a value without members.
            pub fn new() -> Self {
                Self::default()
            }

            /// Returns the members as a map.
            pub fn into_inner(self) -> JsonObject {
                self.0
            }
        }

        impl Deref for #name {
            type Target = JsonObject;

            fn deref(&self) -> &JsonObject {
                &self.0
            }
        }

        impl DerefMut for #name {
            fn deref_mut(&mut self) -> &mut JsonObject {
                &mut self.0
            }
        }

        impl From<JsonObject> for #name {
            fn from(members: JsonObject) -> Self {
                Self(members)
            }
        }

        impl From<#name> for JsonObject {
            fn from(open: #name) -> Self {
                open.0
            }
        }
    }
}

/// The table of the round-trip tests of the types: the name of each definition, and a function that decodes a value and encodes it again.
pub(super) fn table(model: &Model, scope: &Scope<'_>) -> String {
    let module = scope.module.iter().map(|(module, _)| format!("::{module}"));
    let path = format!("mcp_types{}", module.collect::<String>());
    let mut rows = Vec::new();
    for item in &model.items {
        let definition = item.definition.as_ref();
        rows.extend(definition.map(|name| (name, "round_trip", &item.name)));
    }
    for method in model.methods.iter().filter(|_| scope.module.is_some()) {
        let kind = match method.result {
            Some(_) => "request",
            None => "notification",
        };
        rows.push((&method.name, kind, &method.name));
        let response = method.response.as_ref();
        rows.extend(response.map(|name| (name, "response", &method.name)));
    }
    rows.sort_unstable();
    let helpers: BTreeSet<&str> = rows.iter().map(|(_, helper, _)| *helper).collect();
    let rows = rows
        .iter()
        .map(|(definition, helper, ty)| format!("(\"{definition}\", {helper}::<{path}::{ty}>),\n"));
    let rows: String = rows.collect();
    format!(
        "{}\n//! Every definition with a Rust type, and its round trip.\n\n\
         use crate::support::{{RoundTrip, {}}};\n\n\
         /// The name of each definition, and a function that decodes a value and encodes it again.\n\
         pub(crate) const TABLE: &[(&str, RoundTrip)] = &[\n{rows}];\n",
        scope.header,
        Vec::from_iter(helpers).join(", ")
    )
}
