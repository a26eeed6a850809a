//! The part of RFC 6570 that is needed to compare the parameters of a function with a URI template.

use syn::{LitStr, Result};

/// Returns the names of the variables. All other checks of the template happen when the resource is
/// registered.
pub(crate) fn variables(uri: &LitStr) -> Result<Vec<String>> {
    let text = uri.value();
    let mut names = Vec::new();
    for expression in text.split('{').skip(1) {
        let Some((expression, _)) = expression.split_once('}') else {
            return Err(syn::Error::new(uri.span(), "`{` is not closed: add `}`"));
        };
        for variable in expression
            .trim_start_matches(['+', '#', '.', '/', ';', '?', '&'])
            .split(',')
        {
            if let Some((name, _)) = variable.split_once(['*', ':']) {
                return Err(syn::Error::new(
                    uri.span(),
                    format!("`{{{variable}}}` cannot be matched against a URI: write `{{{name}}}`"),
                ));
            }
            names.push(variable.to_owned());
        }
    }
    Ok(names)
}
