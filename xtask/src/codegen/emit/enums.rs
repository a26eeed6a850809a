//! String enums, open or closed.

use heck::ToUpperCamelCase as _;
use proc_macro2::TokenStream;
use quote::quote;

use super::file::ident;
use crate::codegen::docs::Lines;
use crate::codegen::model::StringEnum;

/// The enum and its impls.
pub(super) fn emit(name: &str, string_enum: &StringEnum, docs: Lines<'_>) -> TokenStream {
    let enum_name = ident(name);
    let values = &string_enum.values;
    let variants: Vec<_> = values
        .iter()
        .map(|value| ident(&value.to_upper_camel_case()))
        .collect();
    let lines = values.iter().map(|value| docs.member(name, value));
    let lines: Vec<_> = lines.collect();
    let own = if string_enum.closed {
        let rank = string_enum.ranked.then(|| quote!(PartialOrd, Ord,));
        let listed: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
        let expected = format!("a {name}, one of {}", listed.join(", "));
        quote! {
            #[derive(Debug, Clone, Copy, PartialEq, Eq, #rank Hash)]
            #[expect(clippy::exhaustive_enums, reason = "closed on purpose, see overrides.toml")]
            pub enum #enum_name {
                #(#lines #variants,)*
            }

            impl #enum_name {
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

            impl<'de> Deserialize<'de> for #enum_name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    crate::text::closed(deserializer, #expected, Self::from_wire)
                }
            }
        }
    } else {
        let expected = format!("a {name} string");
        quote! {
            #[derive(Debug, Clone, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            pub enum #enum_name {
                #(#lines #variants,)*
                /// A value that this crate does not know, unchanged.
                Unknown(Box<str>),
            }

            impl #enum_name {
                /// The value on the wire.
                pub fn as_str(&self) -> &str {
                    match self {
                        #(Self::#variants => #values,)*
                        Self::Unknown(text) => text,
                    }
                }
            }

            impl From<&str> for #enum_name {
                fn from(text: &str) -> Self {
                    match text {
                        #(#values => Self::#variants,)*
                        other => Self::Unknown(other.into()),
                    }
                }
            }

            impl<'de> Deserialize<'de> for #enum_name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    crate::text::open(deserializer, #expected)
                }
            }
        }
    };
    quote! {
        #own

        impl fmt::Display for #enum_name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for #enum_name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    }
}
