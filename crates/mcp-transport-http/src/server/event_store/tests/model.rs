//! Compares the store with a model. The model keeps all events in one list, and counts them again after each step.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use tokio::time::{Instant, advance};

use super::super::log::EVENT_COST;
use super::super::log::SESSION_COST;
use super::super::log::STREAM_COST;
use super::{MemoryEventStore, key, replay, session, used};
use crate::server::event_store::{EventStore, Replay};

const SESSIONS: u8 = 3;
const STREAMS: u32 = 4;
const SESSION_CAP: usize = 3_000;
const TOTAL_CAP: usize = 7_000;
const WINDOW: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
enum Op {
    Append {
        session: u8,
        stream: u32,
        len: usize,
    },
    ForgetStream {
        session: u8,
        stream: u32,
    },
    ForgetSession(u8),
    Advance(u64),
    Expire,
}

fn op() -> impl Strategy<Value = Op> {
    let place = || (0..SESSIONS, 0..STREAMS);
    prop_oneof![
        20 => (place(), prop_oneof![0_usize..300, 0_usize..4_000]).prop_map(
            |((session, stream), len)| Op::Append { session, stream, len }
        ),
        2 => place().prop_map(|(session, stream)| Op::ForgetStream { session, stream }),
        1 => (0..SESSIONS).prop_map(Op::ForgetSession),
        2 => (0_u64..8).prop_map(Op::Advance),
        2 => Just(Op::Expire),
    ]
}

/// An event that was appended and has not been removed.
#[derive(Debug, Clone)]
struct Past {
    session: u8,
    stream: u32,
    data: Bytes,
    at: Instant,
    has_id: bool,
}

#[derive(Debug, Default)]
struct Model {
    /// All events that were not removed, in the order of arrival.
    past: Vec<Past>,
    /// The streams that the store knows, and the time of their last event.
    known: BTreeMap<(u8, u32), Instant>,
    /// For each session, the highest stream number whose record was merged.
    forgotten_up_to: BTreeMap<u8, u32>,
}

impl Model {
    fn of(&self, session: u8, stream: u32) -> Vec<&Past> {
        let is_here = |past: &&Past| (past.session, past.stream) == (session, stream);
        self.past.iter().filter(is_here).collect()
    }

    /// Returns the streams of a session: first the streams with events, then the streams without events.
    fn streams(&self, session: u8) -> (Vec<u32>, Vec<u32>) {
        let known = self.known.keys().filter(|known| known.0 == session);
        known
            .map(|known| known.1)
            .partition(|stream| self.of(session, *stream).iter().any(|past| past.has_id))
    }

    fn cost(&self, session: u8) -> usize {
        let (full, empty_streams) = self.streams(session);
        let streams = full.len() + empty_streams.len();
        if streams == 0 && !self.forgotten_up_to.contains_key(&session) {
            return 0;
        }
        let kept = |past: &&Past| past.session == session && past.has_id;
        let events = self.past.iter().filter(kept);
        SESSION_COST
            + streams * STREAM_COST
            + events
                .map(|past| EVENT_COST + past.data.len())
                .sum::<usize>()
    }

    fn total(&self) -> usize {
        (0..SESSIONS).map(|session| self.cost(session)).sum()
    }

    fn append(&mut self, session: u8, stream: u32, data: Bytes) {
        let has_id = data.len() <= SESSION_CAP;
        self.known.insert((session, stream), Instant::now());
        if !has_id {
            self.drop_where(|past| (past.session, past.stream) == (session, stream));
        }
        self.past.push(Past {
            session,
            stream,
            data,
            at: Instant::now(),
            has_id,
        });
        while self.cost(session) > SESSION_CAP || self.total() > TOTAL_CAP {
            let (_, empty_streams) = self.streams(session);
            if empty_streams.len() * STREAM_COST > (self.cost(session) - SESSION_COST) / 2 {
                empty_streams
                    .iter()
                    .for_each(|stream| self.forget_empty(session, *stream));
                continue;
            }
            let oldest = |past: &&mut Past| past.session == session && past.has_id;
            let Some(oldest) = self.past.iter_mut().find(oldest) else {
                break;
            };
            oldest.has_id = false;
        }
    }

    fn forget_empty(&mut self, session: u8, stream: u32) {
        self.known.remove(&(session, stream));
        let forgotten_up_to = self.forgotten_up_to.entry(session).or_default();
        *forgotten_up_to = stream.max(*forgotten_up_to);
    }

    fn expire(&mut self, now: Instant) {
        self.drop_where(|past| now - past.at >= WINDOW);
        for session in 0..SESSIONS {
            let (_, empty_streams) = self.streams(session);
            for stream in empty_streams {
                if now - self.known[&(session, stream)] >= WINDOW {
                    self.forget_empty(session, stream);
                }
            }
        }
    }

    fn drop_where(&mut self, is_over: impl Fn(&Past) -> bool) {
        let over = self.past.iter_mut().filter(|past| is_over(past));
        over.for_each(|past| past.has_id = false);
    }

    fn forget(&mut self, is_over: impl Fn(u8, u32) -> bool) {
        self.past.retain(|past| !is_over(past.session, past.stream));
        self.known.retain(|known, _| !is_over(known.0, known.1));
    }

    fn replay(&self, session: u8, stream: u32, after: usize) -> Replay {
        let past = self.of(session, stream);
        let missed = past.get(after..).unwrap_or_default();
        let is_lost = self
            .forgotten_up_to
            .get(&session)
            .is_some_and(|forgotten_up_to| stream <= *forgotten_up_to);
        let is_unknown = !self.known.contains_key(&(session, stream));
        if (is_unknown && (after > 0 || is_lost)) || missed.iter().any(|past| !past.has_id) {
            return Replay::Gone;
        }
        Replay::Events(missed.iter().map(|past| past.data.clone()).collect())
    }
}

async fn run(ops: &[Op]) {
    let store = MemoryEventStore::new()
        .with_max_session_bytes(SESSION_CAP)
        .with_max_total_bytes(TOTAL_CAP)
        .with_retention(WINDOW);
    let mut model = Model::default();
    // Sequence numbers continue whatever the store has dropped.
    let mut sequences: BTreeMap<(u8, u32), u64> = BTreeMap::new();
    for (step, op) in ops.iter().enumerate() {
        match *op {
            Op::Append {
                session,
                stream,
                len,
            } => {
                let sequence = sequences.entry((session, stream)).or_default();
                *sequence += 1;
                let mut data = vec![b'.'; len];
                data.extend_from_slice(step.to_string().as_bytes());
                let data = Bytes::from(data);
                model.append(session, stream, data.clone());
                store.append(key(session, stream), *sequence, data);
            }
            Op::ForgetStream { session, stream } => {
                sequences.remove(&(session, stream));
                model.forget(|of, number| (of, number) == (session, stream));
                store.forget_stream(key(session, stream));
            }
            Op::ForgetSession(number) => {
                sequences.retain(|place, _| place.0 != number);
                model.forget(|of, _| of == number);
                model.forgotten_up_to.remove(&number);
                store.forget_session(session(number));
                assert_eq!(model.cost(number), 0);
            }
            Op::Advance(seconds) => advance(Duration::from_secs(seconds)).await,
            Op::Expire => {
                let now = Instant::now();
                model.expire(now);
                store.expire(now);
            }
        }
        assert_eq!(used(&store), model.total(), "step {step}");
        assert!(used(&store) <= TOTAL_CAP + usize::from(SESSIONS) * SESSION_COST);
        for session in 0..SESSIONS {
            assert!(model.cost(session) <= SESSION_CAP);
            for stream in 0..STREAMS {
                let last = model.of(session, stream).len();
                for after in 0..=last {
                    let expected = model.replay(session, stream, after);
                    let got = replay(&store, key(session, stream), after as u64).await;
                    assert!(got == expected, "step {step}: {got:?}, not {expected:?}");
                }
            }
        }
    }
    (0..SESSIONS).for_each(|number| store.forget_session(session(number)));
    assert_eq!(used(&store), 0);
}

proptest! {
    #[test]
    fn the_store_behaves_like_the_model(ops in prop::collection::vec(op(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(&ops));
    }
}
