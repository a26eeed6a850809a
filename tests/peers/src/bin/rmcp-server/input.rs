//! Input of the user, model and host: by server requests in a session, by input requests without one.

use rmcp::ErrorData;
use rmcp::model::InputResponses;
use serde_json::{Map, Value, json};

use crate::{Context, is_stateless, lost, made, shown};

/// The responses and the state of the previous round trip.
pub(crate) struct InputRequests {
    given: InputResponses,
    pub(crate) state: Option<String>,
}

/// The outcome of requesting input.
pub(crate) enum InputOutcome {
    /// The responses by key.
    Answers(Map<String, Value>),
    /// The result of the call, with the input requests.
    Round(Value),
}

impl InputRequests {
    pub(crate) fn new(given: Option<InputResponses>, state: Option<String>) -> Self {
        Self {
            given: given.unwrap_or_default(),
            state,
        }
    }

    /// Requests the input that has no response yet.
    pub(crate) async fn ask(
        &self,
        cx: &Context,
        questions: &[(&str, Value)],
    ) -> Result<InputOutcome, ErrorData> {
        if !is_stateless(cx) {
            let mut answers = Map::new();
            for (name, question) in questions {
                answers.insert((*name).to_owned(), request(cx, question).await?);
            }
            return Ok(InputOutcome::Answers(answers));
        }
        let answer = |(name, _): &(&str, Value)| {
            let answer = self.given.get(*name)?;
            Some(((*name).to_owned(), answer.clone()))
        };
        let answers: Option<Map<_, _>> = questions.iter().map(answer).collect();
        Ok(match answers {
            Some(answers) => InputOutcome::Answers(answers),
            None => InputOutcome::Round(json!({
                "resultType": "input_required",
                "inputRequests": questions.iter().cloned().map(|(name, question)| (name.to_owned(), question)).collect::<Map<_, _>>()
            })),
        })
    }
}

/// Sends a server request.
async fn request(cx: &Context, question: &Value) -> Result<Value, ErrorData> {
    let params = question["params"].clone();
    let peer = &cx.peer;
    Ok(match question["method"].as_str() {
        Some("sampling/createMessage") => {
            shown(peer.create_message(made(params)?).await.map_err(lost)?)
        }
        Some("elicitation/create") => {
            shown(peer.create_elicitation(made(params)?).await.map_err(lost)?)
        }
        _ => shown(peer.list_roots().await.map_err(lost)?),
    })
}

/// Returns a sampling request.
pub(crate) fn model(text: &str) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    let params = json!({ "messages": [message], "maxTokens": 50 });
    json!({ "method": "sampling/createMessage", "params": params })
}

/// Returns the model's text and its name.
pub(crate) fn heard(answer: &Value) -> String {
    let content = &answer["content"];
    let text = content["text"].as_str().or(content[0]["text"].as_str());
    let model = answer["model"].as_str().unwrap_or_default();
    format!("{model}: {}", text.unwrap_or_default())
}

/// Returns a form for the user.
pub(crate) fn user(message: &str, schema: Value) -> Value {
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

/// Returns a form with a name only.
pub(crate) fn name(message: &str) -> Value {
    let properties = json!({ "name": { "type": "string", "minLength": 2 } });
    let schema = json!({ "type": "object", "properties": properties, "required": ["name"] });
    user(message, schema)
}

/// Returns an elicitation by URL, which has an id in a session.
pub(crate) fn visit(url: &str, cx: &Context) -> Value {
    let mut params = json!({ "mode": "url", "message": "Please look at this", "url": url });
    if !is_stateless(cx) {
        params["elicitationId"] = "visit-1".into();
    }
    json!({ "method": "elicitation/create", "params": params })
}

/// Returns a request for roots.
pub(crate) fn roots() -> Value {
    json!({ "method": "roots/list" })
}
