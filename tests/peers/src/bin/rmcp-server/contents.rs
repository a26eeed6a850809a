//! Resources, prompts and completion, as JSON.

use rmcp::ErrorData;
use serde_json::{Value, json};

use crate::Context;
use crate::input::{self, InputOutcome, InputRequests};

pub(crate) fn resources() -> Value {
    json!({ "resources": [
        { "uri": "peer://note", "name": "note", "mimeType": "text/plain" },
        { "uri": "peer://bytes", "name": "bytes", "mimeType": "application/octet-stream" }
    ] })
}

pub(crate) fn templates() -> Value {
    json!({ "resourceTemplates": [{ "uriTemplate": "peer://greeting/{name}", "name": "greeting" }] })
}

pub(crate) fn read(uri: &str) -> Result<Value, ErrorData> {
    let contents = match uri.strip_prefix("peer://").unwrap_or_default() {
        "note" => json!({ "uri": uri, "mimeType": "text/plain", "text": "a note" }),
        "bytes" => {
            json!({ "uri": uri, "mimeType": "application/octet-stream", "blob": "AAECAw==" })
        }
        path => match path.strip_prefix("greeting/") {
            Some(name) => json!({ "uri": uri, "text": format!("hello {name}") }),
            None => {
                let data = json!({ "uri": uri });
                return Err(ErrorData::resource_not_found(
                    "no such resource",
                    Some(data),
                ));
            }
        },
    };
    Ok(json!({ "contents": [contents] }))
}

pub(crate) fn prompts() -> Value {
    json!({ "prompts": [{
        "name": "review",
        "description": "InputRequests for a review",
        "arguments": [{ "name": "code", "required": true }, { "name": "language" }]
    }, {
        "name": "asking",
        "description": "InputRequests what it is about"
    }] })
}

/// A prompt that requests its topic from the user.
pub(crate) async fn asking(asks: &InputRequests, cx: &Context) -> Result<Value, ErrorData> {
    let schema = json!({
        "type": "object",
        "properties": { "topic": { "type": "string" } },
        "required": ["topic"]
    });
    let question = input::user("What is it about?", schema);
    Ok(match asks.ask(cx, &[("topic", question)]).await? {
        InputOutcome::Round(round) => round,
        InputOutcome::Answers(given) => {
            let text = format!("Talk about {}", given["topic"]["content"]["topic"]);
            json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": text } }]
            })
        }
    })
}

pub(crate) fn prompt(params: &Value) -> Result<Value, ErrorData> {
    let (name, arguments) = (&params["name"], &params["arguments"]);
    if name != "review" {
        return Err(ErrorData::invalid_params(
            format!("there is no prompt {name}"),
            None,
        ));
    }
    let language = arguments["language"].as_str().unwrap_or("rust");
    let code = arguments["code"].as_str().unwrap_or_default();
    let text = format!("Please review this {language} code: {code}");
    Ok(json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": text } }]
    }))
}

pub(crate) fn complete(params: &Value) -> Value {
    let words: &[&str] = match params["argument"]["name"].as_str() {
        _ if params["context"]["arguments"]["code"] == "print" => &["python"],
        Some("language") => &["rust", "ruby", "python"],
        _ => &["ada", "alan"],
    };
    let start = params["argument"]["value"].as_str().unwrap_or_default();
    let values: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| word.starts_with(start))
        .collect();
    json!({ "completion": { "total": values.len(), "hasMore": false, "values": values } })
}
