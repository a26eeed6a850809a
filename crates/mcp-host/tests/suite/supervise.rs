//! Supervision of one server. Time is paused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::types::ToolAnnotations;
use mcp_client::{ErrorObject, Revision};
use mcp_host::{
    Config, ConfigFormat, Host, HostError, ListCache, ServerState, SupervisedClient, Variables,
};
use mcp_server::middleware::{Next, Request};
use mcp_server::{Server, Tool};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{Folder, Killable, client, server};

fn names(list: &mcp_host::ItemList<mcp_client::types::Tool>) -> Vec<&str> {
    list.items.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_killed_is_started_again() {
    let killable = Killable::default();
    let connector = killable.connector(|number| Some(server([format!("tool{number}")])));
    let supervised = SupervisedClient::builder("one", client(), connector).start();
    assert_eq!(supervised.state(), ServerState::Starting);
    let result = supervised.call_tool("tool0", json!({})).await.unwrap();
    assert_eq!(result.joined_text(), "tool0");
    supervised
        .wait_for(|state| *state == ServerState::Ready)
        .await;

    killable.kill();
    let state = supervised
        .wait_for(|state| matches!(state, ServerState::Backoff { .. }))
        .await;
    assert!(!state.is_connected());
    assert!(supervised.tools().is_stale);
    assert_eq!(names(&supervised.tools()), ["tool0"]);

    supervised
        .wait_for(|state| *state == ServerState::Ready)
        .await;
    assert_eq!(names(&supervised.tools()), ["tool1"]);
    let result = supervised.call_tool("tool0", json!({})).await.unwrap();
    assert_eq!(result.is_error, Some(true));
    assert!(
        result
            .joined_text()
            .contains("no longer offers the tool \"tool0\"")
    );

    supervised.stop().await;
    let error = supervised.call_tool("tool1", json!({})).await.unwrap_err();
    assert!(matches!(error, HostError::Unavailable { .. }), "{error}");
    supervised.restart();
    let result = supervised.call_tool("tool2", json!({})).await.unwrap();
    assert_eq!(result.joined_text(), "tool2");

    // A call does not use the connection that a restart closes.
    supervised
        .wait_for(|state| *state == ServerState::Ready)
        .await;
    supervised.restart();
    assert_eq!(supervised.state(), ServerState::Starting);
    let result = supervised.call_tool("tool3", json!({})).await.unwrap();
    assert_eq!(result.joined_text(), "tool3");
}

/// Calls a tool whose first call ends with its server. Returns the result and the number of calls.
async fn call_of_killed_server(
    is_trusted: bool,
    annotations: ToolAnnotations,
) -> (Result<String, HostError>, usize) {
    let (killable, calls) = (Killable::default(), Arc::new(AtomicUsize::new(0)));
    let (called, counted) = (Arc::new(Notify::new()), Arc::clone(&calls));
    let connector = killable.connector({
        let called = Arc::clone(&called);
        move |number| {
            let (called, counted) = (Arc::clone(&called), Arc::clone(&counted));
            let tool = Tool::new("work", move || {
                counted.fetch_add(1, Ordering::SeqCst);
                called.notify_one();
                async move {
                    if number == 0 {
                        std::future::pending::<()>().await;
                    }
                    "done"
                }
            });
            let tool = tool.annotations(annotations.clone());
            Some(Server::builder("fixture", "1.0.0").tool(tool))
        }
    });
    let builder = SupervisedClient::builder("one", client(), connector);
    let supervised = match is_trusted {
        true => builder.trusted().start(),
        false => builder.start(),
    };
    supervised
        .wait_for(|state| *state == ServerState::Ready)
        .await;
    let kill = async {
        called.notified().await;
        killable.kill();
    };
    let (result, ()) = tokio::join!(supervised.call_tool("work", json!({})), kill);
    let result = result.map(|result| result.joined_text());
    let calls = calls.load(Ordering::SeqCst);
    // A call that follows at once waits for the next connection.
    let next = supervised.call_tool("work", json!({})).await.unwrap();
    assert_eq!(next.joined_text(), "done");
    (result, calls)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_run_is_repeated_only_if_its_repetition_has_no_effect() {
    let idempotent = ToolAnnotations::default().with_idempotent_hint(true);
    let (result, calls) = call_of_killed_server(true, idempotent.clone()).await;
    assert_eq!((result.unwrap().as_str(), calls), ("done", 2));
    for (is_trusted, annotations) in [(false, idempotent), (true, ToolAnnotations::default())] {
        let (result, calls) = call_of_killed_server(is_trusted, annotations).await;
        let error = result.unwrap_err();
        assert!(matches!(error, HostError::MayHaveRun { .. }), "{error}");
        assert_eq!(calls, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_failed_is_requested_again() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let layer = move |request: Request, next: Next| {
        let is_list = request.method() == "tools/list";
        let fails = is_list && counted.fetch_add(1, Ordering::SeqCst) < 3;
        async move {
            match fails {
                true => Err(ErrorObject::internal("not yet")).into(),
                false => next.run(request).await,
            }
        }
    };
    let connector = Killable::default()
        .connector(move |_| Some(server(["tool".to_owned()]).layer(layer.clone())));
    let supervised = SupervisedClient::builder("one", client(), connector).start();
    let start = tokio::time::Instant::now();
    let state = supervised
        .wait_for(|state| *state != ServerState::Starting)
        .await;
    assert!(state.to_string().contains("not yet"), "{state}");
    supervised
        .wait_for(|state| *state == ServerState::Ready)
        .await;
    assert_eq!(names(&supervised.tools()), ["tool"]);
    assert_eq!(requests.load(Ordering::SeqCst), 4);
    // 0.25 s, 0.5 s and 1 s, each up to a quarter shorter.
    let elapsed = start.elapsed().as_millis();
    assert!((1_312..=1_760).contains(&elapsed), "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn list_changes_reach_all_callbacks_and_the_supervisor() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let running = server(["first".to_owned()]).build().unwrap();
        let shared = running.clone();
        let connector = move |_: &mcp_host::StderrLog| {
            let (transport, end) = mcp_transport_stdio::duplex(64 << 10);
            let server = shared.clone();
            tokio::spawn(async move { end.serve(server).await });
            Ok::<_, mcp_client::TransportError>(transport)
        };
        let (received, notified) = (
            Arc::<Mutex<Vec<String>>>::default(),
            Arc::new(Notify::new()),
        );
        let (of_client, of_host) = (Arc::clone(&received), Arc::clone(&received));
        let client = client().revision(revision).on_change(move |list| {
            of_client.lock().unwrap().push(format!("{list:?}"));
        });
        let wake = Arc::clone(&notified);
        let host = Host::builder(client)
            .on_change(move |server, list| {
                of_host.lock().unwrap().push(format!("{server} {list:?}"));
                wake.notify_one();
            })
            .connector("one", connector)
            .start();
        host.settled().await;
        let supervised = host.server("one").unwrap();
        let changed = supervised.tools_changed();
        running
            .tools()
            .add(Tool::new("second", || "second"))
            .unwrap();
        notified.notified().await;
        assert_eq!(*received.lock().unwrap(), ["Tools", "one Tools"]);
        assert_eq!(names(&changed.await), ["first", "second"]);
    }
}

#[tokio::test(start_paused = true)]
async fn after_ten_failed_starts_a_server_is_started_again_only_on_request() {
    let killable = Killable::default();
    let connector = killable.connector(|_| None);
    let supervised = SupervisedClient::builder("one", client(), connector).start();
    let is_failed = |state: &ServerState| matches!(state, ServerState::Failed { .. });
    supervised.wait_for(is_failed).await;
    assert_eq!(killable.starts(), 10);
    let error = supervised.call_tool("any", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("failed"), "{error}");
    supervised.restart();
    supervised
        .wait_for(|state| *state == ServerState::Starting)
        .await;
    supervised.wait_for(is_failed).await;
    assert_eq!(killable.starts(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_starting_server_up_to_its_limit() {
    let silent = |_: &mcp_host::StderrLog| {
        let (transport, end) = mcp_transport_stdio::duplex(1 << 10);
        std::mem::forget(end);
        Ok::<_, mcp_client::TransportError>(transport)
    };
    let supervised = SupervisedClient::builder("one", client(), silent)
        .wait_timeout(Duration::from_secs(3))
        .start();
    let start = tokio::time::Instant::now();
    let error = supervised.call_tool("any", json!({})).await.unwrap_err();
    assert!(matches!(error, HostError::Unavailable { .. }), "{error}");
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test]
async fn cached_tools_of_the_last_run_are_available_at_once() {
    let folder = Folder::new("cache");
    let start = |tool: &'static str| {
        let connector = Killable::default().connector(move |_| Some(server([tool.to_owned()])));
        SupervisedClient::builder("one", client(), connector)
            .list_cache(ListCache::dir(&folder.0), "")
            .start()
    };
    let first = start("before");
    assert!(names(&first.tools()).is_empty() && first.tools().is_stale);
    first.wait_for(|state| *state == ServerState::Ready).await;
    while folder.lists() == 0 {
        tokio::task::yield_now().await;
    }
    let second = start("after");
    assert!(second.tools().is_stale);
    assert_eq!(names(&second.tools()), ["before"]);
    second.wait_for(|state| *state == ServerState::Ready).await;
    assert!(!second.tools().is_stale);
    assert_eq!(names(&second.tools()), ["after"]);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_server_does_not_affect_other_servers() {
    let text = r#"{ "mcpServers": {
        "token": { "url": "http://127.0.0.1:1/mcp", "headers": { "x-key": "${MISSING_KEY}" } },
        "typo": { "comand": "x" } } }"#;
    let config = Config::parse(text, ConfigFormat::Standard).unwrap();
    let fine = Killable::default().connector(|_| Some(server(["echo".to_owned()])));
    let host = Host::builder(client())
        .servers(config)
        .variables(Variables::new().with_env(|_| None))
        .connector("fine", fine)
        .start();
    host.settled().await;
    let state = |name| host.server(name).unwrap().state().to_string();
    assert!(
        state("token").contains("${MISSING_KEY}"),
        "{}",
        state("token")
    );
    assert!(state("typo").contains("\"command\""), "{}", state("typo"));
    assert_eq!(state("fine"), "ready");
    assert_eq!(host.tools().len(), 1);
    let result = host.call_tool("fine__echo", json!({})).await.unwrap();
    assert_eq!(result.joined_text(), "echo");
    let error = host.call_tool("fine__other", json!({})).await.unwrap_err();
    assert!(matches!(error, HostError::UnknownTool { .. }), "{error}");
    // A model must not take an outage for a misspelled name.
    let error = host.call_tool("token__other", json!({})).await.unwrap_err();
    assert!(matches!(error, HostError::Unavailable { .. }), "{error}");
    host.close().await;
    assert_eq!(state("fine"), "off");
}
