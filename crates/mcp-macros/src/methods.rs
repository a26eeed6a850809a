//! `#[tools]` on an `impl` block: its methods with `#[tool]` become tools.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Error, ImplItem, ImplItemFn, ItemFn, ItemImpl, Meta, Result};

use crate::expand::{Expansion, expand_item};
use crate::function::{Container, Function};
use crate::options::{Kind, Options};

pub(crate) fn attribute(options: &TokenStream, item: &TokenStream) -> TokenStream {
    let mut block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            let text = format!("`#[tools]` must be placed on an `impl` block: {error}");
            let error = Error::new(error.span(), text).into_compile_error();
            return quote!(#item #error);
        }
    };
    let expanded = check(options, &block).and_then(|()| tools(&mut block));
    let methods = expanded.unwrap_or_else(Error::into_compile_error);
    quote!(#block #methods)
}

fn check(options: &TokenStream, block: &ItemImpl) -> Result<()> {
    if !options.is_empty() {
        let text = "`#[tools]` takes no options: write them in the `#[tool]` of each method";
        return Err(Error::new_spanned(options, text));
    }
    if let Some((path, _)) = &block.trait_ {
        let text = "`#[tools]` cannot be placed on the implementation of a trait: move the tools to an \
             `impl` block of the type";
        return Err(Error::new_spanned(path, text));
    }
    Ok(())
}

/// Returns an `impl` block with the method `tools`, which builds the tools of a value. Removes
/// `#[tool]` from the methods of `block`.
fn tools(block: &mut ItemImpl) -> Result<TokenStream> {
    let (mut bodies, mut bounds) = (Vec::new(), Vec::new());
    let mut mistakes: Option<Error> = None;
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let Some(at) = method.attrs.iter().position(is_tool) else {
            continue;
        };
        let attribute = method.attrs.remove(at);
        match tool(method, &attribute) {
            Ok(tool) => {
                bodies.push(tool.body);
                bounds.extend(tool.bounds);
            }
            Err(mistake) => match &mut mistakes {
                Some(mistakes) => mistakes.combine(mistake),
                None => mistakes = Some(mistake),
            },
        }
    }
    if let Some(mistakes) = mistakes {
        return Err(mistakes);
    }
    if bodies.is_empty() {
        let text =
            "no method of this `impl` block is a tool: place `#[tool]` on at least one method";
        return Err(Error::new_spanned(&block.self_ty, text));
    }
    let (generics, ty, clause) = {
        let (generics, _, clause) = block.generics.split_for_impl();
        (generics, &block.self_ty, clause)
    };
    Ok(quote! {
        impl #generics #ty #clause {
            /// Returns the tools of this value. All calls share the value.
            #[allow(dead_code, unreachable_pub)]
            pub fn tools<S>(self) -> ::std::vec::Vec<::mcp_server::Tool<S>>
            where
                S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
                #(#bounds,)*
            {
                let __this = ::std::sync::Arc::new(self);
                ::std::vec![#({
                    let __this = ::std::sync::Arc::clone(&__this);
                    #bodies
                }),*]
            }
        }
    })
}

fn is_tool(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|segment| segment.ident == "tool")
}

fn tool(method: &mut ImplItemFn, attribute: &Attribute) -> Result<Expansion> {
    let options = match &attribute.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(value) => {
            return Err(Error::new_spanned(
                value,
                "write the options in parentheses: `#[tool(..)]`",
            ));
        }
    };
    let options = Options::parse(Kind::Tool, options)?;
    let item = ItemFn {
        attrs: method.attrs.clone(),
        vis: method.vis.clone(),
        modifiers: method.modifiers.clone(),
        sig: method.sig.clone(),
        block: Box::new(method.block.clone()),
    };
    let (function, sound) = Function::parse(Kind::Tool, Container::Impl, item);
    method.sig = function.item.sig.clone();
    sound?;
    method.attrs.push(syn::parse_quote! {
        #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
    });
    expand_item(Kind::Tool, &options, &function)
}
