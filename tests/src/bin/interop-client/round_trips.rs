//! Multi round-trip requests of a server of 2026-07-28, and its HTTP headers.

use mcp_client::Error;
use mcp_types::v2026_07_28::CallToolOutcome;
use serde_json::json;

use crate::host::Answer;
use crate::lifecycle::code;
use crate::report::{Outcome, absent, ensure, row, same, says, worked};
use crate::run::Run;
use crate::target::{Session, Target};
use crate::tools::call_with;

/// One row per feature.
pub(crate) async fn rows(target: &Target, run: &Run<'_>) {
    let s = run.session;
    let root = target.root("").uri;
    run.row("together", "ask_all", together(s, &root)).await;
    run.row("again", "ask_twice", again(s)).await;
    run.row("prompt-asks", "ask_twice", prompt(s)).await;
    row("incapable", incapable(target)).await;
    if target.is_http() {
        run.row("headers", "headed", headed(s)).await;
    }
}

/// Requests input from user, model and host in one round trip; the next one returns the result.
async fn together(s: &Session, root: &str) -> Outcome {
    let first = s.client.call_tool_once("ask_all", json!({})).await?;
    let CallToolOutcome::InputRequired(round) = first else {
        return Err(format!("it does not ask: {first:?}").into());
    };
    let asked = round.input_requests.map_or(0, |questions| questions.len());
    same("questions in one round", asked, 3)?;
    s.client.set_roots([mcp_types::Root::new(root)])?;
    let said = call_with(s, "ask_all", json!({}), "").await?.joined_text();
    for fragment in ["interop", "the model heard", root] {
        says("ask_all", &said, fragment)?;
    }
    worked(said)
}

/// Checks that the second input request contains the first response.
async fn again(s: &Session) -> Outcome {
    let before = s.host.seen().forms.len();
    s.host.answer(Answer::Fill);
    let said = call_with(s, "ask_twice", json!({}), "")
        .await?
        .joined_text();
    let forms = s.host.seen().forms.split_off(before);
    same("forms", forms.len(), 2)?;
    let second = &forms[1].message;
    says("the second question", second, "interop")?;
    says("ask_twice", &said, "interop")?;
    worked(format!("{second} {said}"))
}

/// Gets a prompt that requests its topic from the user.
async fn prompt(s: &Session) -> Outcome {
    let before = s.host.seen().forms.len();
    let written = s.client.get_prompt("asking").await?;
    same("forms", s.host.seen().forms.len(), before + 1)?;
    let text = serde_json::to_string(&written.messages)?;
    says("the prompt", &text, "interop")?;
    worked("asked once, then written")
}

/// Calls a tool that returns its header parameter unchanged; plain text is sent without encoding.
async fn headed(s: &Session) -> Outcome {
    for (value, header) in [
        ("plain", "plain"),
        ("grüß dich", "=?base64?Z3LDvMOfIGRpY2g=?="),
    ] {
        let said = call_with(s, "headed", json!({ "value": value }), "").await?;
        same("the header", &*said.joined_text(), header)?;
    }
    worked("in plain words, and in base64")
}

/// Calls as a client without capabilities; the error must name the missing one.
async fn incapable(target: &Target) -> Outcome {
    let session = target.incapable().await?;
    let refused = session.client.call_tool("ask_user", json!({})).await;
    let detail = match refused {
        Ok(result) => {
            ensure(result.is_error(), || format!("it went on: {result:?}"))?;
            Err(format!("isError instead: {}", result.joined_text()).into())
        }
        Err(Error::InputFailed {
            request, reason, ..
        }) => absent(format!("it asks all the same, for {request:?}: {reason}")),
        Err(error) => {
            let detail = error.to_string();
            same("the code", code::<()>(Err(error))?, -32021)?;
            worked(detail)
        }
    };
    session.end().await?;
    detail
}
