//! Authorization.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_protocol::{BoxFuture, TransportError};
use mcp_transport_http::{AfterRefusal, Authorize, HttpTransport};
use mcp_types::method;
use serde_json::json;

use crate::support::*;

/// An authorizer that counts its tokens. Each token is bound to the method and the path.
#[derive(Default, Clone)]
struct Tokens(Arc<State>);

#[derive(Default)]
struct State {
    token: AtomicU32,
    refusals: Mutex<Vec<(u16, String)>>,
    nonces: Mutex<Vec<String>>,
    broken: Option<&'static str>,
    stubborn: bool,
}

impl Authorize for Tokens {
    fn authorize<'a>(
        &'a self,
        request: &'a mut http::request::Parts,
    ) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move {
            if let Some(problem) = self.0.broken {
                return Err(TransportError::new(problem));
            }
            assert!(
                request.headers.contains_key("accept") || request.method == http::Method::DELETE
            );
            let token = self.0.token.load(Ordering::Relaxed);
            let proof = format!("{} {} {token}", request.method, request.uri.path());
            request
                .headers
                .insert("authorization", proof.parse().unwrap());
            Ok(())
        })
    }

    fn responded(&self, response: &http::response::Parts) {
        if let Some(nonce) = response.headers.get("dpop-nonce") {
            self.0
                .nonces
                .lock()
                .unwrap()
                .push(nonce.to_str().unwrap().to_owned());
        }
    }

    fn refused<'a>(
        &'a self,
        request: &'a http::request::Parts,
        response: &'a http::response::Parts,
    ) -> BoxFuture<'a, Result<AfterRefusal, TransportError>> {
        Box::pin(async move {
            let used = request.headers["authorization"]
                .to_str()
                .unwrap()
                .to_owned();
            let refusal = (response.status.as_u16(), used);
            self.0.refusals.lock().unwrap().push(refusal);
            if self.0.stubborn {
                return Ok(AfterRefusal::GiveUp);
            }
            self.0.token.fetch_add(1, Ordering::Relaxed);
            Ok(AfterRefusal::SendAgain)
        })
    }
}

async fn pair(tokens: Tokens) -> Pair {
    let (wire, server) = wire();
    let http = http(wire, quiet_but_listening()).authorize(tokens);
    Pair::with(http, server, ear()).await
}

#[tokio::test(start_paused = true)]
async fn the_authorizer_receives_the_method_and_url_of_every_request() {
    let mut pair = pair(Tokens::default()).await;
    let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
    let seen = pair.server.expect(method::INITIALIZE).await;
    assert_eq!(seen.header("authorization"), Some("POST /mcp 0"));
    seen.respond(307, &[("location", "/moved")], "");
    let seen = pair.server.expect(method::INITIALIZE).await;
    assert_eq!(seen.header("authorization"), Some("POST /moved 0"));
    seen.open(Some(SESSION), "2025-11-25");
    opening.await.unwrap().unwrap().unwrap();
    pair.notify(method::NOTIFICATIONS_INITIALIZED);
    let seen = pair.server.expect(method::NOTIFICATIONS_INITIALIZED).await;
    assert_eq!(seen.header("authorization"), Some("POST /mcp 0"));
    seen.accept();
    let seen = pair.server.expect_get().await;
    assert_eq!(seen.header("authorization"), Some("GET /mcp 0"));
    drop(pair.connection);
    let end = pair.server.next().await;
    assert_eq!(end.header("authorization"), Some("DELETE /mcp 0"));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_message_is_sent_again_if_the_authorizer_decides_so() {
    for status in [401, 403] {
        let tokens = Tokens::default();
        let mut pair = pair(tokens.clone()).await.opened(Some(SESSION)).await;
        pair.server.expect_get().await.status(405);
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        let id = seen.id();
        seen.respond(status, &[("dpop-nonce", "n1")], "");
        let again = pair.server.expect(method::TOOLS_CALL).await;
        // The server did not execute the request, so it keeps its id.
        assert_eq!(again.id(), id);
        assert_eq!(again.header("authorization"), Some("POST /mcp 1"));
        again.answer(&json!({}));
        result(call).await;
        let refusals = tokens.0.refusals.lock().unwrap().clone();
        assert_eq!(refusals, [(status, "POST /mcp 0".to_owned())]);
        assert_eq!(*tokens.0.nonces.lock().unwrap(), ["n1"]);

        let call = pair.call(method::TOOLS_LIST);
        // Three reasons to send a message again (a token, more scopes, a nonce), and no fourth
        // attempt.
        for _ in 0..4 {
            pair.server.expect(method::TOOLS_LIST).await.status(status);
        }
        let error = failure(call).await;
        assert!(error.contains(&status.to_string()), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_rejection_remains_if_the_authorizer_gives_up() {
    let tokens = Tokens(Arc::new(State {
        stubborn: true,
        ..State::default()
    }));
    let mut pair = pair(tokens).await.opened(Some(SESSION)).await;
    pair.server.expect_get().await.status(405);
    let call = pair.call(method::TOOLS_CALL);
    pair.server.expect(method::TOOLS_CALL).await.status(401);
    let error = failure(call).await;
    assert!(error.contains("401 Unauthorized"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_authorized_is_not_sent() {
    let tokens = Tokens(Arc::new(State {
        broken: Some("the user has not logged in"),
        ..State::default()
    }));
    let mut pair = pair(tokens).await;
    let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
    assert_eq!(failure(opening).await, "the user has not logged in");
    pair.server
        .receives_nothing_for(std::time::Duration::from_secs(60))
        .await;
}

#[tokio::test(start_paused = true)]
async fn headers_and_a_token_are_sent_with_every_message() {
    let (wire, server) = wire();
    let http = HttpTransport::new(URL)
        .unwrap()
        .service(wire)
        .options(quiet());
    let http = http
        .bearer("t0ken")
        .unwrap()
        .header("X-Tenant", "blue")
        .unwrap();
    let mut pair = Pair::with(http, server, ear())
        .await
        .opened(Some(SESSION))
        .await;
    let headers = pair.headers_of(method::TOOLS_CALL).await;
    assert_eq!(headers["authorization"], "Bearer t0ken");
    assert_eq!(headers["x-tenant"], "blue");
}

/// A function that returns a new token at each call, as long as there is one.
fn tokens(
    tokens: &'static [&str],
) -> impl Fn() -> BoxFuture<'static, Result<BTreeMap<String, String>, TransportError>> {
    let next = AtomicUsize::new(0);
    move || {
        let token = tokens.get(next.fetch_add(1, Ordering::Relaxed));
        let headers = token.map(|token| ("X-Token".to_owned(), (*token).to_owned()));
        let headers = headers.ok_or_else(|| TransportError::new("there are no more tokens"));
        Box::pin(std::future::ready(
            headers.map(|header| BTreeMap::from([header])),
        ))
    }
}

#[tokio::test(start_paused = true)]
async fn refused_headers_are_renewed() {
    let (wire, server) = wire();
    let http = http(wire, quiet_but_listening()).header("x-token", "one");
    let http = http
        .unwrap()
        .renew_headers(tokens(&["token-two", "token-two"]));
    let pair = Pair::with(http, server, ear()).await;
    let mut pair = pair.opened(Some(SESSION)).await;
    pair.server.expect_get().await.status(405);
    // Both messages are refused, and the headers are renewed once.
    let calls = [pair.call(method::TOOLS_CALL), pair.call(method::TOOLS_LIST)];
    let refused = [pair.server.next().await, pair.server.next().await];
    for seen in refused {
        assert_eq!(seen.header("x-token"), Some("one"));
        seen.status(401);
    }
    for _ in 0..2 {
        let seen = pair.server.next().await;
        assert_eq!(seen.header("x-token"), Some("token-two"));
        seen.answer(&json!({}));
    }
    for call in calls {
        result(call).await;
    }
    // The function is not called again within 10 s, and not for status 403.
    for (status, waits) in [(401, false), (403, true)] {
        if waits {
            tokio::time::advance(std::time::Duration::from_secs(11)).await;
        }
        let call = pair.call(method::TOOLS_LIST);
        pair.server.expect(method::TOOLS_LIST).await.status(status);
        let error = failure(call).await;
        assert!(error.contains(&status.to_string()), "{error}");
    }
    // Equal headers are not sent again, and an error does not contain them.
    let call = pair.call(method::TOOLS_LIST);
    let seen = pair.server.expect(method::TOOLS_LIST).await;
    let body = r#"{"error_description":"token-two has expired"}"#;
    seen.respond(401, &[("content-type", "application/json")], body);
    let error = failure(call).await;
    assert!(
        error.contains("401") && error.contains("[secret] has expired"),
        "{error}"
    );
    // If the function fails, the message fails with its error. Messages that were refused meanwhile do not call it again.
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    let calls = [pair.call(method::TOOLS_LIST), pair.call(method::TOOLS_LIST)];
    for seen in [pair.server.next().await, pair.server.next().await] {
        seen.status(401);
    }
    let mut errors = Vec::new();
    for call in calls {
        errors.push(failure(call).await);
    }
    let is_error = |error: &&String| **error == "there are no more tokens";
    assert_eq!(errors.iter().filter(is_error).count(), 1, "{errors:?}");
    assert!(
        errors.iter().any(|error| error.contains("401")),
        "{errors:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_does_not_contain_current_or_former_headers() {
    let (wire, server) = wire();
    let http = http(wire, quiet_but_listening()).header("x-token", "token-one");
    let http = http
        .unwrap()
        .renew_headers(tokens(&["token-two", "token-three"]));
    let pair = Pair::with(http, server, ear()).await;
    let mut pair = pair.opened(Some(SESSION)).await;
    pair.server.expect_get().await.status(405);
    let renewed = pair.call(method::TOOLS_LIST);
    pair.server.expect(method::TOOLS_LIST).await.status(401);
    pair.server
        .expect(method::TOOLS_LIST)
        .await
        .answer(&json!({}));
    result(renewed).await;
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    let slow = pair.call(method::PROMPTS_LIST);
    let of_slow = pair.server.expect(method::PROMPTS_LIST).await;
    assert_eq!(of_slow.header("x-token"), Some("token-two"));
    let renewed = pair.call(method::TOOLS_LIST);
    pair.server.expect(method::TOOLS_LIST).await.status(401);
    let seen = pair.server.expect(method::TOOLS_LIST).await;
    assert_eq!(seen.header("x-token"), Some("token-three"));
    seen.answer(&json!({}));
    result(renewed).await;
    let body = r#"{"error_description":"token-one, token-two and token-three are not valid"}"#;
    of_slow.respond(403, &[("content-type", "application/json")], body);
    let error = failure(slow).await;
    assert!(
        error.contains("[secret], [secret] and [secret] are not valid"),
        "{error}"
    );
}

/// Waits for a message with this method. Accepts the notifications before it, which report cancelled messages.
async fn message(server: &mut Server, method: &str) -> ReceivedRequest {
    loop {
        let seen = server.next().await;
        if seen.json()["method"] == method {
            return seen;
        }
        assert_eq!(seen.json()["method"], method::NOTIFICATIONS_CANCELLED);
        seen.accept();
    }
}

/// A caller that cancels its message must not call the function again and again.
#[tokio::test(start_paused = true)]
async fn headers_are_renewed_although_the_message_is_cancelled() {
    let (wire, server) = wire();
    let (calls, open) = (
        Arc::<AtomicUsize>::default(),
        Arc::new(tokio::sync::Notify::new()),
    );
    let (counted, opened) = (Arc::clone(&calls), Arc::clone(&open));
    let renew = move || -> BoxFuture<'static, _> {
        counted.fetch_add(1, Ordering::Relaxed);
        let opened = Arc::clone(&opened);
        Box::pin(async move {
            opened.notified().await;
            Ok(BTreeMap::from([("X-Token".to_owned(), "two".to_owned())]))
        })
    };
    let http = http(wire, quiet_but_listening()).renew_headers(renew);
    let pair = Pair::with(http, server, ear()).await;
    let mut pair = pair.opened(Some(SESSION)).await;
    pair.server.expect_get().await.status(405);
    for _ in 0..3 {
        let call = pair.call(method::TOOLS_LIST);
        message(&mut pair.server, method::TOOLS_LIST)
            .await
            .status(401);
        // sleep: the clock is paused, so the refusal is handled before the clock advances.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        call.abort();
        let _ = call.await;
    }
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    open.notify_one();
    let call = pair.call(method::PROMPTS_LIST);
    let seen = message(&mut pair.server, method::PROMPTS_LIST).await;
    assert_eq!(seen.header("x-token"), Some("two"));
    seen.answer(&json!({}));
    result(call).await;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}
