//! String enums, open or closed.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::uses::Uses;
use crate::codegen::docs::Lines;
use crate::codegen::model::StringEnum;
use crate::codegen::naming;

/// One enum, its parts named.
struct Parts {
    ident: Ident,
    variants: Vec<Ident>,
    values: Vec<String>,
    lines: Vec<TokenStream>,
    doc: TokenStream,
}

/// The enum and its impls.
pub(crate) fn emit(
    name: &str,
    string_enum: &StringEnum,
    doc: &TokenStream,
    docs: Lines<'_>,
    uses: &mut Uses<'_>,
) -> TokenStream {
    uses.path("std::fmt");
    for item in ["Deserialize", "Deserializer", "Serialize", "Serializer"] {
        uses.serde(item);
    }
    let values = string_enum.values.clone();
    let variants = values
        .iter()
        .map(|value| format_ident!("{}", naming::pascal(value)));
    let lines = values.iter().map(|value| docs.member(name, value));
    let parts = Parts {
        ident: format_ident!("{name}"),
        variants: variants.collect(),
        lines: lines.collect(),
        values,
        doc: doc.clone(),
    };
    let own = if string_enum.closed {
        closed(name, &parts, string_enum.ranked)
    } else {
        open(name, &parts)
    };
    let ident = &parts.ident;
    quote! {
        #own

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
    }
}

/// An enum that has an arm for every string.
fn open(name: &str, parts: &Parts) -> TokenStream {
    let Parts {
        ident,
        variants,
        values,
        lines,
        doc,
    } = parts;
    let expected = format!("a {name} string");
    quote! {
        #doc
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum #ident {
            #(#lines #variants,)*
            /// A value that this crate does not know, unchanged.
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

        impl<'de> Deserialize<'de> for #ident {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::open(deserializer, #expected)
            }
        }
    }
}

/// An enum that knows all its values.
fn closed(name: &str, parts: &Parts, ranked: bool) -> TokenStream {
    let Parts {
        ident,
        variants,
        values,
        lines,
        doc,
    } = parts;
    let rank = ranked.then(|| quote!(PartialOrd, Ord,));
    let listed: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
    let expected = format!("a {name}, one of {}", listed.join(", "));
    quote! {
        #doc
        #[derive(Debug, Clone, Copy, PartialEq, Eq, #rank Hash)]
        #[expect(clippy::exhaustive_enums, reason = "closed on purpose, see overrides.toml")]
        pub enum #ident {
            #(#lines #variants,)*
        }

        impl #ident {
            /// All values, in order.
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

        impl<'de> Deserialize<'de> for #ident {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::closed(deserializer, #expected, Self::from_wire)
            }
        }
    }
}
