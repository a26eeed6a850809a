//! From the [`Model`] to Rust source.

pub(crate) mod bridges;
mod embedded;
mod enums;
mod methods;
mod structs;
mod unions;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::docs::Lines;
use super::model::{Item, Kind, Method, Model, Ty};
use uses::Uses;

const HEADER: &str =
    "// Generated from the official schema: do not edit. Run `cargo xtask codegen`.\n";

/// What the files of one revision are printed with.
pub(crate) struct Scope<'a> {
    pub(crate) docs: Lines<'a>,
    pub(crate) revision: &'a str,
    /// The module of a later revision; none for the canonical one.
    pub(crate) module: Option<&'a str>,
    /// The types of that module.
    pub(crate) own: BTreeSet<String>,
    /// What that module takes from the crate root.
    pub(crate) shared: &'a BTreeSet<String>,
    /// Types that nothing converts into, so that `impl Into` would only cost inference.
    pub(crate) plain: BTreeSet<String>,
    /// The modules of later revisions.
    pub(crate) later: &'a [&'static str],
    /// Methods that only later revisions know, each with its module.
    pub(crate) novel: &'a [(&'static str, Method)],
}

impl Scope<'_> {
    /// The module a name is imported from.
    pub(crate) fn root(&self, name: &str) -> String {
        match self.module {
            Some(module) if self.own.contains(name) => format!("crate::{module}"),
            _ => "crate".to_owned(),
        }
    }

    /// The whole path of a name.
    pub(crate) fn path(&self, name: &str) -> TokenStream {
        let ident = format_ident!("{name}");
        match self.module {
            Some(module) if self.own.contains(name) => {
                let module = format_ident!("{module}");
                quote!(crate::#module::#ident)
            }
            _ => quote!(crate::#ident),
        }
    }
}

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
                "{HEADER}\n//! What revision {revision} has of its own, and the types it shares.\n\npub use crate::{{{}}};\n\n",
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
