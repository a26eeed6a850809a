//! From the [`Model`] to Rust source.

mod enums;
mod methods;
mod structs;
mod unions;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::docs::Docs;
use super::model::{Item, Kind, Model, Ty};
use uses::Uses;

const HEADER: &str =
    "// Generated from the official schema: do not edit. Run `cargo xtask codegen`.\n";

/// The generated files of one revision, by path below the module folder.
pub(crate) fn emit(
    model: &Model,
    docs: &Docs,
    revision: &str,
) -> Result<BTreeMap<String, String>, String> {
    let mut areas: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for item in &model.items {
        areas.entry(&item.area).or_default().push(item);
    }
    let structs = model
        .items
        .iter()
        .filter(|item| matches!(item.kind, Kind::Struct(_) | Kind::Open));
    let structs: BTreeSet<&str> = structs.map(|item| item.name.as_str()).collect();
    let mut files = BTreeMap::new();
    let mut modules = String::new();
    for (area, items) in &areas {
        files.insert(
            format!("{area}.rs"),
            emit_area(area, items, &structs, docs, revision)?,
        );
        modules.push_str(&format!("mod {area};\npub use {area}::*;\n"));
    }
    files.insert(
        "methods.rs".to_owned(),
        methods::emit(model, docs, revision)?,
    );
    modules.push_str("pub(crate) mod methods;\npub use methods::*;\n");
    let head = format!("{HEADER}\n//! Types of revision {revision}, one module per area.\n\n");
    files.insert("mod.rs".to_owned(), head + &modules);
    Ok(files)
}

fn emit_area(
    area: &str,
    items: &[&Item],
    structs: &BTreeSet<&str>,
    docs: &Docs,
    revision: &str,
) -> Result<String, String> {
    let mut uses = Uses::new(structs);
    let mut body = String::new();
    for item in items {
        let doc = docs.item(&item.name, area, revision);
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

/// The first lines of a generated file.
pub(crate) fn head(line: &str) -> String {
    format!("{HEADER}\n//! {line}\n\n")
}

/// Prints items, with a blank line between them and between functions.
pub(crate) fn print(tokens: TokenStream) -> Result<String, String> {
    let file =
        syn::parse2(tokens).map_err(|error| format!("generated code does not parse: {error}"))?;
    let text = prettyplease::unparse(&file);
    let mut spaced = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        spaced.push_str(line);
        spaced.push('\n');
        let next = lines.peek();
        let function = line == "    }"
            && next.is_some_and(|next| next.starts_with("    ") && !next.starts_with("    }"));
        let constants = line.ends_with(';') && next.is_some_and(|next| next.starts_with("    fn "));
        let function = function || constants;
        if line == "}" || (next.is_none() && line.ends_with(';')) || function {
            spaced.push('\n');
        }
    }
    Ok(spaced)
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
            /// No members yet.
            pub fn new() -> Self {
                Self::default()
            }

            /// The members as a plain map.
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
