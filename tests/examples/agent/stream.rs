//! Server-sent events of the two APIs, collected into the response that they would send without streaming.

use mcp_host::ModelApi;
use serde_json::{Value, json};

use crate::endpoint::Failure;

pub(crate) struct Answer {
    api: ModelApi,
    /// The beginning of a line.
    line: Vec<u8>,
    response: Value,
}

impl Answer {
    pub(crate) fn new(api: ModelApi) -> Self {
        Self {
            api,
            line: Vec::new(),
            response: Value::Null,
        }
    }

    /// Adds bytes of the stream, and calls `on_text` with the text of each complete event.
    pub(crate) fn add(
        &mut self,
        bytes: &[u8],
        on_text: &mut impl FnMut(&str),
    ) -> Result<(), Failure> {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let data = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii);
            match data {
                // Names of events and empty lines; the end of Chat Completions.
                None | Some(b"[DONE]") => {}
                Some(data) => self.event(&serde_json::from_slice(data)?, on_text)?,
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Value, on_text: &mut impl FnMut(&str)) -> Result<(), Failure> {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(error.to_string().into());
        }
        if self.api == ModelApi::OpenAiResponses {
            match event["type"].as_str() {
                Some("response.output_text.delta") => {
                    on_text(event["delta"].as_str().unwrap_or_default());
                }
                Some("response.completed" | "response.incomplete" | "response.failed") => {
                    self.response = event["response"].clone();
                }
                _ => {}
            }
            return Ok(());
        }
        let delta = &event["choices"][0]["delta"];
        if self.response.is_null() {
            let message = json!({ "role": "assistant", "content": "" });
            self.response = json!({ "choices": [{ "message": message }] });
        }
        let message = &mut self.response["choices"][0]["message"];
        if let Some(text) = delta["content"].as_str() {
            on_text(text);
            append(&mut message["content"], text);
        }
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            let calls = &mut message["tool_calls"];
            if calls.is_null() {
                *calls = json!([]);
            }
            let Some(calls) = calls.as_array_mut() else {
                continue;
            };
            let index = part["index"].as_u64().map_or(calls.len(), |index| {
                usize::try_from(index).unwrap_or(usize::MAX)
            });
            if index >= calls.len() {
                let function = json!({ "name": "", "arguments": "" });
                calls.push(json!({ "id": "", "type": "function", "function": function }));
            }
            if let Some(call) = calls.get_mut(index) {
                append(&mut call["id"], text(&part["id"]));
                for name in ["name", "arguments"] {
                    append(&mut call["function"][name], text(&part["function"][name]));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Value, Failure> {
        if let Some(error) = self.response.get("error").filter(|error| !error.is_null()) {
            return Err(error.to_string().into());
        }
        match self.response {
            Value::Null => Err("the answer of the model has no content".into()),
            response => Ok(response),
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn append(value: &mut Value, text: &str) {
    if let Value::String(value) = value {
        value.push_str(text);
    }
}
