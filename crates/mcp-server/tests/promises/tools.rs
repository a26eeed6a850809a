//! Arguments and structured output of tools.

use std::collections::BTreeSet;

use mcp_schema::{Origin, Validator};
use mcp_server::testing::{TestClient, block_on};
use serde_json::{Value, json};

use crate::types::{Form, tools};
use crate::values::{Random, changed, matching};

/// Values for each tool.
const VALUES: usize = 60;

#[test]
fn tools_accept_what_their_schemas_admit_and_nothing_else() {
    let tools = tools();
    assert!(tools.names.len() >= 150, "{}", tools.names.len());
    let client = TestClient::new(tools.server);
    let listed = block_on(client.list_tools()).unwrap();
    let (mut accepted, mut rejected) = (0, 0);
    let mut mistakes = Vec::new();
    for (at, (name, form)) in tools.names.iter().enumerate() {
        let tool = listed.iter().find(|tool| tool.name == *name).unwrap();
        let about = tool.description.as_deref().unwrap();
        let schema = Value::Object(tool.input_schema.clone());
        let validator = Validator::compile(&tool.input_schema, Origin::Own).unwrap();
        let names = names(&schema);
        let mut random = Random::new(at as u64 + 1);
        for _ in 0..VALUES {
            let sample = matching(&schema, &schema, &mut random, 0);
            assert_eq!(validator.check(&sample), Ok(()), "{about}: {sample}");
            for value in [changed(&sample, &mut random), sample] {
                if !value.is_object() {
                    continue;
                }
                let admits = validator.check(&value).is_ok() || {
                    // `null` for an optional member counts as absent.
                    let value = without_nulls(&value, &names);
                    validator.check(&value).is_ok()
                };
                let result = block_on(client.call_tool(name, value.clone())).unwrap();
                let accepts = result.is_error != Some(true);
                *if accepts {
                    &mut accepted
                } else {
                    &mut rejected
                } += 1;
                let text = result.joined_text();
                if accepts && !admits {
                    mistakes.push(format!("{about}: accepts {value}, and returns {text}"));
                } else if admits && !accepts && *form == Form::Exact {
                    mistakes.push(format!("{about}: rejects {value}: {text}"));
                } else if accepts && *form == Form::Exact {
                    let output = result.structured_content.unwrap();
                    if !contains(&output, &without_nulls(&value, &names), &names) {
                        mistakes.push(format!("{about}: reads {value} as {output}"));
                    }
                }
            }
        }
    }
    assert!(
        accepted > 10_000 && rejected > 3_000,
        "{accepted}, {rejected}"
    );
    let count = mistakes.len();
    mistakes.truncate(30);
    assert!(count == 0, "{count} mistakes:\n{}", mistakes.join("\n"));
}

/// Returns the names of all members that the schema knows.
fn names(schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let Some(properties) = schema["properties"].as_object() {
        names.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(members) => names.extend(members.values().flat_map(self::names)),
        Value::Array(items) => names.extend(items.iter().flat_map(self::names)),
        _ => {}
    }
    names
}

/// Returns the value without known members that are `null`.
fn without_nulls(value: &Value, names: &BTreeSet<String>) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(name, value)| !value.is_null() || !names.contains(*name))
            .map(|(name, value)| (name.clone(), without_nulls(value, names)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| without_nulls(item, names))
            .collect(),
        value => value.clone(),
    }
}

/// Whether the output has every value of the input that the schema knows.
fn contains(output: &Value, input: &Value, names: &BTreeSet<String>) -> bool {
    match (output, input) {
        (Value::Object(output), Value::Object(input)) => {
            input.iter().all(|(name, input)| match output.get(name) {
                Some(output) => contains(output, input, names),
                None => !names.contains(name),
            })
        }
        // Sets sort their items and drop duplicates.
        (Value::Array(output), Value::Array(input)) => input
            .iter()
            .all(|input| output.iter().any(|output| contains(output, input, names))),
        (Value::Number(output), Value::Number(input)) => output.as_f64() == input.as_f64(),
        (output, input) => output == input,
    }
}

/// The decoder of the type ignores the struct if one of its members is wrong.
#[test]
fn a_wrong_member_of_an_optional_flattened_struct_is_rejected() {
    let client = TestClient::new(tools().server);
    let listed = block_on(client.list_tools()).unwrap();
    let is_maybe = |tool: &&mcp_server::types::Tool| {
        let about = tool.description.as_deref().unwrap();
        about.contains("MaybeFlat<") && about.ends_with("Point>")
    };
    let tool = listed.iter().find(is_maybe).unwrap();
    let names = names(&json!(tool.input_schema));
    for (arguments, is_valid) in [
        (json!({"first": "a"}), true),
        (json!({"first": "a", "x": 1, "y": 2}), true),
        (json!({"first": "a", "x": "1", "y": 2}), false),
        (json!({"first": "a", "x": 1, "y": [2]}), false),
    ] {
        let result = block_on(client.call_tool(&tool.name, arguments.clone())).unwrap();
        let is_accepted = result.is_error != Some(true);
        assert_eq!(is_accepted, is_valid, "{arguments}: {result:?}");
        if let Some(output) = result.structured_content {
            assert!(contains(&output, &arguments, &names), "{output}");
        }
    }
}

#[test]
fn the_members_of_results_keep_the_order_of_their_declaration() {
    let client = TestClient::new(tools().server);
    let listed = block_on(client.list_tools()).unwrap();
    let is_line = |tool: &&mcp_server::types::Tool| {
        tool.description
            .as_deref()
            .unwrap()
            .ends_with("types::Segment")
    };
    let line = listed.iter().find(is_line).unwrap();
    let arguments = json!({"label": "l", "to": {"y": 1, "x": 2}, "from": {"x": 0, "y": 0}});
    let result = block_on(client.call_tool(&line.name, arguments)).unwrap();
    let expected = r#"{"from":{"x":0.0,"y":0.0},"to":{"x":2.0,"y":1.0},"label":"l"}"#;
    assert_eq!(result.structured_content.unwrap().to_string(), expected);
    assert_eq!(result.content[0].as_text().unwrap(), expected);
}
