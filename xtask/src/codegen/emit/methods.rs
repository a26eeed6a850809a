//! `methods.rs`: method names, markers and directions.

use heck::ToShoutySnakeCase as _;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::file::{Scope, ident, print};
use crate::codegen::model::{Method, Model};

/// The text of the file: names and markers of the canonical revision, or what a later one does not share with it.
pub(super) fn emit(model: &Model, scope: &Scope<'_>) -> Result<String, String> {
    let mut methods: Vec<&Method> = model.methods.iter().collect();
    methods.sort_by_key(|method| &method.method);
    let is_root = scope.module.is_none();
    let names = (!is_root).then(|| quote!(self,));
    let mut items = vec![quote!(use crate::method::{#names Direction, Notification, Request};)];
    items.extend(is_root.then(|| emit_constants(&methods, scope)));
    let (requests, notifications): (Vec<_>, _) =
        methods.iter().partition(|method| method.result.is_some());
    items.push(emit_direction("request", &requests));
    items.push(emit_direction("notification", &notifications));
    let own = methods.iter();
    let own = own.filter(|method| !scope.is_shared(&method.name));
    items.extend(own.map(|method| emit_marker(method, scope)));
    Ok(scope.head("methods") + &print(&items)?)
}

/// The name of the constant of a method: `SAMPLING_CREATE_MESSAGE` for `sampling/createMessage`.
fn constant(method: &Method) -> proc_macro2::Ident {
    ident(&method.method.to_shouty_snake_case())
}

/// Every name of every revision, each once.
fn emit_constants(methods: &[&Method], scope: &Scope<'_>) -> TokenStream {
    let canonical = methods.iter().map(|method| (*method, "super".to_owned()));
    let mut all: Vec<_> = canonical.collect();
    for (module, novel) in &scope.later {
        all.extend(
            novel
                .iter()
                .map(|method| (method, format!("crate::{module}"))),
        );
    }
    all.sort_by_key(|(method, _)| &method.method);
    let constants = all.iter().map(|(method, place)| {
        let constant = constant(method);
        let (name, marker) = (&method.method, &method.name);
        let line = format!(" See [`{marker}`]({place}::{marker}).");
        quote!(#[doc = #line] pub const #constant: &str = #name;)
    });
    quote! {
        /// The method names.
        pub(crate) mod method {
            #(#constants)*
        }
    }
}

fn emit_direction(kind: &str, methods: &[&Method]) -> TokenStream {
    let function = format_ident!("{kind}_direction");
    let line = format!(
        " The direction of a {kind}, or `None` if the method is not a {kind} of the schema."
    );
    let sides = [
        ([true, false], quote!(ClientToServer)),
        ([false, true], quote!(ServerToClient)),
        ([true, true], quote!(Both)),
    ];
    let arms = sides.iter().map(|(sides, direction)| {
        let own = methods.iter().filter(|method| method.sides == *sides);
        let names: Vec<_> = own.map(|method| constant(method)).collect();
        (!names.is_empty()).then(|| quote!(#(method::#names)|* => Some(Direction::#direction),))
    });
    quote! {
        #[doc = #line]
        pub fn #function(method: &str) -> Option<Direction> {
            match method {
                #(#arms)*
                _ => None,
            }
        }
    }
}

fn emit_marker(method: &Method, scope: &Scope<'_>) -> TokenStream {
    let doc = scope.docs.item(&method.name, "methods");
    let marker = ident(&method.name);
    let constant = constant(method);
    let params = scope.path(&method.params);
    let optional = method.params_optional.then(|| {
        quote!(
            const PARAMS_OPTIONAL: bool = true;
        )
    });
    let result = method.result.as_ref().map(|result| scope.path(result));
    let (kind, result) = match result {
        Some(result) => (quote!(Request), Some(quote!(type Result = #result;))),
        None => (quote!(Notification), None),
    };
    quote! {
        #doc
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum #marker {}

        impl #kind for #marker {
            const METHOD: &'static str = method::#constant;
            #optional
            type Params = #params;
            #result
        }
    }
}
