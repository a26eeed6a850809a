//! Grants without a user, and DPoP.

use std::sync::atomic::{AtomicBool, Ordering};

use mcp_auth::OAuth;
use mcp_auth::client::{Credentials, Enterprise, ErrorKind, MemoryTokenStore, TokenStore as _};
use mcp_transport_http::AfterRefusal;
use serde_json::json;

use crate::support::{
    ASM, ISSUER, Net, SERVER, error, metadata, refuse, response, sent, shown, signed_in, token,
};

fn field(net: &Net, at: usize, name: &str) -> String {
    net.redeemed()[at].field(name).unwrap_or_default()
}

// proves: AUTH-076, M-AUTH-051
#[tokio::test]
async fn client_credentials_sign_in_and_step_up_without_a_user() {
    let net = Net::new();
    let client = Credentials::new("robot").secret("secret").issuer(ISSUER);
    let auth = net.client().credentials(client).client_credentials();
    let auth = auth.build().unwrap();
    let message = signed_in(&auth).await;
    assert_eq!(field(&net, 0, "grant_type"), "client_credentials");
    assert_eq!(field(&net, 0, "resource"), SERVER);
    net.tokens(|_| token("token-2"));
    let more = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    refuse(&auth, &message, 403, more).await.unwrap();
    assert_eq!(field(&net, 1, "scope"), "write");
    assert!(net.visits().is_empty() && net.registrations().is_empty());
}

#[tokio::test]
async fn a_workload_signs_in_with_only_an_assertion() {
    let net = Net::new();
    let auth = net
        .client()
        .credentials(Credentials::new("pod").issuer(ISSUER));
    let auth = auth.workload("platform-jwt".to_owned()).build().unwrap();
    net.tokens(|_| error(400, "invalid_grant"));
    let message = sent(&auth).await.unwrap();
    refuse(&auth, &message, 401, "Bearer").await.unwrap_err();
    assert_eq!(net.redeemed().len(), 1);
    assert_eq!(
        field(&net, 0, "grant_type"),
        "urn:ietf:params:oauth:grant-type:jwt-bearer"
    );
    assert_eq!(field(&net, 0, "assertion"), "platform-jwt");
    assert_eq!(field(&net, 0, "client_id"), "pod");
}

// proves: M-EXT-014
#[tokio::test]
async fn an_enterprise_grant_exchanges_the_identity_token() {
    let net = Net::new();
    net.tokens(|seen| {
        if seen.line.contains("idp.example") {
            let body = json!({
                "access_token": "id-jag", "token_type": "N_A",
                "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            });
            return (200, body.to_string());
        }
        token("token-1")
    });
    let there = Credentials::new("client-at-idp");
    let enterprise = Enterprise::new("https://idp.example", there, "identity".to_owned())
        .token_endpoint("https://idp.example/token");
    let here = Credentials::new("client-at-as").secret("s").issuer(ISSUER);
    let auth = net.client().credentials(here).enterprise(enterprise);
    signed_in(&auth.build().unwrap()).await;
    assert_eq!(field(&net, 0, "subject_token"), "identity");
    assert_eq!(field(&net, 0, "audience"), ISSUER);
    assert_eq!(field(&net, 0, "resource"), SERVER);
    assert_eq!(field(&net, 0, "client_id"), "client-at-idp");
    assert_eq!(field(&net, 1, "assertion"), "id-jag");
    let redeemed = net.redeemed();
    assert!(!redeemed[1].body.contains("identity"));
    // No browser is opened, and no client is registered.
    assert!(net.visits().is_empty() && net.registrations().is_empty());
}

#[tokio::test]
async fn a_dpop_token_is_sent_with_a_proof_per_request() {
    let net = Net::new();
    let challenged = AtomicBool::new(false);
    net.tokens(move |seen| {
        assert!(seen.headers.contains_key("dpop"));
        if !challenged.swap(true, Ordering::SeqCst) {
            return error(400, "use_dpop_nonce");
        }
        let body = json!({ "access_token": "bound", "token_type": "DPoP" });
        (200, body.to_string())
    });
    let auth = net.client().require_dpop().build().unwrap();
    let one = signed_in(&auth).await;
    let two = sent(&auth).await.unwrap();
    assert_eq!(one.headers["authorization"], "DPoP bound");
    assert_ne!(one.headers["dpop"], two.headers["dpop"]);
    assert_eq!(net.redeemed().len(), 2);
    let challenge = "DPoP error=\"use_dpop_nonce\"";
    let after = refuse(&auth, &two, 401, challenge).await.unwrap();
    assert_eq!(after, AfterRefusal::SendAgain);
    assert_eq!(net.redeemed().len(), 2);
}

/// The keys and tokens of several servers are in one store.
#[tokio::test]
async fn a_stored_dpop_key_belongs_to_one_server() {
    let net = Net::new();
    net.tokens(|_| {
        let body = json!({ "access_token": "bound", "token_type": "DPoP" });
        (200, body.to_string())
    });
    let store = MemoryTokenStore::new();
    let auth = net
        .client()
        .require_dpop()
        .store(store.clone())
        .build()
        .unwrap();
    signed_in(&auth).await;
    let key = format!("key {SERVER}");
    assert!(store.load(&key).await.unwrap().is_some());
    let again = net.client().require_dpop().store(store).build().unwrap();
    let message = sent(&again).await.unwrap();
    assert_eq!(message.headers["authorization"], "DPoP bound");
}

#[tokio::test]
async fn a_bearer_token_is_rejected_where_dpop_is_required() {
    let net = Net::new();
    let auth = net.client().require_dpop().build().unwrap();
    let message = sent(&auth).await.unwrap();
    let error = refuse(&auth, &message, 401, "Bearer").await.unwrap_err();
    assert!(error.to_string().contains("bound to a key"), "{error}");
    assert_eq!(shown(&sent(&auth).await.unwrap()), None);
}

#[tokio::test]
async fn a_sign_in_without_a_configured_grant_names_the_missing_setting() {
    let net = Net::new();
    let auth = OAuth::client(SERVER).service(net.clone()).build().unwrap();
    let message = sent(&auth).await.unwrap();
    let error = refuse(&auth, &message, 401, "Bearer").await.unwrap_err();
    for part in [SERVER, ISSUER, "user_agent"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let _ = response(200, "");
    let missing = net.client().client_credentials().build().unwrap_err();
    assert!(missing.to_string().contains("credentials"), "{missing}");
}

// proves: M-AUTH-072, M-AUTH-073
#[tokio::test]
async fn a_server_without_registration_is_an_error_that_names_the_setting() {
    let net = Net::new();
    let mut document = metadata(ISSUER);
    document["registration_endpoint"] = json!(null);
    net.document(ASM, &document);
    let auth = net.client().build().unwrap();
    let message = sent(&auth).await.unwrap();
    let error = refuse(&auth, &message, 401, "Bearer").await.unwrap_err();
    assert!(error.to_string().contains("credentials"), "{error}");
}

// A server that was taken over could name an issuer of its own.
#[test]
fn credentials_with_a_secret_need_an_issuer() {
    let credentials = Credentials::new("robot").secret("canary");
    let builder = || OAuth::client(SERVER).client_credentials();
    let error = builder()
        .credentials(credentials.clone())
        .build()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert!(error.to_string().contains("Credentials::issuer"), "{error}");
    assert!(!error.to_string().contains("canary"), "{error}");
    for sound in [
        credentials.clone().issuer(ISSUER),
        credentials.accept_any_issuer(),
    ] {
        builder().credentials(sound).build().unwrap();
    }
    let workload = OAuth::client(SERVER).workload("assertion".to_owned());
    assert!(
        workload
            .credentials(Credentials::new("pod"))
            .build()
            .is_err()
    );
    let public = OAuth::client(SERVER).credentials(Credentials::new("public"));
    public.build().unwrap();
}
