//! Doc comments as descriptions.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Returns the text of the doc comments, or `None` without doc comments.
pub(crate) fn text(attributes: &[Attribute]) -> Option<String> {
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
