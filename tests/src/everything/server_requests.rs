//! Tools that send requests to the client.

use mcp_protocol::AskError;
use mcp_server::{Args, Ctx, Elicitation, HandlerError, Tool};
use mcp_types::{
    BooleanSchema, CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestParams,
    ElicitResult, FormProperties, PrimitiveSchemaDefinition, RequestedSchema, SamplingMessage,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::round_trips::text;

#[derive(Deserialize, JsonSchema)]
struct Prompt {
    /// What to ask the model.
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// What to ask the user.
    message: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Account {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

pub(super) fn all() -> Vec<Tool> {
    vec![
        Tool::new(
            "test_sampling",
            async |Args(args): Args<Prompt>, cx: Ctx| {
                let message = SamplingMessage::user(&*args.prompt);
                let answer = cx
                    .sample(CreateMessageRequestParams::new(vec![message], 100))
                    .await?;
                Ok::<_, AskError>(format!("LLM response: {}", text(&answer)))
            },
        )
        .description("Asks the client's model"),
        Tool::new(
            "test_elicitation",
            async |Args(args): Args<Question>, cx: Ctx| {
                let (action, content) = match cx.elicit::<Account>(args.message).await? {
                    Elicitation::Accepted(account) => ("accept", serde_json::to_value(account)?),
                    Elicitation::Declined => ("decline", Value::Null),
                    Elicitation::Cancelled => ("cancel", Value::Null),
                };
                Ok::<_, HandlerError>(format!("User response: action={action}, content={content}"))
            },
        )
        .description("Asks the user for name and address"),
        Tool::new("test_elicitation_sep1034_defaults", async |cx: Ctx| {
            ask(
                &cx,
                "Please review and update the form fields with defaults",
                defaults(),
            )
            .await
        })
        .description("Asks with a default of each kind"),
        Tool::new("test_elicitation_sep1330_enums", async |cx: Ctx| {
            ask(&cx, "Please select options from the enum fields", enums()).await
        })
        .description("Asks with a choice of each kind"),
        Tool::new("test_elicitation_url", async |cx: Ctx| {
            let asked = cx
                .elicit_url("Please connect your account", "https://example.com/connect")
                .await?;
            let visit = asked.accepted();
            if let Some(visit) = &visit {
                visit.complete();
            }
            Ok::<_, AskError>(format!("accepted: {}", visit.is_some()))
        })
        .description("Asks the user to open a URL"),
        Tool::new("test_list_roots", async |cx: Ctx| {
            let roots = cx.roots().await?;
            let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
            Ok::<_, AskError>(format!("roots: {}", uris.join(", ")))
        })
        .description("Asks for the roots"),
    ]
}

async fn ask(cx: &Ctx, message: &str, form: RequestedSchema) -> Result<String, HandlerError> {
    let params = ElicitRequestFormParams::new(message, form);
    let result: ElicitResult = cx.elicit_raw(ElicitRequestParams::Form(params)).await?;
    Ok(format!(
        "Elicitation completed: action={}, content={}",
        result.action.as_str(),
        serde_json::to_string(&result.content)?
    ))
}

/// Builds form fields from JSON, like a server that forwards forms of others.
fn form(fields: [(&str, Value); 5]) -> RequestedSchema {
    let mut properties = FormProperties::new();
    for (name, field) in fields {
        let field = serde_json::from_value::<PrimitiveSchemaDefinition>(field)
            .unwrap_or_else(|_| BooleanSchema::default().into());
        properties.insert(name, field);
    }
    RequestedSchema::new(properties)
}

fn defaults() -> RequestedSchema {
    form([
        ("name", json!({ "type": "string", "default": "John Doe" })),
        ("age", json!({ "type": "integer", "default": 30 })),
        ("score", json!({ "type": "number", "default": 95.5 })),
        (
            "status",
            json!({ "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" }),
        ),
        ("verified", json!({ "type": "boolean", "default": true })),
    ])
}

fn enums() -> RequestedSchema {
    let titled = |word: &str| {
        json!([
            { "const": "value1", "title": format!("First {word}") },
            { "const": "value2", "title": format!("Second {word}") },
            { "const": "value3", "title": format!("Third {word}") }
        ])
    };
    form([
        (
            "untitledSingle",
            json!({ "type": "string", "enum": ["option1", "option2", "option3"] }),
        ),
        (
            "titledSingle",
            json!({ "type": "string", "oneOf": titled("Option") }),
        ),
        (
            "legacyEnum",
            json!({
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            }),
        ),
        (
            "untitledMulti",
            json!({
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] }
            }),
        ),
        (
            "titledMulti",
            json!({
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": { "anyOf": titled("Choice") }
            }),
        ),
    ])
}
