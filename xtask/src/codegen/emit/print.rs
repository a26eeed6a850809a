//! The text of generated files.

use proc_macro2::TokenStream;

pub(super) const HEADER: &str =
    "// Generated from the official schema: do not edit. Run `cargo xtask codegen`.\n";

/// The first lines of a generated file.
pub(crate) fn head(line: &str) -> String {
    format!("{HEADER}\n//! {line}\n\n")
}

/// Prints items, with a blank line between them and between functions.
pub(crate) fn print(tokens: TokenStream) -> Result<String, String> {
    let file =
        syn::parse2(tokens).map_err(|error| format!("generated code does not parse: {error}"))?;
    let text = prettyplease::unparse(&file);
    let mut spaced = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        spaced.push_str(line);
        spaced.push('\n');
        let next = lines.peek();
        let function = line == "    }"
            && next.is_some_and(|next| next.starts_with("    ") && !next.starts_with("    }"));
        let constants = line.ends_with(';') && next.is_some_and(|next| next.starts_with("    fn "));
        let function = function || constants;
        if line == "}" || (next.is_none() && line.ends_with(';')) || function {
            spaced.push('\n');
        }
    }
    Ok(spaced)
}
