//! Resources, prompts, completion, and change notifications.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::place::{Server, Target};
use crate::report::{Outcome, ensure, row, same};
use crate::{Session, made, refused, shown};

pub(crate) const WATCHED: &str = "test://watched-resource";
const TEMPLATE: &str = "test://template/{id}/data";

pub(crate) async fn rows(s: &Session, place: &Target) {
    row("resources-list", list(s)).await;
    row("resources-read", read_all(s)).await;
    row("templates", templates(s)).await;
    let nowhere = made(json!({ "uri": "test://nowhere" }));
    let code = if place.is_stateless { -32602 } else { -32002 };
    row(
        "unknown-resource",
        refused(code, s.client.read_resource(nowhere)),
    )
    .await;
    row("prompts", prompts(s)).await;
    let nowhere = made(json!({ "name": "nowhere" }));
    row(
        "unknown-prompt",
        refused(-32602, s.client.get_prompt(nowhere)),
    )
    .await;
    row("completion", async {
        let first = complete(s, prompt("arg1", "par")).await?;
        same(
            "the completion",
            first,
            json!(["paris", "park", "party", "compare"]),
        )?;
        let reference = json!({ "type": "ref/resource", "uri": TEMPLATE });
        let argument = json!({ "name": "id", "value": "1" });
        let second = complete(s, json!({ "ref": reference, "argument": argument })).await?;
        same("the completion", second, json!(["123"]))?;
        Ok("a prompt's argument, a template's variable".to_owned())
    })
    .await;
    row("completion-context", async {
        let mut params = prompt("arg2", "x");
        params["context"] = json!({ "arguments": { "arg1": "paris" } });
        same(
            "the completion",
            complete(s, params).await?,
            json!(["paris-x"]),
        )?;
        Ok("paris-x".to_owned())
    })
    .await;
    row("pagination", pagination(place)).await;
}

/// Change notifications in a session.
pub(crate) async fn sessions(s: &Session) {
    row("subscribe", subscribe(s)).await;
    row("list-changed", changed(s)).await;
}

async fn list(s: &Session) -> Outcome {
    let resources = shown(s.client.list_all_resources().await?);
    for uri in ["test://static-text", "test://static-binary", WATCHED] {
        let listed = resources
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["uri"] == uri));
        ensure(listed, || format!("{uri} is not listed"))?;
    }
    Ok("all three".to_owned())
}

async fn read(s: &Session, uri: &Value) -> Result<Value, rmcp::ServiceError> {
    let result = s.client.read_resource(made(json!({ "uri": uri }))).await?;
    Ok(shown(result)["contents"][0].clone())
}

async fn read_all(s: &Session) -> Outcome {
    let resources = s.client.list_all_resources().await?;
    for resource in &resources {
        let uri = &shown(resource)["uri"];
        let contents = read(s, uri).await?;
        same("the URI", &contents["uri"], uri)?;
        let body = contents["text"].as_str().or(contents["blob"].as_str());
        ensure(body.is_some_and(|body| !body.is_empty()), || {
            format!("{uri} is empty")
        })?;
    }
    Ok(format!("{} read", resources.len()))
}

async fn templates(s: &Session) -> Outcome {
    let templates = shown(s.client.list_all_resource_templates().await?);
    same("the template", &templates[0]["uriTemplate"], TEMPLATE)?;
    let contents = read(s, &json!("test://template/123/data")).await?;
    let data: Value = serde_json::from_str(contents["text"].as_str().unwrap_or_default())?;
    let expected = json!({ "id": "123", "templateTest": true, "data": "Data for ID: 123" });
    same("the data", data, expected)?;
    Ok("test://template/123/data".to_owned())
}

async fn subscribe(s: &Session) -> Outcome {
    let watched = || json!({ "uri": WATCHED });
    let updates = || {
        s.host
            .seen()
            .updated
            .iter()
            .filter(|uri| *uri == WATCHED)
            .count()
    };
    s.client.subscribe(made(watched())).await?;
    s.said("test_trigger_resource_change", json!({})).await?;
    s.host
        .until("an update", |seen| {
            seen.updated.iter().any(|uri| uri == WATCHED)
        })
        .await?;
    s.client.unsubscribe(made(watched())).await?;
    s.ping().await?;
    let before = updates();
    s.said("test_trigger_resource_change", json!({})).await?;
    s.ping().await?;
    same("updates after the end", updates(), before)?;
    Ok(format!("{WATCHED} updated"))
}

async fn changed(s: &Session) -> Outcome {
    for list in ["tool", "prompt", "resource"] {
        s.said(&format!("test_trigger_{list}_change"), json!({}))
            .await?;
        let told = s
            .host
            .until("a changed list", |seen| seen.changed.contains(&list));
        told.await?;
    }
    Ok("tools, prompts, resources".to_owned())
}

/// Gets every prompt, with a user that answers the elicitation of one of them.
async fn prompts(s: &Session) -> Outcome {
    s.host.fill();
    let prompts = shown(s.client.list_all_prompts().await?);
    let prompts = prompts.as_array().map(Vec::as_slice).unwrap_or_default();
    for prompt in prompts {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let arguments: serde_json::Map<String, Value> = arguments
            .filter_map(|one| Some((one["name"].as_str()?.to_owned(), json!("test://x"))))
            .collect();
        let params = made(json!({ "name": prompt["name"], "arguments": arguments }));
        let written = shown(s.client.get_prompt(params).await?);
        ensure(!written["messages"][0].is_null(), || {
            format!("{} is empty", prompt["name"])
        })?;
    }
    let arguments = json!({ "arg1": "hello", "arg2": "world" });
    let params = made(json!({ "name": "test_prompt_with_arguments", "arguments": arguments }));
    let written = shown(s.client.get_prompt(params).await?);
    let expected = "Prompt with arguments: arg1='hello', arg2='world'";
    same(
        "the prompt",
        &written["messages"][0]["content"]["text"],
        expected,
    )?;
    Ok(format!("{} prompts", prompts.len()))
}

fn prompt(argument: &str, value: &str) -> Value {
    json!({
        "ref": { "type": "ref/prompt", "name": "test_prompt_with_arguments" },
        "argument": { "name": argument, "value": value }
    })
}

async fn complete(s: &Session, params: Value) -> Result<Value, rmcp::ServiceError> {
    let result = s.client.complete(made(params)).await?;
    Ok(shown(result)["completion"]["values"].clone())
}

async fn pagination(place: &Target) -> Outcome {
    let s = place.open(Server::Pages).await?;
    let (mut names, mut count, mut cursor) = (Vec::new(), 0, None);
    while count == 0 || cursor.is_some() {
        let params = cursor.map(|cursor: String| made(json!({ "cursor": cursor })));
        let page = s.client.list_tools(params).await?;
        names.extend(page.tools.iter().map(|tool| tool.name.to_string()));
        cursor = page.next_cursor.clone();
        count += 1;
    }
    ensure(count > 3, || format!("{count} pages"))?;
    same(
        "names",
        names.iter().collect::<BTreeSet<_>>().len(),
        names.len(),
    )?;
    let bad = Some(made(json!({ "cursor": "no such cursor" })));
    refused(-32602, s.client.list_tools(bad)).await?;
    s.end().await?;
    Ok(format!("{} tools on {count} pages", names.len()))
}
