//! Requests of servers: sampling, elicitation, roots.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::host::Answer;
use crate::report::{Fault, Outcome, absent, ensure, same, says, worked};
use crate::target::Session;
use crate::tools::call;

/// Calls a tool that requests sampling and returns the model's response.
pub(crate) async fn sampling(session: &Session, tool: &str, arguments: Value) -> Outcome {
    let before = session.host.seen().samples.len();
    let result = call(session, tool, arguments, "the model heard").await?;
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
    fragments: &[&str],
) -> Outcome {
    let before = session.host.seen().forms.len();
    session.host.answer(answer);
    let result = call(session, tool, Value::Object(serde_json::Map::new()), "").await;
    session.host.answer(Answer::Fill);
    let text = result?.joined_text();
    same("forms", session.host.seen().forms.len(), before + 1)?;
    for fragment in fragments {
        says(tool, &text, fragment)?;
    }
    worked(format!("{answer:?}"))
}

/// Calls a tool twice: the user declines, then cancels.
pub(crate) async fn refused(session: &Session, tool: &str, fragments: [&str; 2]) -> Outcome {
    form(session, Answer::Decline, tool, &fragments[..1]).await?;
    form(session, Answer::Cancel, tool, &fragments[1..]).await?;
    worked("declined, then cancelled")
}

/// Calls a tool twice that sends the user to a URL: the user visits it, then declines.
pub(crate) async fn url(
    session: &Session,
    tool: &str,
    arguments: Value,
    fragments: [&str; 2],
) -> Outcome {
    let before = session.host.seen().urls.len();
    call(session, tool, arguments.clone(), fragments[0]).await?;
    session.host.answer(Answer::Decline);
    let refused = call(session, tool, arguments, fragments[1]).await;
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
    let none = Value::Object(serde_json::Map::new());
    // The server requests the roots after the handshake, so the first results may precede its response.
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        let text = call(session, tool, none.clone(), "").await?.joined_text();
        if text.contains(root) {
            return worked("the server asked for the roots");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("{tool} does not know {root}").into())
}

/// Announces other roots, which the server must request.
pub(crate) async fn roots_changed(
    session: &Session,
    tool: &str,
    root: mcp_types::Root,
    shown: &str,
) -> Outcome {
    session.client.set_roots([root])?;
    roots(session, tool, shown).await?;
    worked("the server asked again")
}

/// Calls a tool that requires a visit to a URL: the error names the URL, and the second call succeeds.
pub(crate) async fn url_required(session: &Session, tool: &str, arguments: Value) -> Outcome {
    let refused = session.client.call_tool(tool, arguments.clone()).await;
    let error: Fault = match refused {
        // The server did not send the error.
        Ok(result) if result.is_error() => {
            return absent(format!("isError instead: {}", result.joined_text()));
        }
        Ok(result) => return Err(format!("answered {:?}", result.joined_text()).into()),
        Err(error) => match error.required_urls() {
            Some(urls) => {
                same("required URLs", urls.len(), 1)?;
                call(session, tool, arguments, "").await?;
                return worked(format!("code -32042 for {}", urls[0].url));
            }
            None => error.into(),
        },
    };
    Err(error)
}
