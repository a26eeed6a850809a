//! Identity services as they are: challenges that name the metadata, members that decide nothing, and
//! clients that were forgotten.

use std::time::Duration;

use mcp_auth::client::{AuthorizationSession, Callback, Credentials, Error, UserAgent};
use mcp_protocol::BoxFuture;
use serde_json::json;

use crate::support::{
    ASM, BACK, ISSUER, Net, PRM, SERVER, error, metadata, refuse, sent, shown, signed_in, token,
};

const OPENID: &str = "https://as.example/.well-known/openid-configuration";

/// Signs in with this client and returns the error.
async fn fails(net: &Net) -> String {
    let auth = net.client().build().unwrap();
    auth.sign_in().await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_requested_sign_in_follows_the_challenge_of_the_server() {
    let net = Net::new();
    let announced = "https://mcp.example/meta";
    let other = "https://other.example";
    net.document(
        announced,
        &json!({ "resource": SERVER, "authorization_servers": [other], "scopes_supported": ["all"] }),
    );
    let mut at_other = metadata(other);
    at_other["scopes_supported"] = json!(["all", "read"]);
    net.document(
        "https://other.example/.well-known/oauth-authorization-server",
        &at_other,
    );
    net.challenge(&format!(
        "Bearer resource_metadata=\"{announced}\", scope=\"read\""
    ));
    let auth = net.client().build().unwrap();
    auth.sign_in().await.unwrap();
    let lines = net.lines();
    assert_eq!(lines[0], format!("POST {SERVER}"));
    assert_eq!(lines[1], format!("GET {announced}"));
    assert_eq!(net.visits()[0]["scope"], "read");
    assert!(lines.contains(&format!("POST {other}/token")), "{lines:?}");
}

/// A sign-in cannot read compressed responses.
#[tokio::test]
async fn every_request_of_a_sign_in_asks_for_no_compression() {
    let net = Net::new();
    net.challenge("Bearer");
    net.client().build().unwrap().sign_in().await.unwrap();
    for end in ["/mcp", "/oauth-authorization-server", "/register", "/token"] {
        let requests = net.requests(end);
        assert!(!requests.is_empty(), "{end}");
        for request in requests {
            let accepted = request.headers.get("accept-encoding");
            assert_eq!(accepted.unwrap(), "identity", "{}", request.line);
        }
    }
}

#[tokio::test]
async fn default_endpoints_never_replace_metadata_that_the_server_names() {
    for named in ["https://mcp.example/meta", "https://elsewhere.example/meta"] {
        let net = Net::new();
        net.gone(PRM);
        net.challenge(&format!("Bearer resource_metadata=\"{named}\""));
        let error = fails(&net).await;
        assert!(error.contains("that the server names"), "{error}");
        assert!(error.contains(named), "{error}");
        assert!(net.registrations().is_empty());
    }
}

/// A server of revision 2025-03-26 has no protected resource metadata. It is its own authorization server.
#[tokio::test]
async fn metadata_of_an_old_server_names_an_issuer_of_the_same_origin() {
    let own = "https://mcp.example";
    let at = format!("{own}/.well-known/oauth-authorization-server");
    let net = Net::new();
    net.gone(PRM);
    net.document(&at, &metadata(own));
    signed_in(&net.client().build().unwrap()).await;
    let lines = net.lines();
    assert!(lines.contains(&format!("POST {own}/token")), "{lines:?}");

    let net = Net::new();
    net.gone(PRM);
    net.document(&at, &metadata("https://other.example"));
    let error = fails(&net).await;
    assert!(error.contains("another origin"), "{error}");
    assert!(net.registrations().is_empty());
}

#[tokio::test]
async fn an_issuer_may_differ_in_the_slash_of_an_empty_path() {
    for (named, own) in [
        ("https://as.example/", "https://as.example"),
        ("https://as.example", "https://as.example/"),
    ] {
        let net = Net::new();
        net.document(
            PRM,
            &json!({ "resource": SERVER, "authorization_servers": [named] }),
        );
        let mut document = metadata(ISSUER);
        document["issuer"] = json!(own);
        document["authorization_response_iss_parameter_supported"] = json!(true);
        net.document(ASM, &document);
        // The issuer of the callback is the one of the metadata, byte for byte.
        net.callback(&format!("code=c&state=STATE&iss={own}"));
        signed_in(&net.client().build().unwrap()).await;
        net.callback(&format!("code=c&state=STATE&iss={own}//"));
        let error = fails(&net).await;
        assert!(error.contains("its iss is"), "{error}");
    }
}

#[tokio::test]
async fn malformed_members_that_a_sign_in_does_not_need_are_ignored() {
    for (name, value) in [
        ("client_id_metadata_document_supported", json!(null)),
        (
            "authorization_response_iss_parameter_supported",
            json!(null),
        ),
        ("scopes_supported", json!("a b")),
        ("grant_types_supported", json!([null, "authorization_code"])),
        ("dpop_signing_alg_values_supported", json!(null)),
    ] {
        let net = Net::new();
        let mut document = metadata(ISSUER);
        document[name] = value;
        net.document(ASM, &document);
        signed_in(&net.client().build().unwrap()).await;
    }
    let net = Net::new();
    net.document(
        PRM,
        &json!({ "resource": SERVER, "authorization_servers": [ISSUER], "scopes_supported": null,
                 "dpop_bound_access_tokens_required": null }),
    );
    signed_in(&net.client().build().unwrap()).await;
}

#[tokio::test]
async fn registration_responses_of_real_services_are_read() {
    for (name, value) in [
        ("client_secret_expires_at", json!(null)),
        ("client_secret_expires_at", json!("0")),
        ("client_secret_expires_at", json!(0.0)),
        ("client_secret_expires_at", json!(-1)),
        ("client_secret_expires_at", json!("2030-01-01T00:00:00Z")),
        ("client_id", json!(4711)),
        ("scope", json!(["a", "b"])),
        ("token_endpoint_auth_method", json!(null)),
    ] {
        let net = Net::new();
        net.registers(move |_, _| {
            let mut client = json!({ "client_id": "c" });
            client[name] = value.clone();
            (201, client.to_string())
        });
        signed_in(&net.client().build().unwrap()).await;
    }
    let net = Net::new();
    net.registers(|_, _| (404, String::new()));
    let error = fails(&net).await;
    assert!(
        error.contains("/register does not exist") && error.contains("needs no sign-in"),
        "{error}"
    );
    for (body, cause) in [
        (
            r#"{"error":"invalid_client_metadata","error_description":"ask the admin"}"#,
            "ask the admin",
        ),
        (
            r#"{"client":{"client_id":"canary"}}"#,
            "it has no client_id",
        ),
        ("canary", "it is not JSON"),
        ("[]", "it is not an object"),
    ] {
        let net = Net::new();
        net.registers(move |_, _| (201, body.to_owned()));
        let error = fails(&net).await;
        assert!(error.contains(cause), "{error}");
        assert!(error.contains("/register"), "{error}");
        assert!(!error.contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn token_responses_of_real_services_are_read() {
    for body in [
        r#"{"access_token":"t","token_type":"Bearer","scope":["a","b"]}"#,
        "\u{feff}{\"access_token\":\"t\",\"token_type\":\"Bearer\"}",
        r#"{"access_token":"t","expires_in":60,"expires_in":60,"refresh_token":7}"#,
    ] {
        let net = Net::new();
        net.tokens(move |_| (200, body.to_owned()));
        let auth = net.client().build().unwrap();
        assert_eq!(shown(&signed_in(&auth).await), Some("t"));
    }
    for (body, cause) in [
        (
            r#"{"error":"access_denied","error_description":"ask the admin"}"#,
            "ask the admin",
        ),
        (r#"{"token":"canary"}"#, "it has no access_token"),
        (
            r#"{"access_token":["canary"]}"#,
            "its access_token is not a text",
        ),
        ("canary", "it is not JSON"),
    ] {
        let net = Net::new();
        net.tokens(move |_| (200, body.to_owned()));
        let error = fails(&net).await;
        assert!(error.contains(cause), "{error}");
        assert!(!error.contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn a_complete_metadata_document_is_preferred_to_an_earlier_incomplete_document() {
    for missing in ["code_challenge_methods_supported", "authorization_endpoint"] {
        let net = Net::new();
        let mut document = metadata(ISSUER);
        document.as_object_mut().unwrap().shift_remove(missing);
        net.document(ASM, &document);
        net.document(OPENID, &metadata(ISSUER));
        signed_in(&net.client().build().unwrap()).await;
        // Without a complete one, the error is that of the first.
        net.gone(OPENID);
        let error = fails(&net).await;
        assert!(error.contains("S256") || error.contains(missing), "{error}");
    }
}

#[tokio::test]
async fn a_refresh_names_the_requested_scopes() {
    let net = Net::new();
    net.tokens(|request| match request.field("grant_type").as_deref() {
        Some("refresh_token") if request.field("scope").as_deref() == Some("a b") => {
            token("token-2")
        }
        Some("refresh_token") => error(400, "invalid_grant"),
        _ => {
            let body = json!({ "access_token": "token-1", "token_type": "Bearer", "expires_in": 60,
                               "refresh_token": "r", "scope": "a b added" });
            (200, body.to_string())
        }
    });
    let auth = net.client().scopes("a b").build().unwrap();
    signed_in(&auth).await;
    net.wait(120);
    assert_eq!(shown(&sent(&auth).await.unwrap()), Some("token-2"));
}

#[tokio::test]
async fn a_refresh_is_repeated_without_scopes_if_the_scopes_are_rejected() {
    let net = Net::new();
    net.tokens(|request| match request.field("grant_type").as_deref() {
        Some("refresh_token") if request.field("scope").is_some() => error(400, "invalid_scope"),
        Some("refresh_token") => token("token-2"),
        _ => token("token-1"),
    });
    let auth = net.client().scopes("a").build().unwrap();
    signed_in(&auth).await;
    net.wait(4_000);
    assert_eq!(shown(&sent(&auth).await.unwrap()), Some("token-2"));
}

/// A user whose browser shows an error page: nothing calls back.
struct Lost;

struct LostSession;

impl UserAgent for Lost {
    fn start_session(&self) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>> {
        Box::pin(async {
            let session: Box<dyn AuthorizationSession> = Box::new(LostSession);
            Ok(session)
        })
    }
}

impl AuthorizationSession for LostSession {
    fn redirect_uri(&self) -> &str {
        BACK
    }

    fn open<'a>(self: Box<Self>, _url: &'a str) -> BoxFuture<'a, Result<Callback, Error>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_registers_again_if_its_last_sign_in_had_no_callback() {
    let store = mcp_auth::client::MemoryTokenStore::new();
    let net = Net::new();
    let auth = net.client().store(store.clone()).build().unwrap();
    auth.sign_in().await.unwrap();
    auth.sign_in().await.unwrap();
    assert_eq!(net.registrations().len(), 1);
    // The authorization server has forgotten the client.
    let limit = Duration::from_secs(300);
    let lost = net.client().user_agent(Lost).store(store.clone());
    let lost = lost.consent_timeout(limit).build().unwrap();
    let text = lost.sign_in().await.unwrap_err().to_string();
    assert!(text.contains("registers again"), "{text}");
    let again = net.client().store(store).build().unwrap();
    again.sign_in().await.unwrap();
    assert_eq!(net.registrations().len(), 2);
    let visits = net.visits();
    assert_eq!(visits.last().unwrap()["client_id"], "client-2");
}

#[tokio::test]
async fn a_registration_can_be_removed_with_and_without_tokens() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    auth.sign_in().await.unwrap();
    assert!(auth.forget_client().await.unwrap());
    assert!(!auth.forget_client().await.unwrap());
    auth.sign_in().await.unwrap();
    auth.sign_out().await.unwrap();
    assert!(auth.forget_client().await.unwrap());
    auth.sign_in().await.unwrap();
    assert_eq!(net.registrations().len(), 3);
}

#[tokio::test]
async fn another_program_can_renew_tokens_of_a_configured_public_client() {
    let store = mcp_auth::client::MemoryTokenStore::new();
    let net = Net::new();
    let given = net.client().credentials(Credentials::new("given"));
    let given = given.store(store.clone()).build().unwrap();
    given.sign_in().await.unwrap();
    net.tokens(|_| token("token-2"));
    net.wait(4_000);
    let other = net.client().store(store).build().unwrap();
    assert_eq!(shown(&sent(&other).await.unwrap()), Some("token-2"));
    let redeemed = net.redeemed();
    let last = redeemed.last().unwrap();
    assert_eq!(last.field("client_id").as_deref(), Some("given"));
}

#[tokio::test]
async fn a_step_up_reports_the_missing_scopes_and_all_scopes() {
    use mcp_auth::client::SignInProgress;
    let net = Net::new();
    let (sender, reports) = std::sync::mpsc::channel();
    let auth = net.client().scopes("mcp").on_progress(move |progress| {
        if let SignInProgress::ScopesRequired { required, all } = progress {
            sender.send((required.clone(), all.clone())).unwrap();
        }
    });
    let auth = auth.build().unwrap();
    let message = signed_in(&auth).await;
    let challenge = r#"Bearer error="insufficient_scope", scope="mcp notes:write""#;
    refuse(&auth, &message, 403, challenge).await.unwrap();
    let reported = reports.recv().unwrap();
    assert_eq!(
        reported,
        ("notes:write".to_owned(), "mcp notes:write".to_owned())
    );
}

#[tokio::test]
async fn a_diagnosis_shows_only_metadata_that_the_server_published() {
    let net = Net::new();
    let mut document = metadata(ISSUER);
    document["grant_types_supported"] = json!(["authorization_code", "refresh_token"]);
    net.document(ASM, &document);
    net.challenge("Bearer");
    let diagnosis = net.client().build().unwrap().diagnose().await;
    assert!(diagnosis.is_published());
    let text = diagnosis.to_string();
    assert!(text.contains("answers 401"), "{text}");
    assert!(
        text.contains(&format!("{ISSUER} issues tokens for {SERVER}")),
        "{text}"
    );
    assert!(text.contains("refresh tokens: supported"), "{text}");
    // A proxy does not forward the paths of the metadata.
    net.gone(PRM);
    let diagnosis = net.client().build().unwrap().diagnose().await;
    assert!(!diagnosis.is_published());
    let text = diagnosis.to_string();
    assert!(text.contains(&format!("must answer GET {PRM}")), "{text}");
    assert!(!text.contains("S256"), "{text}");
    assert!(!text.contains("address of its metadata"), "{text}");
    // The server has another public URL in its settings.
    let named = format!("{PRM}/elsewhere");
    net.gone(&named);
    net.challenge(&format!("Bearer resource_metadata=\"{named}\""));
    let text = net.client().build().unwrap().diagnose().await.to_string();
    let problem = format!("The server names {named} as the address of its metadata");
    assert!(text.contains(&problem), "{text}");
    // The metadata is only at the URL that the challenge names.
    let announced = "https://mcp.example/meta";
    net.document(
        announced,
        &json!({ "resource": SERVER, "authorization_servers": [ISSUER] }),
    );
    net.challenge(&format!("Bearer resource_metadata=\"{announced}\""));
    let diagnosis = net.client().build().unwrap().diagnose().await;
    assert!(diagnosis.is_published(), "{diagnosis}");
}
