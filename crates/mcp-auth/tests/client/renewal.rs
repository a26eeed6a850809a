//! Tokens that expire or are rejected, and authorization servers that change.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_auth::client::{Credentials, MemoryTokenStore};
use mcp_transport_http::AfterRefusal;
use serde_json::json;

use crate::support::{
    ASM, ISSUER, Net, PRM, SERVER, accept, error, metadata, refuse, sent, shown, signed_in, token,
};

// proves: AUTH-055, M-AUTH-035
#[tokio::test]
async fn t38_fifty_rejections_cause_one_refresh() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = Arc::new(signed_in(&auth).await);
    net.tokens(|_| token("token-2"));
    let mut tasks = Vec::new();
    for _ in 0..50 {
        let (auth, message) = (auth.clone(), message.clone());
        tasks.push(tokio::spawn(async move {
            refuse(&auth, &message, 401, "Bearer error=\"invalid_token\"").await
        }));
    }
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap(), AfterRefusal::SendAgain);
    }
    let redeemed = net.redeemed();
    assert_eq!(redeemed.len(), 2);
    let refresh = &redeemed[1];
    assert_eq!(
        refresh.field("grant_type").as_deref(),
        Some("refresh_token")
    );
    assert_eq!(
        refresh.field("refresh_token").as_deref(),
        Some("refresh-of-token-1")
    );
    assert_eq!(refresh.field("resource").as_deref(), Some(SERVER));
    assert_eq!(net.visits().len(), 1);
    assert_eq!(shown(&sent(&auth).await.unwrap()), Some("token-2"));
}

#[tokio::test]
async fn t38_all_waiting_callers_receive_a_failure_and_the_token_is_kept() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = Arc::new(signed_in(&auth).await);
    net.tokens(|_| (503, String::new()));
    let mut tasks = Vec::new();
    for _ in 0..50 {
        let (auth, message) = (auth.clone(), message.clone());
        tasks.push(tokio::spawn(async move {
            refuse(&auth, &message, 401, "Bearer").await
        }));
    }
    for task in tasks {
        let error = task.await.unwrap().unwrap_err().to_string();
        assert!(error.contains("503"), "{error}");
    }
    assert_eq!(net.redeemed().len(), 2);
    assert_eq!(net.visits().len(), 1);
    // The tokens were kept: the next attempt renews them.
    net.tokens(|_| token("token-2"));
    refuse(&auth, &message, 401, "Bearer").await.unwrap();
    assert_eq!(shown(&sent(&auth).await.unwrap()), Some("token-2"));
    assert_eq!(net.visits().len(), 1);
}

#[tokio::test]
async fn t38_a_refresh_continues_if_its_caller_is_dropped() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = signed_in(&auth).await;
    net.tokens(|_| token("token-2"));
    {
        // Started, then dropped during the refresh.
        let mut refusing = Box::pin(refuse(&auth, &message, 401, "Bearer"));
        let polled = futures_poll(&mut refusing).await;
        assert!(polled.is_none());
    }
    refuse(&auth, &message, 401, "Bearer").await.unwrap();
    assert_eq!(net.redeemed().len(), 2);
    assert_eq!(shown(&sent(&auth).await.unwrap()), Some("token-2"));
}

/// Polls a future once after its tasks were started.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let polled = std::future::poll_fn(|cx| {
        let polled = std::pin::Pin::new(&mut *future).poll(cx);
        std::task::Poll::Ready(polled)
    });
    match polled.await {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test]
async fn an_expired_grant_leads_to_a_new_sign_in() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = signed_in(&auth).await;
    net.tokens(|seen| match seen.field("grant_type").as_deref() {
        Some("refresh_token") => error(400, "invalid_grant"),
        _ => token("token-2"),
    });
    refuse(&auth, &message, 401, "Bearer").await.unwrap();
    assert_eq!(net.visits().len(), 2);
    // The registration was kept.
    assert_eq!(net.registrations().len(), 1);
    assert_eq!(shown(&sent(&auth).await.unwrap()), Some("token-2"));
}

// proves: AUTH-083, M-AUTH-092
#[tokio::test]
async fn an_expired_token_is_renewed_before_it_is_sent_and_rotated_tokens_are_kept() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    signed_in(&auth).await;
    let count = Arc::new(AtomicUsize::new(1));
    net.tokens(move |_| {
        token(&format!(
            "token-{}",
            count.fetch_add(1, Ordering::SeqCst) + 1
        ))
    });
    for (number, before) in [(2, 1), (3, 2)] {
        net.wait(3_600);
        let message = sent(&auth).await.unwrap();
        assert_eq!(shown(&message).unwrap(), format!("token-{number}"));
        let refresh = net.redeemed().last().unwrap().field("refresh_token");
        assert_eq!(refresh.unwrap(), format!("refresh-of-token-{before}"));
    }
    assert_eq!(net.visits().len(), 1);
}

// proves: M-AUTH-045
#[tokio::test]
async fn without_a_refresh_token_a_rejection_leads_to_a_sign_in() {
    let net = Net::new();
    let plain = |name: &str| {
        let body = json!({ "access_token": name, "token_type": "Bearer", "expires_in": 60 });
        (200, body.to_string())
    };
    net.tokens(move |_| plain("token-1"));
    let auth = net.client().build().unwrap();
    signed_in(&auth).await;
    net.wait(60);
    net.tokens(move |_| plain("token-2"));
    let message = sent(&auth).await.unwrap();
    assert_eq!((shown(&message), net.visits().len()), (Some("token-1"), 1));
    refuse(&auth, &message, 401, "Bearer").await.unwrap();
    assert_eq!(net.visits().len(), 2);
}

// proves: AUTH-061, M-AUTH-040, M-AUTH-055, M-AUTH-056, M-AUTH-074, M-AUTH-075, M-AUTH-076
#[tokio::test]
async fn a_new_authorization_server_receives_no_credentials_of_the_old_server() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = signed_in(&auth).await;
    let new = "https://new.example";
    net.document(
        PRM,
        &json!({ "resource": SERVER, "authorization_servers": [new] }),
    );
    let document = format!("{new}/.well-known/oauth-authorization-server");
    net.document(&document, &metadata(new));
    net.tokens(|_| token("token-2"));
    refuse(&auth, &message, 401, "Bearer").await.unwrap();
    let visit = &net.visits()[1];
    assert_eq!(visit["client_id"], "client-2");
    let redeemed = net.redeemed();
    assert_eq!(redeemed.len(), 2);
    assert_eq!(redeemed[1].line, format!("POST {new}/token"));
    let told = format!("{:?}", redeemed[1]);
    assert!(
        !told.contains("client-1") && !told.contains("token-1"),
        "{told}"
    );
}

// proves: M-AUTH-077
#[tokio::test]
async fn credentials_are_not_sent_to_another_server() {
    let net = Net::new();
    let client = Credentials::new("by-hand").secret("canary").issuer(ISSUER);
    let store = MemoryTokenStore::new();
    let auth = net
        .client()
        .credentials(client.clone())
        .store(store.clone());
    let auth = auth.build().unwrap();
    let message = signed_in(&auth).await;
    let new = "https://new.example";
    net.document(
        PRM,
        &json!({ "resource": SERVER, "authorization_servers": [new] }),
    );
    let document = format!("{new}/.well-known/oauth-authorization-server");
    net.document(&document, &metadata(new));
    let error = refuse(&auth, &message, 401, "Bearer").await.unwrap_err();
    assert!(error.to_string().contains("belongs to"), "{error}");
    assert!(error.to_string().contains(ISSUER), "{error}");
    // A restarted program does not send them either.
    let again = net
        .client()
        .credentials(client)
        .store(store)
        .build()
        .unwrap();
    let message = sent(&again).await.unwrap();
    refuse(&again, &message, 401, "Bearer").await.unwrap_err();
    assert_eq!(net.redeemed().len(), 1);
    assert_eq!(net.visits().len(), 1);
}

#[tokio::test]
async fn an_unknown_client_registers_again() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = signed_in(&auth).await;
    net.tokens(|seen| match seen.field("client_id").as_deref() {
        Some("client-1") => error(401, "invalid_client"),
        _ => token("token-2"),
    });
    refuse(&auth, &message, 401, "Bearer").await.unwrap();
    assert_eq!(net.visits()[1]["client_id"], "client-2");
    assert_eq!(shown(&sent(&auth).await.unwrap()), Some("token-2"));
}

#[tokio::test]
async fn a_new_sign_in_requests_the_previous_scopes() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = sent(&auth).await.unwrap();
    let challenge = "Bearer scope=\"read write\"";
    refuse(&auth, &message, 401, challenge).await.unwrap();
    accept(&auth);
    net.tokens(|seen| match seen.field("refresh_token") {
        Some(_) => error(400, "invalid_grant"),
        None => token("token-2"),
    });
    let message = sent(&auth).await.unwrap();
    let challenge = "Bearer scope=\"more\"";
    refuse(&auth, &message, 401, challenge).await.unwrap();
    assert_eq!(net.visits()[1]["scope"], "read write more");
}

#[tokio::test]
async fn successive_sign_ins_whose_tokens_are_rejected_are_limited() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let count = AtomicUsize::new(0);
    net.tokens(move |_| token(&format!("token-{}", count.fetch_add(1, Ordering::SeqCst))));
    let mut failed = 0;
    for _ in 0..20 {
        let message = sent(&auth).await.unwrap();
        if refuse(&auth, &message, 401, "Bearer").await.is_err() {
            failed += 1;
        }
    }
    assert_eq!(net.visits().len(), 3);
    assert!(failed > 10);
    auth.sign_in().await.unwrap();
    accept(&auth);
    assert_eq!(net.visits().len(), 4);
}

#[tokio::test]
async fn an_error_page_instead_of_metadata_does_not_end_a_sign_in() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = signed_in(&auth).await;
    net.answer(PRM, 503, "");
    net.answer(ASM, 503, "");
    net.tokens(|_| token("token-2"));
    refuse(&auth, &message, 401, "Bearer").await.unwrap();
    assert_eq!(net.visits().len(), 1);
    assert_eq!(shown(&sent(&auth).await.unwrap()), Some("token-2"));
}

#[tokio::test]
async fn a_refused_refresh_is_repeated_without_the_resource_parameter() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = sent(&auth).await.unwrap();
    refuse(&auth, &message, 401, "Bearer scope=\"read\"")
        .await
        .unwrap();
    accept(&auth);
    net.tokens(|seen| match seen.field("resource") {
        Some(_) => error(400, "invalid_target"),
        None => token("token-2"),
    });
    net.wait(3_600);
    assert_eq!(shown(&sent(&auth).await.unwrap()), Some("token-2"));
    assert_eq!(net.visits().len(), 1);
    assert_eq!(net.redeemed().len(), 1 + 3);
}
