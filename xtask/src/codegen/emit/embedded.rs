//! Unions of messages without an envelope: an enum over their params, told apart by the method.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use crate::codegen::model::Arm;
use crate::codegen::naming;

/// The enum and its impls.
pub(crate) fn emit(
    name: &str,
    arms: &[Arm],
    methods: &[String],
    optional: &[bool],
    doc: &TokenStream,
) -> TokenStream {
    let ident = format_ident!("{name}");
    let (mut variants, mut froms, mut writes, mut reads, mut bare) =
        (vec![], vec![], vec![], vec![], vec![]);
    let mut constants = Vec::new();
    for (index, ((arm, method), optional)) in arms.iter().zip(methods).zip(optional).enumerate() {
        let (variant, ty) = (format_ident!("{}", arm.name), format_ident!("{}", arm.ty));
        let constant = format_ident!("{}", naming::constant(method));
        let number = Literal::usize_unsuffixed(index);
        let pattern = if index + 1 == arms.len() {
            quote!(_)
        } else {
            quote!(#number)
        };
        let line = format!(" `method` is `{method}`.");
        let held = if *optional {
            bare.push(quote!(#number => Some(Self::#variant(None)),));
            quote!(Option<#ty>)
        } else {
            quote!(#ty)
        };
        let (wrap, write, read) = if *optional {
            (
                quote!(Some(params)),
                quote!(params.as_ref()),
                quote!(|params| Self::#variant(Some(params))),
            )
        } else {
            (quote!(params), quote!(Some(params)), quote!(Self::#variant))
        };
        variants.push(quote!(#[doc = #line] #variant(#held),));
        froms.push(quote! {
            impl From<#ty> for #ident {
                fn from(params: #ty) -> Self {
                    Self::#variant(#wrap)
                }
            }
        });
        writes.push(quote! {
            Self::#variant(params) => {
                crate::embedded::write(serializer, crate::method::#constant, #write)
            }
        });
        reads.push(quote! {
            #pattern => #ty::deserialize(params).map(#read),
        });
        constants.push(quote!(crate::method::#constant));
    }
    quote! {
        #doc
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "arms are decoded in place; a box would cost every reader")]
        pub enum #ident {
            #(#variants)*
            /// An object that this crate does not know, unchanged.
            Unknown(Value),
        }

        #(#froms)*

        impl Serialize for #ident {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    #(#writes)*
                    Self::Unknown(raw) => raw.serialize(serializer),
                }
            }
        }

        impl<'de> Deserialize<'de> for #ident {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::embedded::read(deserializer)
            }
        }

        impl crate::embedded::EmbeddedUnion for #ident {
            const NAME: &'static str = #name;
            const METHODS: &'static [&'static str] = &[#(#constants),*];

            fn arm<'de, D: Deserializer<'de>>(index: usize, params: D) -> Result<Self, D::Error> {
                match index {
                    #(#reads)*
                }
            }

            fn bare(index: usize) -> Option<Self> {
                match index {
                    #(#bare)*
                    _ => None,
                }
            }

            fn unknown(raw: Value) -> Self {
                Self::Unknown(raw)
            }
        }
    }
}
