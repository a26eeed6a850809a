//! Requests of servers: sampling, elicitation, roots.

use std::time::{Duration, Instant};

use mcp_types::Root;
use serde_json::json;

use crate::host::Answer;
use crate::profile::{Call, Form, Url};
use crate::report::{Fault, Outcome, absent, ensure, same, says, worked};
use crate::target::Session;
use crate::tools::{call, call_with};

/// Calls a tool that requests sampling and returns the model's response.
pub(crate) async fn sampling(session: &Session, sampling: &Call) -> Outcome {
    let before = session.host.seen().samples.len();
    let result = call(session, sampling).await?;
    says(&sampling.tool, &result.joined_text(), "the model heard")?;
    let seen = session.host.seen();
    same("questions to the model", seen.samples.len(), before + 1)?;
    let budget = seen.samples[before].max_tokens;
    ensure(budget > 0, || format!("maxTokens is {budget}"))?;
    worked(result.joined_text())
}

/// Calls a tool that elicits; after this reaction of the user its text must contain each fragment.
pub(crate) async fn form(
    session: &Session,
    answer: Answer,
    tool: &str,
    fragments: &[String],
) -> Outcome {
    let before = session.host.seen().forms.len();
    session.host.answer(answer);
    let result = call_with(session, tool, json!({}), "").await;
    session.host.answer(Answer::Fill);
    let text = result?.joined_text();
    same("forms", session.host.seen().forms.len(), before + 1)?;
    for fragment in fragments {
        says(tool, &text, fragment)?;
    }
    worked(format!("{answer:?}"))
}

/// Calls a tool twice: the user declines, then cancels.
pub(crate) async fn refused(session: &Session, expected: &Form) -> Outcome {
    for (answer, fragment) in [
        (Answer::Decline, &expected.declined),
        (Answer::Cancel, &expected.cancelled),
    ] {
        let fragments = std::slice::from_ref(fragment);
        form(session, answer, &expected.tool, fragments).await?;
    }
    worked("declined, then cancelled")
}

/// Calls a tool twice that sends the user to a URL: the user visits it, then declines.
pub(crate) async fn url(session: &Session, url: &Url) -> Outcome {
    let before = session.host.seen().urls.len();
    let arguments = json!(url.arguments);
    call_with(session, &url.tool, arguments.clone(), &url.visited).await?;
    session.host.answer(Answer::Decline);
    let refused = call_with(session, &url.tool, arguments, &url.declined).await;
    session.host.answer(Answer::Fill);
    refused?;
    let urls = session.host.seen().urls;
    same("URLs", urls.len(), before + 2)?;
    worked(urls[before].url.clone())
}

/// Shows that the server sent no such request although all of its tools were called.
pub(crate) async fn silent(session: &Session) -> Outcome {
    let seen = session.host.seen();
    let questions = seen.samples.len() + seen.forms.len() + seen.urls.len();
    same("questions", questions, 0)?;
    absent("no tool asked the user or the model")
}

/// Calls a tool that returns the roots, which must include the declared one.
pub(crate) async fn roots(session: &Session, tool: &str, root: &str) -> Outcome {
    // The server requests the roots after the handshake, so the first results may precede its response.
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        let text = call_with(session, tool, json!({}), "").await?.joined_text();
        if text.contains(root) {
            return worked("the server asked for the roots");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("{tool} does not know {root}").into())
}

/// Announces other roots, which the server must request.
pub(crate) async fn roots_changed(session: &Session, call: &Call, root: Root) -> Outcome {
    session.client.set_roots([root])?;
    roots(session, &call.tool, &format!("{}/elsewhere", call.says)).await?;
    worked("the server asked again")
}

/// Calls a tool that requires a visit to a URL: the error names the URL, and the second call succeeds.
pub(crate) async fn url_required(session: &Session, required: &Call) -> Outcome {
    let refused = session
        .client
        .call_tool(&*required.tool, required.arguments.clone());
    let refused = refused.await;
    let error: Fault = match refused {
        // The server did not send the error.
        Ok(result) if result.is_error() => {
            return absent(format!("isError instead: {}", result.joined_text()));
        }
        Ok(result) => return Err(format!("answered {:?}", result.joined_text()).into()),
        Err(error) => match error.required_urls() {
            Some(urls) => {
                same("required URLs", urls.len(), 1)?;
                call(session, required).await?;
                return worked(format!("code -32042 for {}", urls[0].url));
            }
            None => error.into(),
        },
    };
    Err(error)
}
