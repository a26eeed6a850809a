//! One handler that waits where it is.

use std::pin::pin;

use mcp_jsonrpc::ErrorObject;

use super::*;
use crate::AskError;

type Asked = Result<String, AskError>;

fn fits(answer: &str) -> Result<(), String> {
    (answer.len() < 9)
        .then_some(())
        .ok_or("too long".to_owned())
}

async fn ask(ledger: &Arc<Ledger>, key: Option<&str>, what: u32) -> Asked {
    let check = |it: &String| fits(it);
    ledger.ask_live(key, ROOTS, Some(json!(what)), check).await
}

fn polled<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn open(ledger: &Ledger) -> Vec<String> {
    ledger.snapshot().questions.keys().cloned().collect()
}

fn ready<T>(poll: Poll<T>) -> T {
    match poll {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

// proves: M-TASK-037, M-TASK-038
#[test]
fn an_answer_wakes_who_asked_and_the_other_questions_stay_open() {
    let ledger = Ledger::live(Recorded::default(), 2);
    let (mut one, mut two) = (
        pin!(ask(&ledger, Some("one"), 1)),
        pin!(ask(&ledger, Some("two"), 2)),
    );
    assert!(polled(one.as_mut()).is_pending() && polled(two.as_mut()).is_pending());
    assert_eq!(open(&ledger), ["one", "two"]);
    assert!(
        !ledger.deliver("three", Ok(json!("x"))),
        "nobody asked that"
    );
    assert!(ledger.deliver("two", Ok(json!("b"))));
    assert_eq!(open(&ledger), ["one"]);
    assert!(!ledger.deliver("two", Ok(json!("c"))), "it was answered");
    assert_eq!(ready(polled(two.as_mut())).unwrap(), "b");
    assert!(polled(one.as_mut()).is_pending());
    assert!(ledger.deliver("one", Err(ErrorObject::internal("no"))));
    let refused = ready(polled(one.as_mut())).unwrap_err();
    assert!(matches!(refused, AskError::Rejected(error) if error.message == "no"));
    assert!(open(&ledger).is_empty());
}

// proves: M-TASK-032, M-TASK-033
#[test]
fn no_key_is_used_for_two_questions_in_a_life_of_several_runs() {
    let ledger = Ledger::live(Recorded::default(), 2);
    let mut seen = Vec::new();
    let mut answer = |ledger: &Ledger, value: Value| {
        let keys = open(ledger);
        assert_eq!(keys.len(), 1);
        assert!(!seen.contains(&keys[0]), "{keys:?} {seen:?}");
        seen.extend(keys.clone());
        assert!(ledger.deliver(&keys[0], Ok(value)));
    };
    {
        // An answer that does not fit is asked for again, as another question, and not for ever.
        let mut asking = pin!(ask(&ledger, Some("k"), 1));
        assert!(polled(asking.as_mut()).is_pending());
        answer(&ledger, json!("far too long"));
        assert!(polled(asking.as_mut()).is_pending());
        answer(&ledger, json!(7));
        assert!(matches!(
            ready(polled(asking.as_mut())),
            Err(AskError::BadAnswer(_))
        ));
    }
    {
        let mut asking = pin!(ask(&ledger, Some("k"), 1));
        assert!(polled(asking.as_mut()).is_pending());
        answer(&ledger, json!("good"));
        assert_eq!(ready(polled(asking.as_mut())).unwrap(), "good");
    }
    {
        let mut asking = pin!(ask(&ledger, Some("k"), 2));
        assert!(polled(asking.as_mut()).is_pending());
        answer(&ledger, json!("other"));
    }
    // It is run again: what was answered is known, the rest gets keys of its own.
    let text = serde_json::to_string(&ledger.snapshot().recorded).unwrap();
    let ledger = Ledger::live(serde_json::from_str(&text).unwrap(), 2);
    let mut asking = pin!(ask(&ledger, Some("k"), 1));
    assert_eq!(ready(polled(asking.as_mut())).unwrap(), "good");
    let mut asking = pin!(ask(&ledger, Some("k"), 3));
    assert!(polled(asking.as_mut()).is_pending());
    answer(&ledger, json!("new"));
}

#[test]
fn an_answer_that_came_before_the_end_of_a_run_counts_in_the_next() {
    let ledger = Ledger::live(Recorded::default(), 2);
    let recorded = {
        let mut asking = pin!(ask(&ledger, None, 1));
        assert!(polled(asking.as_mut()).is_pending());
        let key = open(&ledger).remove(0);
        assert!(ledger.deliver(&key, Ok(json!("early"))));
        ledger.snapshot().recorded
    };
    let ledger = Ledger::live(recorded, 2);
    let mut asking = pin!(ask(&ledger, None, 1));
    assert_eq!(ready(polled(asking.as_mut())).unwrap(), "early");
}

#[test]
fn questions_that_are_dropped_are_withdrawn_and_there_is_a_limit() {
    let ledger = Ledger::live(Recorded::default(), 2);
    {
        let mut asking: Vec<_> = (0..32).map(|n| Box::pin(ask(&ledger, None, n))).collect();
        for one in &mut asking {
            assert!(polled(one.as_mut()).is_pending());
        }
        let mut more = pin!(ask(&ledger, None, 32));
        assert!(matches!(
            ready(polled(more.as_mut())),
            Err(AskError::Invalid(_))
        ));
    }
    assert!(open(&ledger).is_empty());
    for n in 0..2_000 {
        let mut asking = pin!(ask(&ledger, None, n));
        if let Poll::Ready(refused) = polled(asking.as_mut()) {
            assert!(matches!(refused, Err(AskError::Invalid(_))));
            return;
        }
    }
    panic!("a call may ask for ever");
}

#[test]
fn changes_are_told_and_what_must_be_kept_waits_for_it() {
    let ledger = Ledger::live(Recorded::default(), 2);
    let start = ledger.snapshot().number;
    assert!(polled(pin!(ledger.changed(start))).is_pending());
    assert!(ledger.say("half way"));
    assert!(polled(pin!(ledger.changed(start))).is_ready());
    ledger.working().done("mail", json!("sent"));
    let mut saving = pin!(ledger.saving());
    assert!(polled(saving.as_mut()).is_pending());
    let snapshot = ledger.snapshot();
    assert_eq!(snapshot.message.as_deref(), Some("half way"));
    assert_eq!(snapshot.recorded.notes["mail"], "sent");
    ledger.saved(snapshot.number);
    assert!(polled(saving.as_mut()).is_ready());
    assert!(polled(pin!(ledger.changed(snapshot.number))).is_pending());
}

#[test]
fn a_question_is_put_to_the_client_by_one_at_a_time() {
    let ledger = Ledger::live(Recorded::default(), 1);
    let mut asking = Box::pin(ask(&ledger, Some("k"), 1));
    assert!(polled(asking.as_mut()).is_pending());
    let first = ledger.claim().unwrap();
    assert_eq!((first.method(), first.params()), (ROOTS, Some(&json!(1))));
    assert!(ledger.claim().is_none(), "it is being asked");
    let seen = ledger.snapshot().number;
    drop(first);
    assert!(
        polled(pin!(ledger.changed(seen))).is_ready(),
        "others may ask it now"
    );
    let second = ledger.claim().unwrap();
    assert!(polled(pin!(second.withdrawn())).is_pending());
    second.answer(Ok(json!("x")));
    assert_eq!(ready(polled(asking.as_mut())).unwrap(), "x");
    assert!(ledger.claim().is_none());

    let mut asking = Box::pin(ask(&ledger, Some("l"), 1));
    assert!(polled(asking.as_mut()).is_pending());
    let third = ledger.claim().unwrap();
    drop(asking);
    assert!(polled(pin!(third.withdrawn())).is_ready());
}

/// A request whose handler leaves; what answered it, the handler, and whether it went on.
fn leaving(
    gone: bool,
) -> (
    Poll<Outcome>,
    Option<BoxFuture<'static, Outcome>>,
    Arc<Ledger>,
) {
    let ledger = Ledger::new(Recorded::default(), JsonObject::new());
    let its = Arc::clone(&ledger);
    let handler: BoxFuture<'static, Outcome> = Box::pin(async move {
        let left = its.leave().await;
        Ok(Payload::of(json!(left.is_ok())))
    });
    let taken = Arc::new(Mutex::new(None));
    let (slot, live) = (Arc::clone(&taken), Arc::clone(&ledger));
    let mut run = Suspending::new(handler, Arc::clone(&ledger), |_| Ok(Payload::Empty)).leaving(
        move |handler| {
            let left = if gone {
                *lock(&slot) = Some(handler);
                live.go_live(1);
                Left::Gone(Ok(Payload::Empty))
            } else {
                Left::Stays(handler, ErrorObject::internal("full"))
            };
            Box::pin(std::future::ready(left))
        },
    );
    let outcome = polled(Pin::new(&mut run));
    let handler = lock(&taken).take();
    (outcome, handler, ledger)
}

#[test]
fn a_handler_leaves_its_request_and_goes_on_as_it_was() {
    let (answered, handler, ledger) = leaving(true);
    assert!(matches!(answered, Poll::Ready(Ok(Payload::Empty))));
    let outcome = ready(polled(handler.unwrap().as_mut())).unwrap();
    assert_eq!(format!("{outcome:?}"), "true");
    assert!(ledger.is_live());

    let (answered, handler, ledger) = leaving(false);
    assert!(handler.is_none() && !ledger.is_live());
    assert_eq!(format!("{:?}", ready(answered).unwrap()), "false");

    let ledger = Ledger::new(Recorded::default(), JsonObject::new());
    assert!(
        ready(polled(pin!(ledger.leave()))).is_ok(),
        "nobody takes it"
    );
}

// A client answers a question once, and does not know when the handler comes to it again.
#[test]
fn what_was_open_before_a_restart_is_answered_before_it_is_asked_again() {
    let before = Ledger::live(Recorded::default(), 2);
    let questions = {
        let (mut one, mut two) = (
            pin!(ask(&before, Some("one"), 1)),
            pin!(ask(&before, Some("two"), 2)),
        );
        assert!(polled(one.as_mut()).is_pending() && polled(two.as_mut()).is_pending());
        before.snapshot().questions
    };
    let ledger = Ledger::live(Recorded::default(), 2);
    ledger.reopen(&questions);
    assert_eq!(ledger.snapshot().questions, questions);
    assert!(ledger.deliver("one", Ok(json!("a"))));
    assert!(ledger.deliver("two", Err(ErrorObject::internal("no"))));
    assert!(!ledger.deliver("one", Ok(json!("b"))), "it was answered");
    assert!(open(&ledger).is_empty());
    let mut one = pin!(ask(&ledger, Some("one"), 1));
    assert_eq!(ready(polled(one.as_mut())).unwrap(), "a");
    let mut two = pin!(ask(&ledger, Some("two"), 2));
    let refused = ready(polled(two.as_mut())).unwrap_err();
    assert!(matches!(refused, AskError::Rejected(error) if error.message == "no"));

    // What the handler comes to first is open as ever, and withdrawn as ever.
    let ledger = Ledger::live(Recorded::default(), 2);
    ledger.reopen(&questions);
    {
        let mut one = pin!(ask(&ledger, Some("one"), 1));
        assert!(polled(one.as_mut()).is_pending());
        assert_eq!(ledger.snapshot().questions, questions);
    }
    assert_eq!(open(&ledger), ["two"]);
}
