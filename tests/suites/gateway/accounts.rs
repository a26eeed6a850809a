//! Servers with data of several users: each connection has the account of its user.

use mcp_gateway::{Gateway, Sharing, Upstream};
use mcp_host::StderrLog;
use mcp_protocol::Transport;
use mcp_server::{Change, ServerBuilder};
use mcp_tests::http::Peer as HttpPeer;
use mcp_types::ResourceContents;
use tokio::sync::mpsc;

use crate::prelude::*;

const BOTH: [bool; 2] = [false, true];

/// A server as one user sees it. The gateway itself has no data.
fn server_of(user: &str) -> ServerBuilder {
    let (said, read, uri) = (
        user.to_owned(),
        user.to_owned(),
        format!("notes://{user}/all"),
    );
    let changed = uri.clone();
    Server::builder("notes", "1")
        .tool(Tool::new("whoami", move || said.clone()))
        .tool(Tool::new("change", move |cx: Ctx| {
            cx.changed(Change::Resource(changed.clone()));
            "changed"
        }))
        .tool(Tool::new("write", || {
            // As a server answers whose token lacks a scope.
            let error =
                ErrorObject::invalid_request("tool \"write\" needs the scope \"notes:write\"");
            let data = json!({ "requiredScopes": ["notes:write"], "other": 1 });
            Err::<String, _>(error.with_data(data))
        }))
        .tool(Tool::new("change_list", |cx: Ctx| {
            cx.changed(Change::Tools);
            "changed"
        }))
        .tool(Tool::new(format!("tool_of_{user}"), || "only for one user"))
        .resource(Resource::new("notes://{user}/all", "notes", {
            move || ResourceContents::text(uri.clone(), format!("notes of {read}"))
        }))
}

fn transport_of(user: &str) -> Box<dyn Transport> {
    let server = server_of(user).build().unwrap();
    Box::new(mcp_transport_stdio::in_memory(server))
}

/// Settings for the server. Ada and Bob have accounts.
fn upstream(is_stateless: bool) -> Upstream {
    let connector = |_: &StderrLog| {
        let server = server_of("gateway").build().unwrap();
        Ok(mcp_transport_stdio::in_memory(server))
    };
    let upstream = Upstream::new("notes", connector)
        // Without effect.
        .sharing(Sharing::All)
        .user_connector(|principal, _| match principal.user() {
            user @ ("ada" | "bob") => Ok(transport_of(user)),
            user => Err(Error::Rejected(ErrorObject::invalid_params(format!(
                "{user} has no account"
            )))),
        });
    match is_stateless {
        true => upstream.negotiation(Revision::LATEST, Negotiation::Stateless),
        false => upstream.negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased),
    }
}

async fn endpoint(upstream: Upstream) -> Endpoint {
    let gateway = Gateway::builder().mount("m", upstream).build().await;
    Endpoint::new(gateway.unwrap()).unwrap()
}

/// A client of either kind.
enum AnyPeer {
    Stateless(StatelessPeer),
    InSession(HttpPeer),
}

impl AnyPeer {
    async fn new(endpoint: &Endpoint, user: Option<&str>, is_stateless: bool) -> Self {
        let principal = user.map(Principal::new);
        if is_stateless {
            let mut client = StatelessPeer::new(endpoint);
            client.peer.principal = principal;
            return Self::Stateless(client);
        }
        let mut peer = HttpPeer::new(endpoint);
        peer.principal = principal;
        peer.handshake("2025-11-25", json!({})).await;
        Self::InSession(peer)
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        match self {
            Self::Stateless(client) => client.call(1, method, params).await.answer().await,
            Self::InSession(peer) => peer.ask(method, params).await,
        }
    }

    async fn call(&self, tool: &str) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": {} }))
            .await
    }
}

/// The client must not ask its authorization server for a scope that only the account of the gateway can have.
#[tokio::test]
async fn a_scope_that_an_account_of_the_gateway_lacks_is_not_requested_from_the_client() {
    for server_is_stateless in BOTH {
        let endpoint = endpoint(upstream(server_is_stateless)).await;
        for client_is_stateless in BOTH {
            let client = AnyPeer::new(&endpoint, Some("ada"), client_is_stateless).await;
            let response = client.call("m__write").await;
            let error = &response["error"];
            assert_eq!(error["data"], json!({ "other": 1 }), "{response}");
            let message = error["message"].as_str().unwrap();
            for part in ["notes:write", "account", "person who runs the gateway"] {
                assert!(message.contains(part), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn each_user_has_a_separate_account_in_every_combination_of_revisions() {
    for server_is_stateless in BOTH {
        let endpoint = endpoint(upstream(server_is_stateless)).await;
        for client_is_stateless in BOTH {
            for user in ["ada", "bob", "ada"] {
                let client = AnyPeer::new(&endpoint, Some(user), client_is_stateless).await;
                let said = client.call("m__whoami").await;
                assert_eq!(said["result"]["content"][0]["text"], user, "{said}");
                let uri = json!({ "uri": format!("notes://{user}/all") });
                let read = client.ask("resources/read", uri).await;
                let text = &read["result"]["contents"][0]["text"];
                assert_eq!(*text, format!("notes of {user}"), "{read}");
                let tools = client.ask("tools/list", json!({})).await;
                let tools = tools["result"]["tools"].to_string();
                let own = format!("tool_of_{user}");
                assert_eq!(tools.matches("tool_of_").count(), 1, "{tools}");
                assert!(tools.contains(&own), "{tools}");
                let said = client.call(&format!("m__{own}")).await;
                assert_eq!(said["result"]["content"][0]["text"], "only for one user");
            }
        }
    }
}

#[tokio::test]
async fn a_request_without_an_account_never_uses_the_account_of_another_user() {
    for server_is_stateless in BOTH {
        let endpoint = endpoint(upstream(server_is_stateless)).await;
        for client_is_stateless in BOTH {
            let uri = json!({ "uri": "notes://ada/all" });
            for (user, reason) in [
                (None, "has an account for each user"),
                (Some("eve"), "eve has no account"),
            ] {
                let client = AnyPeer::new(&endpoint, user, client_is_stateless).await;
                for (method, params) in [
                    (
                        "tools/call",
                        json!({ "name": "m__whoami", "arguments": {} }),
                    ),
                    ("resources/read", uri.clone()),
                ] {
                    let refused = client.ask(method, params).await;
                    let message = refused["error"]["message"].as_str();
                    assert!(
                        message.is_some_and(|text| text.contains(reason)),
                        "{refused}"
                    );
                }
                let tools = client.ask("tools/list", json!({})).await;
                assert!(!tools.to_string().contains("tool_of_"), "{tools}");
                if !client_is_stateless {
                    let refused = client.ask("resources/subscribe", uri.clone()).await;
                    assert!(refused["error"].is_object(), "{refused}");
                }
            }
        }
    }
}

#[tokio::test]
async fn updates_reach_the_user_whose_account_they_are_for() {
    for server_is_stateless in BOTH {
        let endpoint = endpoint(upstream(server_is_stateless)).await;
        let mut subscriptions = Vec::new();
        for user in ["ada", "bob"] {
            let AnyPeer::Stateless(client) = AnyPeer::new(&endpoint, Some(user), true).await else {
                panic!("the client is stateless");
            };
            let uris = json!(["notes://ada/all", "notes://bob/all"]);
            let filter = json!({ "notifications": { "resourceSubscriptions": uris } });
            let mut subscription = client.call(1, "subscriptions/listen", filter).await;
            subscription.message().await.unwrap();
            subscriptions.push((user, client, subscription));
        }
        for (user, client, subscription) in &mut subscriptions {
            let changed = client.tool(2, "m__change", json!({})).await;
            assert_eq!(changed.said().await, "changed");
            let update = subscription.message().await.unwrap();
            assert_eq!(update["params"]["uri"], format!("notes://{user}/all"));
        }
    }
}

/// The account of a failing user is not a failure of the server.
#[tokio::test]
async fn a_user_without_an_account_does_not_make_the_gateway_unready() {
    let gateway = Gateway::builder().mount("m", upstream(true)).build().await;
    let gateway = gateway.unwrap();
    let endpoint = Endpoint::new(gateway.clone()).unwrap();
    let eve = AnyPeer::new(&endpoint, Some("eve"), true).await;
    let refused = eve.call("m__whoami").await;
    assert!(refused["error"].is_object(), "{refused}");
    assert_eq!(gateway.unready().await.len(), 0);
}

/// Sends a message when it is dropped.
struct Ended(mpsc::Sender<()>);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.try_send(());
    }
}

/// A client that listens must not keep the credential of a removed account in use.
#[tokio::test]
async fn a_removed_server_keeps_no_connection_of_a_user_who_listens() {
    for is_stateless in BOTH {
        let (ended, mut ends) = mpsc::channel(8);
        let upstream = upstream(is_stateless).user_connector(move |principal, _| {
            let ended = Arc::new(Ended(ended.clone()));
            let guard = Tool::new("guard", move || {
                let _ended = &ended;
                "kept with the server"
            });
            let server = server_of(principal.user()).tool(guard).build().unwrap();
            Ok(Box::new(mcp_transport_stdio::in_memory(server)) as Box<dyn Transport>)
        });
        let gateway = Gateway::builder().mount("m", upstream).build().await;
        let gateway = gateway.unwrap();
        let endpoint = Endpoint::new(gateway.clone()).unwrap();
        let AnyPeer::Stateless(client) = AnyPeer::new(&endpoint, Some("ada"), true).await else {
            panic!("the client is stateless");
        };
        let filter = json!({ "notifications": { "toolsListChanged": true } });
        let mut subscription = client.call(1, "subscriptions/listen", filter).await;
        subscription.message().await.unwrap();
        assert!(ends.try_recv().is_err());
        assert!(gateway.unmount("m"));
        assert_eq!(ends.recv().await, Some(()));
        assert!(
            gateway
                .mount("m", self::upstream(is_stateless))
                .await
                .is_ok()
        );
        drop(subscription);
        gateway.close().await;
    }
}

/// The program of a user must not start with an account that the operator has removed.
#[tokio::test]
async fn a_connection_of_a_user_is_not_opened_after_the_server_was_removed() {
    for is_stateless in BOTH {
        let (sender, mut servers) = mpsc::channel(8);
        let upstream = upstream(false).user_connector(move |_, _| {
            let (server, transport) = PipeEnd::server();
            sender.try_send(server).unwrap();
            Ok(Box::new(transport) as Box<dyn Transport>)
        });
        let gateway = Gateway::builder().mount("m", upstream).build().await;
        let gateway = gateway.unwrap();
        let endpoint = Endpoint::new(gateway.clone()).unwrap();
        let client = AnyPeer::new(&endpoint, Some("ada"), is_stateless).await;
        let calling = tokio::spawn(async move { client.call("m__whoami").await });
        let mut starting: PipeEnd = servers.recv().await.unwrap();
        starting.next("initialize").await;
        assert!(gateway.unmount("m"));
        starting.ended().await;
        let error = calling.await.unwrap();
        assert!(error["error"].is_object(), "{error}");
        gateway.close().await;
    }
}

/// Otherwise, a user without an account could end the connections of others.
#[tokio::test]
async fn a_refused_user_closes_no_connection_of_another_user() {
    let opened = Arc::<AtomicUsize>::default();
    let counter = Arc::clone(&opened);
    let upstream = upstream(true)
        .max_connections(2)
        .user_connector(move |principal, _| match principal.user() {
            "ada" => {
                counter.fetch_add(1, Ordering::AcqRel);
                Ok(transport_of("ada"))
            }
            _ => Err(Error::Rejected(ErrorObject::internal("no account"))),
        });
    let endpoint = endpoint(upstream).await;
    let ada = AnyPeer::new(&endpoint, Some("ada"), true).await;
    let eve = AnyPeer::new(&endpoint, Some("eve"), true).await;
    for _ in 0..3 {
        assert!(ada.call("m__whoami").await["result"].is_object());
        assert!(eve.call("m__whoami").await["error"].is_object());
    }
    assert_eq!(opened.load(Ordering::Acquire), 1);
}

/// A cache between the clients and the gateway could give the list of one user to another.
#[tokio::test]
async fn lists_of_a_user_may_be_cached_only_for_this_user() {
    let endpoint = endpoint(upstream(true)).await;
    let ada = AnyPeer::new(&endpoint, Some("ada"), true).await;
    let uri = json!({ "uri": "notes://ada/all" });
    for (method, params) in [("tools/list", json!({})), ("resources/read", uri)] {
        let result = ada.ask(method, params).await;
        let scope = result["result"]["cacheScope"].as_str();
        assert!(scope.is_none_or(|scope| scope == "private"), "{result}");
    }
}

#[tokio::test]
async fn a_changed_list_is_announced_to_the_user_whose_account_has_it() {
    for server_is_stateless in BOTH {
        let endpoint = endpoint(upstream(server_is_stateless)).await;
        let mut subscriptions = Vec::new();
        for user in ["bob", "ada"] {
            let AnyPeer::Stateless(client) = AnyPeer::new(&endpoint, Some(user), true).await else {
                panic!("the client is stateless");
            };
            let uris = [format!("notes://{user}/all")];
            let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": uris });
            let filter = json!({ "notifications": filter });
            let mut subscription = client.call(1, "subscriptions/listen", filter).await;
            subscription.message().await.unwrap();
            subscriptions.push((client, subscription));
        }
        // Bob has received his change before Ada changes a resource, so a message about his list would be her first one.
        let changes = [
            ("m__change_list", "notifications/tools/list_changed"),
            ("m__change", "notifications/resources/updated"),
        ];
        for ((client, subscription), (tool, expected)) in subscriptions.iter_mut().zip(changes) {
            let changed = client.tool(2, tool, json!({})).await;
            assert_eq!(changed.said().await, "changed");
            assert_eq!(subscription.message().await.unwrap()["method"], expected);
        }
    }
}
