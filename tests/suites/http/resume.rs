//! Resuming a stream.

use mcp_server::{ServerBuilder, TaskMode};
use mcp_tests::http::{Peer, Reply};
use mcp_transport_http::MemoryEventStore;

use super::{Gate, endpoint, opened, pass, with};
use crate::prelude::*;

async fn steps(peer: &Peer, id: &str) -> Reply {
    let params = json!({
        "name": "steps", "arguments": {"message": id}, "_meta": {"progressToken": id},
    });
    peer.call(id, "tools/call", params).await
}

// proves: HTTP-030, HTTP-044, HTTP-045, HTTP-046, HTTP-048, HTTP-049, HTTP-050, HTTP-023, HTTP-037
#[tokio::test]
async fn missed_events_arrive_once_in_order_and_from_this_stream_only() {
    let (gate, _endpoint, peer) = opened().await;
    let mut one = steps(&peer, "one").await;
    let mut two = steps(&peer, "two").await;
    let last = one.event().await.unwrap().id.unwrap();
    drop(one);
    gate.go.add_permits(6);
    for _ in 0..5 {
        two.event().await.unwrap();
    }
    let mut again = peer.get(Some(&last)).await;
    assert_eq!(again.status, 200);
    let mut seen = Vec::new();
    while let Some(message) = again.message().await {
        seen.push(message);
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
    for (step, message) in seen[..3].iter().enumerate() {
        assert_eq!(message["params"]["progressToken"], "one");
        assert_eq!(message["params"]["progress"], (step + 1) as f64);
    }
    assert_eq!(seen[3]["id"], "one");
    assert_eq!(seen[3]["result"]["content"][0]["text"], "one");
    // Resumes again from the middle, until the response is known to have arrived.
    let mut again = peer.get(Some(&last)).await;
    let mut middle = again.event().await.unwrap().id.unwrap();
    for _ in 0..2 {
        middle = again.event().await.unwrap().id.unwrap();
    }
    drop(again);
    assert_eq!(peer.get(Some(&middle)).await.answer().await["id"], "one");
}

#[tokio::test]
async fn a_running_stream_can_be_resumed_on_another_connection() {
    let (gate, _endpoint, peer) = opened().await;
    let mut first = steps(&peer, "s").await;
    let last = first.event().await.unwrap().id.unwrap();
    // The first connection has not noticed that it is dead.
    let mut second = peer.get(Some(&last)).await;
    gate.go.add_permits(3);
    let mut progress = Vec::new();
    let answer = loop {
        let message = second.message().await.unwrap();
        if message.get("id").is_some() {
            break message;
        }
        progress.push(message["params"]["progress"].clone());
    };
    assert_eq!(progress, [json!(1), json!(2), json!(3)]);
    assert_eq!(answer["id"], "s");
    assert_eq!(first.chunk().await, None, "it was taken over");
}

// T26
#[tokio::test]
async fn an_unknown_event_id_is_rejected() {
    let gate = Gate::new();
    gate.go.add_permits(100);
    let endpoint = endpoint(&gate);
    let (alice, bob) = (Peer::open(&endpoint).await, Peer::open(&endpoint).await);
    let mut call = steps(&alice, "a").await;
    let id = call.event().await.unwrap().id.unwrap();
    steps(&bob, "b").await.answer().await;
    let forged = format!("{}x", &id[..id.len() - 1]);
    for wrong in [
        id.as_str(),
        forged.as_str(),
        "1",
        "0-1",
        "..",
        "1-1-0000000000000000",
    ] {
        let reply = bob.get(Some(wrong)).await;
        assert_eq!(reply.status, 400, "{wrong}");
        assert!(reply.text().await.contains("Last-Event-ID"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_is_stored_for_the_retention_and_then_reported_as_expired() {
    let gate = Gate::new();
    gate.go.add_permits(100);
    let options = ServerOptions::new()
        .with_event_store(MemoryEventStore::new().with_retention(Duration::from_secs(60)));
    let endpoint = with(&gate, options);
    let peer = Peer::open(&endpoint).await;
    let mut call = steps(&peer, "a").await;
    let id = call.event().await.unwrap().id.unwrap();
    drop(call);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(peer.get(Some(&id)).await.answer().await["id"], "a");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let reply = peer.get(Some(&id)).await;
    assert_eq!(reply.status, 400);
    assert!(reply.text().await.contains("no longer stored"));
}

/// Previously, the attempt ended the connection that received the events.
#[tokio::test(start_paused = true)]
async fn a_failed_resumption_does_not_end_the_current_connection_of_the_stream() {
    let gate = Gate::new();
    let store = MemoryEventStore::new().with_max_session_bytes(300);
    let endpoint = with(&gate, ServerOptions::new().with_event_store(store));
    let peer = Peer::open(&endpoint).await;
    let mut call = steps(&peer, "a").await;
    let id = call.event().await.unwrap().id.unwrap();
    gate.go.add_permits(2);
    for _ in 0..2 {
        call.event().await.unwrap();
    }
    assert_eq!(peer.get(Some(&id)).await.status, 400);
    gate.go.add_permits(1);
    assert_eq!(call.answer().await["id"], "a");
}

fn long() -> Tool {
    Tool::new("long", |cx: Ctx| async move {
        let released = cx.release(Duration::from_millis(700));
        // sleep: the clock is paused
        tokio::time::sleep(Duration::from_secs(3)).await;
        format!("released: {released}")
    })
}

fn releases(tool: Tool) -> ServerBuilder {
    Server::builder("releases", "1").tool(tool)
}

// proves: HTTP-019, HTTP-021, HTTP-039
#[tokio::test(start_paused = true)]
async fn a_handler_can_close_its_connection_and_the_client_reconnects() {
    // A call that could become a task is still a call of its request.
    for tool in [long(), long().task(TaskMode::Optional).detachable()] {
        let endpoint = Endpoint::new(releases(tool)).unwrap();
        let peer = Peer::open(&endpoint).await;
        let mut call = peer.tool(1, "long", json!({})).await;
        let priming = call.event().await.unwrap();
        assert_eq!(priming.data.as_deref(), Some(""));
        let retry = call.event().await.unwrap();
        assert_eq!((retry.retry.as_deref(), retry.data), (Some("700"), None));
        assert_eq!(call.event().await, None);
        assert_eq!(
            peer.get(priming.id.as_deref()).await.said().await,
            "released: true"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn clients_of_servers_without_a_store_do_not_poll() {
    let options = ServerOptions::new().without_event_store();
    let endpoint = Endpoint::with_options(releases(long()), options).unwrap();
    let peer = Peer::open(&endpoint).await;
    let call = peer.tool(1, "long", json!({})).await;
    assert_eq!(call.said().await, "released: false");
}

/// A resumed stream without missed events keeps no memory for events that are sent again.
#[tokio::test]
async fn a_stream_that_missed_nothing_takes_no_more_memory_than_others() {
    let options =
        ServerOptions::new().with_memory_limits(|memory| memory.max_stream_bytes = 400 << 10);
    let service = releases(long()).build().unwrap();
    let endpoint = Endpoint::with_options(service.clone(), options).unwrap();
    let mut open = Vec::new();
    for number in 0..8 {
        let peer = Peer::open(&endpoint).await;
        let mut stream = peer.get(None).await;
        let added = Tool::new(format!("tool_{number}"), || "added");
        service.tools().add([added]).unwrap();
        let id = stream.event().await.unwrap().id;
        drop(stream);
        let stream = peer.get(id.as_deref()).await;
        assert_eq!(stream.status, 200);
        open.push((peer, stream));
    }
}

// An unread stream delays no other stream and is cut at its limit.
// proves: HTTP-041
#[tokio::test]
async fn an_unread_stream_is_cut_and_loses_nothing() {
    let service = Server::builder("chatty", "1").tool(Tool::new("chat", |cx: Ctx| async move {
        for step in 0..400 {
            cx.log(LoggingLevel::Error, format!("line {step}"));
        }
        "done"
    }));
    let endpoint = Endpoint::with_options(
        service,
        ServerOptions::new().with_streams(|streams| {
            streams.max_queued_events = 100;
            streams.max_queued_bytes = 1 << 20;
        }),
    )
    .unwrap();
    let peer = Peer::open(&endpoint).await;
    let mut stream = peer.tool(1, "chat", json!({})).await;
    assert_eq!(peer.call(2, "ping", json!({})).await.status, 200);
    let (mut lines, mut connections, mut last) = (Vec::new(), 1, None);
    let answer = loop {
        let Some(event) = stream.event().await else {
            stream = peer.get(last.as_deref()).await;
            connections += 1;
            continue;
        };
        last = event.id.clone().or(last);
        match event.data.as_deref() {
            None | Some("") => {}
            Some(_) if event.json()["id"] == 1 => break event.json(),
            Some(_) => lines.push(event.json()["params"]["data"].clone()),
        }
    };
    let expected: Vec<Value> = (0..400).map(|step| json!(format!("line {step}"))).collect();
    assert_eq!(lines, expected);
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    assert_eq!(connections, 2);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_stream_continues_after_its_last_event() {
    let gate = Gate::new();
    let go = gate.clone();
    let service = Server::builder("chatty", "1").tool(Tool::new("chat", move |cx: Ctx| {
        let gate = go.clone();
        async move {
            cx.log(LoggingLevel::Error, "line 0");
            pass(&gate.go).await;
            for step in 1..200 {
                cx.log(LoggingLevel::Error, format!("line {step}"));
            }
            "done"
        }
    }));
    let endpoint = Endpoint::with_options(
        service,
        ServerOptions::new().with_streams(|streams| {
            streams.max_queued_events = 100;
            streams.max_queued_bytes = 1 << 20;
        }),
    )
    .unwrap();
    let peer = Peer::open(&endpoint).await;
    let mut call = peer.tool(1, "chat", json!({})).await;
    call.event().await.unwrap();
    let mut last = call.event().await.unwrap();
    assert_eq!(last.json()["params"]["data"], "line 0");
    gate.go.add_permits(1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut lines = Vec::new();
    while let Some(event) = call.event().await {
        lines.push(event.json()["params"]["data"].clone());
        last = event;
    }
    assert!(lines.len() < 100, "it was not read and held too much");
    let mut again = peer.get(last.id.as_deref()).await;
    let answer = loop {
        let message = again.message().await.unwrap();
        if message["id"] == 1 {
            break message;
        }
        lines.push(message["params"]["data"].clone());
    };
    let expected: Vec<Value> = (1..200).map(|step| json!(format!("line {step}"))).collect();
    assert_eq!(lines, expected);
    assert_eq!(answer["result"]["content"][0]["text"], "done");
}
