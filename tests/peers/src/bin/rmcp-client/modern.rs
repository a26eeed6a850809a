//! Features of the stateless revision, 2026-07-28.

use rmcp::ClientLifecycleMode;
use rmcp::model::{CallToolResponse, ProtocolVersion};
use rmcp::service::Subscription;
use serde_json::{Value, json};

use crate::host::Host;
use crate::place::{Server, Target};
use crate::report::{Fault, Outcome, ensure, row, same};
use crate::{LATEST, Session, calls, contents, made, refused, server_requests, shown, text};

const REVISION: &str = "2026-07-28";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Reports every feature.
pub(crate) async fn conversation(place: &Target) -> Result<(), Fault> {
    let s = &place.open(Server::Everything).await?;
    row("auto", async { auto(s) }).await;
    row("discover", async { discovered(s) }).await;
    calls::rows(s).await;
    server_requests::rows(s, place).await;
    contents::rows(s, place).await;
    row("logging", logging(s)).await;
    row("subscribe", subscribe(s)).await;
    row("list-changed", changed(s)).await;
    row("together", together(s)).await;
    row("again", again(s)).await;
    row("prompt-asks", prompt(s)).await;
    row("incapable", incapable(place)).await;
    if place.is_http() {
        row("headers", headers(s)).await;
    }
    row(&format!("revision-{REVISION}"), pinned(place)).await;
    row(place.ending(), place.open(Server::Everything).await?.end()).await;
    Ok(())
}

fn auto(s: &Session) -> Outcome {
    same("the revision", &s.server()["protocolVersion"], REVISION)?;
    Ok(format!("{REVISION}, as the server answers"))
}

fn discovered(s: &Session) -> Outcome {
    let server = s.server();
    same("the name", &server["serverInfo"]["name"], "everything")?;
    let instructions = server["instructions"].as_str().unwrap_or_default();
    ensure(instructions.contains("fixture"), || {
        "no instructions".to_owned()
    })?;
    for feature in ["tools", "prompts", "resources", "completions"] {
        ensure(server["capabilities"][feature].is_object(), || {
            format!("{feature} are not declared")
        })?;
    }
    Ok("everything".to_owned())
}

/// Log messages: each request names its lowest level.
async fn logging(s: &Session) -> Outcome {
    async fn messages(
        s: &Session,
        level: Option<&str>,
        expected: usize,
    ) -> Result<Vec<Value>, Fault> {
        let before = s.host.seen().logs.len();
        let mut call = json!({ "name": "test_tool_with_logging", "arguments": {} });
        if let Some(level) = level {
            call["_meta"] = json!({ LEVEL: level });
        }
        s.client.call_tool(made(call)).await?;
        s.host
            .until("messages", |seen| seen.logs.len() >= before + expected)
            .await?;
        s.said("echo", json!({ "message": "after" })).await?;
        let logs = s.host.seen().logs.split_off(before);
        same("messages", logs.len(), expected)?;
        Ok(logs)
    }
    messages(s, None, 0).await?;
    let logs = messages(s, Some("debug"), 3).await?;
    let is_info = logs.iter().all(|message| message["level"] == "info");
    ensure(is_info, || format!("{logs:?}"))?;
    messages(s, Some("error"), 0).await?;
    Ok("3 messages".to_owned())
}

/// The next change notification of a subscription.
async fn heard(events: &mut Subscription) -> Result<Value, Fault> {
    let event = events.next().await?;
    Ok(shown(event.ok_or("the subscription has ended")?))
}

async fn subscribe(s: &Session) -> Outcome {
    let filter = json!({ "resourceSubscriptions": [contents::WATCHED] });
    let mut events = s.client.listen(made(filter.clone())).await?;
    same("what is told", shown(events.acknowledged()), filter)?;
    s.said("test_trigger_resource_change", json!({})).await?;
    let event = heard(&mut events).await?;
    same(
        "the method",
        &event["method"],
        "notifications/resources/updated",
    )?;
    same("the URI", &event["params"]["uri"], contents::WATCHED)?;
    events.cancel().await?;
    Ok(format!("{} updated", contents::WATCHED))
}

async fn changed(s: &Session) -> Outcome {
    let lists = ["tool", "prompt", "resource"];
    let filter: serde_json::Map<String, Value> = lists
        .iter()
        .map(|list| (format!("{list}sListChanged"), json!(true)))
        .collect();
    let mut events = s.client.listen(made(filter.into())).await?;
    for list in lists {
        s.said(&format!("test_trigger_{list}_change"), json!({}))
            .await?;
        let method = format!("notifications/{list}s/list_changed");
        // A list that changes and changes back causes one notification or two.
        while heard(&mut events).await?["method"] != method {}
    }
    events.cancel().await?;
    Ok("tools, prompts, resources".to_owned())
}

async fn together(s: &Session) -> Outcome {
    let tool = "test_input_required_result_multiple_inputs";
    let call = || made(json!({ "name": tool, "arguments": {} }));
    let asked = match s.client.call_tool_once(call()).await? {
        CallToolResponse::InputRequired(round) => round.input_requests.map_or(0, |all| all.len()),
        other => return Err(format!("it does not ask: {other:?}").into()),
    };
    same("questions in one round", asked, 3)?;
    s.host.fill();
    let said = s.said(tool, json!({})).await?;
    ensure(
        said.starts_with("the model heard: Say hello, ada: "),
        || said.clone(),
    )?;
    Ok(said)
}

async fn again(s: &Session) -> Outcome {
    let before = s.host.seen().questions.len();
    s.host.fill();
    let said = s
        .said("test_input_required_result_multi_round", json!({}))
        .await?;
    let questions = s.host.seen().questions.split_off(before);
    let messages: Vec<&str> = questions
        .iter()
        .filter_map(|one| one["message"].as_str())
        .collect();
    same(
        "the questions",
        messages,
        vec!["What is your name?", "ada, which color?"],
    )?;
    same("the outcome", &*said, "ada likes ada")?;
    Ok(said)
}

async fn prompt(s: &Session) -> Outcome {
    s.host.fill();
    let params = made(json!({ "name": "test_input_required_result_prompt" }));
    let written = shown(s.client.get_prompt(params).await?);
    let said = &written["messages"][0]["content"]["text"];
    same("the prompt", said, "Talk about ada.")?;
    Ok("asked once, then written".to_owned())
}

/// Connects a client without capabilities.
async fn incapable(place: &Target) -> Outcome {
    let s = place
        .start(
            Server::Everything,
            Host::incapable(LATEST),
            only_stateless(),
        )
        .await?;
    let call = s.call("test_missing_capability", json!({}));
    let missing = refused(-32021, call).await?;
    s.end().await?;
    Ok(missing)
}

/// Sends a call whose headers differ from its arguments, which the server must reject.
async fn headers(s: &Session) -> Outcome {
    s.client.list_all_tools().await?;
    for value in ["plain", "grüß dich"] {
        let said = s
            .call("test_custom_header", json!({ "value": value }))
            .await?;
        same("the answer", &*text(&said), value)?;
    }
    Ok("the server found what it compares with".to_owned())
}

fn only_stateless() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

async fn pinned(place: &Target) -> Outcome {
    let s = place
        .start(Server::Everything, Host::new(LATEST), only_stateless())
        .await?;
    same("the revision", &s.server()["protocolVersion"], REVISION)?;
    let sum = s.said("add", json!({ "a": 2, "b": 3 })).await?;
    same("the sum", sum, "5")?;
    s.end().await?;
    Ok("called add".to_owned())
}
