//! From the handshake to the end.

use mcp_client::Error;
use mcp_protocol::Revision;
use mcp_types::{JsonObject, ListToolsRequest, LoggingLevel, PaginatedRequestParams, Request};
use serde_json::json;

use crate::profile::{Call, Logging};
use crate::report::{Fault, Outcome, absent, ensure, row, same, worked};
use crate::target::{Session, Target};
use crate::tools::{self, call, call_with};

/// Checks the server's name and the negotiated revision.
pub(crate) fn initialized(session: &Session, name: &str) -> Outcome {
    let client = &session.client;
    same("the server's name", &*client.server_info().name, name)?;
    same(
        "the revision",
        client.revision(),
        Revision::LATEST_WITH_SESSIONS,
    )?;
    ensure(client.capabilities().tools.is_some(), || {
        "the server declares no tools".to_owned()
    })?;
    worked(format!("{name} {}", client.server_info().version))
}

/// Sends three pings.
pub(crate) async fn ping(session: &Session) -> Outcome {
    for _ in 0..3 {
        session.client.ping().await?;
    }
    worked("answered three times")
}

/// Connects with `Auto`, then lists tools and calls one. This must work with every response to the probe. The detail
/// begins with the negotiated revision.
pub(crate) async fn probe(target: &Target) -> Outcome {
    let session = target.connect(Revision::LATEST).await?;
    session.client.list_tools().await?;
    let revision = session.client.revision();
    session.end().await?;
    worked(match revision.is_stateless() {
        true => format!("{revision}, from the response to `server/discover`"),
        false => format!("{revision}, by `initialize` after the probe"),
    })
}

/// Checks the response to `server/discover`.
pub(crate) fn discovered(session: &Session, name: &str) -> Outcome {
    let client = &session.client;
    same("the server's name", &*client.server_info().name, name)?;
    same("the revision", client.revision(), Revision::LATEST)?;
    let instructions = client.instructions().unwrap_or_default();
    same("the instructions", instructions, "A bit of each.")?;
    let declared = client.capabilities();
    let all = declared.tools.is_some()
        && declared.prompts.is_some()
        && declared.resources.is_some()
        && declared.completions.is_some();
    ensure(all, || format!("not everything is declared: {declared:?}"))?;
    worked(format!("{name} {}", client.server_info().version))
}

/// Connects with the newest revision and no other.
pub(crate) async fn only_stateless(target: &Target) -> Outcome {
    let session = target.only_stateless().await?;
    same("the revision", session.client.revision(), Revision::LATEST)?;
    call_with(&session, "add", json!({ "a": 2, "b": 3 }), "5").await?;
    session.end().await?;
    worked("called add")
}

/// A method that does not exist in any revision.
#[derive(Debug)]
enum NoSuchRequest {}

impl Request for NoSuchRequest {
    const METHOD: &'static str = "no/such";
    type Params = JsonObject;
    type Result = JsonObject;
}

/// Calls an unknown method, which the server must reject.
pub(crate) async fn unknown_method(session: &Session) -> Outcome {
    let params = JsonObject::new();
    let code = code(session.client.request::<NoSuchRequest>(&params).await)?;
    same("the code", code, -32601)?;
    worked("code -32601")
}

/// A method that servers of other SDKs add to the protocol.
#[derive(Debug)]
enum ReverseRequest {}

impl Request for ReverseRequest {
    const METHOD: &'static str = "com.example/reverse";
    type Params = JsonObject;
    type Result = JsonObject;
}

/// Calls a method that the protocol does not have.
pub(crate) async fn custom_method(session: &Session) -> Outcome {
    let params = JsonObject::from_iter([("text".to_owned(), json!("abc"))]);
    match session.client.request::<ReverseRequest>(&params).await {
        Ok(result) => {
            same("the text", &result["text"], &json!("cba"))?;
            worked("cba")
        }
        Err(Error::Rejected(error)) if error.code.0 == -32601 => absent("code -32601"),
        Err(error) => Err(error.into()),
    }
}

/// Shows that the server does not declare what this request needs.
pub(crate) async fn undeclared<R: Request>(session: &Session) -> Outcome {
    match session.client.require::<R>() {
        Err(missing) => absent(missing.to_string()),
        Ok(()) => Err(format!("the server offers {}", R::METHOD).into()),
    }
}

/// A list in pages, or a server that has only one page.
pub(crate) async fn pages(session: &Session) -> Outcome {
    let mut params = PaginatedRequestParams::default();
    let mut names = Vec::new();
    let mut pages = 0;
    loop {
        let list = session.client.request::<ListToolsRequest>(&params);
        let list = list.await?;
        pages += 1;
        names.extend(list.tools.into_iter().map(|tool| tool.name));
        params.cursor = list.next_cursor;
        if params.cursor.is_none() {
            break;
        }
    }
    let all = session.client.list_tools().await?;
    let all: Vec<String> = all.into_iter().map(|tool| tool.name).collect();
    same("the list that pages by itself", all, names)?;
    if pages == 1 {
        return absent("the list of tools came as one page without a cursor");
    }
    let bad = PaginatedRequestParams::default().with_cursor("no such cursor");
    let refused = session.client.request::<ListToolsRequest>(&bad).await;
    let code = refused
        .err()
        .and_then(|error| error.rejection().map(|e| e.code.0));
    same("the answer to a bad cursor", code, Some(-32602))?;
    worked(format!("{pages} pages"))
}

/// Checks that messages arrive at or above the level that was set, and not below it.
pub(crate) async fn logging(session: &Session, logging: &Logging) -> Outcome {
    let client = &session.client;
    client.set_log_level(LoggingLevel::Error).await?;
    let before = session.host.seen().logs.len();
    provoke(session, logging).await?;
    // Over a pipe, messages that were sent before the response have arrived.
    same(
        "messages below the level",
        session.host.seen().logs.len(),
        before,
    )?;
    client.set_log_level(LoggingLevel::Debug).await?;
    provoke(session, logging).await?;
    let said = session
        .host
        .until("a log message", |seen| seen.logs.len() > before);
    let last = said.await?.logs.pop().ok_or("no message")?;
    same("the level", last.level, LoggingLevel::Info)?;
    worked(format!("{}: {}", last.level, last.data))
}

async fn provoke(session: &Session, logging: &Logging) -> Result<(), Fault> {
    match logging {
        Logging::Call(known) => call(session, known).await.map(|_| ()),
        Logging::Subscribe(uri) => {
            let subscription = session.client.subscribe(uri.as_str()).await?;
            Ok(subscription.unsubscribe().await?)
        }
    }
}

/// Negotiates each revision and makes these calls; one row per revision.
pub(crate) async fn revisions(target: &Target, calls: &[Call]) {
    for revision in Revision::WITH_SESSIONS {
        let feature = format!("revision-{revision}");
        row(&feature, one_revision(target, revision, calls)).await;
    }
}

async fn one_revision(target: &Target, revision: Revision, calls: &[Call]) -> Outcome {
    let session = target.connect(revision).await?;
    same("the revision", session.client.revision(), revision)?;
    session.client.ping().await?;
    tools::list(&session).await?;
    let mut names = Vec::new();
    for known in calls {
        call(&session, known).await?;
        names.push(&*known.tool);
    }
    session.close().await?;
    worked(format!("called {}", names.join(", ")))
}

/// Returns the code of an error response.
pub(crate) fn code<T>(answer: Result<T, Error>) -> Result<i64, Fault> {
    match answer {
        Ok(_) => Err("the server answered where it must refuse".into()),
        Err(error) => match error.rejection() {
            Some(rejection) => Ok(rejection.code.0),
            None => Err(error.into()),
        },
    }
}
