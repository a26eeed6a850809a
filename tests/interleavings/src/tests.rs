//! Three operations each, in every order.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use loom::future::block_on;
use loom::thread;
use mcp_jsonrpc::RequestId;
use mcp_protocol::MethodName;

use crate::exchange::incoming::Incoming;
use crate::exchange::outgoing::Outgoing;
use crate::mux::outbox::Outbox;
use crate::{Call, CallError, Closed, Delivery, Exchange, Extras, Link};

/// Runs an operation on a thread and returns its result.
fn spawn<T: 'static, V: Send + Sync + 'static>(
    value: &Arc<V>,
    operation: impl FnOnce(&V) -> T + 'static,
) -> thread::JoinHandle<T> {
    let value = Arc::clone(value);
    thread::spawn(move || operation(&value))
}

fn closed() -> CallError {
    CallError::Closed(Closed::local())
}

fn busy() -> CallError {
    CallError::Busy { limit: 1 }
}

#[derive(Debug)]
struct NoLink;

impl Link for NoLink {
    fn notify(&self, _: &str, _: Option<&[u8]>, _: Delivery) -> Result<(), Closed> {
        Ok(())
    }

    fn request_with(&self, _: MethodName, _: Option<Vec<u8>>, _: Extras) -> Call {
        unreachable!("no test sends a request")
    }
}

fn exchange() -> Exchange {
    Exchange::new(RequestId::Number(1), Arc::new(NoLink))
}

#[test]
fn a_waiting_call_gets_its_response_or_the_end_of_the_connection() {
    loom::model(|| {
        let table = Arc::new(Outgoing::new(1));
        let id = table.open().unwrap();
        let complete = spawn(&table, move |table| {
            table.complete(&RequestId::Number(id), Err(busy()))
        });
        let close = spawn(&table, |table| table.close(&Closed::local()));
        let answer = block_on(poll_fn(|cx| table.poll(id, cx)));
        let is_completed = complete.join().unwrap();
        close.join().unwrap();
        assert_eq!(matches!(answer, Err(CallError::Busy { .. })), is_completed);
        assert!(table.is_empty());
        assert!(matches!(table.open(), Err(CallError::Closed(_))));
    });
}

#[test]
fn only_one_of_two_responses_to_a_request_is_delivered() {
    loom::model(|| {
        let table = Arc::new(Outgoing::new(1));
        let id = table.open().unwrap();
        let first = spawn(&table, move |table| {
            table.complete(&RequestId::Number(id), Err(busy()))
        });
        let second = spawn(&table, move |table| {
            table.complete(&RequestId::Number(id), Err(closed()))
        });
        let answer = block_on(poll_fn(|cx| table.poll(id, cx)));
        let first = first.join().unwrap();
        assert!(first != second.join().unwrap());
        assert_eq!(matches!(answer, Err(CallError::Busy { .. })), first);
        assert!(table.is_empty());
    });
}

#[test]
fn a_withdrawn_call_is_forgotten_and_another_call_can_start() {
    loom::model(|| {
        let table = Arc::new(Outgoing::new(1));
        let id = table.open().unwrap();
        let complete = spawn(&table, move |table| {
            table.complete(&RequestId::Number(id), Err(busy()))
        });
        let withdraw = spawn(&table, move |table| table.withdraw(id));
        let next = table.open();
        let is_completed = complete.join().unwrap();
        // The peer is told only if there was no response.
        assert!(is_completed != withdraw.join().unwrap());
        assert_eq!(table.len(), usize::from(next.is_ok()));
        assert!(next.is_ok() || matches!(next, Err(CallError::Busy { .. })));
    });
}

#[test]
fn an_exchange_ends_once_and_notifies_its_handler() {
    loom::model(|| {
        let exchange = Arc::new(exchange());
        let settle = spawn(&exchange, Exchange::settle);
        let cancel = spawn(&exchange, Exchange::cancel);
        block_on(exchange.cancelled());
        assert!(!exchange.is_running());
        let is_settled = settle.join().unwrap();
        assert!(is_settled != cancel.join().unwrap());
        assert_eq!(exchange.is_cancelled(), !is_settled);
    });
}

#[test]
fn a_request_with_an_id_in_use_does_not_affect_the_first_request() {
    loom::model(|| {
        let table = Arc::new(Incoming::new(2));
        let (first, second) = (exchange(), exchange());
        let (one, two) = (first.clone(), second.clone());
        let insert = spawn(&table, move |table| table.insert(&one));
        let duplicate = spawn(&table, move |table| {
            let is_inserted = table.insert(&two);
            if !is_inserted {
                table.forget(&two);
            }
            is_inserted
        });
        table.cancelled(Some(r#"{"requestId":1}"#));
        let inserted = [insert.join().unwrap(), duplicate.join().unwrap()];
        let exchanges = [first, second];
        for (exchange, is_inserted) in exchanges.iter().zip(inserted) {
            assert!(is_inserted || !exchange.is_cancelled());
        }
        let cancelled = exchanges.iter().filter(|it| it.is_cancelled()).count();
        let inserted = inserted.into_iter().filter(|is| *is).count();
        assert!(inserted > 0);
        assert_eq!(table.len(), inserted - cancelled);
    });
}

#[test]
fn a_disconnect_cancels_each_earlier_request_exactly_once() {
    loom::model(|| {
        let table = Arc::new(Incoming::new(1));
        let request = exchange();
        let (one, two) = (request.clone(), request.clone());
        let insert = spawn(&table, move |table| table.insert(&one));
        let settle = spawn(&table, move |table| {
            let is_settled = two.settle();
            table.forget(&two);
            is_settled
        });
        table.cancel_all();
        assert!(insert.join().unwrap());
        assert_eq!(request.is_cancelled(), !settle.join().unwrap());
    });
}

/// Takes frames until the queue is closed and empty.
fn take_all(outbox: &Outbox) -> Vec<u8> {
    let mut taken = Vec::new();
    let mut spare = Vec::new();
    let mut poll = |cx: &mut Context<'_>| {
        loop {
            match outbox.poll_take(cx, &mut spare) {
                Poll::Ready(true) => taken.append(&mut spare),
                Poll::Ready(false) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    };
    block_on(poll_fn(&mut poll));
    taken
}

#[test]
fn every_frame_before_the_end_is_written_once() {
    loom::model(|| {
        let outbox = Arc::new(Outbox::new(100));
        let push = spawn(&outbox, |outbox| outbox.push(|out| out.push(b'a')));
        let close = spawn(&outbox, Outbox::close);
        let taken = take_all(&outbox);
        push.join().unwrap();
        close.join().unwrap();
        // A frame after the end is dropped.
        assert!([&b"a\n"[..], b""].contains(&&*taken));
    });
}

#[test]
fn a_request_continues_when_the_full_queue_has_capacity_again() {
    loom::model(|| {
        let outbox = Arc::new(Outbox::new(2));
        outbox.push(|out| out.push(b'a'));
        let room = spawn(&outbox, |outbox| {
            block_on(poll_fn(|cx| outbox.poll_room(cx)))
        });
        let close = spawn(&outbox, Outbox::close);
        assert_eq!(take_all(&outbox), b"a\n");
        room.join().unwrap();
        close.join().unwrap();
    });
}
