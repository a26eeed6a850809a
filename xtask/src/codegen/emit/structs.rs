//! Structs: fields, `new` and `with_…`.

use heck::{ToLowerCamelCase as _, ToSnakeCase as _, ToUpperCamelCase as _};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::file::{Scope, ident, ty};
use crate::codegen::model::{Presence, Property, Struct};

/// The struct and its impl.
pub(super) fn emit(name: &str, structure: &Struct, scope: &Scope<'_>) -> TokenStream {
    let ident = ident(name);
    let mut fields = structure.fields.iter();
    let is_empty = fields.all(|field| field.presence == Presence::Optional);
    let default = is_empty.then(|| quote!(Default,));
    let container = container_attribute(structure);
    let fields = structure
        .fields
        .iter()
        .map(|field| emit_field(name, field, scope));
    let extra = structure.extra.then(|| {
        quote! {
            /// Members that this revision does not define, unchanged.
            #[serde(flatten)]
            pub extra: JsonObject,
        }
    });
    let constant = constant(structure).map(|(ident, ty, wire)| {
        quote! {
            #[serde(rename = #wire, default)]
            pub(crate) #ident: crate::constant::#ty,
        }
    });
    let constructor = emit_new(structure, is_empty, scope);
    let withs = structure.fields.iter().map(|field| emit_with(field, scope));
    quote! {
        #[derive(Debug, Clone, #default PartialEq, Serialize, Deserialize)]
        #container
        #[non_exhaustive]
        pub struct #ident {
            #constant
            #(#fields)*
            #extra
        }

        impl #ident {
            #constructor
            #(#withs)*
        }
    }
}

fn container_attribute(structure: &Struct) -> Option<TokenStream> {
    let is_camel = |field: &Property| {
        field.rust.contains('_') && field.rust.to_lower_camel_case() == field.wire
    };
    let mut settings = Vec::new();
    if let Some(tag) = structure.tag.as_ref().filter(|tag| !tag.checked) {
        let (wire, value) = (&tag.wire, &tag.value);
        settings.push(quote!(tag = #wire, rename = #value));
    }
    if structure.fields.iter().any(is_camel) {
        settings.push(quote!(rename_all = "camelCase"));
    }
    (!settings.is_empty()).then(|| quote!(#[serde(#(#settings),*)]))
}

/// The Rust name, the type and the JSON name of a constant that input is checked for.
pub(super) fn constant(structure: &Struct) -> Option<(Ident, Ident, &str)> {
    let tag = structure.tag.as_ref().filter(|tag| tag.checked)?;
    let (name, ty) = (tag.wire.to_snake_case(), tag.value.to_upper_camel_case());
    Some((ident(&name), ident(&ty), &tag.wire))
}

fn emit_field(owner: &str, field: &Property, scope: &Scope<'_>) -> TokenStream {
    let doc = scope.docs.member(owner, &field.wire);
    let ident = ident(&field.rust);
    let ty = ty(&field.held());
    let mut serde = Vec::new();
    if field.rust.to_lower_camel_case() != field.wire {
        let wire = &field.wire;
        serde.push(quote!(rename = #wire));
    }
    match field.presence {
        Presence::Required => {}
        Presence::Defaulted => {
            serde.push(quote!(default));
            if field.ty == "u64" {
                serde.push(quote!(deserialize_with = "crate::number::at_least_zero"));
            }
        }
        Presence::Optional => {
            if field.keeps_null {
                serde.push(quote!(default, deserialize_with = "crate::presence::kept"));
            }
            serde.push(quote!(skip_serializing_if = "Option::is_none"));
        }
        Presence::Nullable => serde.push(quote!(deserialize_with = "crate::number::nullable")),
    }
    if field.ty == "f64" {
        let with = match field.presence {
            Presence::Required | Presence::Defaulted => "crate::number::serialize",
            Presence::Optional | Presence::Nullable => "crate::number::serialize_optional",
        };
        serde.push(quote!(serialize_with = #with));
    }
    let attribute = (!serde.is_empty()).then(|| quote!(#[serde(#(#serde),*)]));
    quote!(#doc #attribute pub #ident: #ty,)
}

fn emit_new(structure: &Struct, is_empty: bool, scope: &Scope<'_>) -> TokenStream {
    if is_empty {
        return quote! {
            /// Creates a value without members; all are optional.
            pub fn new() -> Self {
                Self::default()
            }
        };
    }
    let mut parameters = Vec::new();
    let mut values = Vec::new();
    if let Some((ident, ty, _)) = constant(structure) {
        values.push(quote!(#ident: crate::constant::#ty));
    }
    for field in &structure.fields {
        let ident = ident(&field.rust);
        if field.presence == Presence::Optional {
            values.push(quote!(#ident: None));
            continue;
        }
        let (ty, value) = match field.presence {
            Presence::Nullable => (ty(&field.held()), quote!(#ident)),
            _ => scope.argument(&ident, &field.ty),
        };
        parameters.push(quote!(#ident: #ty));
        let is_plain = value.to_string() == field.rust;
        let name = (!is_plain).then(|| quote!(#ident:));
        values.push(quote!(#name #value));
    }
    let extra = structure.extra.then(|| quote!(extra: JsonObject::new()));
    quote! {
        /// Creates a value from its required members.
        pub fn new(#(#parameters),*) -> Self {
            Self { #(#values,)* #extra }
        }
    }
}

fn emit_with(field: &Property, scope: &Scope<'_>) -> Option<TokenStream> {
    if field.presence != Presence::Optional {
        return None;
    }
    let ident = ident(&field.rust);
    let with = format_ident!("with_{}", field.rust);
    let (ty, value) = scope.argument(&ident, &field.ty);
    let line = format!(" Sets [`{0}`](Self::{0}).", field.rust);
    if let ("f64", Some((least, greatest))) = (&*field.ty, field.range) {
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
