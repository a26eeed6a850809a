//! Unions: an enum with an arm for unknown values. `union.rs` and `embedded.rs` of the types crate choose the arm.

use heck::ToShoutySnakeCase as _;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::file::ident;
use crate::codegen::model::{Arm, Rule, Union};

/// The enum and its impls.
pub(super) fn emit(name: &str, union: &Union) -> TokenStream {
    let enum_name = ident(name);
    let is_embedded = union.rule == Rule::Embedded;
    let value = ident(if is_embedded { "params" } else { "arm" });
    let (mut variants, mut froms, mut writes) = (vec![], vec![], vec![]);
    for (index, arm) in union.arms.iter().enumerate() {
        let (variant, ty) = (ident(&arm.name), ident(&arm.ty));
        let line = line(index, arm, union);
        let (held, wrapped, params) = if arm.optional {
            (
                quote!(Option<#ty>),
                quote!(Some(params)),
                quote!(params.as_ref()),
            )
        } else {
            (quote!(#ty), quote!(#value), quote!(Some(params)))
        };
        variants.push(quote!(#[doc = #line] #variant(#held),));
        froms.push(quote! {
            impl From<#ty> for #enum_name {
                fn from(#value: #ty) -> Self {
                    Self::#variant(#wrapped)
                }
            }
        });
        let write = if is_embedded {
            let method = ident(&arm.value.to_shouty_snake_case());
            quote!({ crate::embedded::write(serializer, crate::method::#method, #params) })
        } else {
            quote!(arm.serialize(serializer),)
        };
        writes.push(quote!(Self::#variant(#value) => #write));
    }
    let choice = emit_choice(name, union);
    quote! {
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "arms are decoded in place; a box would cost every reader")]
        pub enum #enum_name {
            #(#variants)*
            /// An object that this crate does not know, unchanged.
            Unknown(Value),
        }

        #(#froms)*

        impl Serialize for #enum_name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    #(#writes)*
                    Self::Unknown(raw) => raw.serialize(serializer),
                }
            }
        }

        #choice
    }
}

/// The doc line of an arm: its condition.
fn line(index: usize, arm: &Arm, union: &Union) -> String {
    match &union.rule {
        Rule::Tagged { tag, default } => {
            let is_default = *default == Some(index);
            let or_missing = if is_default { " or left out" } else { "" };
            format!(" `{tag}` is `{}`{or_missing}.", arm.value)
        }
        Rule::Shaped { .. } => {
            let condition = |text: &String| match text.split_once('=') {
                Some((member, value)) => format!("`{member}` is `{value}`"),
                None => format!("`{text}` is there"),
            };
            let join = |all: &Vec<String>| Vec::from_iter(all.iter().map(condition)).join(" and ");
            format!(
                " {}.",
                Vec::from_iter(arm.when.iter().map(join)).join(", or ")
            )
        }
        Rule::Embedded => format!(" `method` is `{}`.", arm.value),
    }
}

/// The impls that deserialize a union by choosing its arm.
fn emit_choice(name: &str, union: &Union) -> TokenStream {
    let enum_name = ident(name);
    let values = union.arms.iter().map(|arm| &arm.value);
    let (read, choice, members) = match &union.rule {
        Rule::Tagged { tag, default } => {
            let default = default.iter().copied().map(Literal::usize_unsuffixed);
            let members = quote! {
                const TAG: &'static str = #tag;
                const TAGS: &'static [&'static str] = &[#(#values),*];
                #(const DEFAULT: Option<usize> = Some(#default);)*
            };
            (quote!(union::tagged), quote!(union::TaggedUnion), members)
        }
        Rule::Shaped { requires } => {
            let requires = requires.iter();
            let arms = union.arms.iter().enumerate();
            let tests =
                arms.flat_map(|(index, arm)| arm.when.iter().map(move |all| emit_test(index, all)));
            let members = quote! {
                #(const REQUIRES: Option<&'static str> = Some(#requires);)*

                fn classify(members: &crate::JsonObject) -> Option<usize> {
                    #(#tests)*
                    None
                }
            };
            (quote!(union::shaped), quote!(union::ShapedUnion), members)
        }
        Rule::Embedded => {
            let methods = values.map(|method| ident(&method.to_shouty_snake_case()));
            let members = quote! {
                const METHODS: &'static [&'static str] = &[#(crate::method::#methods),*];
            };
            let choice = quote!(embedded::EmbeddedUnion);
            (quote!(embedded::read), choice, members)
        }
    };
    let is_embedded = union.rule == Rule::Embedded;
    let input = ident(if is_embedded { "params" } else { "members" });
    let (mut reads, mut bare) = (vec![], vec![]);
    for (index, arm) in union.arms.iter().enumerate() {
        let (variant, ty) = (ident(&arm.name), ident(&arm.ty));
        let number = Literal::usize_unsuffixed(index);
        let is_last = index + 1 == union.arms.len();
        let pattern = if is_last { quote!(_) } else { quote!(#number) };
        let wrap = if arm.optional {
            bare.push(quote!(#number => Some(Self::#variant(None)),));
            quote!(|params| Self::#variant(Some(params)))
        } else {
            quote!(Self::#variant)
        };
        reads.push(quote!(#pattern => #ty::deserialize(#input).map(#wrap),));
    }
    let bare = is_embedded.then(|| {
        quote! {
            fn bare(index: usize) -> Option<Self> {
                match index {
                    #(#bare)*
                    _ => None,
                }
            }
        }
    });
    quote! {
        impl<'de> Deserialize<'de> for #enum_name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::#read(deserializer)
            }
        }

        impl crate::#choice for #enum_name {
            const NAME: &'static str = #name;
            #members

            fn arm<'de, D: Deserializer<'de>>(index: usize, #input: D) -> Result<Self, D::Error> {
                match index {
                    #(#reads)*
                }
            }

            #bare

            fn unknown(raw: Value) -> Self {
                Self::Unknown(raw)
            }
        }
    }
}

/// The choice of an arm if all conditions hold.
fn emit_test(index: usize, all: &[String]) -> TokenStream {
    let conditions = all.iter().map(|text| {
        let (member, value) = text.split_once('=').unzip();
        let path = member.unwrap_or(text).split('.');
        match value {
            Some(value) => quote!(crate::union::is(members, &[#(#path),*], #value)),
            None => quote!(crate::union::has(members, &[#(#path),*])),
        }
    });
    let index = Literal::usize_unsuffixed(index);
    quote! {
        if #(#conditions)&&* {
            return Some(#index);
        }
    }
}
