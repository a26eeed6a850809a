//! Tests of a handler that runs in several round trips.

mod detached;

use std::pin::Pin;

use mcp_types::method;

use super::*;
use crate::{BoxFuture, Outcome, Payload};

const ROOTS: &str = method::ROOTS_LIST;

fn text(value: Value) -> Result<String, String> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| "expected a string".to_owned())
}

#[expect(
    clippy::result_large_err,
    reason = "one of two things that a test looks at"
)]
/// Runs a handler for one round trip. Returns the handler's result, or the input that it requires.
fn round<F>(
    recorded: CallState,
    responses: Value,
    handler: impl FnOnce(Arc<PendingInput>) -> F,
) -> Result<Value, Result<InputRequired, PendingInputError>>
where
    F: Future<Output = Value> + Send + 'static,
{
    let responses = responses.as_object().cloned().unwrap_or_default();
    let pending = PendingInput::new(recorded, responses);
    let handler = handler(Arc::clone(&pending));
    let stopped = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&stopped);
    let run = Box::pin(async move { Ok(Payload::of(handler.await)) });
    let mut run = SuspendableHandler::new(run, pending, move |required| {
        *lock(&slot) = Some(required);
        Ok(Payload::Empty)
    });
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(payload)) = Pin::new(&mut run).poll(&mut cx) else {
        panic!("the run neither ended nor stopped");
    };
    if let Some(required) = lock(&stopped).take() {
        return Err(required);
    }
    let mut out = Vec::new();
    payload.write(&mut out);
    Ok(serde_json::from_slice(&out).unwrap())
}

async fn two_questions(pending: Arc<PendingInput>) -> Value {
    let name = pending.ask(Some("name"), ROOTS, None, text).await;
    let color = pending
        .ask(None, ROOTS, Some(json!({"for": name})), text)
        .await;
    json!(format!("{name} likes {color}"))
}

// proves: M-MRTR-002, M-MRTR-009, M-MRTR-020, M-MRTR-023, M-MRTR-033, M-MRTR-034
#[test]
fn each_round_trip_uses_known_responses_and_requests_the_rest() {
    let first = round(CallState::default(), json!({}), two_questions)
        .unwrap_err()
        .unwrap();
    assert_eq!(
        Value::from(first.requests),
        json!({"name": {"method": "roots/list"}})
    );
    assert_eq!(first.call_state, None, "there is nothing to remember yet");

    // A missing or invalid response is requested again; a response without an input request is ignored.
    for responses in [json!({}), json!({"name": 7}), json!({"other": "x"})] {
        let again = round(CallState::default(), responses, two_questions)
            .unwrap_err()
            .unwrap();
        assert!(again.requests.contains_key("name"));
    }

    let responses = json!({"name": "Ann", "other": "x"});
    let second = round(CallState::default(), responses, two_questions)
        .unwrap_err()
        .unwrap();
    let key = second.requests.keys().next().unwrap().clone();
    assert_ne!(key, "name");
    let recorded = second.call_state.unwrap();
    let sealed = serde_json::to_string(&recorded).unwrap();
    let recorded = serde_json::from_str(&sealed).unwrap();
    let answer = round(recorded, json!({key: "blue"}), two_questions).unwrap();
    assert_eq!(answer, "Ann likes blue");
}

#[test]
fn concurrent_input_requests_take_one_round_trip() {
    let both = |pending: Arc<PendingInput>| async move {
        let one = pending.ask(None, ROOTS, Some(json!(1)), text);
        let two = pending.ask(None, ROOTS, Some(json!(1)), text);
        let (mut one, mut two) = (Box::pin(one), Box::pin(two));
        let (mut first, mut second) = (None, None);
        poll_fn(move |cx| {
            if let Poll::Ready(answer) = one.as_mut().poll(cx) {
                first = Some(answer);
            }
            if let Poll::Ready(answer) = two.as_mut().poll(cx) {
                second = Some(answer);
            }
            match (&first, &second) {
                (Some(one), Some(two)) => Poll::Ready(json!([one, two])),
                _ => Poll::Pending,
            }
        })
        .await
    };
    let asked = round(CallState::default(), json!({}), both)
        .unwrap_err()
        .unwrap();
    let keys: Vec<_> = asked.requests.keys().cloned().collect();
    assert_eq!(keys.len(), 2, "the same question twice is two questions");
    let responses = json!({keys[0].clone(): "a", keys[1].clone(): "b"});
    assert_eq!(
        round(CallState::default(), responses, both).unwrap(),
        json!(["a", "b"])
    );
}

#[test]
fn a_dropped_input_request_is_not_sent() {
    let answer = round(CallState::default(), json!({}), |pending| async move {
        let mut asking = Box::pin(pending.ask(None, ROOTS, None, text));
        poll_fn(|cx| {
            assert!(asking.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(asking);
        json!("done")
    });
    assert_eq!(answer.unwrap(), "done");
}

#[test]
fn a_handler_is_suspended_only_after_its_memoized_step_completes() {
    let pending = PendingInput::new(CallState::default(), JsonObject::new());
    let (asks, works) = (Arc::clone(&pending), Arc::clone(&pending));
    let working = Arc::new(Mutex::new(Some(works.begin_step())));
    let handler: BoxFuture<'static, Outcome> = Box::pin(async move {
        asks.ask(None, ROOTS, None, text).await;
        Ok(Payload::Empty)
    });
    let stopped = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&stopped);
    let mut run = SuspendableHandler::new(handler, pending, move |required| {
        *lock(&slot) = Some(required);
        Ok(Payload::Empty)
    });
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut run).poll(&mut cx).is_pending());
    let working = lock(&working).take().unwrap();
    working.complete("mail", json!("sent"));
    assert!(Pin::new(&mut run).poll(&mut cx).is_ready());
    let required = lock(&stopped).take().unwrap().unwrap();
    assert_eq!(required.call_state.unwrap().steps["mail"], "sent");
}

#[test]
fn a_handler_that_changes_its_input_requests_fails_the_call() {
    let volatile = |n: u32| {
        move |pending: Arc<PendingInput>| async move {
            drop(pending.begin_step());
            let working = pending.begin_step();
            working.complete("started", json!(true));
            json!(pending.ask(None, ROOTS, Some(json!(n)), text).await)
        }
    };
    let first = round(CallState::default(), json!({}), volatile(1))
        .unwrap_err()
        .unwrap();
    let key = first.requests.keys().next().unwrap().clone();
    let failed = round(first.call_state.unwrap(), json!({key: "x"}), volatile(2));
    assert_eq!(failed.unwrap_err().unwrap_err(), PendingInputError::Changed);
}

#[test]
fn round_trips_and_input_requests_are_limited() {
    let endless = CallState {
        round_trips: MAX_ROUND_TRIPS,
        ..CallState::default()
    };
    let failed = round(endless, json!({}), two_questions)
        .unwrap_err()
        .unwrap_err();
    assert_eq!(failed, PendingInputError::RoundTrips(MAX_ROUND_TRIPS));
    let many = |pending: Arc<PendingInput>| async move {
        let mut asking: Vec<_> = (0..=MAX_REQUESTS)
            .map(|n| Box::pin(pending.ask(None, ROOTS, Some(json!(n)), text)))
            .collect();
        poll_fn(move |cx| {
            for one in &mut asking {
                assert!(one.as_mut().poll(cx).is_pending());
            }
            Poll::Pending
        })
        .await
    };
    let failed = round(CallState::default(), json!({}), many)
        .unwrap_err()
        .unwrap_err();
    assert_eq!(failed, PendingInputError::Requests(MAX_REQUESTS));
}
