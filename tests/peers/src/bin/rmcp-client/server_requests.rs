//! Requests of the everything server to a client: sampling, elicitation, roots.

use rmcp::service::ServiceError;
use serde_json::{Value, json};

use crate::Session;
use crate::place::{Server, Target};
use crate::report::{Fault, Outcome, ensure, row, same};

pub(crate) async fn rows(s: &Session, place: &Target) {
    row("sampling", sampling(s)).await;
    row("elicitation", form(s)).await;
    row("elicitation-defaults", defaults(s)).await;
    row("elicitation-refused", refusals(s)).await;
    row("elicitation-url", url(s, place)).await;
    if !place.is_stateless {
        row("url-required", required(place)).await;
    }
    row("roots", roots(s, &["file:///workshop"])).await;
    row("roots-changed", async {
        let other = ["file:///elsewhere", "file:///more"];
        s.host.root_at(&other);
        // Without a session the server requests the roots each time.
        if !place.is_stateless {
            s.client.notify_roots_list_changed().await?;
        }
        roots(s, &other).await
    })
    .await;
}

async fn sampling(s: &Session) -> Outcome {
    let before = s.host.seen().samples;
    let said = s
        .said("test_sampling", json!({ "prompt": "six times seven?" }))
        .await?;
    same(
        "the answer",
        &*said,
        "LLM response: the model heard: six times seven?",
    )?;
    same("questions", s.host.seen().samples, before + 1)?;
    Ok(said)
}

/// Calls a tool that elicits once; returns the request and the text of the tool.
async fn asked(
    s: &Session,
    tool: &str,
    arguments: Value,
    answer: Value,
) -> Result<(Value, String), Fault> {
    let before = s.host.seen().questions.len();
    s.host.answer(answer);
    let said = s.said(tool, arguments).await?;
    let mut questions = s.host.seen().questions.split_off(before);
    same("questions", questions.len(), 1)?;
    Ok((questions.remove(0), said))
}

async fn form(s: &Session) -> Outcome {
    let content = json!({ "username": "ada", "email": "ada@example.com" });
    let answer = json!({ "action": "accept", "content": content });
    let (question, said) =
        asked(s, "test_elicitation", json!({ "message": "who?" }), answer).await?;
    same("the message", &question["message"], "who?")?;
    let all = said.contains("action=accept") && said.contains("ada@example.com");
    ensure(all, || said.clone())?;
    let choices = json!({
        "untitledSingle": "option2",
        "titledSingle": "value2",
        "legacyEnum": "opt2",
        "untitledMulti": ["option1", "option3"],
        "titledMulti": ["value1", "value3"]
    });
    let answer = json!({ "action": "accept", "content": choices });
    let tool = "test_elicitation_sep1330_enums";
    let (question, chosen) = asked(s, tool, json!({}), answer).await?;
    let fields = question["requestedSchema"]["properties"]
        .as_object()
        .map(|all| all.len());
    same("fields", fields, Some(5))?;
    ensure(
        chosen.contains(r#""titledMulti":["value1","value3"]"#),
        || chosen.clone(),
    )?;
    Ok(said)
}

/// rmcp leaves it to the host to fill in the defaults of the form.
async fn defaults(s: &Session) -> Outcome {
    let tool = "test_elicitation_sep1034_defaults";
    let content = json!({
        "name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": true
    });
    let answer = json!({ "action": "accept", "content": content });
    let (question, said) = asked(s, tool, json!({}), answer).await?;
    let fields = &question["requestedSchema"]["properties"];
    for (name, value) in content.as_object().into_iter().flatten() {
        same(name, &fields[name]["default"], value)?;
    }
    Ok(said)
}

async fn refusals(s: &Session) -> Outcome {
    let mut all = Vec::new();
    for action in ["decline", "cancel"] {
        let (tool, arguments) = ("test_elicitation", json!({ "message": "who?" }));
        let (_, said) = asked(s, tool, arguments, json!({ "action": action })).await?;
        ensure(said.contains(&format!("action={action}")), || said.clone())?;
        all.push(said);
    }
    Ok(all.join("; "))
}

/// The user visits a URL, then declines. In a session the visit has an id, which the notification of its end contains.
async fn url(s: &Session, place: &Target) -> Outcome {
    let tool = "test_elicitation_url";
    let (question, yes) = asked(s, tool, json!({}), json!({ "action": "accept" })).await?;
    same("the mode", &question["mode"], "url")?;
    same("the outcome", &*yes, "accepted: true")?;
    let id = question["elicitationId"].as_str().unwrap_or_default();
    let over = s.host.until("the end of the visit", |seen| {
        seen.over.iter().any(|one| one == id)
    });
    if place.is_stateless {
        same("the id", id, "")?;
    } else {
        over.await?;
    }
    let (_, no) = asked(s, tool, json!({}), json!({ "action": "decline" })).await?;
    same("the outcome", &*no, "accepted: false")?;
    Ok(format!("{yes}, its completion was reported; {no}"))
}

async fn required(place: &Target) -> Outcome {
    let s = place.open(Server::Pages).await?;
    let tool = "interop_url_required";
    match s.call(tool, json!({})).await {
        Err(ServiceError::McpError(error)) => {
            same("the code", error.code.0, -32042)?;
            let data = error.data.unwrap_or_default();
            let url = &data["elicitations"][0]["url"];
            same("the URL", url, "https://example.com/first")?;
        }
        other => return Err(format!("before the visit: {other:?}").into()),
    }
    same("after the visit", s.said(tool, json!({})).await?, "visited")?;
    s.end().await?;
    Ok("code -32042, then answered".to_owned())
}

async fn roots(s: &Session, expected: &[&str]) -> Outcome {
    let said = s.said("test_list_roots", json!({})).await?;
    same(
        "the roots",
        &said,
        &format!("roots: {}", expected.join(", ")),
    )?;
    Ok(said)
}
