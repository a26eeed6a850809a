//! Structs: fields, `new` and `with_…`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::uses::Uses;
use crate::codegen::docs::Lines;
use crate::codegen::model::{Presence, Property, Struct, Tag, Ty};
use crate::codegen::naming;

/// The struct and its impl.
pub(crate) fn emit(
    name: &str,
    structure: &Struct,
    doc: &TokenStream,
    docs: Lines<'_>,
    uses: &mut Uses<'_>,
) -> TokenStream {
    uses.serde("Deserialize");
    uses.serde("Serialize");
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
            /// Members that this revision does not define, unchanged.
            #[serde(flatten)]
            pub extra: JsonObject,
        }
    });
    let constant = structure.tag.as_ref().filter(|tag| tag.checked);
    let constant = constant.map(emit_constant);
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

fn container_attribute(structure: &Struct) -> TokenStream {
    let camel = structure
        .fields
        .iter()
        .any(|field| field.rust.contains('_') && naming::camel(&field.rust) == field.wire);
    let camel = camel.then(|| quote!(rename_all = "camelCase"));
    let tag = structure.tag.as_ref().filter(|tag| !tag.checked);
    let tag = tag.map(|tag| {
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

/// The name and the type of a constant that input is checked for.
fn constant_parts(tag: &Tag) -> (Ident, Ident) {
    (
        format_ident!("{}", naming::snake(&tag.wire)),
        format_ident!("{}", naming::pascal(&tag.value)),
    )
}

fn emit_constant(tag: &Tag) -> TokenStream {
    let (ident, ty) = constant_parts(tag);
    let wire = &tag.wire;
    quote! {
        #[serde(rename = #wire, default)]
        pub(crate) #ident: crate::constant::#ty,
    }
}

fn emit_field(owner: &str, field: &Property, docs: Lines<'_>, uses: &mut Uses<'_>) -> TokenStream {
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
        Presence::Defaulted => {
            serde.push(quote!(default));
            if field.ty == Ty::U64 {
                serde.push(quote!(deserialize_with = "crate::number::at_least_zero"));
            }
            ty
        }
        Presence::Optional => {
            if field.keeps_null {
                serde.push(quote!(default));
                serde.push(quote!(deserialize_with = "crate::presence::kept"));
            }
            serde.push(quote!(skip_serializing_if = "Option::is_none"));
            quote!(Option<#ty>)
        }
        Presence::Nullable => {
            serde.push(quote!(deserialize_with = "crate::number::nullable"));
            quote!(Option<#ty>)
        }
    };
    if field.ty == Ty::F64 {
        let optional = matches!(field.presence, Presence::Optional | Presence::Nullable);
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
            /// Creates a value without members; all are optional.
            pub fn new() -> Self {
                Self::default()
            }
        };
    }
    let mut parameters = Vec::new();
    let mut values = Vec::new();
    if let Some(tag) = structure.tag.as_ref().filter(|tag| tag.checked) {
        let (ident, ty) = constant_parts(tag);
        values.push(quote!(#ident: crate::constant::#ty));
    }
    for field in &structure.fields {
        let ident = format_ident!("{}", field.rust);
        let (ty, value) = match field.presence {
            Presence::Required | Presence::Defaulted => uses.argument(&ident, &field.ty),
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
        /// Creates a value from its required members.
        pub fn new(#(#parameters),*) -> Self {
            Self { #(#values,)* #extra }
        }
    }
}

fn emit_with(field: &Property, uses: &mut Uses<'_>) -> Option<TokenStream> {
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
