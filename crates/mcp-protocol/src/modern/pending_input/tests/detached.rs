//! Tests of a detached handler that waits for responses.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use mcp_jsonrpc::ErrorObject;

use super::*;
use crate::AskError;

type ElicitResult = Result<String, AskError>;

fn fits(answer: &str) -> Result<(), String> {
    (answer.len() < 9)
        .then_some(())
        .ok_or("too long".to_owned())
}

async fn ask(pending: &Arc<PendingInput>, key: Option<&str>, what: u32) -> ElicitResult {
    let check = |it: &String| fits(it);
    pending
        .ask_detached(key, ROOTS, Some(json!(what)), check)
        .await
}

fn polled<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Sends an input request, and returns its future, which is pending.
fn asked<'a>(
    pending: &'a Arc<PendingInput>,
    key: Option<&'a str>,
    what: u32,
) -> Pin<Box<impl Future<Output = ElicitResult> + 'a>> {
    let mut asking = Box::pin(ask(pending, key, what));
    assert!(polled(asking.as_mut()).is_pending());
    asking
}

/// Sends an input request that has a response, and returns the response.
fn known(pending: &Arc<PendingInput>, key: Option<&str>, what: u32) -> ElicitResult {
    ready(polled(pin!(ask(pending, key, what))))
}

fn open(pending: &PendingInput) -> Vec<String> {
    pending.snapshot().requests.keys().cloned().collect()
}

fn ready<T>(poll: Poll<T>) -> T {
    match poll {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

// proves: M-TASK-037, M-TASK-038
#[test]
fn a_response_wakes_its_input_request_and_other_input_requests_stay_open() {
    let pending = PendingInput::detached(CallState::default(), 2);
    let mut one = asked(&pending, Some("one"), 1);
    let mut two = asked(&pending, Some("two"), 2);
    assert_eq!(open(&pending), ["one", "two"]);
    assert!(
        !pending.deliver("three", Ok(json!("x"))),
        "no request has the key `three`"
    );
    assert!(pending.deliver("two", Ok(json!("b"))));
    assert_eq!(open(&pending), ["one"]);
    assert!(
        !pending.deliver("two", Ok(json!("c"))),
        "the request was answered"
    );
    assert_eq!(ready(polled(two.as_mut())).unwrap(), "b");
    assert!(polled(one.as_mut()).is_pending());
    assert!(pending.deliver("one", Err(ErrorObject::internal("no"))));
    let refused = ready(polled(one.as_mut())).unwrap_err();
    assert!(matches!(refused, AskError::Rejected(error) if error.message == "no"));
    assert!(open(&pending).is_empty());
}

// proves: M-TASK-032, M-TASK-033
#[test]
fn a_key_is_never_used_for_two_input_requests_even_in_different_runs() {
    let pending = PendingInput::detached(CallState::default(), 2);
    let mut seen = Vec::new();
    let mut answer = |pending: &PendingInput, value: Value| {
        let keys = open(pending);
        assert_eq!(keys.len(), 1);
        assert!(!seen.contains(&keys[0]), "{keys:?} {seen:?}");
        seen.extend(keys.clone());
        assert!(pending.deliver(&keys[0], Ok(value)));
    };
    {
        // After an answer of the wrong type, the request is sent again with a new key, a limited
        // number of times.
        let mut asking = asked(&pending, Some("k"), 1);
        answer(&pending, json!("far too long"));
        assert!(polled(asking.as_mut()).is_pending());
        answer(&pending, json!(7));
        assert!(matches!(
            ready(polled(asking.as_mut())),
            Err(AskError::BadAnswer(_))
        ));
    }
    {
        let mut asking = asked(&pending, Some("k"), 1);
        answer(&pending, json!("good"));
        assert_eq!(ready(polled(asking.as_mut())).unwrap(), "good");
    }
    {
        let _asking = asked(&pending, Some("k"), 2);
        answer(&pending, json!("other"));
    }
    // The handler runs again: earlier responses are known, the other requests get new keys.
    let text = serde_json::to_string(&pending.snapshot().call_state).unwrap();
    let pending = PendingInput::detached(serde_json::from_str(&text).unwrap(), 2);
    assert_eq!(known(&pending, Some("k"), 1).unwrap(), "good");
    let _asking = asked(&pending, Some("k"), 3);
    answer(&pending, json!("new"));
}

#[test]
fn an_unread_response_is_used_in_the_next_run() {
    let pending = PendingInput::detached(CallState::default(), 2);
    let recorded = {
        let _asking = asked(&pending, None, 1);
        let key = open(&pending).remove(0);
        assert!(pending.deliver(&key, Ok(json!("early"))));
        pending.snapshot().call_state
    };
    let pending = PendingInput::detached(recorded, 2);
    assert_eq!(known(&pending, None, 1).unwrap(), "early");
}

#[test]
fn dropped_input_requests_are_withdrawn_and_their_number_is_limited() {
    let pending = PendingInput::detached(CallState::default(), 2);
    {
        let mut asking: Vec<_> = (0..32).map(|n| Box::pin(ask(&pending, None, n))).collect();
        for one in &mut asking {
            assert!(polled(one.as_mut()).is_pending());
        }
        let mut more = pin!(ask(&pending, None, 32));
        assert!(matches!(
            ready(polled(more.as_mut())),
            Err(AskError::Invalid(_))
        ));
    }
    assert!(open(&pending).is_empty());
    for n in 0..2_000 {
        let mut asking = pin!(ask(&pending, None, n));
        if let Poll::Ready(refused) = polled(asking.as_mut()) {
            assert!(matches!(refused, Err(AskError::Invalid(_))));
            return;
        }
    }
    panic!("the number of input requests of a call has no limit");
}

#[test]
fn watchers_are_notified_of_changes_and_wait_saved_waits_until_changes_are_stored() {
    let pending = PendingInput::detached(CallState::default(), 2);
    let start = pending.snapshot().change;
    assert!(polled(pin!(pending.changed(start))).is_pending());
    assert!(pending.set_status("half way"));
    assert!(polled(pin!(pending.changed(start))).is_ready());
    pending.begin_step().complete("mail", json!("sent"));
    let mut saving = pin!(pending.wait_saved());
    assert!(polled(saving.as_mut()).is_pending());
    let snapshot = pending.snapshot();
    assert_eq!(snapshot.message.as_deref(), Some("half way"));
    assert_eq!(snapshot.call_state.steps["mail"], "sent");
    pending.mark_saved(snapshot.change);
    assert!(polled(saving.as_mut()).is_ready());
    assert!(polled(pin!(pending.changed(snapshot.change))).is_pending());
}

#[test]
fn an_input_request_is_claimed_once() {
    let pending = PendingInput::detached(CallState::default(), 1);
    let mut asking = asked(&pending, Some("k"), 1);
    let first = pending.claim_request().unwrap();
    assert_eq!((first.method(), first.params()), (ROOTS, Some(&json!(1))));
    assert!(pending.claim_request().is_none(), "the request is open");
    let seen = pending.snapshot().change;
    drop(first);
    assert!(
        polled(pin!(pending.changed(seen))).is_ready(),
        "another request may use the capacity"
    );
    let second = pending.claim_request().unwrap();
    assert!(polled(pin!(second.withdrawn())).is_pending());
    second.answer(Ok(json!("x")));
    assert_eq!(ready(polled(asking.as_mut())).unwrap(), "x");
    assert!(pending.claim_request().is_none());

    let asking = asked(&pending, Some("l"), 1);
    let third = pending.claim_request().unwrap();
    drop(asking);
    assert!(polled(pin!(third.withdrawn())).is_ready());
}

/// Runs a handler that detaches. Returns the response to its request, the handler and the pending input.
fn detachable(
    gone: bool,
) -> (
    Poll<Outcome>,
    Option<BoxFuture<'static, Outcome>>,
    Arc<PendingInput>,
) {
    let pending = PendingInput::new(CallState::default(), JsonObject::new());
    let its = Arc::clone(&pending);
    let handler: BoxFuture<'static, Outcome> = Box::pin(async move {
        let left = its.detach().await;
        Ok(Payload::of(json!(left.is_ok())))
    });
    let taken = Arc::new(Mutex::new(None));
    let (slot, live) = (Arc::clone(&taken), Arc::clone(&pending));
    let mut run = SuspendableHandler::new(handler, Arc::clone(&pending), |_| Ok(Payload::Empty))
        .detachable(move |handler| {
            let left = if gone {
                *lock(&slot) = Some(handler);
                live.set_detached(1);
                DetachOutcome::Detached(Ok(Payload::Empty))
            } else {
                DetachOutcome::Refused(handler, ErrorObject::internal("full"))
            };
            Box::pin(std::future::ready(left))
        });
    let outcome = polled(Pin::new(&mut run));
    let handler = lock(&taken).take();
    (outcome, handler, pending)
}

#[test]
fn a_detached_handler_continues_without_starting_again() {
    let (answered, handler, pending) = detachable(true);
    assert!(matches!(answered, Poll::Ready(Ok(Payload::Empty))));
    let outcome = ready(polled(handler.unwrap().as_mut())).unwrap();
    assert_eq!(format!("{outcome:?}"), "true");
    assert!(pending.is_detached());

    let (answered, handler, pending) = detachable(false);
    assert!(handler.is_none() && !pending.is_detached());
    assert_eq!(format!("{:?}", ready(answered).unwrap()), "false");

    let pending = PendingInput::new(CallState::default(), JsonObject::new());
    assert!(
        ready(polled(pin!(pending.detach()))).is_ok(),
        "detach must return at once"
    );
}

/// A waker that counts its wake-ups.
#[derive(Default)]
struct Wakeups(AtomicUsize);

impl Wakeups {
    fn number(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Creates a waker, and the counter of its wake-ups.
fn counted() -> (Arc<Wakeups>, Waker) {
    let wakeups = Arc::new(Wakeups::default());
    let waker = Waker::from(Arc::clone(&wakeups));
    (wakeups, waker)
}

impl Wake for Wakeups {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_handler_that_waits_to_detach_is_woken_when_it_is_detached() {
    let pending = PendingInput::new(CallState::default(), JsonObject::new());
    pending.allow_detach();
    let (wakeups, waker) = counted();
    let mut cx = Context::from_waker(&waker);
    let mut detaching = pin!(pending.detach());
    assert!(detaching.as_mut().poll(&mut cx).is_pending());
    assert!(pending.wants_to_detach());
    pending.set_detached(1);
    assert_eq!(wakeups.number(), 1);
    assert!(!pending.wants_to_detach());
    assert!(ready(detaching.as_mut().poll(&mut cx)).is_ok());
}

// A client answers a request once, and does not know when the handler sends it again.
#[test]
fn restored_input_requests_are_answered_before_the_handler_repeats_them() {
    let before = PendingInput::detached(CallState::default(), 2);
    let questions = {
        let _one = asked(&before, Some("one"), 1);
        let _two = asked(&before, Some("two"), 2);
        before.snapshot().requests
    };
    let pending = PendingInput::detached(CallState::default(), 2);
    pending.restore_requests(&questions);
    assert_eq!(pending.snapshot().requests, questions);
    assert!(pending.deliver("one", Ok(json!("a"))));
    assert!(pending.deliver("two", Err(ErrorObject::internal("no"))));
    assert!(
        !pending.deliver("one", Ok(json!("b"))),
        "the request was answered"
    );
    assert!(open(&pending).is_empty());
    assert_eq!(known(&pending, Some("one"), 1).unwrap(), "a");
    let refused = known(&pending, Some("two"), 2).unwrap_err();
    assert!(matches!(refused, AskError::Rejected(error) if error.message == "no"));

    // A new request of the handler can be opened and withdrawn as before.
    let pending = PendingInput::detached(CallState::default(), 2);
    pending.restore_requests(&questions);
    {
        let _one = asked(&pending, Some("one"), 1);
        assert_eq!(pending.snapshot().requests, questions);
    }
    assert_eq!(open(&pending), ["two"]);
}

/// The owner of the handler stores each change. The handler waits until the change is stored.
#[test]
fn a_change_wakes_its_watcher_once_and_the_store_wakes_the_handler() {
    let pending = PendingInput::detached(CallState::default(), 1);
    let (wakeups, waker) = counted();
    let mut cx = Context::from_waker(&waker);
    let mut changed = pin!(pending.changed(0));
    for _ in 0..3 {
        assert!(changed.as_mut().poll(&mut cx).is_pending());
    }
    assert!(pending.set_status("half way"));
    assert_eq!(wakeups.number(), 1);
    assert_eq!(ready(changed.as_mut().poll(&mut cx)), 1);
    let mut saved = pin!(pending.wait_saved());
    for _ in 0..3 {
        assert!(saved.as_mut().poll(&mut cx).is_pending());
    }
    pending.mark_saved(1);
    assert_eq!(wakeups.number(), 2);
    ready(saved.as_mut().poll(&mut cx));
}

#[test]
fn an_input_request_and_its_response_wake_the_watcher() {
    let pending = PendingInput::detached(CallState::default(), 1);
    let (wakeups, waker) = counted();
    let mut cx = Context::from_waker(&waker);
    let mut wait = |seen| pin!(pending.changed(seen)).poll(&mut cx);
    assert!(wait(0).is_pending());
    let _asking = asked(&pending, Some("k"), 1);
    assert_eq!(wakeups.number(), 1);
    let seen = ready(wait(0));
    assert!(wait(seen).is_pending());
    assert!(pending.deliver("k", Ok(json!("x"))));
    assert_eq!(wakeups.number(), 2);
    assert!(wait(seen).is_ready());
}

/// The future of a handler can move to another task while it waits.
#[test]
fn a_response_wakes_the_task_that_polled_its_input_request_last() {
    let pending = PendingInput::detached(CallState::default(), 1);
    let wakeups = [counted(), counted()];
    let mut asking = pin!(ask(&pending, Some("k"), 1));
    for (_, waker) in &wakeups {
        let mut cx = Context::from_waker(waker);
        assert!(asking.as_mut().poll(&mut cx).is_pending());
    }
    assert!(pending.deliver("k", Ok(json!("x"))));
    let woken = wakeups.map(|(wakeups, _)| wakeups.number());
    assert_eq!(woken, [0, 1]);
    assert_eq!(ready(polled(asking.as_mut())).unwrap(), "x");
}

#[test]
fn a_late_report_of_an_earlier_change_does_not_undo_a_later_report() {
    let pending = PendingInput::detached(CallState::default(), 1);
    for message in ["one", "two"] {
        assert!(pending.set_status(message));
    }
    let mut saved = pin!(pending.wait_saved());
    pending.mark_saved(2);
    pending.mark_saved(1);
    ready(polled(saved.as_mut()));
}

#[test]
fn a_call_sends_at_most_1024_input_requests() {
    let pending = PendingInput::detached(CallState::default(), 1);
    for number in 0..1_024 {
        drop(asked(&pending, None, number));
    }
    let refused = known(&pending, None, 1_024).unwrap_err();
    assert!(matches!(refused, AskError::Invalid(problem) if problem.contains("1024")));
}

/// The keys of withdrawn input requests are not used again, so the handler would never read the responses.
#[test]
fn the_responses_of_withdrawn_input_requests_are_not_stored() {
    let pending = PendingInput::detached(CallState::default(), 1);
    let (one, two) = (
        asked(&pending, Some("one"), 1),
        asked(&pending, Some("two"), 2),
    );
    assert!(pending.deliver("one", Ok(json!("x"))));
    assert!(pending.deliver("two", Err(ErrorObject::internal("no"))));
    drop((one, two));
    let stored = pending.snapshot();
    assert!(stored.requests.is_empty() && stored.call_state.unread.is_empty());
}
