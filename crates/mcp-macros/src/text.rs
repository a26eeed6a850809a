//! Texts that describe an item: its doc comments, and the variables of its URI template (RFC 6570).

use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Result};

use crate::options::fail;

/// Returns the text of the doc comments, or `None` without doc comments.
pub(crate) fn description(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let text = lines.join("\n");
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(doc) = &attribute.meta else {
        return None;
    };
    match &doc.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) if doc.path.is_ident("doc") => {
            let text = text.value();
            // `/// text` includes the space after the slashes.
            Some(
                text.strip_prefix(' ')
                    .unwrap_or(&text)
                    .trim_end()
                    .to_owned(),
            )
        }
        _ => None,
    }
}

/// Returns the names of the variables. All other checks of the template happen when the resource is
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
