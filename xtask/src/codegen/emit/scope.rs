//! What the emitters of one revision have in common.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::codegen::docs::Lines;
use crate::codegen::model::Method;

/// The context of the generated files of one revision.
pub(crate) struct Scope<'a> {
    pub(crate) docs: Lines<'a>,
    pub(crate) revision: &'a str,
    /// The module of a later revision; none for the canonical one.
    pub(crate) module: Option<&'a str>,
    /// The types of that module.
    pub(crate) own: BTreeSet<String>,
    /// The types that the module re-exports from the crate root.
    pub(crate) shared: &'a BTreeSet<String>,
    /// Types without conversions into them: `impl Into` would only make inference harder.
    pub(crate) plain: BTreeSet<String>,
    /// The modules of later revisions.
    pub(crate) later: &'a [&'static str],
    /// Methods that exist in later revisions only, each with its module.
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
