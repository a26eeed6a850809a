//! Every message of a long conversation is valid in the schema of its revision and in no other.

use std::collections::HashMap;

use mcp_types::{CompletionReference, PromptReference, RELATED_TASK_KEY};

use super::client;
use super::schema::Schema;
use super::tap::{Side, Transcript, tapped};
use crate::prelude::*;

/// Uses every feature of the server. Features that a revision lacks fail with an error.
async fn converse(client: &Client) {
    for tool in client.list_tools().await.expect("tools") {
        let arguments = match tool.name.as_str() {
            "wait_for_cancel" => continue,
            "test_sampling" => json!({ "prompt": "Hi" }),
            "test_elicitation" => json!({ "message": "Who?" }),
            "add" => json!({ "a": 1, "b": 2 }),
            "echo" => json!({ "message": "x" }),
            "get_weather" => json!({ "location": "Rome" }),
            "test_custom_header" => json!({ "value": "é" }),
            "json_schema_2020_12_tool" => json!({ "email": "a@example.com" }),
            _ => json!({}),
        };
        let call = client.call_tool(&tool.name, arguments).on_progress(|_| {});
        let _ = call.await;
    }
    for prompt in client.list_prompts().await.expect("prompts") {
        let arguments = prompt
            .arguments
            .into_iter()
            .flatten()
            .map(|argument| (argument.name, "x"));
        let _ = client.get_prompt(&prompt.name).arguments(arguments).await;
    }
    client.list_resource_templates().await.expect("templates");
    for resource in client.list_resources().await.expect("resources") {
        client.read_resource(&resource.uri).await.unwrap();
    }
    let _ = client.read_resource("test://none").await;
    let _ = client.call_tool("none", json!({})).await;
    let prompt = CompletionReference::Prompt(PromptReference::new("test_prompt_with_arguments"));
    client
        .complete(prompt, "arg1", "par")
        .resolved([("arg2", "x")])
        .await
        .unwrap();
    let mut watched = client.subscribe("test://watched-resource").await.unwrap();
    client
        .call_tool("test_trigger_resource_change", json!({}))
        .await
        .unwrap();
    assert_eq!(
        watched.next().await.as_deref(),
        Some("test://watched-resource")
    );
    watched.unsubscribe().await.unwrap();
    client.ping().await.expect("life");
    client.close().await.expect("the end");
}

/// Members that only the other kind of revision has.
const STATELESS_ONLY: &[&str] = &[
    "resultType",
    "ttlMs",
    "cacheScope",
    "inputRequests",
    "inputResponses",
    "requestState",
];
const SESSIONS_ONLY: &[&str] = &["elicitationId", "protocolVersion", "task"];

fn has_member(value: &Value, names: &[&str], prefix: &str) -> Option<String> {
    match value {
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let prefixed = !prefix.is_empty() && name.starts_with(prefix);
            if names.contains(&name.as_str()) || (prefixed && name != RELATED_TASK_KEY) {
                return Some(name.clone());
            }
            has_member(value, names, prefix)
        }),
        Value::Array(items) => items
            .iter()
            .find_map(|item| has_member(item, names, prefix)),
        _ => None,
    }
}

/// Checks all recorded messages and returns the methods that were used.
fn check(record: &Transcript, revision: Revision) -> usize {
    let Some(mut schema) = Schema::load(revision.as_str()) else {
        return usize::MAX;
    };
    let messages = record.lock().expect("no panic").clone();
    let mut asked: HashMap<(bool, String), String> = HashMap::new();
    for (sender, message) in &messages {
        let by_client = *sender == Side::Client;
        if let Some(method) = message["method"].as_str() {
            // An extension is not part of the schema; `tasks` checks its messages.
            if !(revision.is_stateless() && method.starts_with("tasks/")) {
                assert!(
                    schema.knows(method),
                    "{revision} has no {method}: {message}"
                );
                schema.check_message(message);
            }
            if !message["id"].is_null() {
                assert!(
                    by_client || !revision.is_stateless(),
                    "a request of the server: {message}"
                );
                if revision.is_stateless() {
                    let declared =
                        &message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
                    for capability in ["elicitation", "sampling", "roots"] {
                        assert!(
                            declared[capability].is_object(),
                            "{capability} is not declared: {message}"
                        );
                    }
                }
                asked.insert((by_client, message["id"].to_string()), method.to_owned());
            }
        } else if let Some(result) = message.get("result") {
            assert!(
                !by_client || !revision.is_stateless(),
                "an answer of the client: {message}"
            );
            let method = asked.get(&(!by_client, message["id"].to_string())).unwrap();
            let extends = method.starts_with("tasks/") || result["resultType"] == "task";
            if !(revision.is_stateless() && extends) {
                schema.check_result(method, result);
            }
        } else {
            let code = message["error"]["code"].as_i64().expect("a code");
            let own = if revision.is_stateless() {
                -32_002
            } else {
                -32_020
            };
            assert_ne!(code, own, "a code of the other kind of revision: {message}");
        }
        // Extensions have identifiers of their own, and are declared in every revision.
        let mut message = message.clone();
        if let Some(capabilities) = message.pointer_mut("/result/capabilities") {
            capabilities
                .as_object_mut()
                .map(|all| all.shift_remove("extensions"));
        }
        let message = &message;
        let foreign = if revision.is_stateless() {
            has_member(message, SESSIONS_ONLY, "")
        } else {
            has_member(message, STATELESS_ONLY, "io.modelcontextprotocol/")
        };
        assert_eq!(
            foreign, None,
            "a member of the other kind of revision: {message}"
        );
    }
    asked
        .into_values()
        .collect::<std::collections::HashSet<_>>()
        .len()
}

// proves: M-SCHEMA-002, M-BASE-002, M-BASE-024, M-COMP-003, M-ELIC-007, M-SAMP-005
#[tokio::test]
async fn every_message_has_only_members_of_its_revision() {
    for revision in Revision::ALL {
        let (transport, record) = tapped(everything::server());
        let client = client(revision).connect(transport).await.unwrap();
        assert_eq!(client.revision(), revision);
        converse(&client).await;
        let context = json!({ "arguments": { "arg2": "x" } });
        let told = record
            .lock()
            .unwrap()
            .iter()
            .any(|(_, message)| message["params"]["context"] == context);
        assert_eq!(told, revision.rules().completion_context, "{revision}");
        let methods = check(&record, revision);
        assert!(
            methods >= 10,
            "{revision}: only {methods} methods were used"
        );
    }
}
