//! Rules of sampling that both sides check: the server before it asks, the client on receipt.
//!
//! Specification: [sampling](https://modelcontextprotocol.io/specification/2025-11-25/client/sampling).

use mcp_types::{
    CreateMessageRequestParams, Role, SamplingMessage, SamplingMessageContentBlock as Block,
};

/// Checks everything the specification demands of a sampling request.
///
/// # Errors
/// One sentence that names the message and what is wrong with it.
pub fn check(params: &CreateMessageRequestParams) -> Result<(), String> {
    if let Some(preferences) = &params.model_preferences {
        for (name, value) in [
            ("costPriority", preferences.cost_priority),
            ("speedPriority", preferences.speed_priority),
            ("intelligencePriority", preferences.intelligence_priority),
        ] {
            if value.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
                return Err(format!("{name} must lie between 0 and 1"));
            }
        }
    }
    history(&params.messages)
}

/// Tool uses and tool results must alternate and match.
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
                    return Err(format!(
                        "message {index} has content sampling does not know"
                    ));
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
                "message {index} has tool results but is not the user's"
            ));
        }
        if !uses.is_empty() && message.role != Role::Assistant {
            return Err(format!(
                "message {index} uses tools but is not the assistant's"
            ));
        }
        let mut answered = results.clone();
        answered.sort_unstable();
        open.sort_unstable();
        if answered != open {
            return Err(if open.is_empty() {
                format!("message {index} answers a tool use that was not made before it")
            } else {
                format!("message {index} must answer exactly the tool uses before it")
            });
        }
        open = uses;
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err("the last message uses tools and nothing answers".to_owned())
    }
}
