//! `methods.rs`: method names, markers and directions.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::print::{head, print};
use super::scope::Scope;
use crate::codegen::model::{Method, Model};
use crate::codegen::naming;

/// The text of the file: names and markers of the canonical revision, or what a later one has of its own.
pub(crate) fn emit(model: &Model, scope: &Scope<'_>) -> Result<String, String> {
    let mut methods: Vec<&Method> = model.methods.iter().collect();
    methods.sort_by(|left, right| left.method.cmp(&right.method));
    let mut text = head(&scope.docs.module("methods"));
    if scope.module.is_none() {
        text.push_str("use crate::method::{Direction, Notification, Request};\n\n");
        text.push_str(&print(emit_constants(&methods, scope))?);
    } else {
        text.push_str("use crate::method::{self, Direction, Notification, Request};\n\n");
    }
    for side in [true, false] {
        let own: Vec<_> = methods
            .iter()
            .copied()
            .filter(|method| method.result.is_some() == side)
            .collect();
        text.push_str(&print(emit_direction(&own, side))?);
    }
    for method in methods {
        if !scope.shared.contains(&method.name) {
            text.push_str(&print(emit_marker(method, scope))?);
        }
    }
    Ok(text)
}

/// Every name of every revision, each once.
fn emit_constants(methods: &[&Method], scope: &Scope<'_>) -> TokenStream {
    let canonical = methods.iter().map(|method| (*method, "super".to_owned()));
    let novel = scope.novel.iter();
    let novel = novel.map(|(module, method)| (method, format!("crate::{module}")));
    let mut all: Vec<_> = canonical.chain(novel).collect();
    all.sort_by(|(left, _), (right, _)| left.method.cmp(&right.method));
    let constants = all.iter().map(|(method, place)| {
        let ident = format_ident!("{}", naming::constant(&method.method));
        let (name, marker) = (&method.method, &method.name);
        let line = format!(" See [`{marker}`]({place}::{marker}).");
        quote!(#[doc = #line] pub const #ident: &str = #name;)
    });
    quote! {
        /// The method names.
        pub(crate) mod method {
            #(#constants)*
        }
    }
}

fn emit_direction(methods: &[&Method], requests: bool) -> TokenStream {
    let (ident, line) = match requests {
        true => (
            format_ident!("request_direction"),
            " The direction of a request, or `None` if the method is not a request of the schema.",
        ),
        false => (
            format_ident!("notification_direction"),
            " The direction of a notification, or `None` if the method is not a notification of the schema.",
        ),
    };
    let side = |client: bool, server: bool, direction: &str| {
        let names: Vec<_> = methods
            .iter()
            .filter(|method| (method.from_client, method.from_server) == (client, server))
            .map(|method| format_ident!("{}", naming::constant(&method.method)))
            .collect();
        let direction = format_ident!("{direction}");
        (!names.is_empty()).then(|| quote!(#(method::#names)|* => Some(Direction::#direction),))
    };
    let client = side(true, false, "ClientToServer");
    let server = side(false, true, "ServerToClient");
    let both = side(true, true, "Both");
    quote! {
        #[doc = #line]
        pub fn #ident(method: &str) -> Option<Direction> {
            match method {
                #client
                #server
                #both
                _ => None,
            }
        }
    }
}

fn emit_marker(method: &Method, scope: &Scope<'_>) -> TokenStream {
    let doc = scope.docs.item(&method.name, "methods");
    let ident = format_ident!("{}", method.name);
    let constant = format_ident!("{}", naming::constant(&method.method));
    let params = scope.path(&method.params);
    let optional = method.params_optional.then(|| {
        quote!(
            const PARAMS_OPTIONAL: bool = true;
        )
    });
    let (kind, result) = match &method.result {
        Some(result) => {
            let result = scope.path(result);
            (quote!(Request), Some(quote!(type Result = #result;)))
        }
        None => (quote!(Notification), None),
    };
    quote! {
        #doc
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum #ident {}

        impl #kind for #ident {
            const METHOD: &'static str = method::#constant;
            #optional
            type Params = #params;
            #result
        }
    }
}
