//! What is logged: the layer that sends `tracing` events to clients, and the events of failed handlers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::error::Error;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{HandlerError, LogLayer, Principal, Prompt, Revision, Server, Tool};
use serde_json::{Value, json};
use tracing::Instrument as _;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::subscriber::with_default;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

fn server() -> Server {
    let quiet = Tool::new("quiet", || tracing::debug!("below the level"));
    let sync = Tool::new("sync", || tracing::info!(user = "ada", "saved"));
    let later = Tool::new("later", async || {
        let work = async { tracing::warn!(target: "mcp_notes::store", "slow") };
        std::future::ready(()).await;
        tracing::info_span!("inner").in_scope(|| tracing::info!(target: "mcp_server", "own"));
        work.in_current_span().await;
    });
    let server = Server::builder("s", "1").tools([quiet, sync, later]);
    server.build().expect("a valid server")
}

fn messages(client: &TestClient) -> Vec<Value> {
    let messages = client.notifications().into_iter();
    messages
        .filter(|(method, _)| method == "notifications/message")
        .map(|(_, params)| params)
        .collect()
}

#[test]
fn an_event_goes_only_to_the_client_whose_request_caused_it() {
    for revision in [Revision::LATEST_WITH_SESSIONS, Revision::LATEST] {
        let subscriber = tracing_subscriber::registry().with(LogLayer::new());
        let server = server();
        let client = || TestClient::at(revision, server.clone());
        let (ada, alan) = (client(), client());
        with_default(subscriber, || {
            block_on(alan.call_tool("quiet", json!({}))).unwrap();
            block_on(ada.call_tool("sync", json!({}))).unwrap();
            block_on(ada.call_tool("later", json!({}))).unwrap();
            tracing::error!("outside of requests");
        });
        let logged = messages(&ada);
        let found: Vec<&Value> = logged.iter().map(|it| &it["data"]["message"]).collect();
        assert_eq!(found, ["saved", "slow"], "{revision}");
        assert_eq!(logged[0]["data"]["user"], "ada");
        assert_eq!(logged[1]["logger"], "mcp_notes::store");
        let quiet = messages(&alan);
        assert!(
            quiet
                .iter()
                .all(|it| it["data"]["message"] == "below the level"),
            "{quiet:?}"
        );
    }
}

#[test]
fn events_outside_of_requests_are_broadcast_only_on_demand() {
    let server = server();
    let client = TestClient::at(Revision::LATEST_WITH_SESSIONS, server.clone());
    block_on(client.call_tool("quiet", json!({}))).unwrap();
    let silent = tracing_subscriber::registry().with(LogLayer::new());
    with_default(silent, || tracing::error!("kept"));
    let loud = tracing_subscriber::registry().with(LogLayer::new().broadcast(&server));
    with_default(loud, || tracing::error!("sent"));
    let logged = messages(&client);
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert_eq!(logged[0]["data"]["message"], "sent");
}

/// Records each event as one line: level, span and fields.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields(attributes.metadata().name().to_owned());
        attributes.record(&mut fields);
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields(event.metadata().level().to_string());
        if let Some(span) = context.event_span(event) {
            let extensions = span.extensions();
            write!(fields.0, " [{}]", extensions.get::<Fields>().unwrap().0).unwrap();
        }
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
}

#[derive(Debug)]
struct Failed(std::io::Error);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the database failed")
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn failed() -> Failed {
    Failed(std::io::Error::other("no such table: notes"))
}

#[test]
fn the_error_of_a_handler_is_logged_with_its_sources_and_never_sent_with_them() {
    let tool = Tool::new("find", || Err::<String, _>(failed()));
    let broken = Tool::new("broken", || {
        let error = mcp_server::ErrorObject::internal("broken");
        Err::<String, _>(HandlerError::protocol(error))
    });
    let prompt = Prompt::new("ask", async || Err::<String, _>(failed()));
    let server = Server::builder("s", "1")
        .tools([tool, broken])
        .prompt(prompt);
    let revision = Revision::LATEST_WITH_SESSIONS;
    let client = TestClient::at(revision, server).on_behalf(Principal::new("ada"));
    let recorder = Recorder::default();
    let subscriber = tracing_subscriber::registry()
        .with(LogLayer::new())
        .with(recorder.clone());
    with_default(subscriber, || {
        let result = block_on(client.call_tool("find", json!({}))).unwrap();
        assert_eq!(result.joined_text(), "the database failed");
        block_on(client.call_tool("broken", json!({}))).unwrap_err();
        block_on(client.get_prompt("ask", json!({}))).unwrap_err();
    });
    let lines = recorder.0.lock().unwrap().clone();
    let [find, broken, ask] = &*lines else {
        panic!("{lines:#?}");
    };
    let span = r#"[mcp.request method="tools/call" target="find" subject="ada" session="#;
    let error = r#" error=the database failed sources="no such table: notes""#;
    assert!(
        find.starts_with("WARN") && find.contains(span) && find.contains(error),
        "{find}"
    );
    assert!(
        broken.starts_with("WARN") && broken.contains("error=broken"),
        "{broken}"
    );
    assert!(
        ask.starts_with("WARN") && ask.contains("prompts/get") && ask.contains(error),
        "{ask}"
    );
    assert!(messages(&client).is_empty());
}
