//! Malicious servers.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use http::Request;
use mcp_auth::OAuth;
use mcp_auth::client::{Resolver, diagnose};
use mcp_protocol::BoxFuture;
use mcp_transport_http::Authorize;
use serde_json::json;

use crate::support::{ASM, ISSUER, Net, PRM, SERVER, metadata, refuse, sent, signed_in};

async fn refused(net: &Net, challenge: &str) -> String {
    let auth = net.client().build().unwrap();
    let message = sent(&auth).await.unwrap();
    let error = refuse(&auth, &message, 401, challenge).await.unwrap_err();
    error.to_string()
}

// proves: SEC-011, SEC-014
#[tokio::test]
async fn t34_no_request_goes_to_a_private_address_that_a_server_names() {
    for inside in [
        "http://169.254.169.254/latest",
        "https://169.254.169.254/latest",
        "https://[::ffff:a9fe:a9fe]/",
        "https://2852039166/",
        "https://10.0.0.1/",
        "https://localhost:8443/",
        "http://as.example/",
    ] {
        let net = Net::new();
        net.document(
            PRM,
            &json!({ "resource": SERVER, "authorization_servers": [inside] }),
        );
        refused(&net, "Bearer").await;
        assert_eq!(net.lines(), [format!("GET {PRM}")], "{inside}");

        let net = Net::new();
        net.redirect(ASM, inside);
        refused(&net, "Bearer").await;
        assert!(!net.told().contains(inside), "{inside}");
        assert!(net.visits().is_empty());

        for endpoint in ["token_endpoint", "registration_endpoint"] {
            let net = Net::new();
            let mut document = metadata(ISSUER);
            document[endpoint] = json!(inside);
            net.document(ASM, &document);
            refused(&net, "Bearer").await;
            assert!(
                !net.lines().iter().any(|line| line.contains(inside)),
                "{inside}"
            );
        }
    }
}

#[tokio::test]
async fn t34_redirects_are_limited_and_never_receive_credentials() {
    for (redirects, is_found) in [(3, true), (4, false)] {
        let net = Net::new();
        let hop = |number: usize| match number {
            0 => ASM.to_owned(),
            number => format!("https://as.example/hop/{number}"),
        };
        (0..redirects).for_each(|number| net.redirect(&hop(number), &hop(number + 1)));
        net.document(&hop(redirects), &metadata(ISSUER));
        let auth = net.client().build().unwrap();
        let message = sent(&auth).await.unwrap();
        let outcome = refuse(&auth, &message, 401, "Bearer").await;
        assert_eq!(outcome.is_ok(), is_found, "{redirects}: {outcome:?}");
    }
    let net = Net::new();
    net.redirect(ASM, ASM);
    let error = refused(&net, "Bearer").await;
    assert!(error.contains("more than 3 times"), "{error}");
    let asked = net.lines().iter().filter(|line| line.contains(ASM)).count();
    assert_eq!(asked, 4);

    let net = Net::new();
    net.redirect(
        "https://as.example/token",
        "https://elsewhere.example/token",
    );
    let error = refused(&net, "Bearer").await;
    assert!(error.contains("not sent"), "{error}");
    assert!(!net.lines().iter().any(|line| line.contains("elsewhere")));
}

#[tokio::test]
async fn t34_metadata_urls_of_another_origin_are_ignored() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    let message = sent(&auth).await.unwrap();
    let challenge = "Bearer resource_metadata=\"https://evil.example/prm\"";
    refuse(&auth, &message, 401, challenge).await.unwrap();
    assert!(!net.told().contains("evil"));
}

#[tokio::test]
async fn t34_at_most_eight_issuers_of_a_server_are_tried() {
    for count in [8, 9] {
        let net = Net::new();
        let mut issuers: Vec<_> = (1..count).map(|n| format!("https://{n}.example")).collect();
        issuers.push(ISSUER.to_owned());
        net.document(
            PRM,
            &json!({ "resource": SERVER, "authorization_servers": issuers }),
        );
        let auth = net.client().build().unwrap();
        let message = sent(&auth).await.unwrap();
        let outcome = refuse(&auth, &message, 401, "Bearer").await;
        assert_eq!(outcome.is_ok(), count == 8, "{count} issuers: {outcome:?}");
        assert!(net.told().contains("https://7.example"), "{count}");
        let is_last_asked = net.lines().iter().any(|line| line.contains(ISSUER));
        assert_eq!(is_last_asked, count == 8, "{count} issuers");
    }
}

#[tokio::test]
async fn t34_documents_have_a_maximum_size() {
    let net = Net::new();
    let document = metadata(ISSUER).to_string();
    let padded = |bytes: usize| format!("{document}{}", " ".repeat(bytes - document.len()));
    net.answer(ASM, 200, &padded(1 << 20));
    signed_in(&net.client().build().unwrap()).await;

    let net = Net::new();
    net.answer(ASM, 200, &padded((1 << 20) + 1));
    let error = refused(&net, "Bearer").await;
    assert!(error.contains("1048576"), "{error}");
}

/// A resolver that returns addresses in turn and records the names.
struct Names(Mutex<Vec<IpAddr>>, Arc<Mutex<Vec<String>>>);

impl Resolver for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.1.lock().unwrap().push(host.to_owned());
        let next = self.0.lock().unwrap().pop();
        Box::pin(async move {
            next.map(|n| vec![n])
                .ok_or_else(|| io::Error::other("none"))
        })
    }
}

#[tokio::test]
async fn t34_no_connection_is_opened_to_a_host_name_with_a_private_address() {
    // No program listens at the addresses that a broken policy would connect to.
    for address in [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fd00:ec2::254",
        "0.0.0.0",
    ] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let names = Names(Mutex::new(vec![address.parse().unwrap(); 8]), asked.clone());
        let auth = OAuth::client("http://localhost:1/mcp").resolver(names);
        let diagnosis = auth.build().unwrap().diagnose().await.to_string();
        assert!(asked.lock().unwrap().contains(&"localhost".to_owned()));
        let refusals = ["always forbidden", "not an address of a server"];
        let is_refused = refusals.iter().any(|why| diagnosis.contains(why));
        assert!(is_refused, "{address}: {diagnosis}");
    }
    assert!(
        diagnose("http://10.0.0.1/mcp")
            .await
            .unwrap_err()
            .is_forbidden()
    );
}

#[tokio::test]
async fn metadata_of_a_public_server_never_redirects_into_a_private_network() {
    for from in [PRM, ASM] {
        let net = Net::new();
        net.redirect(from, "https://192.168.0.1/");
        let client = net.client().allow_private_networks_for_private_server();
        let auth = client.build().unwrap();
        let message = sent(&auth).await.unwrap();
        let error = refuse(&auth, &message, 401, "Bearer").await.unwrap_err();
        assert!(error.to_string().contains("private network"), "{error}");
        assert!(!net.told().contains("192.168.0.1"), "{from}");
    }
}

// proves: AUTH-048
#[tokio::test]
async fn t35_metadata_for_another_server_is_rejected() {
    for resource in [
        "https://evil.example/mcp",
        "https://mcp.example/other",
        "",
        "mcp.example",
    ] {
        let net = Net::new();
        net.document(
            PRM,
            &json!({ "resource": resource, "authorization_servers": [ISSUER] }),
        );
        let error = refused(&net, "Bearer").await;
        assert!(error.contains("for another server"), "{error}");
        assert_eq!(net.lines().len(), 1);
    }
}

// proves: M-AUTH-062
#[tokio::test]
async fn t35_metadata_of_another_issuer_is_rejected() {
    for issuer in [
        "https://evil.example",
        "https://as.example//",
        "https://as.example/tenant",
        "https://as.example/?x",
        "https://AS.example",
        "",
    ] {
        let net = Net::new();
        let mut document = metadata(ISSUER);
        document["issuer"] = json!(issuer);
        net.document(ASM, &document);
        let error = refused(&net, "Bearer").await;
        assert!(error.contains("its issuer is"), "{error}");
        assert!(net.visits().is_empty() && net.redeemed().is_empty());
        assert!(net.registrations().is_empty());
    }
}

#[tokio::test]
async fn t35_a_callback_of_another_server_is_rejected_before_the_token_request() {
    let net = Net::new();
    let mut document = metadata(ISSUER);
    document["authorization_response_iss_parameter_supported"] = json!(true);
    net.document(ASM, &document);
    for query in [
        "code=x&state=STATE",
        "code=x&state=STATE&iss=https://evil.example",
        "code=x&state=STATE&iss=https://as.example/",
        "code=x&state=other&iss=https://as.example",
    ] {
        net.callback(query);
        let error = refused(&net, "Bearer").await;
        assert!(error.contains("callback"), "{error}");
    }
    assert_eq!(net.redeemed().len(), 0);
}

#[tokio::test]
async fn t36_t37_the_browser_is_not_opened_for_an_unsafe_endpoint_or_without_s256() {
    for (field, value) in [
        ("authorization_endpoint", json!("javascript:alert(1)")),
        (
            "authorization_endpoint",
            json!("https://as.example/$(calc)"),
        ),
        ("authorization_endpoint", json!("file:///bin/sh")),
        ("code_challenge_methods_supported", json!(null)),
        ("code_challenge_methods_supported", json!(["plain"])),
    ] {
        let net = Net::new();
        let mut document = metadata(ISSUER);
        document[field] = value.clone();
        net.document(ASM, &document);
        refused(&net, "Bearer").await;
        assert!(net.visits().is_empty(), "{field} {value}");
    }
}

// proves: AUTH-056, M-AUTH-036
#[tokio::test]
async fn t31_a_token_is_sent_only_to_its_server_and_never_in_a_url() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    signed_in(&auth).await;
    for other in [
        "https://other.example/mcp",
        "http://mcp.example/mcp",
        "https://mcp.example:444/mcp",
    ] {
        let (mut parts, ()) = Request::post(other).body(()).unwrap().into_parts();
        auth.authorize(&mut parts).await.unwrap();
        assert!(parts.headers.is_empty(), "{other}");
    }
    assert!(!net.lines().iter().any(|line| line.contains("token-1")));
}

// proves: AUTH-086
#[tokio::test]
async fn a_redirect_uri_without_tls_is_rejected() {
    use mcp_auth::client::{Callback, CustomUserAgent};
    let net = Net::new();
    let agent = CustomUserAgent::new("http://app.example/callback", |_| async {
        Ok(Callback::parse(""))
    });
    let auth = net.client().user_agent(agent).build().unwrap();
    let message = sent(&auth).await.unwrap();
    let error = refuse(&auth, &message, 401, "Bearer").await.unwrap_err();
    assert!(error.to_string().contains("https"), "{error}");
    assert!(net.redeemed().is_empty() && net.registrations().is_empty());
}
