//! Expands `#[tools]`, `#[prompts]` and `#[resources]` on an `impl` block. The methods with `#[tool]`, `#[prompt]` or
//! `#[resource]` become items of the server.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Error, Ident, ImplItem, ImplItemFn, ItemFn, ItemImpl, Meta, Result, Token};

use crate::expand::{Expansion, expand_item};
use crate::function::{Container, Function};
use crate::options::{Kind, Options};

pub(crate) fn attribute(kind: Kind, options: &TokenStream, item: &TokenStream) -> TokenStream {
    let mut block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            let text = format!(
                "`#[{kind}s]` must be placed on an `impl` block: {error}",
                kind = kind.name()
            );
            let error = Error::new(error.span(), text).into_compile_error();
            return quote!(#item #error);
        }
    };
    let expanded = check(kind, &block)
        .and_then(|()| name(kind, options))
        .and_then(|name| items(kind, &name, &mut block));
    let methods = expanded.unwrap_or_else(Error::into_compile_error);
    quote!(#block #methods)
}

fn check(kind: Kind, block: &ItemImpl) -> Result<()> {
    let kind = kind.name();
    if let Some((path, _)) = &block.trait_ {
        let text = format!(
            "`#[{kind}s]` cannot be placed on the implementation of a trait: move the {kind}s to an \
             `impl` block of the type"
        );
        return Err(Error::new_spanned(path, text));
    }
    Ok(())
}

/// Returns the name of the generated method: the name in `name = ..`, or otherwise `tools`, `prompts` or `resources`.
fn name(kind: Kind, options: &TokenStream) -> Result<Ident> {
    if options.is_empty() {
        return Ok(format_ident!("{}s", kind.name()));
    }
    let parser = |input: ParseStream<'_>| {
        let key: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        match key == "name" {
            true => input.parse(),
            false => Err(Error::new(key.span(), "")),
        }
    };
    parser.parse2(options.clone()).map_err(|_| {
        let kind = kind.name();
        let text = format!(
            "`#[{kind}s]` has one option, the name of the generated method: write `#[{kind}s(name = more_{kind}s)]`; options of a \
             {kind} are in the `#[{kind}]` of its method"
        );
        Error::new_spanned(options, text)
    })
}

/// Returns the code of an `impl` block with the method `name`, which builds the items from a value. Removes `#[tool]`,
/// `#[prompt]` or `#[resource]` from the methods of `block`.
fn items(kind: Kind, name: &Ident, block: &mut ItemImpl) -> Result<TokenStream> {
    let (mut bodies, mut bounds) = (Vec::new(), Vec::new());
    let mut mistakes: Option<Error> = None;
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let mut attributes = method.attrs.iter();
        let Some(at) = attributes.position(|attribute| is_of(kind, attribute)) else {
            continue;
        };
        let attribute = method.attrs.remove(at);
        let cfgs: Vec<Attribute> = method
            .attrs
            .iter()
            .filter(|it| it.path().is_ident("cfg"))
            .cloned()
            .collect();
        match expand(kind, name, method, &attribute) {
            Ok(Expansion { body, bounds: own }) => {
                bodies.push(quote! {
                    #(#cfgs)*
                    {
                        let __this = ::std::sync::Arc::clone(&__this);
                        __items.push({ #body });
                    }
                });
                bounds.extend(own);
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
        let kind = kind.name();
        let text = format!(
            "no method of this `impl` block is a {kind}: place `#[{kind}]` on at least one method"
        );
        return Err(Error::new_spanned(&block.self_ty, text));
    }
    Ok(method_of(kind, name, block, &bodies, &bounds))
}

/// Returns the code of an `impl` block with a method that runs `bodies`.
fn method_of(
    kind: Kind,
    name: &Ident,
    block: &ItemImpl,
    bodies: &[TokenStream],
    bounds: &[TokenStream],
) -> TokenStream {
    let (generics, _, clause) = block.generics.split_for_impl();
    let ty = &block.self_ty;
    let product = kind.product();
    let doc = format!(
        "Returns the {}s of this value. All calls share the value.",
        kind.name()
    );
    quote! {
        impl #generics #ty #clause {
            #[doc = #doc]
            #[allow(dead_code, unreachable_pub, unused_mut, clippy::vec_init_then_push)]
            pub fn #name<__S>(self) -> ::std::vec::Vec<::mcp_server::#product<__S>>
            where
                __S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
                #(#bounds,)*
            {
                let __this = ::std::sync::Arc::new(self);
                let mut __items = ::std::vec::Vec::new();
                #(#bodies)*
                __items
            }
        }
    }
}

fn is_of(kind: Kind, attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|segment| segment.ident == kind.name())
}

fn expand(
    kind: Kind,
    name: &Ident,
    method: &mut ImplItemFn,
    attribute: &Attribute,
) -> Result<Expansion> {
    if method.sig.ident == *name {
        let kind = kind.name();
        let text = format!(
            "`#[{kind}s]` adds a method `{name}` to the type: rename this method and write `#[{kind}(name = \"{name}\")]`, or write \
             `#[{kind}s(name = all_{kind}s)]`"
        );
        return Err(Error::new(method.sig.ident.span(), text));
    }
    let options = match &attribute.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(value) => {
            return Err(Error::new_spanned(
                value,
                format!("write the options in parentheses: `#[{}(..)]`", kind.name()),
            ));
        }
    };
    let is_empty = options.is_empty();
    // Without options, the error has no token to point at.
    let options = Options::parse(kind, options).map_err(|error| match is_empty {
        true => Error::new_spanned(attribute, error),
        false => error,
    })?;
    let item = ItemFn {
        attrs: method.attrs.clone(),
        vis: method.vis.clone(),
        modifiers: method.modifiers.clone(),
        sig: method.sig.clone(),
        block: Box::new(method.block.clone()),
    };
    let (function, sound) = Function::parse(kind, Container::Impl, item);
    method.sig = function.item.sig.clone();
    sound?;
    method.attrs.push(syn::parse_quote! {
        #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
    });
    expand_item(kind, &options, &function)
}
