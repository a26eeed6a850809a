//! What servers ask: the model, the user, the roots.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::host::Answer;
use crate::report::{Fault, Outcome, absent, ensure, same, says, worked};
use crate::target::Session;
use crate::tools::call;

/// A tool that asks the model gets its answer.
pub(crate) async fn sampling(session: &Session, tool: &str, arguments: Value) -> Outcome {
    let before = session.host.seen().samples.len();
    let result = call(session, tool, arguments, "the model heard").await?;
    let seen = session.host.seen();
    same("questions to the model", seen.samples.len(), before + 1)?;
    let budget = seen.samples[before].max_tokens;
    ensure(budget > 0, || format!("maxTokens is {budget}"))?;
    worked(result.joined_text())
}

/// A tool that asks the user, who answers in this way; the tool then says each fragment.
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

/// The user declines, then closes the form.
pub(crate) async fn refused(session: &Session, tool: &str, fragments: [&str; 2]) -> Outcome {
    form(session, Answer::Decline, tool, &fragments[..1]).await?;
    form(session, Answer::Cancel, tool, &fragments[1..]).await?;
    worked("declined, then cancelled")
}

/// A tool that sends the user to a URL; the user goes, then refuses.
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

/// The server has had every chance to ask, and did not.
pub(crate) async fn silent(session: &Session) -> Outcome {
    let seen = session.host.seen();
    let questions = seen.samples.len() + seen.forms.len() + seen.urls.len();
    same("questions", questions, 0)?;
    absent("no tool asked the user or the model")
}

/// A tool whose text tells which roots the server knows: it knows the one that was offered.
pub(crate) async fn roots(session: &Session, tool: &str, root: &str) -> Outcome {
    let none = Value::Object(serde_json::Map::new());
    // The server asks by itself after the handshake, so the first answers may come too early.
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

/// Other roots are announced, and the server asks again.
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

/// A tool that needs a URL visited first: the error names it, and the second call works.
pub(crate) async fn url_required(session: &Session, tool: &str, arguments: Value) -> Outcome {
    let refused = session.client.call_tool(tool, arguments.clone()).await;
    let error: Fault = match refused {
        // The error did not reach the wire.
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
