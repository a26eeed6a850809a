//! Generates the code for the attributes.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Ident, ItemFn, Lit, LitStr, Result, ReturnType, Type};

use crate::function::{Argument, Container, Function, Param, inside_option};
use crate::options::{Kind, Options, fail};
use crate::text;

pub(crate) fn attribute(kind: Kind, options: TokenStream, item: &TokenStream) -> TokenStream {
    let item: ItemFn = match syn::parse2(item.clone()) {
        Ok(item) => item,
        Err(error) => {
            let text = format!("`#[{}]` must be placed on a function: {error}", kind.name());
            let error = Error::new(error.span(), text).into_compile_error();
            return quote!(#item #error);
        }
    };
    let options = Options::parse(kind, options);
    let (function, sound) = Function::parse(kind, Container::Module, item);
    let made = match (options, sound) {
        (Ok(options), Ok(())) => expand_item(kind, &options, &function),
        (Err(mut error), Err(other)) => {
            error.combine(other);
            Err(error)
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    let companion = match (made, function.item.sig.receiver()) {
        // Inside an `impl` block only the function itself may be emitted.
        (Err(error), Some(_)) => error.into_compile_error(),
        (made, _) => companion(kind, &function, made),
    };
    let mut item = function.item;
    // A handler takes its parameters by value, and may be async without awaiting anything.
    item.attrs.push(syn::parse_quote! {
        #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
    });
    quote!(#item #companion)
}

/// Returns the code of a companion type that has the name of the function. A method of this type builds the item to register.
fn companion(kind: Kind, function: &Function, made: Result<Expansion>) -> TokenStream {
    let ItemFn {
        sig, vis, attrs, ..
    } = &function.item;
    let cfgs: Vec<_> = attrs.iter().filter(|a| a.path().is_ident("cfg")).collect();
    let name = &sig.ident;
    let method = format_ident!("{}", kind.name());
    let product = kind.product();
    let (body, bounds, error) = match made {
        Ok(Expansion { body, bounds }) => (body, bounds, None),
        // The code that registers the function must not report the error a second time.
        Err(error) => (
            quote!(loop {}),
            Vec::new(),
            Some(error.into_compile_error()),
        ),
    };
    let lints = quote! {
        #[allow(
            dead_code,
            deprecated,
            missing_debug_implementations,
            missing_docs,
            non_camel_case_types,
            non_snake_case,
            unreachable_pub,
            clippy::empty_loop,
            clippy::empty_structs_with_brackets,
            clippy::exhaustive_structs,
            clippy::missing_docs_in_private_items,
            clippy::too_many_arguments,
        )]
    };
    quote! {
        #error

        #(#cfgs)*
        #[doc(hidden)]
        #lints
        #vis struct #name {}

        #(#cfgs)*
        #[doc(hidden)]
        #lints
        impl #name {
            #vis fn #method<__S>() -> ::mcp_server::#product<__S>
            where
                __S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
                #(#bounds,)*
            {
                #body
            }
        }
    }
}

/// The expression that builds an item, and the bounds that it requires of the state type `__S`.
pub(crate) struct Expansion {
    pub(crate) body: TokenStream,
    pub(crate) bounds: Vec<TokenStream>,
}

pub(crate) fn expand_item(kind: Kind, options: &Options, function: &Function) -> Result<Expansion> {
    let name = name(kind, options, function)?;
    if let (Some(span), true) = (options.blocking, function.is_async) {
        return fail(
            span,
            "`blocking` is only for functions that are not async: remove `blocking` or `async`",
        );
    }
    let mut setters = setters(options, function);
    let product = kind.product();
    if let Some(uri) = &options.uri {
        check_variables(uri, function)?;
    }
    let uri = options.uri.iter();
    for argument in function.arguments() {
        if let Some(complete) = &argument.options.complete {
            let name = &argument.name;
            setters.extend(quote!(.complete(#name, #complete)));
        }
    }
    let arguments = arguments(function)?;
    let (shape, handler) = handler(function);
    let body = quote! {
        #arguments
        ::mcp_server::#product::<__S>::new::<#shape>(#(#uri,)* #name, #handler)#setters
    };
    let bounds = function.params.iter().filter_map(|param| match param {
        Param::Extractor(ty) => Some(quote_spanned!(ty.span()=> #ty: ::mcp_server::FromCall<__S>)),
        Param::Argument(_) => None,
    });
    Ok(Expansion {
        body,
        bounds: bounds.collect(),
    })
}

fn name(kind: Kind, options: &Options, function: &Function) -> Result<LitStr> {
    let ident = &function.item.sig.ident;
    let name = match &options.name {
        Some(name) => name.clone(),
        None => LitStr::new(&ident.unraw().to_string(), ident.span()),
    };
    let text = name.value();
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if kind == Kind::Tool && !((1..=128).contains(&text.len()) && text.bytes().all(legal)) {
        let problem = format!(
            "{text:?} is not a valid tool name: use 1 to 128 characters out of A-Z a-z 0-9 _ - ."
        );
        return fail(name.span(), problem);
    }
    if text.is_empty() {
        return fail(name.span(), format!("a {} has a name", kind.name()));
    }
    Ok(name)
}

fn setters(options: &Options, function: &Function) -> TokenStream {
    let mut setters = TokenStream::new();
    let description = match &options.description {
        Some(description) => Some(description.to_token_stream()),
        None => text::description(&function.item.attrs),
    };
    if let Some(description) = description {
        setters.extend(quote!(.description(#description)));
    }
    if let Some(icon) = &options.icon {
        setters.extend(quote!(.icon(::mcp_server::__private::Icon::new(#icon))));
    }
    if options.blocking.is_some() {
        setters.extend(quote!(.blocking()));
    }
    for (setter, value) in &options.setters {
        setters.extend(quote!(.#setter(#value)));
    }
    for flag in &options.flags {
        setters.extend(quote!(.#flag()));
    }
    setters
}

/// Checks that each argument of the function is a variable of the URI template.
fn check_variables(uri: &LitStr, function: &Function) -> Result<()> {
    let known = text::variables(uri)?;
    for Argument { name, ident, .. } in function.arguments() {
        if !known.contains(name) {
            let known = match &*known.join("`, `") {
                "" => "the URI has no variables".to_owned(),
                names => format!("the variables are `{names}`"),
            };
            let problem = format!("`{name}` is not a variable of the URI: {known}");
            return fail(ident.span(), problem);
        }
    }
    Ok(())
}

/// Returns the code of the struct into which the arguments are decoded.
fn arguments(function: &Function) -> Result<TokenStream> {
    if function.arguments().next().is_none() {
        return Ok(TokenStream::new());
    }
    let mut fields = TokenStream::new();
    let mut functions = TokenStream::new();
    let types = function
        .arguments()
        .filter(|argument| !argument.options.parse);
    let types = types.map(|Argument { ty, .. }| quote_spanned!(ty.span()=> is_argument::<#ty>();));
    functions.extend(quote! {
        const _: fn() = || {
            fn is_argument<T: ::mcp_server::__private::Argument>() {}
            #(#types)*
        };
    });
    for argument in function.arguments() {
        let Argument {
            name,
            ident,
            ty,
            attributes,
            options,
            ..
        } = argument;
        let rename = options
            .rename
            .as_ref()
            .map(|name| quote!(#[serde(rename = #name)]));
        let default = match &options.default {
            None => None,
            Some(None) => Some(quote!(#[serde(default)])),
            Some(Some(value)) => {
                let function = format_ident!("__default_{}", ident.unraw());
                let path = function.to_string();
                let value = default_value(value);
                functions.extend(quote!(fn #function() -> #ty { #value }));
                Some(quote!(#[serde(default = #path)]))
            }
        };
        let parsed = options.parse.then(|| {
            let function = format_ident!("__parse_{}", ident.unraw());
            functions.extend(parse_function(&function, name, ty));
            parse_attributes(&function, ty)
        });
        fields.extend(quote!(#(#attributes)* #rename #default #parsed #ident: #ty,));
    }
    Ok(quote! {
        #functions
        #[derive(::mcp_server::__private::serde::Deserialize)]
        #[derive(::mcp_server::__private::schemars::JsonSchema)]
        #[serde(crate = "::mcp_server::__private::serde")]
        #[schemars(crate = "::mcp_server::__private::schemars")]
        struct __Arguments { #fields }
    })
}

/// Returns the code of a function that reads an argument from text with `FromStr`. Errors of this function name the argument.
fn parse_function(function: &Ident, name: &str, ty: &Type) -> TokenStream {
    let parsed = match is_option(ty) {
        true => quote!(parsed_option),
        false => quote!(parsed),
    };
    quote! {
        fn #function<'de, __D>(deserializer: __D) -> ::core::result::Result<#ty, __D::Error>
        where
            __D: ::mcp_server::__private::serde::Deserializer<'de>,
        {
            ::mcp_server::__private::#parsed(#name, deserializer)
        }
    }
}

/// Returns the serde attributes for a field that `function` reads from text.
fn parse_attributes(function: &Ident, ty: &Type) -> TokenStream {
    let path = format!("{function}");
    match is_option(ty) {
        true => quote! {
            #[serde(default, deserialize_with = #path)]
            #[schemars(with = "::std::option::Option<::std::string::String>")]
        },
        false => quote! {
            #[serde(deserialize_with = #path)]
            #[schemars(with = "::std::string::String")]
        },
    }
}

fn is_option(ty: &Type) -> bool {
    !std::ptr::eq(inside_option(ty), ty)
}

/// Returns the default value of an argument. A string literal is converted with `into()`.
fn default_value(value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(_), ..
        }) => quote!(::core::convert::Into::into(#value)),
        _ => value.to_token_stream(),
    }
}

/// Returns the code of the closure to register, and of its type parameter. The type parameter is explicit, so that a compile
/// error points at the wrong type and not at the closure.
fn handler(function: &Function) -> (TokenStream, TokenStream) {
    let sig = &function.item.sig;
    let mut patterns = Vec::new();
    let mut types = Vec::new();
    let mut values = Vec::new();
    if function.arguments().next().is_some() {
        patterns.push(quote!(::mcp_server::Args(__arguments)));
        types.push(quote!(::mcp_server::Args<__Arguments>));
    }
    for (index, param) in function.params.iter().enumerate() {
        match param {
            Param::Argument(argument) => {
                let ident = &argument.ident;
                values.push(quote!(__arguments.#ident));
            }
            Param::Extractor(ty) => {
                let name = Ident::new(&format!("__extracted{index}"), Span::call_site());
                patterns.push(name.to_token_stream());
                types.push(ty.to_token_stream());
                values.push(name.to_token_stream());
            }
        }
    }
    let marker = match function.is_async {
        true => quote!(Awaits),
        false => quote!(Returns),
    };
    let span = match &sig.output {
        ReturnType::Type(_, ty) => ty.span(),
        ReturnType::Default => sig.ident.span(),
    };
    let span = span.resolved_at(Span::call_site());
    let name = &sig.ident;
    let closure = match (function.container, function.is_async) {
        (Container::Module, _) => {
            quote_spanned!(span=> |#(#patterns: #types),*| #name(#(#values),*))
        }
        (Container::Impl, false) => {
            quote_spanned!(span=> move |#(#patterns: #types),*| __this.#name(#(#values),*))
        }
        (Container::Impl, true) => quote_spanned! {span=> move |#(#patterns: #types),*| {
            let __this = ::std::sync::Arc::clone(&__this);
            async move { __this.#name(#(#values),*).await }
        }},
    };
    (
        quote!((::mcp_server::__private::#marker, _, #(#types,)*)),
        closure,
    )
}
