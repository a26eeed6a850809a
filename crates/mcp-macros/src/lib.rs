//! The #[tool], #[prompt] and #[resource] attributes of mcp-server
use proc_macro::TokenStream;
/// Not there yet.
#[proc_macro_attribute]
pub fn tool(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
/// Not there yet.
#[proc_macro_attribute]
pub fn prompt(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
/// Not there yet.
#[proc_macro_attribute]
pub fn resource(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
