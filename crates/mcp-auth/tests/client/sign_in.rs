//! Sign-ins, from the rejection of a message to the token.

use mcp_auth::client::{Credentials, SigningKey};
use mcp_transport_http::AfterRefusal;
use serde_json::json;

use crate::support::{
    ASM, BACK, ISSUER, Net, PRM, SERVER, metadata, refuse, sent, shown, signed_in,
};

/// A private key for this test only.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgc/xUMpM4H31uE+ov
9HsUDJr/P7EnYIOoz6veXGN6XlShRANCAARL+1dkA33wRv09+R9V9GOXgPfkovpv
tnjlu8h6ammSTtvU4B3B3syGOtHaRDD/nvOja3rIGHiIwtn7q1HrMe2X
-----END PRIVATE KEY-----";

// proves: AUTH-006, AUTH-008, AUTH-014, AUTH-027, AUTH-041, AUTH-045, AUTH-047, AUTH-053, AUTH-054, AUTH-095, M-DEPR-004, M-AUTH-008, M-AUTH-010, M-AUTH-013, M-AUTH-027, M-AUTH-028, M-AUTH-033, M-AUTH-034, M-AUTH-043, M-AUTH-068, M-AUTH-070, M-AUTH-083
#[tokio::test]
async fn a_refused_message_is_sent_again_with_a_token() {
    let net = Net::new();
    let auth = net
        .client()
        .client_metadata_url("https://client.example/me.json")
        .build()
        .unwrap();
    assert_eq!(shown(&sent(&auth).await.unwrap()), None);
    let again = signed_in(&auth).await;
    assert_eq!(again.headers["authorization"], "Bearer token-1");
    assert!(again.headers["authorization"].is_sensitive());
    assert_eq!(
        net.lines(),
        [
            format!("GET {PRM}"),
            format!("GET {ASM}"),
            format!("POST {ISSUER}/register"),
            format!("POST {ISSUER}/token"),
        ]
    );
    let registered = &net.registrations()[0];
    assert_eq!(registered["redirect_uris"], json!([BACK]));
    assert_eq!(
        registered["grant_types"],
        json!(["authorization_code", "refresh_token"])
    );
    assert_eq!(registered["application_type"], "native");
    let visit = &net.visits()[0];
    assert_eq!(visit["client_id"], "client-1");
    assert_eq!(visit["resource"], SERVER);
    assert_eq!(visit["redirect_uri"], BACK);
    assert!(!visit.contains_key("scope"));
    let redeemed = &net.redeemed()[0];
    assert_eq!(redeemed.field("resource").as_deref(), Some(SERVER));
    assert_eq!(redeemed.field("client_id").as_deref(), Some("client-1"));
    assert_eq!(redeemed.field("code").as_deref(), Some("code-1"));
    assert_eq!(redeemed.field("redirect_uri").as_deref(), Some(BACK));
}

// proves: AUTH-004, AUTH-040, M-AUTH-007
#[tokio::test]
async fn the_client_id_is_a_metadata_document_where_supported() {
    let net = Net::new();
    let mut document = metadata(ISSUER);
    document["client_id_metadata_document_supported"] = json!(true);
    net.document(ASM, &document);
    let url = "https://client.example/me.json";
    let auth = net.client().client_metadata_url(url).build().unwrap();
    signed_in(&auth).await;
    assert_eq!(net.registrations().len(), 0);
    assert_eq!(net.visits()[0]["client_id"], url);
    assert_eq!(net.redeemed()[0].field("client_id").as_deref(), Some(url));
    let message = sent(&auth).await.unwrap();
    refuse(&auth, &message, 401, "Bearer error=\"invalid_token\"")
        .await
        .unwrap();
    let refresh = &net.redeemed()[1];
    let field = |name: &str| refresh.field(name).unwrap_or_default();
    assert_eq!(
        (field("grant_type"), field("client_id")),
        ("refresh_token".to_owned(), url.to_owned())
    );
    assert_eq!(net.visits().len(), 1);
}

// proves: AUTH-033, M-AUTH-066
#[tokio::test]
async fn a_client_with_a_metadata_document_can_sign_with_its_key() {
    let net = Net::new();
    let mut document = metadata(ISSUER);
    document["client_id_metadata_document_supported"] = json!(true);
    document["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]);
    net.document(ASM, &document);
    let url = "https://client.example/me.json";
    let key = SigningKey::from_pem(&KEY.into()).unwrap().with_id("k1");
    let auth = net.client().client_metadata_url(url);
    let auth = auth.client_metadata_key(key).build().unwrap();
    signed_in(&auth).await;
    let redeemed = &net.redeemed()[0];
    let kind = redeemed.field("client_assertion_type").unwrap();
    assert_eq!(
        kind,
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    );
    let assertion = redeemed.field("client_assertion").unwrap();
    assert_eq!(assertion.split('.').count(), 3);
}

// proves: AUTH-042, M-AUTH-063, M-AUTH-069
#[tokio::test]
async fn a_client_with_credentials_does_not_register() {
    let net = Net::new();
    let mut document = metadata(ISSUER);
    document["token_endpoint_auth_methods_supported"] = json!(["client_secret_basic"]);
    net.document(ASM, &document);
    let client = Credentials::new("a:b").secret("s%").issuer(ISSUER);
    let auth = net.client().credentials(client).build().unwrap();
    signed_in(&auth).await;
    assert_eq!(net.registrations().len(), 0);
    let redeemed = &net.redeemed()[0];
    // "a%3Ab:s%25" in base64.
    assert_eq!(redeemed.headers["authorization"], "Basic YSUzQWI6cyUyNQ==");
    assert_eq!(redeemed.field("client_id"), None);
}

// proves: AUTH-015
#[tokio::test]
async fn the_metadata_url_of_the_challenge_is_tried_first() {
    let net = Net::new();
    let url = "https://mcp.example/elsewhere.json";
    net.document(
        url,
        &json!({ "resource": SERVER, "authorization_servers": [ISSUER] }),
    );
    let auth = net.client().build().unwrap();
    let message = sent(&auth).await.unwrap();
    let challenge = format!("Bearer resource_metadata=\"{url}\"");
    refuse(&auth, &message, 401, &challenge).await.unwrap();
    assert_eq!(net.lines()[0], format!("GET {url}"));
    assert!(!net.lines().contains(&format!("GET {PRM}")));
}

// proves: AUTH-010, AUTH-024, M-AUTH-012
#[tokio::test]
async fn metadata_urls_are_tried_in_order() {
    let net = Net::new();
    let issuer = "https://as.example/tenant1";
    net.gone(PRM);
    net.document(
        "https://mcp.example/.well-known/oauth-protected-resource",
        &json!({ "resource": "https://mcp.example", "authorization_servers": [issuer] }),
    );
    let last = format!("{issuer}/.well-known/openid-configuration");
    net.document(&last, &metadata(issuer));
    // A token for a parent path is only requested if the user allows it.
    let strict = net.client().build().unwrap().diagnose().await;
    assert!(strict.issuer().unwrap_err().is_mismatch());
    let before = net.lines().len();
    let auth = net.client().allow_parent_resource().build().unwrap();
    signed_in(&auth).await;
    assert_eq!(
        net.lines()[before..before + 5],
        [
            format!("GET {PRM}"),
            "GET https://mcp.example/.well-known/oauth-protected-resource".to_owned(),
            "GET https://as.example/.well-known/oauth-authorization-server/tenant1".to_owned(),
            "GET https://as.example/.well-known/openid-configuration/tenant1".to_owned(),
            format!("GET {last}"),
        ]
    );
    // The resource identifier is sent as the metadata has it.
    assert_eq!(net.visits()[0]["resource"], "https://mcp.example");
}

// proves: AUTH-012
#[tokio::test]
async fn the_first_usable_issuer_of_several_is_used() {
    let net = Net::new();
    let (gone, second) = ("https://gone.example", "https://second.example");
    let issuers = json!([gone, second, ISSUER]);
    net.document(
        PRM,
        &json!({ "resource": SERVER, "authorization_servers": issuers }),
    );
    let at = "https://second.example/.well-known/oauth-authorization-server";
    net.document(at, &metadata(second));
    signed_in(&net.client().build().unwrap()).await;
    let redeemed = net.redeemed();
    assert_eq!(redeemed.len(), 1);
    assert_eq!(redeemed[0].line, "POST https://second.example/token");

    // An issuer with configured credentials is preferred.
    let known = Credentials::new("by-hand").issuer(ISSUER);
    signed_in(&net.client().credentials(known).build().unwrap()).await;
    let redeemed = net.redeemed();
    assert_eq!(redeemed[1].line, "POST https://as.example/token");
}

// proves: AUTH-019, AUTH-020, AUTH-023, AUTH-043, AUTH-044, M-AUTH-015, M-AUTH-016, M-AUTH-018, M-AUTH-044
#[tokio::test]
async fn scopes_come_from_the_challenge_then_from_the_metadata() {
    for (challenge, documented, known, asked) in [
        (
            "Bearer scope=\"x y\"",
            Some(json!(["a"])),
            None,
            Some("x y"),
        ),
        ("Bearer", Some(json!(["a", "b"])), None, Some("a b")),
        ("Bearer", None, None, None),
        ("Bearer", None, Some(json!(["offline_access"])), None),
        (
            "Bearer scope=x",
            None,
            Some(json!(["offline_access"])),
            Some("x offline_access"),
        ),
    ] {
        let net = Net::new();
        let mut document = json!({ "resource": SERVER, "authorization_servers": [ISSUER] });
        if let Some(scopes) = documented {
            document["scopes_supported"] = scopes;
        }
        net.document(PRM, &document);
        let mut server = metadata(ISSUER);
        if let Some(scopes) = known {
            server["scopes_supported"] = scopes;
        }
        net.document(ASM, &server);
        let auth = net.client().build().unwrap();
        let message = sent(&auth).await.unwrap();
        refuse(&auth, &message, 401, challenge).await.unwrap();
        let visit = &net.visits()[0];
        assert_eq!(visit.get("scope").map(String::as_str), asked, "{challenge}");
    }
}

// proves: AUTH-074, AUTH-075, AUTH-077, AUTH-078, M-AUTH-017, M-AUTH-050, M-AUTH-052
#[tokio::test]
async fn a_step_up_adds_scopes_and_is_not_repeated() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = sent(&auth).await.unwrap();
    let first = "Bearer scope=\"read\"";
    refuse(&auth, &message, 401, first).await.unwrap();
    let message = sent(&auth).await.unwrap();
    net.tokens(|_| crate::support::token("token-2"));
    let more = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    let after = refuse(&auth, &message, 403, more).await.unwrap();
    assert_eq!(after, AfterRefusal::SendAgain);
    assert_eq!(net.visits()[1]["scope"], "read write");
    // The server requires the same scopes again: another consent would change nothing.
    let message = sent(&auth).await.unwrap();
    assert_eq!(shown(&message), Some("token-2"));
    let after = refuse(&auth, &message, 403, more).await.unwrap();
    assert_eq!(after, AfterRefusal::GiveUp);
    assert_eq!(net.visits().len(), 2);
}

#[tokio::test]
async fn step_ups_are_limited_to_three() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let mut message = signed_in(&auth).await;
    let mut failed = None;
    for scope in ["a", "b", "c", "d", "e"] {
        let next = format!("token-{scope}");
        net.tokens(move |_| crate::support::token(&next));
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
        match refuse(&auth, &message, 403, &challenge).await {
            Ok(_) => message = sent(&auth).await.unwrap(),
            Err(error) => failed = Some(error),
        }
    }
    assert_eq!(net.visits().len(), 1 + 3);
    assert!(failed.unwrap().to_string().contains("last 3 tokens"));
}

#[tokio::test]
async fn a_403_without_missing_scopes_is_final() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = signed_in(&auth).await;
    for challenge in ["", "Bearer", "Bearer error=\"access_denied\""] {
        let after = refuse(&auth, &message, 403, challenge).await.unwrap();
        assert_eq!(after, AfterRefusal::GiveUp);
    }
    assert_eq!(net.visits().len(), 1);
}

#[tokio::test]
async fn a_client_signs_in_to_a_2025_03_26_server_that_issues_its_own_tokens() {
    let net = Net::new();
    net.gone(PRM);
    net.gone(ASM);
    let auth = net.client().build().unwrap();
    signed_in(&auth).await;
    let lines = net.lines();
    assert_eq!(lines[lines.len() - 2], "POST https://mcp.example/register");
    assert_eq!(lines[lines.len() - 1], "POST https://mcp.example/token");
    let strict = net.client().require_resource_metadata().build().unwrap();
    let message = sent(&strict).await.unwrap();
    let error = refuse(&strict, &message, 401, "Bearer").await.unwrap_err();
    assert!(error.to_string().contains(PRM), "{error}");
}

#[tokio::test]
async fn an_unreachable_server_is_not_treated_as_2025_03_26() {
    let net = Net::new();
    net.answer(PRM, 503, "");
    let auth = net.client().build().unwrap();
    let message = sent(&auth).await.unwrap();
    let error = refuse(&auth, &message, 401, "Bearer").await.unwrap_err();
    assert!(error.to_string().contains("503"), "{error}");
    assert_eq!(net.redeemed().len(), 0);
}

#[tokio::test]
async fn a_diagnosis_lists_every_url_without_a_sign_in() {
    let net = Net::new();
    net.document(ASM, &metadata("https://other.example"));
    let diagnosis = net.client().build().unwrap().diagnose().await;
    let text = diagnosis.to_string();
    for part in [
        SERVER,
        PRM,
        ASM,
        "https://other.example",
        "openid-configuration: 404",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(diagnosis.issuer().unwrap_err().is_mismatch());
    assert!(net.visits().is_empty() && net.redeemed().is_empty());
    assert!(net.registrations().is_empty());
}
