//! Texts that describe an item: its doc comments, and its URI template (RFC 6570).

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Result};

use crate::options::fail;

/// Returns an expression for the text of the doc comments. Returns `None` if there are no doc comments.
pub(crate) fn description(attributes: &[Attribute]) -> Option<TokenStream> {
    let docs: Vec<&Expr> = attributes.iter().filter_map(doc).collect();
    let lines: Option<Vec<String>> = docs.iter().map(|doc| literal(doc)).collect();
    if let Some(lines) = lines {
        let text = lines.join("\n");
        let text = text.trim();
        return (!text.is_empty()).then(|| text.to_token_stream());
    }
    // An expression such as `include_str!(..)`.
    let parts = docs.iter().map(|doc| match literal(doc) {
        Some(line) => line.to_token_stream(),
        None => doc.to_token_stream(),
    });
    Some(quote!(::core::primitive::str::trim(
        ::core::concat!(#(#parts, "\n"),*)
    )))
}

fn doc(attribute: &Attribute) -> Option<&Expr> {
    match &attribute.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => Some(&doc.value),
        _ => None,
    }
}

/// Returns the text in the literal of a doc comment. The comment may be a line comment or a block comment.
fn literal(doc: &Expr) -> Option<String> {
    match doc {
        Expr::Group(group) => literal(&group.expr),
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(lines(&text.value())),
        _ => None,
    }
}

/// Removes the space at the start of a line comment. Removes the stars at the left of a block comment.
fn lines(text: &str) -> String {
    let is_starred = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('*');
    let has_stars = text.contains('\n') && text.lines().skip(1).all(is_starred);
    let line = |(at, line): (usize, &str)| {
        let line = match at > 0 && has_stars {
            true => line.trim_start().trim_start_matches('*').to_owned(),
            false => line.to_owned(),
        };
        line.strip_prefix(' ')
            .unwrap_or(&line)
            .trim_end()
            .to_owned()
    };
    let lines: Vec<String> = text.split('\n').enumerate().map(line).collect();
    lines.join("\n")
}

/// Removes the stars at the left of a block comment.
pub(crate) fn without_stars(mut attribute: Attribute) -> Attribute {
    let text = doc(&attribute).and_then(literal);
    if let (Some(text), Meta::NameValue(doc)) = (text, &mut attribute.meta)
        && text.contains('\n')
    {
        doc.value = syn::parse_quote!(#text);
    }
    attribute
}

/// Returns the names of the variables in the URI template. The other checks of the template run when the resource is
/// registered.
pub(crate) fn variables(uri: &LitStr) -> Result<Vec<String>> {
    let text = uri.value();
    let mut names = Vec::new();
    for expression in text.split('{').skip(1) {
        let Some((expression, _)) = expression.split_once('}') else {
            return fail(uri.span(), "`{` is not closed: add `}`");
        };
        for variable in expression
            .trim_start_matches(['+', '#', '.', '/', ';', '?', '&'])
            .split(',')
        {
            if let Some((name, _)) = variable.split_once(['*', ':']) {
                let text =
                    format!("`{{{variable}}}` cannot be matched against a URI: write `{{{name}}}`");
                return fail(uri.span(), text);
            }
            names.push(variable.to_owned());
        }
    }
    Ok(names)
}
