//! The tables of round trips that the types tests run: definition name to decode-and-encode.

use super::model::{Method, Model};

/// The text of a table file; the types are those of `module` of the types crate.
pub(crate) fn emit(model: &Model, module: Option<&str>) -> String {
    let path = module.map_or_else(
        || "mcp_types".to_owned(),
        |module| format!("mcp_types::{module}"),
    );
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut helpers = vec!["RoundTrip", "round_trip"];
    for item in &model.items {
        if let Some(definition) = &item.definition {
            let row = format!("round_trip::<{path}::{}>", item.name);
            rows.push((definition.clone(), row));
        }
    }
    if module.is_some() {
        helpers.extend(["notification", "request", "response"]);
        rows.extend(
            model
                .methods
                .iter()
                .flat_map(|method| messages(method, &path)),
        );
    }
    rows.sort();
    helpers.sort_unstable();
    let rows: String = rows
        .iter()
        .map(|(definition, row)| format!("    (\"{definition}\", {row}),\n"))
        .collect();
    format!(
        "// Generated from the official schema: do not edit. Run `cargo xtask codegen`.\n\n\
         //! Every definition with a Rust type, and its round trip.\n\n\
         use crate::support::{{{}}};\n\n\
         /// Definition name, and decode followed by encode.\n\
         pub(crate) const TABLE: &[(&str, RoundTrip)] = &[\n{rows}];\n",
        helpers.join(", ")
    )
}

/// The rows of whole messages.
fn messages(method: &Method, path: &str) -> Vec<(String, String)> {
    let marker = &method.name;
    let kind = match method.result {
        Some(_) => "request",
        None => "notification",
    };
    let message = (marker.clone(), format!("{kind}::<{path}::{marker}>"));
    let answer = method.response.iter();
    let answer = answer.map(|name| (name.clone(), format!("response::<{path}::{marker}>")));
    std::iter::once(message).chain(answer).collect()
}
