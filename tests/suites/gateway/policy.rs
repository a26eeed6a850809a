//! What clients of a gateway may use, how often, and how they find it.

use std::future::poll_fn;
use std::num::{NonZeroU32, NonZeroUsize};
use std::pin::pin;
use std::task::Poll;

use mcp_gateway::{AccessPolicy, AccessRule, ClientLimits, Gateway, GatewayBuilder, ItemKind};
use mcp_server::ServerBuilder;
use mcp_types::ResourceContents;

use super::{connect_to, upstream};
use crate::peer::client;
use crate::prelude::*;

fn server() -> ServerBuilder {
    Server::builder("git", "1")
        .tool(Tool::new("log", async || "log"))
        .tool(Tool::new("push", async || "push"))
        .tool(Tool::new("wait", std::future::pending::<&str>))
        .prompt(Prompt::new("review", async || "review"))
        .prompt(Prompt::new("secret", async || "secret"))
        .resource(Resource::new(
            "file:///public/{name}",
            "public",
            async || ResourceContents::text("file:///public/a", "public"),
        ))
        .resource(Resource::new("file:///private/a", "private", async || {
            ResourceContents::text("file:///private/a", "private")
        }))
}

fn builder() -> GatewayBuilder {
    Gateway::builder().mount("git", upstream(server(), true))
}

fn policy() -> AccessPolicy {
    AccessPolicy::new()
        .rule(AccessRule::require_scope("git:write", "push").kind(ItemKind::Tool))
        .rule(AccessRule::deny("wait").mount("git"))
        .rule(AccessRule::deny("secret"))
        .rule(AccessRule::deny("file:///private/*").kind(ItemKind::Resource))
}

#[tokio::test]
async fn denied_items_are_neither_listed_nor_used() {
    let gateway = builder().access(policy()).build().await.unwrap();
    for is_stateless in [false, true] {
        let client = connect_to(gateway.clone(), client(), is_stateless).await;
        let tools = client.list_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["git__log", "git__push"]);
        let prompts = client.list_prompts().await.unwrap();
        assert_eq!(prompts.len(), 1);
        assert!(client.list_resources().await.unwrap().is_empty());
        assert_eq!(client.list_resource_templates().await.unwrap().len(), 1);

        for name in ["git__wait", "git__WAIT"] {
            let error = refused(client.call_tool(name, json!({})).await);
            assert!(error.message.contains("unknown tool"), "{error}");
        }
        let error = refused(client.get_prompt("git__secret").await);
        assert!(error.message.contains("unknown prompt"), "{error}");
        let error = refused(client.read_resource("file:///private/a").await);
        assert!(error.message.contains("no server"), "{error}");
        assert_eq!(called(&client, "git__log", json!({})).await, "log");
        client.read_resource("file:///public/a").await.unwrap();
    }
}

/// A server reads several spellings of a URI as the same file, so a rule for one of them is a rule for all.
#[tokio::test]
async fn a_denied_resource_cannot_be_read_with_another_spelling_of_its_uri() {
    let files = Server::builder("files", "1").resource(Resource::new(
        "file:///{+path}",
        "files",
        async || ResourceContents::text("file:///a", "content"),
    ));
    let policy = AccessPolicy::new().rule(AccessRule::deny("file:///etc/*"));
    let gateway = Gateway::builder().mount("files", upstream(files, true));
    let gateway = gateway.access(policy).build().await.unwrap();
    let client = connect_to(gateway, client(), true).await;
    for (uri, expected) in [
        ("file:///etc/passwd", "no server"),
        ("file:///etc", "no server"),
        ("FILE:///ETC/passwd", "no server"),
        ("file:///%65tc/passwd", "an escape that is not needed"),
        ("file:///etc%2Fpasswd", "an escaped"),
        ("file:///a/../etc/passwd", "has a segment"),
        ("file:///a%2F..%2Fetc/passwd", "has a segment"),
        ("file:////etc/passwd", "an empty segment"),
        ("file:/etc/passwd", "no \"//\""),
    ] {
        let error = refused(client.read_resource(uri).await);
        assert!(error.message.contains(expected), "{uri}: {error}");
    }
    for uri in ["file:///etcetera", "file:///a/etc/b", "file:///a%20b"] {
        client.read_resource(uri).await.unwrap();
    }
}

#[tokio::test]
async fn a_request_without_the_scope_of_its_item_is_challenged() {
    let gateway = builder().access(policy()).build().await.unwrap();
    let mut client = StatelessPeer::new(&Endpoint::new(gateway).unwrap());
    for (scopes, code, text) in [
        (None, -32603, "no authentication layer"),
        (Some("git:read"), -32600, "git:write"),
    ] {
        client.peer.scopes = scopes;
        let reply = client.tool(1, "git__push", json!({})).await.json().await;
        assert_eq!(reply["error"]["code"], code, "{reply}");
        says(&reply, text);
    }
    client.peer.scopes = Some("git:read git:write");
    let reply = client.tool(1, "git__push", json!({})).await;
    assert_eq!(reply.said().await, "push");
}

#[tokio::test]
async fn a_changed_policy_applies_to_the_next_request() {
    let gateway = builder().build().await.unwrap();
    let client = connect_to(gateway.clone(), client(), false).await;
    assert_eq!(client.list_tools().await.unwrap().len(), 3);
    let policy = AccessPolicy::new().rule(AccessRule::deny("*"));
    gateway.set_policy(policy, ClientLimits::new()).unwrap();
    refused(client.call_tool("git__log", json!({})).await);
    assert!(client.list_tools().await.unwrap().is_empty());
    let wrong = AccessPolicy::new().rule(AccessRule::require_scope("", "*"));
    gateway.set_policy(wrong, ClientLimits::new()).unwrap_err();
    assert!(client.list_tools().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_client_has_separate_limits() {
    let limits = ClientLimits::new()
        .with_requests_per_minute(NonZeroU32::new(3).unwrap())
        .with_requests_in_flight(NonZeroUsize::MIN);
    let gateway = builder().client_limits(limits).build().await.unwrap();
    let endpoint = Endpoint::new(gateway).unwrap();
    let user = |name: &str| {
        let mut client = StatelessPeer::new(&endpoint);
        client.peer.principal = Some(Principal::new(name));
        client
    };
    let (ada, bob) = (user("ada"), user("bob"));
    // The gateway counts the call when it is polled for the first time.
    let mut waiting = pin!(ada.tool(1, "git__wait", json!({})));
    let is_pending = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await;
    assert!(is_pending);
    let refusal = ada.tool(2, "git__log", json!({})).await.json().await;
    says(&refusal, "requestsInFlight");
    for id in 3..6 {
        let reply = bob.tool(id, "git__log", json!({})).await.json().await;
        assert_eq!(reply["result"]["content"][0]["text"], "log", "{reply}");
    }
    let refusal = bob.tool(6, "git__log", json!({})).await.json().await;
    says(&refusal, "requestsPerMinute");
    let wait = refusal["error"]["data"]["retryAfterMs"].as_u64().unwrap();
    tokio::time::advance(Duration::from_millis(wait + 1)).await;
    let reply = bob.tool(7, "git__log", json!({})).await.json().await;
    assert_eq!(reply["result"]["content"][0]["text"], "log", "{reply}");
}

#[tokio::test]
async fn a_long_list_of_tools_is_replaced_by_a_search() {
    for (limit, expected) in [(3, 3), (2, 2)] {
        let gateway = builder().search_above(limit).build().await.unwrap();
        for is_stateless in [false, true] {
            let client = connect_to(gateway.clone(), client(), is_stateless).await;
            let tools = client.list_tools().await.unwrap();
            assert_eq!(tools.len(), expected);
            let found = client.call_tool("search_tools", json!({ "query": "push" }));
            let found = found.await.unwrap().joined_text();
            assert!(
                found.starts_with(r#"[{"name":"git__push""#) && !found.contains("git__log"),
                "{found}"
            );
            let call = json!({ "name": "git__push", "arguments": {} });
            assert_eq!(called(&client, "call_tool", call).await, "push");
            assert_eq!(called(&client, "git__push", json!({})).await, "push");
            for (tool, arguments) in [
                ("search_tools", json!({})),
                ("search_tools", json!({ "query": "nothing" })),
            ] {
                let result = client.call_tool(tool, arguments).await.unwrap();
                assert_eq!(result.is_error, Some(true), "{result:?}");
            }
            let call = json!({ "name": "call_tool", "arguments": {} });
            refused(client.call_tool("call_tool", call).await);
        }
    }
}

/// docs/guide/gateway.md has the command that computes the digest of a denial in the log.
#[test]
fn operators_can_compute_the_digest_of_a_principal_in_the_log() {
    let ada = mcp_auth::server::Identity::new("https://login.example.com", "ada");
    let digest = "gL2uTtNnM6ICzaxGohjRROwO9yL7559tO1WMBBfzAQk";
    assert_eq!(ada.with_client("app").principal().as_str(), digest);
}
