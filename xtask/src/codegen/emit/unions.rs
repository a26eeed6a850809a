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
    let arms = union.arms.iter().enumerate();
    let arms: Vec<_> = arms
        .map(|(index, arm)| EmittedArm::new(index, arm, union))
        .collect();
    let variants = arms.iter().map(
        |EmittedArm {
             line,
             variant,
             held,
             ..
         }| quote!(#[doc = #line] #variant(#held),),
    );
    let value = if is_embedded {
        quote!(params)
    } else {
        quote!(arm)
    };
    let froms = arms.iter().map(
        |EmittedArm {
             variant,
             ty,
             wrapped,
             ..
         }| {
            quote! {
                impl From<#ty> for #enum_name {
                    fn from(#value: #ty) -> Self {
                        Self::#variant(#wrapped)
                    }
                }
            }
        },
    );
    let writes = arms
        .iter()
        .map(|EmittedArm { variant, write, .. }| quote!(Self::#variant(#value) => #write));
    let read = match union.rule {
        Rule::Tagged { .. } => quote!(union::tagged),
        Rule::Shaped { .. } => quote!(union::shaped),
        Rule::Embedded => quote!(embedded::read),
    };
    let machinery = emit_machinery(name, union, &arms);
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

        impl<'de> Deserialize<'de> for #enum_name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::#read(deserializer)
            }
        }

        #machinery
    }
}

/// The code that an arm is part of.
struct EmittedArm {
    line: String,
    variant: proc_macro2::Ident,
    ty: TokenStream,
    /// What the variant holds: the type, or an option if the params of a message may be missing.
    held: TokenStream,
    /// A value of the type, as the variant holds it.
    wrapped: TokenStream,
    /// The arm of a match that serializes.
    write: TokenStream,
    /// The arm of a match by index that deserializes.
    read: TokenStream,
    /// The arm of a match by index for a message without params.
    bare: Option<TokenStream>,
}

impl EmittedArm {
    fn new(index: usize, arm: &Arm, union: &Union) -> Self {
        let (variant, ty) = (ident(&arm.name), ident(&arm.ty));
        let number = Literal::usize_unsuffixed(index);
        let is_last = index + 1 == union.arms.len();
        let pattern = if is_last { quote!(_) } else { quote!(#number) };
        let (held, wrapped, write, read, bare) = if union.rule != Rule::Embedded {
            (
                quote!(#ty),
                quote!(arm),
                quote!(arm.serialize(serializer),),
                quote!(#pattern => #ty::deserialize(members).map(Self::#variant)),
                None,
            )
        } else {
            let constant = ident(&arm.value.to_shouty_snake_case());
            let (held, wrapped, params, wrap, bare) = if arm.optional {
                (
                    quote!(Option<#ty>),
                    quote!(Some(params)),
                    quote!(params.as_ref()),
                    quote!(|params| Self::#variant(Some(params))),
                    Some(quote!(#number => Some(Self::#variant(None)),)),
                )
            } else {
                (
                    quote!(#ty),
                    quote!(params),
                    quote!(Some(params)),
                    quote!(Self::#variant),
                    None,
                )
            };
            (
                held,
                wrapped,
                quote!({ crate::embedded::write(serializer, crate::method::#constant, #params) }),
                quote!(#pattern => #ty::deserialize(params).map(#wrap)),
                bare,
            )
        };
        Self {
            line: line(index, arm, union),
            variant,
            ty: quote!(#ty),
            held,
            wrapped,
            write,
            read,
            bare,
        }
    }
}

/// The doc line of an arm: its condition.
fn line(index: usize, arm: &Arm, union: &Union) -> String {
    match &union.rule {
        Rule::Tagged { tag, default } => {
            let or_missing = if *default == Some(index) {
                " or left out"
            } else {
                ""
            };
            format!(" `{tag}` is `{}`{or_missing}.", arm.value)
        }
        Rule::Shaped { cases, .. } => {
            let condition = |text: &String| match text.split_once('=') {
                Some((member, value)) => format!("`{member}` is `{value}`"),
                None => format!("`{text}` is there"),
            };
            let own = cases.iter().filter(|(_, arm)| *arm == index);
            let own =
                own.map(|(when, _)| when.iter().map(condition).collect::<Vec<_>>().join(" and "));
            format!(" {}.", own.collect::<Vec<_>>().join(", or "))
        }
        Rule::Embedded => format!(" `method` is `{}`.", arm.value),
    }
}

/// The impl of the trait that chooses an arm.
fn emit_machinery(name: &str, union: &Union, arms: &[EmittedArm]) -> TokenStream {
    let enum_name = ident(name);
    let values = union.arms.iter().map(|arm| &arm.value);
    let (machinery, constants, choice, value) = match &union.rule {
        Rule::Tagged { tag, default } => {
            let default = default.map(Literal::usize_unsuffixed);
            let default = default.map(|index| quote!(const DEFAULT: Option<usize> = Some(#index);));
            let constants = quote! {
                const TAG: &'static str = #tag;
                const TAGS: &'static [&'static str] = &[#(#values),*];
                #default
            };
            (quote!(union::TaggedUnion), constants, None, quote!(members))
        }
        Rule::Shaped { requires, cases } => {
            let requires = requires.iter();
            let constants = quote!(#(const REQUIRES: Option<&'static str> = Some(#requires);)*);
            let choice = emit_classify(cases);
            (
                quote!(union::ShapedUnion),
                constants,
                Some(choice),
                quote!(members),
            )
        }
        Rule::Embedded => {
            let methods = values.map(|method| ident(&method.to_shouty_snake_case()));
            let constants =
                quote!(const METHODS: &'static [&'static str] = &[#(crate::method::#methods),*];);
            (
                quote!(embedded::EmbeddedUnion),
                constants,
                None,
                quote!(params),
            )
        }
    };
    let reads = arms.iter().map(|arm| &arm.read);
    let bare = arms.iter().filter_map(|arm| arm.bare.as_ref());
    let bare = (union.rule == Rule::Embedded).then(|| {
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
        impl crate::#machinery for #enum_name {
            const NAME: &'static str = #name;
            #constants

            #choice

            fn arm<'de, D: Deserializer<'de>>(index: usize, #value: D) -> Result<Self, D::Error> {
                match index {
                    #(#reads,)*
                }
            }

            #bare

            fn unknown(raw: Value) -> Self {
                Self::Unknown(raw)
            }
        }
    }
}

/// The choice by conditions on the members.
fn emit_classify(cases: &[(Vec<String>, usize)]) -> TokenStream {
    let condition = |text: &String| {
        let (member, value) = text
            .split_once('=')
            .map_or((&**text, None), |(member, value)| (member, Some(value)));
        let path = member.split('.');
        match value {
            Some(value) => quote!(crate::union::is(members, &[#(#path),*], #value)),
            None => quote!(crate::union::has(members, &[#(#path),*])),
        }
    };
    let tests = cases.iter().map(|(when, index)| {
        let index = Literal::usize_unsuffixed(*index);
        let conditions = when.iter().map(condition);
        quote! {
            if #(#conditions)&&* {
                return Some(#index);
            }
        }
    });
    quote! {
        fn classify(members: &crate::JsonObject) -> Option<usize> {
            #(#tests)*
            None
        }
    }
}
