//! Unions: an enum with an unknown arm, told apart by the machinery in `union.rs` of the types crate.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::embedded;
use super::uses::Uses;
use crate::codegen::model::{Condition, Rule, Union};

/// The enum and its impls.
pub(crate) fn emit(
    name: &str,
    union: &Union,
    doc: &TokenStream,
    uses: &mut Uses<'_>,
) -> TokenStream {
    for item in ["Deserialize", "Deserializer", "Serialize", "Serializer"] {
        uses.serde(item);
    }
    uses.path("serde_json::Value");
    let ident = format_ident!("{name}");
    let variants: Vec<_> = union
        .arms
        .iter()
        .map(|arm| format_ident!("{}", arm.name))
        .collect();
    let types: Vec<_> = union
        .arms
        .iter()
        .map(|arm| format_ident!("{}", arm.ty))
        .collect();
    for arm in &union.arms {
        uses.named(&arm.ty);
    }
    let lines = arm_lines(union);
    let (decode, machinery) = match &union.rule {
        Rule::Tagged { .. } => (quote!(tagged), emit_tagged(name, union)),
        Rule::Shaped { .. } => (quote!(shaped), emit_shaped(name, union)),
        Rule::Embedded { methods, optional } => {
            return embedded::emit(name, &union.arms, methods, optional, doc);
        }
    };
    quote! {
        #doc
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "arms are decoded in place; a box would cost every reader")]
        pub enum #ident {
            #(#[doc = #lines] #variants(#types),)*
            /// An object that this crate does not know, unchanged.
            Unknown(Value),
        }

        #(
            impl From<#types> for #ident {
                fn from(arm: #types) -> Self {
                    Self::#variants(arm)
                }
            }
        )*

        impl Serialize for #ident {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    #(Self::#variants(arm) => arm.serialize(serializer),)*
                    Self::Unknown(raw) => raw.serialize(serializer),
                }
            }
        }

        impl<'de> Deserialize<'de> for #ident {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::union::#decode(deserializer)
            }
        }

        #machinery
    }
}

fn arm_lines(union: &Union) -> Vec<String> {
    let condition = |condition: &Condition| match condition {
        Condition::Has(path) => format!("`{}` is there", path.join(".")),
        Condition::Is(path, value) => format!("`{}` is `{value}`", path.join(".")),
    };
    match &union.rule {
        Rule::Tagged {
            tag,
            values,
            default,
        } => {
            let line = |(index, value): (usize, &String)| match default {
                Some(default) if *default == index => format!(" `{tag}` is `{value}` or left out."),
                _ => format!(" `{tag}` is `{value}`."),
            };
            values.iter().enumerate().map(line).collect()
        }
        Rule::Shaped { cases, .. } => {
            let line = |index: usize| {
                let own = cases.iter().filter(|(_, arm)| *arm == index);
                let own: Vec<_> = own
                    .map(|(when, _)| when.iter().map(condition).collect::<Vec<_>>().join(" and "))
                    .collect();
                format!(" {}.", own.join(", or "))
            };
            (0..union.arms.len()).map(line).collect()
        }
        Rule::Embedded { .. } => Vec::new(),
    }
}

/// `arm` and `unknown`, which both kinds of union have.
fn emit_arms(union: &Union) -> TokenStream {
    let last = union.arms.len() - 1;
    let cases = union.arms.iter().enumerate().map(|(index, arm)| {
        let (variant, ty) = (format_ident!("{}", arm.name), format_ident!("{}", arm.ty));
        let index_literal = Literal::usize_unsuffixed(index);
        let pattern = if index == last {
            quote!(_)
        } else {
            quote!(#index_literal)
        };
        quote!(#pattern => #ty::deserialize(members).map(Self::#variant))
    });
    quote! {
        fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
            match index {
                #(#cases,)*
            }
        }

        fn unknown(raw: Value) -> Self {
            Self::Unknown(raw)
        }
    }
}

fn emit_tagged(name: &str, union: &Union) -> TokenStream {
    let Rule::Tagged {
        tag,
        values,
        default,
    } = &union.rule
    else {
        return quote!();
    };
    let ident = format_ident!("{name}");
    let default = default
        .map(Literal::usize_unsuffixed)
        .map(|index| quote!(const DEFAULT: Option<usize> = Some(#index);));
    let arms = emit_arms(union);
    quote! {
        impl crate::union::TaggedUnion for #ident {
            const NAME: &'static str = #name;
            const TAG: &'static str = #tag;
            const TAGS: &'static [&'static str] = &[#(#values),*];
            #default

            #arms
        }
    }
}

fn emit_shaped(name: &str, union: &Union) -> TokenStream {
    let Rule::Shaped { requires, cases } = &union.rule else {
        return quote!();
    };
    let ident = format_ident!("{name}");
    let requires = requires
        .as_ref()
        .map(|member| quote!(const REQUIRES: Option<&'static str> = Some(#member);));
    let tests = cases.iter().map(|(when, index)| {
        let index = Literal::usize_unsuffixed(*index);
        let conditions = when.iter().map(|condition| match condition {
            Condition::Has(path) => quote!(crate::union::has(members, &[#(#path),*])),
            Condition::Is(path, value) => quote!(crate::union::is(members, &[#(#path),*], #value)),
        });
        quote! {
            if #(#conditions)&&* {
                return Some(#index);
            }
        }
    });
    let arms = emit_arms(union);
    quote! {
        impl crate::union::ShapedUnion for #ident {
            const NAME: &'static str = #name;
            #requires

            fn classify(members: &crate::JsonObject) -> Option<usize> {
                #(#tests)*
                None
            }

            #arms
        }
    }
}
