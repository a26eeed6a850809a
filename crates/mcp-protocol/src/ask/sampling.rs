//! Validation of sampling requests: by the server before it sends, by the client on receipt.
//!
//! Specification: [sampling](https://modelcontextprotocol.io/specification/2025-11-25/client/sampling).

use std::collections::HashMap;

use mcp_schema::{Origin, Validator};
use mcp_types::{
    CreateMessageRequestParams, ModelPreferences, Role, SamplingMessage,
    SamplingMessageContentBlock as Block,
};

/// Maximum number of tools per request whose results are validated. Validation compiles the schema of each tool, which takes
/// time.
const MAX_VALIDATORS: usize = 16;

/// Checks the rules of the specification for a sampling request.
///
/// # Errors
/// A rule is violated; the text describes the problem.
pub fn check(params: &CreateMessageRequestParams) -> Result<(), String> {
    if let Some(preferences) = &params.model_preferences {
        for (name, value) in [
            ("costPriority", preferences.cost_priority),
            ("speedPriority", preferences.speed_priority),
            ("intelligencePriority", preferences.intelligence_priority),
        ] {
            if value.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
                return Err(format!("{name} must be between 0 and 1"));
            }
        }
    }
    history(&params.messages)?;
    structured_results(params)
}

/// Checks the structured content of each tool result against the output schema of its tool.
fn structured_results(params: &CreateMessageRequestParams) -> Result<(), String> {
    let tools = params.tools.as_deref().unwrap_or_default();
    let schemas: HashMap<&str, _> = tools
        .iter()
        .filter_map(|tool| Some((&*tool.name, tool.output_schema.as_ref()?)))
        .collect();
    if schemas.is_empty() {
        return Ok(());
    }
    let mut tool_of: HashMap<&str, &str> = HashMap::new();
    let mut validators: HashMap<&str, Option<Validator>> = HashMap::new();
    let blocks = params.messages.iter();
    for block in blocks.flat_map(|message| message.content.iter()) {
        if let Block::ToolUse(used) = block {
            tool_of.entry(&used.id).or_insert(&used.name);
        }
        let Block::ToolResult(result) = block else {
            continue;
        };
        let (Some(content), false) = (&result.structured_content, result.is_error == Some(true))
        else {
            continue;
        };
        let id = &result.tool_use_id;
        let name = tool_of.get(&**id).copied().unwrap_or_default();
        let Some(schema) = schemas.get(name) else {
            continue;
        };
        if validators.len() >= MAX_VALIDATORS && !validators.contains_key(name) {
            continue;
        }
        let validator = validators
            .entry(name)
            .or_insert_with(|| Validator::compile(schema, Origin::Foreign).ok());
        if let Some(validator) = validator {
            validator.check(content).map_err(|problem| {
                format!("the result of tool use {id:?} does not match the output schema: {problem}")
            })?;
        }
    }
    Ok(())
}

/// Selects a model from `models`, which are in order of preference. Returns a model whose name contains the first matching hint
/// in `preferences`. Hints rank above the numeric priorities. Returns `None` if no hint matches; the caller then uses the
/// priorities.
pub fn choose_model<'a>(preferences: &ModelPreferences, models: &[&'a str]) -> Option<&'a str> {
    let hints = preferences.hints.iter().flatten();
    hints
        .filter_map(|hint| hint.name.as_deref())
        .filter(|hint| !hint.is_empty())
        .find_map(|hint| models.iter().find(|model| model.contains(hint)).copied())
}

/// Checks that each tool use is followed by its tool result.
fn history(messages: &[SamplingMessage]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut results = Vec::new();
        let mut uses = Vec::new();
        let mut others = 0;
        for block in message.content.iter() {
            match block {
                Block::ToolResult(result) => results.push(&*result.tool_use_id),
                Block::ToolUse(used) => uses.push(&*used.id),
                Block::Unknown(_) => {
                    return Err(format!("message {index} has an unknown kind of content"));
                }
                _ => others += 1,
            }
        }
        if !matches!(message.role, Role::User | Role::Assistant) {
            return Err(format!("message {index} has an unknown role"));
        }
        if !results.is_empty() && (others > 0 || !uses.is_empty()) {
            return Err(format!(
                "message {index} mixes tool results with other content"
            ));
        }
        if !results.is_empty() && message.role != Role::User {
            return Err(format!(
                "message {index} has tool results, so its role must be user"
            ));
        }
        if !uses.is_empty() && message.role != Role::Assistant {
            return Err(format!(
                "message {index} uses tools, so its role must be assistant"
            ));
        }
        let mut answered = results.clone();
        answered.sort_unstable();
        open.sort_unstable();
        if answered != open {
            return Err(if open.is_empty() {
                format!(
                    "message {index} has a tool result, but the previous message has no tool use"
                )
            } else {
                format!(
                    "message {index} must have exactly one result for each tool use of the previous message"
                )
            });
        }
        open = uses;
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err("the last message uses tools, but no message has their results; add a message with the results".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferences(json: serde_json::Value) -> ModelPreferences {
        serde_json::from_value(json).unwrap()
    }

    // proves: SAMP-028, SAMP-029, SAMP-030, M-SAMP-014, M-SAMP-015
    #[test]
    fn the_first_matching_hint_wins_over_priorities() {
        let models = ["opus-large", "sonnet-4", "haiku-small"];
        let choose = |json| choose_model(&preferences(json), &models);
        let both = serde_json::json!({
            "hints": [{ "name": "sonnet" }, { "name": "haiku" }],
            "speedPriority": 1.0
        });
        assert_eq!(choose(both), Some("sonnet-4"));
        let second = serde_json::json!({ "hints": [{ "name": "gpt" }, {}, { "name": "haiku" }] });
        assert_eq!(choose(second), Some("haiku-small"));
        assert_eq!(choose(serde_json::json!({ "costPriority": 1.0 })), None);
        assert_eq!(
            choose(serde_json::json!({ "hints": [{ "name": "" }] })),
            None
        );
    }

    // proves: SAMP-033
    #[test]
    fn structured_tool_results_match_the_output_schema_of_their_tool() {
        let params = |n: serde_json::Value| -> CreateMessageRequestParams {
            serde_json::from_value(serde_json::json!({
                "maxTokens": 5,
                "tools": [{
                    "name": "t",
                    "inputSchema": { "type": "object" },
                    "outputSchema": { "type": "object", "properties": { "n": { "type": "integer" } } }
                }],
                "messages": [
                    { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "t", "input": {} }] },
                    { "role": "user", "content": [{
                        "type": "tool_result", "toolUseId": "a", "content": [], "structuredContent": { "n": n }
                    }] }
                ]
            }))
            .unwrap()
        };
        assert_eq!(check(&params(1.into())), Ok(()));
        let problem = check(&params("x".into())).unwrap_err();
        assert!(problem.contains("/n"), "{problem}");
    }
}
