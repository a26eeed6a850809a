//! The guarantees of the multiplexer, one per test.

use std::task::{Context, Waker};

use mcp_jsonrpc::Limits;
use mcp_protocol::{CallError, Closed, Delivery, Extras, Link, MuxLimits, Outgoing};

use crate::pair::{Fate, Pair, take};

#[test]
fn each_setter_changes_only_its_limit() {
    let frame = Limits::default()
        .with_depth(1)
        .with_containers(2)
        .with_nodes(3)
        .with_batch(4);
    let limits = MuxLimits::default()
        .with_frame(frame)
        .with_incoming(5)
        .with_outgoing(6)
        .with_queue_bytes(7);
    let frame = &limits.frame;
    assert_eq!((frame.depth, frame.containers), (1, 2));
    assert_eq!((frame.nodes, frame.batch), (3, 4));
    assert_eq!((limits.incoming, limits.outgoing), (5, 6));
    assert_eq!(limits.queue_bytes, 7);
}

#[test]
fn requests_that_wait_for_a_response_are_limited_until_they_are_withdrawn() {
    let outgoing = Outgoing::new(2);
    assert!(outgoing.is_empty());
    let first = outgoing.open().unwrap();
    outgoing.open().unwrap();
    assert!(!outgoing.is_empty());
    let refused = outgoing.open().unwrap_err();
    assert!(matches!(refused, CallError::Busy { limit: 2 }), "{refused}");
    assert!(outgoing.withdraw(first));
    assert!(!outgoing.withdraw(first));
    assert_eq!(outgoing.len(), 1);
    outgoing.open().unwrap();
}

#[test]
fn a_call_receives_its_response() {
    let mut pair = Pair::new(MuxLimits::default());
    pair.call(1, "now");
    pair.call(2, "refuse");
    pair.settle();
    assert_eq!(pair.results[&1], Ok(Ok("{}".to_owned())));
    let refused = pair.results[&2].clone().unwrap().unwrap_err();
    assert_eq!(refused.code.0, -32602);
}

#[test]
fn a_response_is_discarded_only_if_no_request_is_pending_for_it() {
    let mut pair = Pair::new(MuxLimits::default());
    pair.call(1, "now");
    pair.settle();
    assert!(pair.results[&1].is_ok());
    assert!(pair.client.discarded.lock().unwrap().is_empty());
    let late = pair.said[0].as_bytes();
    pair.near.receive(late, &mut |_| panic!("it is a response"));
    let discarded = pair.client.discarded.lock().unwrap();
    assert_eq!(discarded.len(), 1);
    assert!(discarded[0].starts_with("UnknownResponse"), "{discarded:?}");
}

#[test]
fn dropping_a_call_before_it_was_sent_sends_nothing() {
    let pair = Pair::new(MuxLimits::default());
    drop(
        pair.near
            .request_with("now".into(), None, Extras::default()),
    );
    assert!(take(&pair.near).is_empty());
}

#[test]
fn a_full_queue_holds_back_requests_and_drops_lossy_notifications() {
    let mut pair = Pair::new(MuxLimits::default().with_queue_bytes(200));
    let mut sent = 0;
    while !pair.near.is_congested() {
        pair.near.notify("n", None, Delivery::Lossy).unwrap();
        sent += 1;
    }
    pair.near.notify("n", None, Delivery::Lossy).unwrap();
    pair.near
        .notify("important", None, Delivery::Always)
        .unwrap();
    pair.call(1, "now");
    assert_eq!(
        pair.near.in_flight(),
        (0, 0),
        "the request waits for space in the queue"
    );
    let frames = take(&pair.near);
    assert_eq!(frames.len(), sent + 1);
    for frame in frames {
        pair.to_far.push_back(frame);
    }
    pair.poll_calls();
    assert_eq!(pair.near.in_flight(), (0, 1));
    pair.settle();
    assert!(pair.results[&1].is_ok());
}

#[test]
fn calls_beyond_the_limit_fail_locally_and_name_the_limit() {
    let mut pair = Pair::new(MuxLimits::default().with_outgoing(2));
    for key in 1..=3 {
        pair.call(key, "wait");
    }
    let error = pair.results[&3].clone().unwrap_err();
    assert!(error.contains("MuxLimits::outgoing"), "{error}");
}

#[test]
fn only_the_first_reason_for_the_end_is_reported_and_it_fails_all_calls() {
    let mut pair = Pair::new(MuxLimits::default());
    pair.call(1, "wait");
    pair.deliver_to_far();
    pair.near
        .close(Closed::exited("exit status 3", &["boom".to_owned()]));
    pair.near.close(Closed::local());
    pair.poll_calls();
    let error = pair.results[&1].clone().unwrap_err();
    assert!(
        error.contains("exit status 3") && error.contains("boom"),
        "{error}"
    );
    pair.call(2, "now");
    assert!(pair.results[&2].is_err());
    assert!(pair.near.notify("n", None, Delivery::Always).is_err());
    pair.far.close(Closed::eof());
    pair.far.close(Closed::eof());
    assert_eq!(*pair.handlers.closed.lock().unwrap(), 1);
    pair.poll_work();
    assert!(pair.work.is_empty(), "the handler was dropped");
    let mut cx = Context::from_waker(Waker::noop());
    let closed = pair.far.poll_output(&mut cx, &mut Vec::new());
    assert_eq!(closed, std::task::Poll::Ready(false));
}

#[test]
fn no_written_frame_contains_a_line_break() {
    let pair = Pair::new(MuxLimits::default());
    let params = b"{\n  \"text\": \"a\\nb\"\r\n}";
    pair.near
        .notify("n", Some(params), Delivery::Always)
        .unwrap();
    let frames = take(&pair.near);
    assert_eq!(frames.len(), 1);
    let frame: serde_json::Value = serde_json::from_slice(&frames[0]).unwrap();
    assert_eq!(frame["params"]["text"], "a\nb");
}

#[test]
fn a_dropped_handler_is_answered_with_an_error() {
    let mut pair = Pair::new(MuxLimits::default());
    for (key, method) in [(1, "wait"), (2, "block"), (3, "wait")] {
        pair.call(key, method);
        pair.deliver_to_far();
    }
    pair.work.clear();
    pair.settle();
    for key in 1..=3 {
        let error = pair.results[&key].clone().unwrap().unwrap_err();
        assert_eq!(error.code.0, -32603);
    }
    assert_eq!(pair.far.in_flight(), (0, 0));
    let _ = Fate::Panics;
}
