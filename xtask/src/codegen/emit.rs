//! From the [`Model`] to Rust source.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::docs::Docs;
use super::model::{Field, Item, Kind, Model, Presence, StringEnum, Struct, Ty};
use super::{emit_methods, emit_union, naming};

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
        emit_methods::emit(model, docs, revision)?,
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
            Kind::Struct(structure) => emit_struct(&item.name, structure, &doc, docs, &mut uses),
            Kind::Enum(string_enum) => emit_enum(&item.name, string_enum, &doc, docs, &mut uses),
            Kind::Union(union) => emit_union::emit(&item.name, union, &doc, &mut uses),
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

/// The names a file imports.
pub(crate) struct Uses<'a> {
    /// Types that nothing converts into, so that `impl Into` would only cost inference.
    structs: &'a BTreeSet<&'a str>,
    paths: BTreeSet<&'static str>,
    types: BTreeSet<String>,
}

impl<'a> Uses<'a> {
    fn new(structs: &'a BTreeSet<&'a str>) -> Self {
        Self {
            structs,
            paths: BTreeSet::new(),
            types: BTreeSet::new(),
        }
    }

    pub(crate) fn path(&mut self, path: &'static str) {
        self.paths.insert(path);
    }

    pub(crate) fn named(&mut self, name: &str) {
        self.types.insert(name.to_owned());
    }

    fn print(&self, own: &BTreeSet<String>) -> String {
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
        let foreign: Vec<_> = self.types.difference(own).map(String::as_str).collect();
        if !foreign.is_empty() {
            text.push_str(&format!("use crate::{{{}}};\n", foreign.join(", ")));
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
    fn argument(&mut self, name: &proc_macro2::Ident, ty: &Ty) -> (TokenStream, TokenStream) {
        let target = self.ty(ty);
        match ty {
            Ty::Named(named) if self.structs.contains(named.as_str()) => (target, quote!(#name)),
            Ty::String | Ty::Number | Ty::Value | Ty::OneOrMany(_) | Ty::Named(_) => {
                (quote!(impl Into<#target>), quote!(#name.into()))
            }
            _ => (target, quote!(#name)),
        }
    }
}

fn emit_struct(
    name: &str,
    structure: &Struct,
    doc: &TokenStream,
    docs: &Docs,
    uses: &mut Uses<'_>,
) -> TokenStream {
    uses.path("serde::Deserialize");
    uses.path("serde::Serialize");
    let ident = format_ident!("{name}");
    let empty = structure
        .fields
        .iter()
        .all(|field| field.presence == Presence::Optional);
    let default = empty.then(|| quote!(Default,));
    let container = container_attribute(structure);
    let fields: Vec<_> = structure
        .fields
        .iter()
        .map(|field| emit_field(name, field, docs, uses))
        .collect();
    let extra = structure.extra.then(|| {
        uses.named("JsonObject");
        quote! {
            /// Members this revision does not know, kept as they came.
            #[serde(flatten)]
            pub extra: JsonObject,
        }
    });
    let constructor = emit_new(structure, empty, uses);
    let withs: Vec<_> = structure
        .fields
        .iter()
        .filter_map(|field| emit_with(field, uses))
        .collect();
    quote! {
        #doc
        #[derive(Debug, Clone, #default PartialEq, Serialize, Deserialize)]
        #container
        #[non_exhaustive]
        pub struct #ident {
            #(#fields)*
            #extra
        }

        impl #ident {
            #constructor
            #(#withs)*
        }
    }
}

fn container_attribute(structure: &Struct) -> TokenStream {
    let camel = structure
        .fields
        .iter()
        .any(|field| field.rust.contains('_') && naming::camel(&field.rust) == field.wire);
    let camel = camel.then(|| quote!(rename_all = "camelCase"));
    let tag = structure.tag.as_ref().map(|tag| {
        let (wire, value) = (&tag.wire, &tag.value);
        quote!(tag = #wire, rename = #value)
    });
    match (tag, camel) {
        (Some(tag), Some(camel)) => quote!(#[serde(#tag, #camel)]),
        (Some(tag), None) => quote!(#[serde(#tag)]),
        (None, Some(camel)) => quote!(#[serde(#camel)]),
        (None, None) => quote!(),
    }
}

fn emit_field(owner: &str, field: &Field, docs: &Docs, uses: &mut Uses<'_>) -> TokenStream {
    let doc = docs.member(owner, &field.wire);
    let ident = format_ident!("{}", field.rust);
    let ty = uses.ty(&field.ty);
    let mut serde = Vec::new();
    if naming::camel(&field.rust) != field.wire {
        let wire = &field.wire;
        serde.push(quote!(rename = #wire));
    }
    let ty = match field.presence {
        Presence::Required => ty,
        Presence::Optional => {
            serde.push(quote!(skip_serializing_if = "Option::is_none"));
            quote!(Option<#ty>)
        }
        Presence::Nullable => {
            serde.push(quote!(deserialize_with = "crate::number::nullable"));
            quote!(Option<#ty>)
        }
    };
    if field.ty == Ty::F64 {
        let optional = field.presence != Presence::Required;
        let with = if optional {
            "crate::number::serialize_optional"
        } else {
            "crate::number::serialize"
        };
        serde.push(quote!(serialize_with = #with));
    }
    let attribute = (!serde.is_empty()).then(|| quote!(#[serde(#(#serde),*)]));
    quote!(#doc #attribute pub #ident: #ty,)
}

fn emit_new(structure: &Struct, empty: bool, uses: &mut Uses<'_>) -> TokenStream {
    if empty {
        return quote! {
            /// Makes an empty one; every member is optional.
            pub fn new() -> Self {
                Self::default()
            }
        };
    }
    let mut parameters = Vec::new();
    let mut values = Vec::new();
    for field in &structure.fields {
        let ident = format_ident!("{}", field.rust);
        let (ty, value) = match field.presence {
            Presence::Required => uses.argument(&ident, &field.ty),
            Presence::Nullable => {
                let ty = uses.ty(&field.ty);
                (quote!(Option<#ty>), quote!(#ident))
            }
            Presence::Optional => {
                values.push(quote!(#ident: None));
                continue;
            }
        };
        parameters.push(quote!(#ident: #ty));
        let plain = value.to_string() == field.rust;
        values.push(if plain {
            quote!(#ident)
        } else {
            quote!(#ident: #value)
        });
    }
    let extra = structure.extra.then(|| quote!(extra: JsonObject::new()));
    quote! {
        /// Makes one from its required members.
        pub fn new(#(#parameters),*) -> Self {
            Self { #(#values,)* #extra }
        }
    }
}

fn emit_with(field: &Field, uses: &mut Uses<'_>) -> Option<TokenStream> {
    if field.presence != Presence::Optional {
        return None;
    }
    let ident = format_ident!("{}", field.rust);
    let with = format_ident!("with_{}", field.rust);
    let (ty, value) = uses.argument(&ident, &field.ty);
    let line = format!(" Sets [`{0}`](Self::{0}).", field.rust);
    if let (Ty::F64, Some((least, greatest))) = (&field.ty, field.range) {
        uses.named("OutOfRange");
        let line = format!("{line} A value outside {least} to {greatest} is refused.");
        return Some(quote! {
            #[doc = #line]
            pub fn #with(mut self, #ident: f64) -> Result<Self, OutOfRange> {
                self.#ident = Some(crate::number::within(#ident, #least, #greatest)?);
                Ok(self)
            }
        });
    }
    Some(quote! {
        #[doc = #line]
        #[must_use]
        pub fn #with(mut self, #ident: #ty) -> Self {
            self.#ident = Some(#value);
            self
        }
    })
}

fn emit_enum(
    name: &str,
    string_enum: &StringEnum,
    doc: &TokenStream,
    docs: &Docs,
    uses: &mut Uses<'_>,
) -> TokenStream {
    uses.path("std::fmt");
    for path in [
        "serde::Deserialize",
        "serde::Deserializer",
        "serde::Serialize",
        "serde::Serializer",
    ] {
        uses.path(path);
    }
    let ident = format_ident!("{name}");
    let values = &string_enum.values;
    let variants: Vec<_> = values
        .iter()
        .map(|value| format_ident!("{}", naming::pascal(value)))
        .collect();
    let lines: Vec<_> = values
        .iter()
        .map(|value| docs.member(name, value))
        .collect();
    let rank = string_enum.ranked.then(|| quote!(PartialOrd, Ord,));
    let shared = quote! {
        impl fmt::Display for #ident {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for #ident {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
    let expected = match string_enum.closed {
        true => format!(
            "a {name}, one of {}",
            values
                .iter()
                .map(|value| format!("`{value}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        false => format!("a {name} string"),
    };
    if string_enum.closed {
        return quote! {
            #doc
            #[derive(Debug, Clone, Copy, PartialEq, Eq, #rank Hash)]
            #[expect(clippy::exhaustive_enums, reason = "closed on purpose, see overrides.toml")]
            pub enum #ident {
                #(#lines #variants,)*
            }

            impl #ident {
                /// Every value in order.
                pub const ALL: &'static [Self] = &[#(Self::#variants),*];

                /// The value on the wire.
                pub fn as_str(self) -> &'static str {
                    match self {
                        #(Self::#variants => #values,)*
                    }
                }

                /// Reads the value on the wire.
                pub fn from_wire(text: &str) -> Option<Self> {
                    match text {
                        #(#values => Some(Self::#variants),)*
                        _ => None,
                    }
                }
            }

            #shared

            impl<'de> Deserialize<'de> for #ident {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    crate::text::closed(deserializer, #expected, Self::from_wire)
                }
            }
        };
    }
    quote! {
        #doc
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum #ident {
            #(#lines #variants,)*
            /// A value this crate does not know, kept as it came.
            Unknown(Box<str>),
        }

        impl #ident {
            /// The value on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    #(Self::#variants => #values,)*
                    Self::Unknown(text) => text,
                }
            }
        }

        impl From<&str> for #ident {
            fn from(text: &str) -> Self {
                match text {
                    #(#values => Self::#variants,)*
                    other => Self::Unknown(other.into()),
                }
            }
        }

        #shared

        impl<'de> Deserialize<'de> for #ident {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::open(deserializer, #expected)
            }
        }
    }
}

fn emit_alias(name: &str, ty: &Ty, doc: &TokenStream, uses: &mut Uses<'_>) -> TokenStream {
    let ident = format_ident!("{name}");
    let ty = uses.ty(ty);
    quote!(#doc pub type #ident = #ty;)
}

fn emit_open(name: &str, doc: &TokenStream, uses: &mut Uses<'_>) -> TokenStream {
    uses.path("serde::Deserialize");
    uses.path("serde::Serialize");
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
