//! Generates code for programs that depend on `mcp-sdk` instead of `mcp-server`.

use proc_macro2::{Group, Ident, Literal, TokenStream, TokenTree};
use quote::quote;

/// Replaces `::mcp_server` with the path of the facade in all paths of the generated code, including paths in string literals
/// such as `#[serde(crate = "..")]`.
pub(crate) fn redirect(tokens: TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    let mut colons = 0;
    for token in tokens {
        let is_colon = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ':');
        match token {
            // There are three colons if the path follows the colon of a type, as in `x: ::mcp_server::T`.
            TokenTree::Ident(name) if colons >= 2 && name == "mcp_server" => {
                let root = Ident::new("mcp_sdk", name.span());
                out.extend(quote!(#root::server));
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), redirect(group.stream()));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            TokenTree::Literal(text) => out.extend([TokenTree::Literal(redirect_text(text))]),
            other => out.extend([other]),
        }
        colons = if is_colon { colons + 1 } else { 0 };
    }
    out
}

/// Replaces `::mcp_server` in a string literal of an attribute, such as `#[serde(crate = "..")]`.
fn redirect_text(text: Literal) -> Literal {
    let shown = text.to_string();
    let path = shown.strip_prefix("\"::mcp_server::__private::");
    match path.and_then(|path| path.strip_suffix('"')) {
        Some(path) => Literal::string(&format!("::mcp_sdk::server::__private::{path}")),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_in_expanded_code_is_redirected_to_the_facade() {
        let paths = quote! {
            #[serde(crate = "::mcp_server::__private::serde")]
            fn f(a: ::mcp_server::Args<u8>) -> ::std::vec::Vec<::mcp_server::Tool> {}
        };
        let function = quote! {
            /// Adds.
            fn add(/** left */ a: i64, b: Option<String>, cx: Ctx) -> i64 { a }
        };
        let tool = crate::expand::attribute(crate::Kind::Tool, quote!(task), &function);
        for tokens in [paths, tool] {
            let before = tokens.to_string();
            let after = redirect(tokens).to_string();
            assert!(before.contains("mcp_server"), "{before}");
            assert!(!after.contains("mcp_server"), "{after}");
        }
    }
}
