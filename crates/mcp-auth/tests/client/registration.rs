//! Registrations across sign-ins. Authorization servers and sessions depend on the client id, so a
//! client keeps its registration.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use mcp_auth::client::{AuthorizationSession, Callback, Error, UserAgent};
use mcp_protocol::BoxFuture;
use serde_json::{Value, json};

use crate::support::{ASM, ISSUER, Net, PRM, SERVER, metadata, refuse, sent, signed_in};

const MORE: &str = "Bearer error=\"insufficient_scope\", scope=\"write\"";

/// A network whose authorization server supports `scopes` and whose server documents `documented`.
fn publishing(scopes: &Value, documented: &Value) -> Net {
    let net = Net::new();
    let mut document = metadata(ISSUER);
    document["scopes_supported"] = scopes.clone();
    net.document(ASM, &document);
    net.document(
        PRM,
        &json!({
            "resource": SERVER, "authorization_servers": [ISSUER], "scopes_supported": documented,
        }),
    );
    net
}

/// Signs in for `read`, then for `write`. Returns the registrations and the client ids of the token
/// requests.
async fn stepped_up(net: &Net, agent: impl UserAgent) -> (Vec<Value>, Vec<String>) {
    let auth = net.client().user_agent(agent).build().unwrap();
    let message = sent(&auth).await.unwrap();
    let first = "Bearer scope=\"read\"";
    refuse(&auth, &message, 401, first).await.unwrap();
    let message = sent(&auth).await.unwrap();
    net.tokens(|_| crate::support::token("token-2"));
    refuse(&auth, &message, 403, MORE).await.unwrap();
    let visits = net.visits();
    let ids = visits.iter().map(|i| i["client_id"].clone());
    (net.registrations(), ids.collect())
}

#[tokio::test]
async fn a_client_registers_for_all_known_scopes() {
    let net = publishing(&json!(["openid", "read", "write"]), &json!(["list"]));
    net.registers(Net::repeating);
    let (registered, ids) = stepped_up(&net, net.user()).await;
    assert_eq!(registered.len(), 1);
    assert_eq!(registered[0]["scope"], "read list openid write");
    assert_eq!(ids, ["client-1"; 2]);
    // The user is asked for one scope only.
    assert_eq!(net.visits()[0]["scope"], "read");
}

#[tokio::test]
async fn a_client_registered_for_too_few_scopes_registers_again() {
    let net = Net::new();
    net.registers(Net::repeating);
    let (registered, ids) = stepped_up(&net, net.user()).await;
    assert_eq!(registered[0]["scope"], "read");
    assert_eq!(registered[1]["scope"], "read write");
    assert_eq!(ids, ["client-1", "client-2"]);

    // A server without a list of scopes does not restrict them.
    let net = Net::new();
    let (_, ids) = stepped_up(&net, net.user()).await;
    assert_eq!(ids, ["client-1"; 2]);
}

#[tokio::test]
async fn a_client_registers_again_after_its_registration_has_expired() {
    for (end, expected) in [
        (0, ["client-1"; 2]),
        (1, ["client-1", "client-2"]),
        (u64::MAX, ["client-1"; 2]),
    ] {
        let net = Net::new();
        net.registers(move |_, number| {
            let client =
                json!({ "client_id": format!("client-{number}"), "client_secret_expires_at": end });
            (201, client.to_string())
        });
        let (_, ids) = stepped_up(&net, net.user()).await;
        assert_eq!(ids, expected, "{end}");
    }
}

#[tokio::test]
async fn a_refused_registration_is_repeated_with_fewer_scopes() {
    let net = publishing(&json!(["admin"]), &json!([]));
    net.registers(|seen, number| {
        if seen.body.contains("admin") {
            return (
                400,
                json!({ "error": "invalid_client_metadata" }).to_string(),
            );
        }
        Net::repeating(seen, number)
    });
    let auth = net.client().build().unwrap();
    let message = sent(&auth).await.unwrap();
    let challenge = "Bearer scope=\"read\"";
    refuse(&auth, &message, 401, challenge).await.unwrap();
    let scopes: Vec<Value> = net
        .registrations()
        .iter()
        .map(|i| i["scope"].clone())
        .collect();
    assert_eq!(scopes, ["read admin", "read"]);
}

#[tokio::test]
async fn a_refused_redirect_uri_is_registered_with_the_other_application_type() {
    let net = Net::new();
    net.registers(|seen, number| match seen.body.contains("native") {
        true => crate::support::error(400, "invalid_redirect_uri"),
        false => Net::repeating(seen, number),
    });
    signed_in(&net.client().build().unwrap()).await;
    let registered = net.registrations();
    let types: Vec<_> = registered.iter().map(|i| &i["application_type"]).collect();
    assert_eq!(types, ["native", "web"]);
}

/// A user agent with a new redirect URI for each session, unless one is requested.
struct Ports {
    net: Net,
    next: Arc<AtomicU16>,
}

struct Port {
    net: Net,
    uri: String,
}

impl UserAgent for Ports {
    fn start_session(&self) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>> {
        let port = self.next.fetch_add(1, Ordering::Relaxed);
        self.at(format!("http://127.0.0.1:{port}/callback"))
    }

    fn start_session_at<'a>(
        &'a self,
        redirect_uri: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn AuthorizationSession>, Error>> {
        self.at(redirect_uri.to_owned())
    }
}

impl Ports {
    fn at(&self, uri: String) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>> {
        let net = self.net.clone();
        let visit: Box<dyn AuthorizationSession> = Box::new(Port { net, uri });
        Box::pin(async { Ok(visit) })
    }
}

impl AuthorizationSession for Port {
    fn redirect_uri(&self) -> &str {
        &self.uri
    }

    fn open<'a>(self: Box<Self>, url: &'a str) -> BoxFuture<'a, Result<Callback, Error>> {
        Box::pin(async move { self.net.visited(url) })
    }
}

#[tokio::test]
async fn the_redirect_uri_of_the_registration_is_reused() {
    let net = Net::new();
    let next = Arc::new(AtomicU16::new(50_000));
    let ports = Ports {
        net: net.clone(),
        next: Arc::clone(&next),
    };
    let (registered, ids) = stepped_up(&net, ports).await;
    assert_eq!(registered.len(), 1);
    assert_eq!(ids, ["client-1"; 2]);
    assert_eq!(next.load(Ordering::Relaxed), 50_001);
}
