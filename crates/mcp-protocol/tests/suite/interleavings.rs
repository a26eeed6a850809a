//! Random orders of requests, cancellations, late responses and ends: each call ends once, each id
//! is answered at most once, and the tables are empty at the end.

use std::collections::BTreeMap;

use mcp_protocol::{Closed, MuxLimits};
use proptest::prelude::*;

use crate::pair::{Fate, Pair};

#[derive(Debug, Clone)]
enum Op {
    Call(u32, &'static str),
    Drop(u32),
    Decide(usize, Fate),
    ToFar,
    ToNear,
    PollWork,
    /// The runtime drops a task.
    Abandon(usize),
    /// A deadline passes.
    Expire(usize),
    /// The peer receives a cancellation of an unknown request, or an unexpected response.
    Noise(i64),
    CloseNear,
    CloseFar,
}

fn op() -> impl Strategy<Value = Op> {
    let method = prop_oneof![
        Just("wait"),
        Just("wait"),
        Just("now"),
        Just("refuse"),
        Just("panic"),
        Just("block")
    ];
    let fate = prop_oneof![Just(Fate::Answers), Just(Fate::Fails), Just(Fate::Panics)];
    prop_oneof![
        6 => (0..12_u32, method).prop_map(|(key, method)| Op::Call(key, method)),
        3 => (0..12_u32).prop_map(Op::Drop),
        4 => (0..4_usize, fate).prop_map(|(at, fate)| Op::Decide(at, fate)),
        6 => Just(Op::ToFar),
        6 => Just(Op::ToNear),
        4 => Just(Op::PollWork),
        1 => (0..4_usize).prop_map(Op::Abandon),
        1 => (0..4_usize).prop_map(Op::Expire),
        1 => (0..12_i64).prop_map(Op::Noise),
        1 => Just(Op::CloseNear),
        1 => Just(Op::CloseFar),
    ]
}

fn apply(pair: &mut Pair, op: &Op) {
    match op {
        Op::Call(key, method) => {
            if !pair.calls.contains_key(key) && !pair.results.contains_key(key) {
                pair.call(*key, method);
            }
        }
        Op::Drop(key) => drop(pair.calls.remove(key)),
        Op::Decide(at, fate) => {
            let waiting = pair.handlers.waiting.lock().unwrap();
            if let Some(slot) = waiting.get(*at) {
                slot.lock().unwrap().get_or_insert(*fate);
            }
        }
        Op::ToFar => pair.deliver_to_far(),
        Op::ToNear => pair.deliver_to_near(),
        Op::PollWork => pair.poll_work(),
        Op::Abandon(at) => {
            if *at < pair.work.len() {
                drop(pair.work.remove(*at));
            }
        }
        Op::Expire(at) => {
            if *at < pair.work.len()
                && let mcp_protocol::PendingHandler::Async(run) = pair.work.remove(*at)
            {
                run.expire();
            }
        }
        Op::Noise(id) => {
            let cancel = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            );
            pair.far.receive(cancel.as_bytes(), &mut |_| ());
            let late = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id + 1_000);
            pair.near.receive(late.as_bytes(), &mut |_| ());
        }
        Op::CloseNear => pair.near.close(Closed::local()),
        Op::CloseFar => pair.far.close(Closed::eof()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    // proves: CANC-014
    #[test]
    fn every_call_ends_once_and_leaves_no_state(ops in prop::collection::vec(op(), 1..80)) {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let mut pair = Pair::new(MuxLimits::default().with_incoming(5));
        for op in &ops {
            apply(&mut pair, op);
        }
        for slot in &*pair.handlers.waiting.lock().unwrap() {
            slot.lock().unwrap().get_or_insert(Fate::Answers);
        }
        pair.settle();
        // A request with a random cancellation is never answered, so its call would run into its
        // timeout.
        pair.near.close(Closed::local());
        pair.far.close(Closed::eof());
        pair.settle();
        std::panic::set_hook(hook);

        prop_assert!(pair.calls.is_empty(), "calls that did not end");
        prop_assert_eq!(pair.near.in_flight(), (0, 0));
        prop_assert_eq!(pair.far.in_flight(), (0, 0));
        prop_assert!(pair.work.is_empty());
        let mut answers: BTreeMap<String, u32> = BTreeMap::new();
        for frame in &pair.said {
            let frame: serde_json::Value = serde_json::from_str(frame).unwrap();
            if let Some(id) = frame.get("id") {
                *answers.entry(id.to_string()).or_default() += 1;
            }
            prop_assert!(!frame.to_string().contains("own words"));
        }
        prop_assert!(answers.values().all(|count| *count == 1), "{:?}", answers);
    }
}
