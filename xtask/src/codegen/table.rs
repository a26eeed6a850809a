//! The table of round trips that the types tests run: definition name to decode-and-encode.

use super::model::{Kind, Model};

/// The text of the table file.
pub(crate) fn emit(model: &Model) -> String {
    let mut text = String::from(
        "// Generated from the official schema: do not edit. Run `cargo xtask codegen`.\n\n\
         //! Every definition with a Rust type, and its round trip.\n\n\
         use crate::support::{RoundTrip, round_trip};\n\n\
         /// Definition name, and decode followed by encode.\n\
         pub(crate) const TABLE: &[(&str, RoundTrip)] = &[\n",
    );
    let mut rows: Vec<_> = model
        .items
        .iter()
        .filter_map(|item| {
            let definition = item.definition.as_ref()?;
            let ty = match &item.kind {
                Kind::Alias(_) => return None,
                _ => &item.name,
            };
            Some((definition, ty))
        })
        .collect();
    rows.sort();
    for (definition, ty) in rows {
        text.push_str(&format!(
            "    (\"{definition}\", round_trip::<mcp_types::{ty}>),\n"
        ));
    }
    text.push_str("];\n");
    text
}
