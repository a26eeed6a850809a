//! The imports of a generated file, collected while its types are printed.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::scope::Scope;
use crate::codegen::model::Ty;

/// The names a file imports.
pub(crate) struct Uses<'a> {
    scope: &'a Scope<'a>,
    paths: BTreeSet<String>,
    types: BTreeSet<String>,
}

impl<'a> Uses<'a> {
    pub(crate) fn new(scope: &'a Scope<'a>) -> Self {
        Self {
            scope,
            paths: BTreeSet::new(),
            types: BTreeSet::new(),
        }
    }

    pub(crate) fn path(&mut self, path: &str) {
        self.paths.insert(path.to_owned());
    }

    /// One of serde's traits.
    pub(crate) fn serde(&mut self, item: &str) {
        self.paths.insert(format!("serde::{item}"));
    }

    pub(crate) fn named(&mut self, name: &str) {
        self.types.insert(name.to_owned());
    }

    pub(crate) fn print(&self, own: &BTreeSet<String>) -> String {
        let mut text = String::new();
        let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (module, name) in self.paths.iter().filter_map(|path| path.rsplit_once("::")) {
            modules.entry(module).or_default().push(name);
        }
        for (module, names) in modules {
            match names.as_slice() {
                [name] => text.push_str(&format!("use {module}::{name};\n")),
                names => text.push_str(&format!("use {module}::{{{}}};\n", names.join(", "))),
            }
        }
        let mut roots: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for name in self.types.difference(own) {
            let root = self.scope.root(name);
            roots.entry(root).or_default().push(name);
        }
        for (root, names) in roots {
            text.push_str(&format!("use {root}::{{{}}};\n", names.join(", ")));
        }
        text.push('\n');
        text
    }

    /// The Rust type.
    pub(crate) fn ty(&mut self, ty: &Ty) -> TokenStream {
        match ty {
            Ty::String => quote!(String),
            Ty::Bool => quote!(bool),
            Ty::I64 => quote!(i64),
            Ty::U64 => quote!(u64),
            Ty::F64 => quote!(f64),
            Ty::Number => {
                self.path("serde_json::Number");
                quote!(Number)
            }
            Ty::Value => {
                self.path("serde_json::Value");
                quote!(Value)
            }
            Ty::Object => self.crate_type("JsonObject"),
            Ty::Meta => self.crate_type("Meta"),
            Ty::Named(name) => self.crate_type(name),
            Ty::Vec(inner) => {
                let inner = self.ty(inner);
                quote!(Vec<#inner>)
            }
            Ty::Map(inner) => {
                self.path("std::collections::BTreeMap");
                let inner = self.ty(inner);
                quote!(BTreeMap<String, #inner>)
            }
            Ty::OneOrMany(inner) => {
                let outer = self.crate_type("OneOrMany");
                let inner = self.ty(inner);
                quote!(#outer<#inner>)
            }
        }
    }

    fn crate_type(&mut self, name: &str) -> TokenStream {
        self.named(name);
        let name = format_ident!("{name}");
        quote!(#name)
    }

    /// The parameter type and the conversion of an argument.
    pub(crate) fn argument(&mut self, name: &Ident, ty: &Ty) -> (TokenStream, TokenStream) {
        let target = self.ty(ty);
        match ty {
            Ty::Named(named) if self.scope.plain.contains(named.as_str()) => {
                (target, quote!(#name))
            }
            Ty::String | Ty::Number | Ty::Value | Ty::OneOrMany(_) | Ty::Named(_) => {
                (quote!(impl Into<#target>), quote!(#name.into()))
            }
            _ => (target, quote!(#name)),
        }
    }
}
