//! JSON or an event stream, and the messages on the stream.

use mcp_jsonrpc::ErrorCode;
use mcp_protocol::{CallError, Delivery, Exchange, Payload, Reply};
use mcp_types::{LOG_LEVEL_KEY, PROGRESS_TOKEN_KEY, method};
use tokio::time::Instant;

use super::super::{Gate, LONG, endpoint, pass};
use super::Probe;
use crate::prelude::*;

// proves: M-HTTP-016, M-HTTP-018, M-HTTP-021, M-HTTP-023, M-HTTP-026
#[tokio::test(start_paused = true)]
async fn a_handler_that_sends_a_message_first_gets_a_stream_that_ends_with_its_response() {
    let gate = Gate::new();
    let endpoint = endpoint(&gate);
    let silent = StatelessPeer::new(&endpoint);
    let client = silent.with_meta(PROGRESS_TOKEN_KEY, "p");
    // The handler sends nothing, or the client has no progress token.
    for (client, tool) in [(&client, "echo"), (&silent, "quick")] {
        let reply = client.tool(1, tool, json!({"message": "x"})).await;
        assert_eq!(reply.kind(), "application/json", "{tool}");
    }
    let mut reply = client.tool(1, "steps", json!({"message": "x"})).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.kind(), "text/event-stream");
    assert_eq!(reply.headers["x-accel-buffering"], "no");
    assert_eq!(reply.headers.get("mcp-session-id"), None);
    for step in 1..=3 {
        let event = reply.event().await.unwrap();
        assert_eq!((event.id.as_ref(), event.retry.as_ref()), (None, None));
        assert_eq!(event.json()["params"]["progress"], f64::from(step));
        gate.go.add_permits(1);
    }
    let event = reply.event().await.unwrap();
    assert_eq!((event.id.as_ref(), event.retry.as_ref()), (None, None));
    assert_eq!(event.json()["id"], 1);
    assert_eq!(event.json()["result"]["resultType"], "complete");
    assert_eq!(reply.event().await, None);
    // A handler that sends progress and returns without waiting gets a complete stream.
    let mut reply = client.tool(2, "quick", json!({"message": "x"})).await;
    assert_eq!(reply.kind(), "text/event-stream");
    let first = reply.message().await.unwrap();
    assert_eq!(first["method"], "notifications/progress");
    assert_eq!(reply.message().await.unwrap()["id"], 2);
    assert_eq!(reply.message().await, None);
    assert_eq!(endpoint.in_flight(), 0);
}

// proves: M-HTTP-024
#[tokio::test(start_paused = true)]
async fn the_response_of_a_quiet_handler_becomes_a_stream_only_to_keep_it_open() {
    let interval = Duration::from_secs(15);
    let gate = Gate::new();
    let endpoint = endpoint(&gate);
    let client = StatelessPeer::new(&endpoint);
    let wait = client.tool(1, "wait", json!({"message": "x"}));
    let open = async {
        pass(&gate.started).await;
        // sleep: the clock is paused
        tokio::time::sleep(LONG).await;
        gate.go.add_permits(1);
    };
    let (reply, ()) = tokio::join!(wait, open);
    assert_eq!(reply.kind(), "application/json", "there is no coming back");
    let began = Instant::now();
    let mut reply = client.tool(2, "wait", json!({"message": "x"})).await;
    assert_eq!(reply.kind(), "text/event-stream");
    assert_eq!(began.elapsed(), interval);
    assert_eq!(reply.chunk().await.unwrap(), ":\n\n");
    assert_eq!(began.elapsed(), interval * 2);
    assert_eq!(reply.chunk().await.unwrap(), ":\n\n");
    gate.go.add_permits(1);
    assert_eq!(reply.message().await.unwrap()["id"], 2);
    assert_eq!(reply.message().await, None);
}

// proves: M-HTTP-019, M-HTTP-022, M-SUB-019, M-PROG-012, M-LOG-005
#[tokio::test(start_paused = true)]
async fn notifications_of_a_request_are_sent_only_on_its_stream() {
    let gate = Gate::new();
    let endpoint = endpoint(&gate);
    let client = StatelessPeer::new(&endpoint);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let mut listen = client.call("l", "subscriptions/listen", filter).await;
    assert_eq!(listen.kind(), "text/event-stream");
    let first = listen.message().await.unwrap();
    assert_eq!(
        first["method"],
        method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED
    );
    let mut streams = Vec::new();
    for token in ["a", "b"] {
        let client = client.with_meta(PROGRESS_TOKEN_KEY, token);
        let client = client.with_meta(LOG_LEVEL_KEY, "debug");
        // The same ids, used by another client.
        let reply = client.tool(1, "steps", json!({"message": token})).await;
        streams.push((token, reply));
    }
    gate.go.add_permits(6);
    for (token, mut reply) in streams {
        let logged = reply.message().await.unwrap();
        assert_eq!(logged["method"], "notifications/message");
        let mut steps = 0;
        let answer = loop {
            let message = reply.message().await.unwrap();
            if message["method"] != "notifications/progress" {
                break message;
            }
            assert_eq!(message["params"]["progressToken"], token);
            steps += 1;
        };
        assert_eq!(steps, 3);
        assert_eq!(answer["result"]["content"][0]["text"], token);
    }
    endpoint.close().await;
    let last = listen.message().await.unwrap();
    assert_eq!(last["id"], "l", "nothing came between: {last}");
    assert_eq!(listen.message().await, None);
}

// proves: M-HTTP-020, M-XPORT-002
#[tokio::test]
async fn server_requests_fail_without_a_session() {
    let endpoint = Probe::new(|cx| {
        let call = cx.exchange().link().request(method::ROOTS_LIST, None);
        Reply::Pending(Box::pin(async move {
            let Err(error @ CallError::Failed(_)) = call.await else {
                panic!("it was asked");
            };
            Ok(Payload::of(json!({"said": error.to_string()})))
        }))
    })
    .endpoint();
    let client = StatelessPeer::new(&endpoint);
    let reply = client.tool(1, "go", json!({})).await;
    assert_eq!(reply.kind(), "application/json");
    let said = reply.json().await["result"]["said"].take();
    assert!(
        said.as_str()
            .unwrap()
            .contains("server requests are not possible"),
        "{said}"
    );
}

#[tokio::test]
async fn no_message_follows_a_response() {
    let kept: Arc<Mutex<Option<Exchange>>> = Arc::default();
    let keeps = Arc::clone(&kept);
    let endpoint = Probe::new(move |cx| {
        *keeps.lock().unwrap() = Some(cx.exchange().clone());
        let link = Arc::clone(cx.exchange().link());
        link.notify("notifications/x", None, Delivery::Always)
            .unwrap();
        Reply::ok(Payload::Empty)
    })
    .endpoint();
    let mut reply = StatelessPeer::new(&endpoint).tool(1, "go", json!({})).await;
    let exchange = kept.lock().unwrap().take().unwrap();
    let late = exchange
        .link()
        .notify("notifications/y", None, Delivery::Always);
    assert!(late.is_err() && !exchange.is_running());
    assert_eq!(reply.message().await.unwrap()["method"], "notifications/x");
    assert_eq!(reply.message().await.unwrap()["id"], 1);
    assert_eq!(reply.message().await, None);
}

// proves: M-HTTP-035, M-META-011
#[tokio::test]
async fn an_error_has_a_status_unless_a_message_precedes_it() {
    for (code, status) in [
        (ErrorCode::MISSING_CLIENT_CAPABILITY, 400),
        (ErrorCode::METHOD_NOT_FOUND, 404),
        (ErrorCode::INVALID_PARAMS, 200),
        (ErrorCode::INTERNAL_ERROR, 200),
        (ErrorCode(-1), 200),
    ] {
        for waits in [false, true] {
            let answer = move || Err(ErrorObject::new(code, "no"));
            let quiet = Probe::new(move |_| match waits {
                false => Reply::Ready(answer()),
                true => Reply::Pending(Box::pin(async move {
                    tokio::task::yield_now().await;
                    answer()
                })),
            });
            let endpoint = quiet.endpoint();
            let client = StatelessPeer::new(&endpoint);
            let reply = client.tool(1, "go", json!({})).await;
            assert_eq!(reply.status.as_u16(), status);
            assert_eq!(reply.kind(), "application/json");
            assert_eq!(reply.answer().await["error"]["code"], code.0);
            let speaking = Probe::new(move |cx| {
                let link = cx.exchange().link();
                link.notify("notifications/x", None, Delivery::Lossy)
                    .unwrap();
                Reply::Ready(answer())
            });
            let speaking = speaking.endpoint();
            let reply = StatelessPeer::new(&speaking).tool(1, "go", json!({})).await;
            assert_eq!(reply.status.as_u16(), 200);
            assert_eq!(reply.kind(), "text/event-stream");
            assert_eq!(reply.answer().await["error"]["code"], code.0);
        }
    }
}

#[tokio::test]
async fn a_panic_is_reported_as_an_error_response() {
    let endpoint = Probe::new(|_| panic!("a secret")).endpoint();
    let reply = StatelessPeer::new(&endpoint).tool(1, "go", json!({})).await;
    assert_eq!(reply.status, 200);
    let text = reply.text().await;
    assert!(
        text.contains("-32603") && !text.contains("secret"),
        "{text}"
    );
    assert_eq!(endpoint.in_flight(), 0);
}

#[tokio::test]
async fn a_subscription_that_is_not_read_ends_before_a_notification_is_lost() {
    let links: Arc<Mutex<Option<Exchange>>> = Arc::default();
    let gone = Arc::new(Semaphore::new(0));
    let (keeps, dropped) = (Arc::clone(&links), Arc::clone(&gone));
    let probe = Probe::new(move |cx| {
        cx.exchange().set_endless();
        let exchange = cx.exchange();
        exchange
            .link()
            .notify("n/0", None, Delivery::Always)
            .unwrap();
        *keeps.lock().unwrap() = Some(exchange.clone());
        let guard = super::permit_on_drop(&dropped);
        Reply::Pending(Box::pin(async move {
            let _guard = guard;
            std::future::pending().await
        }))
    });
    let endpoint = probe.endpoint_with(ServerOptions::new().with_streams(|streams| {
        streams.max_queued_events = 2;
        streams.max_queued_bytes = 1 << 20;
    }));
    let mut reply = StatelessPeer::new(&endpoint).tool(1, "go", json!({})).await;
    let exchange = links.lock().unwrap().take().unwrap();
    let notify = |name: &str| exchange.link().notify(name, None, Delivery::Always);
    assert!(notify("n/1").is_ok() && notify("n/2").is_ok());
    assert!(notify("n/3").is_err());
    for number in 0..3 {
        let message = reply.message().await.unwrap();
        assert_eq!(message["method"], format!("n/{number}"));
        assert!(notify("n/4").is_err(), "there would be a gap before it");
    }
    assert_eq!(reply.message().await, None, "it ends without an answer");
    drop(reply);
    assert_eq!(endpoint.subscriptions(), 0);
    pass(&gone).await;
    assert!(exchange.is_cancelled());
}
