//! The text of generated files, and what the files of one revision have in common.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::visit::{self, Visit};

use crate::codegen::compare::{Split, find};
use crate::codegen::docs::Lines;
use crate::codegen::model::{Item, Kind, Method, Model};

/// Modules and names of them that generated code uses.
const IMPORTS: &[(&str, &str)] = &[
    ("serde", "Deserialize Deserializer Serialize Serializer"),
    ("serde_json", "Number Value"),
    ("std", "fmt"),
    ("std::collections", "BTreeMap"),
    ("std::ops", "Deref DerefMut"),
];

/// Names that need no import: the prelude and type parameters.
const PRELUDE: &str = "Box Clone Copy D Debug Default Eq From Hash Into None Ok Option Ord PartialEq PartialOrd Result S \
                       Self Some String Vec";

/// The context of the generated files of one revision.
pub(crate) struct Scope<'a> {
    pub(super) docs: Lines<'a>,
    /// The first line of each file, with the commit of the schema.
    pub(super) header: String,
    /// Types that an argument has as they are: `impl Into` would only make inference harder.
    plain: BTreeSet<String>,
    /// The module of a later revision, and what it has in common with the canonical one, which has none.
    pub(super) module: Option<(String, &'a Split)>,
    /// For the canonical revision: the modules of later ones, and the methods that only they have.
    pub(crate) later: BTreeMap<String, Vec<Method>>,
}

impl<'a> Scope<'a> {
    /// `commit` is the commit of the specification's repository that the schema comes from.
    pub(crate) fn new(
        docs: Lines<'a>,
        commit: &str,
        model: &Model,
        module: Option<(String, &'a Split)>,
    ) -> Self {
        let header = format!(
            "// Generated from the official schema of {} at commit {commit}: do not edit. Run `cargo xtask codegen`.\n",
            docs.revision
        );
        let is_plain = |kind: &Kind| match kind {
            Kind::Struct(_) | Kind::Open => true,
            Kind::Alias(ty) => ty != "String",
            Kind::Enum(_) | Kind::Union(_) => false,
        };
        let plain = model.items.iter().filter(|item| is_plain(&item.kind));
        let plain = plain.map(|item| item.name.clone());
        let basic = ["bool", "i64", "u64", "f64", "JsonObject", "Meta"];
        Self {
            docs,
            header,
            plain: plain.chain(basic.map(str::to_owned)).collect(),
            module,
            later: BTreeMap::new(),
        }
    }

    /// Whether the module shares a type or marker with the canonical revision.
    pub(super) fn is_shared(&self, name: &str) -> bool {
        let module = self.module.as_ref();
        module.is_some_and(|(_, split)| split.shared.contains(name))
    }

    /// The module of a type.
    fn root(&self, name: &str) -> String {
        match &self.module {
            Some((module, split)) if find(&split.own, name).is_some() => format!("crate::{module}"),
            _ => "crate".to_owned(),
        }
    }

    /// The whole path of a type.
    pub(super) fn path(&self, name: &str) -> TokenStream {
        ty(&format!("{}::{name}", self.root(name)))
    }

    /// The parameter type and the conversion of an argument.
    pub(super) fn argument(&self, name: &Ident, text: &str) -> (TokenStream, TokenStream) {
        let target = ty(text);
        let is_container = text.starts_with("Vec<") || text.starts_with("BTreeMap<");
        if is_container || self.plain.contains(text) {
            (target, quote!(#name))
        } else {
            (quote!(impl Into<#target>), quote!(#name.into()))
        }
    }

    /// The text of the file of an area, with the imports that its items need.
    pub(super) fn file(
        &self,
        area: &str,
        items: &[&Item],
        tokens: &[TokenStream],
    ) -> Result<String, String> {
        let mut names = Names::default();
        names.visit_file(&parse(quote!(#(#tokens)*))?);
        let has = |list: &str, name: &str| list.split(' ').any(|known| known == name);
        let mut imports: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for name in &names.0 {
            let known = IMPORTS.iter().find(|(_, list)| has(list, name));
            let is_type = name.starts_with(char::is_uppercase) && !has(PRELUDE, name);
            let is_own = items.iter().any(|item| item.name == *name);
            let module = known.map(|(module, _)| (*module).to_owned());
            let module = module.or_else(|| (is_type && !is_own).then(|| self.root(name)));
            if let Some(module) = module {
                imports.entry(module).or_default().push(name);
            }
        }
        let mut text = self.head(area);
        for (module, names) in imports {
            text += &format!("use {module}::{{{}}};\n", names.join(", "));
        }
        Ok(text + "\n" + &print(tokens)?)
    }

    /// The first lines of the file of an area.
    pub(super) fn head(&self, area: &str) -> String {
        format!("{}\n//! {}\n\n", self.header, self.docs.module(area))
    }
}

/// The first segment of each path.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Visit<'_> for Names {
    fn visit_path(&mut self, path: &syn::Path) {
        let first = path.segments.first();
        self.0.extend(first.map(|first| first.ident.to_string()));
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, attribute: &syn::Attribute) {
        if attribute.path().is_ident("derive") {
            // The list of a derive is a list of paths.
            let _ = attribute.parse_nested_meta(|derived| {
                self.visit_path(&derived.path);
                Ok(())
            });
        }
    }
}

pub(super) fn ident(name: &str) -> Ident {
    format_ident!("{name}")
}

/// A type or a path; a malformed one is an error of the compiler at its place.
pub(super) fn ty(text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|error| {
        let error = format!("{text}: {error}");
        quote!(compile_error!(#error))
    })
}

fn parse(tokens: TokenStream) -> Result<syn::File, String> {
    syn::parse2(tokens).map_err(|error| format!("generated code does not parse: {error}"))
}

/// Prints items, with a blank line between them and between functions.
pub(super) fn print(items: &[TokenStream]) -> Result<String, String> {
    let mut spaced = String::new();
    for item in items {
        let text = prettyplease::unparse(&parse(item.clone())?);
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            spaced.push_str(line);
            spaced.push('\n');
            let next = lines.peek().copied().unwrap_or_default();
            let is_last = next.is_empty() && line.ends_with(';');
            let is_function =
                line == "    }" && next.starts_with("    ") && !next.starts_with("    }");
            let is_constant = line.ends_with(';') && next.starts_with("    fn ");
            if line == "}" || is_last || is_function || is_constant {
                spaced.push('\n');
            }
        }
    }
    Ok(spaced)
}
