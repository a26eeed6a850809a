//! One server, one client, every revision: messages belong to one kind of revision, and the
//! handlers do the same.

mod escapes;
mod handlers;
mod messages;
mod schema;
mod tap;

use mcp_types::Root;

use crate::prelude::*;

/// Creates a client of this revision with all handlers.
fn client(revision: Revision) -> ClientBuilder {
    let negotiation = match revision.is_stateless() {
        true => Negotiation::Stateless,
        false => Negotiation::SessionBased,
    };
    let builder = Client::builder("revisions", "1")
        .negotiation(negotiation)
        .roots([Root::new("file:///work")])
        .on_elicit_url(async |url| url.accept())
        .on_sample(async |sample| Ok(sample.reply("model", "said the model")))
        .on_elicit(async |form| {
            let mut content = json!({});
            let fields =
                serde_json::to_value(&form.params.requested_schema.properties).unwrap_or_default();
            for (name, field) in fields.as_object().into_iter().flatten() {
                content[name] = match (field["type"].as_str(), field.get("default")) {
                    // The schemas admit only integers, although forms request other numbers.
                    (Some("number"), _) => json!(3),
                    (_, Some(default)) => default.clone(),
                    (Some("boolean"), _) => json!(true),
                    (Some("integer"), _) => json!(3),
                    (Some("array"), _) => json!([choice(&field["items"])]),
                    _ if field.get("enum").is_some() || field.get("oneOf").is_some() => {
                        choice(field)
                    }
                    _ => json!("blue"),
                };
            }
            form.accept(content)
        });
    if revision.is_stateless() {
        builder
    } else {
        builder.revision(revision)
    }
}

/// Returns the first value that a field offers.
fn choice(field: &Value) -> Value {
    for (list, value) in [("enum", ""), ("oneOf", "/const"), ("anyOf", "/const")] {
        if let Some(first) = field[list].get(0) {
            return first.pointer(value).cloned().unwrap_or_default();
        }
    }
    json!("blue")
}
