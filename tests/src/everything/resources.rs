//! Resources and a template.

use mcp_server::{Args, Resource};
use mcp_types::{BlobResourceContents, ResourceContents};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::media::PNG;

#[derive(Deserialize, JsonSchema)]
struct Id {
    id: String,
}

pub(super) fn all() -> Vec<Resource> {
    vec![
        Resource::text(
            "test://static-text",
            "Static text",
            "This is the content of the static text resource.",
        )
        .description("A text that never changes"),
        Resource::new("test://static-binary", "Static binary", || {
            let blob = BlobResourceContents::new("test://static-binary", PNG);
            ResourceContents::Blob(blob.with_mime_type("image/png"))
        })
        .mime("image/png")
        .description("An image that never changes"),
        Resource::text(
            "test://watched-resource",
            "Watched resource",
            "Watched resource content",
        )
        .description("A resource to subscribe to"),
        Resource::new(
            "test://template/{id}/data",
            "Data by id",
            |Args(id): Args<Id>| {
                json!({
                    "id": id.id,
                    "templateTest": true,
                    "data": format!("Data for ID: {}", id.id)
                })
                .to_string()
            },
        )
        .mime("application/json")
        .description("Data for any id")
        .complete_from("id", ["123", "456"]),
    ]
}
