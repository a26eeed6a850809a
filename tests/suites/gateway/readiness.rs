//! Checks whether the required servers of a gateway respond.

use mcp_gateway::{Gateway, Mount};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Scripted, upstream};
use crate::peer::Peer;
use crate::prelude::*;

/// Starts a check.
fn check(gateway: &Gateway) -> JoinHandle<Vec<(String, String)>> {
    let gateway = gateway.clone();
    tokio::spawn(async move { gateway.unready().await })
}

/// A load balancer must not send requests to a gateway whose required server hangs.
#[tokio::test(start_paused = true)]
async fn a_required_server_that_does_not_respond_is_named() {
    let (settings, mut servers) = Scripted::upstream();
    let (other, mut others) = Scripted::upstream();
    let building = Gateway::builder()
        .mount("a", Mount::new(settings).required())
        .mount("b", other);
    let building = tokio::spawn(building.build());
    let mut server = servers.connected().await;
    let _second = others.connected().await;
    let gateway = building.await.unwrap().unwrap();

    let checking = check(&gateway);
    server.respond("ping", json!({})).await;
    assert!(checking.await.unwrap().is_empty());
    // sleep: the clock is paused. The result of a check is reused for one second.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let checking = check(&gateway);
    server.next("ping").await;
    let unready = timeout(Duration::from_secs(10), checking).await.unwrap();
    let expected = ("a".to_owned(), "it does not respond within 2s".to_owned());
    assert_eq!(unready.unwrap(), [expected]);
    let status = gateway.mounts();
    assert!(
        !status[0].is_connected && status[1].is_connected,
        "{status:?}"
    );
    assert_eq!(
        status[0].error.as_deref(),
        Some("it does not respond within 2s")
    );
    server.next("notifications/cancelled").await;
    // sleep: the clock is paused.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let checking = check(&gateway);
    server.respond("ping", json!({})).await;
    assert!(checking.await.unwrap().is_empty());
    let status = gateway.mounts();
    assert!(
        status[0].is_connected && status[0].error.is_none(),
        "{status:?}"
    );
}

/// For a call of a client, the gateway starts a separate process and closes its shared connection. If the process of the client
/// then hangs or ends, only a new connection shows whether the server still works.
#[tokio::test(start_paused = true)]
async fn a_required_server_is_checked_with_a_new_connection_if_no_connection_responds() {
    let (settings, mut servers, is_up) = Scripted::switched();
    let mount = Mount::new(settings).required();
    let (gateway, mut first) = servers.gateway(Gateway::builder().mount("a", mount)).await;
    let mut peer = Peer::with(gateway.clone(), json!({ "elicitation": {} }));
    peer.request("tools/call", json!({ "name": "a__t" })).await;
    first.ended().await;
    let (mut own, _) = servers.accept().await;
    own.respond("tools/call", json!({ "content": [] })).await;
    peer.wire.recv().await;
    let checking = check(&gateway);
    own.respond("ping", json!({})).await;
    assert_eq!(checking.await.unwrap(), []);

    // The program of the client hangs. A new one works.
    // sleep: the clock is paused. The result of a check is reused for one second.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let checking = check(&gateway);
    own.next("ping").await;
    let mut second = servers.connected().await;
    second.respond("ping", json!({})).await;
    assert_eq!(checking.await.unwrap(), []);

    is_up.store(false, Ordering::Release);
    drop((own, second));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let expected = ("a".to_owned(), "it is not connected".to_owned());
    assert_eq!(gateway.unready().await, [expected]);

    is_up.store(true, Ordering::Release);
    tokio::time::sleep(Duration::from_secs(4)).await;
    let checking = check(&gateway);
    let mut third = servers.connected().await;
    third.respond("ping", json!({})).await;
    assert_eq!(checking.await.unwrap(), []);
}

/// The connection of a server that is replaced ends during the check, but no request fails.
#[tokio::test]
async fn a_required_server_that_is_replaced_during_a_check_is_ready() {
    let (settings, mut servers) = Scripted::upstream();
    let building = Gateway::builder().mount("a", Mount::new(settings).required());
    let (gateway, mut former) = servers.gateway(building).await;
    let checking = check(&gateway);
    former.next("ping").await;
    let good = Server::builder("one", "1").tool(Tool::new("which", async || "new"));
    let good = Mount::new(upstream(good, true)).required();
    gateway.mount("a", good).await.unwrap();
    drop(former);
    let unready = timeout(Duration::from_secs(10), checking).await.unwrap();
    assert_eq!(unready.unwrap(), []);
}

/// Clients that leave during a check caused a request to the server each, and the gateway was never ready.
#[tokio::test(start_paused = true)]
async fn abandoned_readiness_checks_cause_no_further_requests_to_the_server() {
    let (settings, mut servers) = Scripted::upstream();
    let mount = Mount::new(settings).required();
    let (gateway, mut server) = servers.gateway(Gateway::builder().mount("a", mount)).await;
    for _ in 0..100 {
        let check = gateway.unready();
        // sleep: the clock is paused
        let left = timeout(Duration::from_millis(3), check).await;
        assert!(left.is_err());
    }
    let ping = server.next("ping").await;
    let checking = check(&gateway);
    server.answer(&ping, json!({})).await;
    assert!(checking.await.unwrap().is_empty());
    server.silent().await;
    drop(gateway);
}

/// A check starts the program again after the connection of a client has replaced the shared connection. Starting it can take longer
/// than a check.
#[tokio::test(start_paused = true)]
async fn a_check_that_ends_does_not_stop_a_required_server_that_is_starting() {
    let (settings, mut servers) = Scripted::upstream();
    let mount = Mount::new(settings).required();
    let (gateway, server) = servers.gateway(Gateway::builder().mount("a", mount)).await;
    drop(server);
    // sleep: the clock is paused. The gateway notices the end of the server.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let expected = [("a".to_owned(), "it does not respond within 2s".to_owned())];
    let checking = check(&gateway);
    let mut server = servers.accept_raw().await;
    assert_eq!(checking.await.unwrap(), expected);
    // sleep: the clock is paused. The result of a check is reused for one second.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let checking = check(&gateway);
    assert_eq!(checking.await.unwrap(), expected);
    server.welcome("2025-11-25", json!({ "tools": {} })).await;
    server.expect("notifications/initialized").await;
    server.respond("tools/list", json!({ "tools": [] })).await;
    // sleep: the clock is paused.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let checking = check(&gateway);
    server.respond("ping", json!({})).await;
    assert_eq!(checking.await.unwrap(), []);
}

/// A program can need longer to start than a server has to respond with its list.
#[tokio::test(start_paused = true)]
async fn a_program_that_is_slower_than_the_deadline_of_a_list_continues_to_start() {
    for is_session in [true, false] {
        let (settings, mut servers) = Scripted::upstream();
        let (gateway, first) = servers
            .gateway(Gateway::builder().mount("a", settings))
            .await;
        drop(first);
        // sleep: the clock is paused. The gateway notices the end of the server.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut peer = match is_session {
            true => Peer::session(gateway.clone(), json!({})).await,
            false => Peer::new(gateway.clone()),
        };
        peer.request("tools/list", json!({})).await;
        let mut server = servers.accept_raw().await;
        let list = peer.wire.recv().await;
        let unavailable = &list["result"]["_meta"]["mcp-gateway/unavailable"]["a"];
        assert!(unavailable.is_string(), "{list}");
        server.welcome("2025-11-25", json!({ "tools": {} })).await;
        server.expect("notifications/initialized").await;
        let tools = json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object" } }] });
        if is_session {
            let changed = "notifications/tools/list_changed";
            peer.wire.next(changed).await;
        } else {
            server.respond("tools/list", tools.clone()).await;
        }
        peer.request("tools/list", json!({})).await;
        server.respond("tools/list", tools).await;
        let list = peer.wire.recv().await;
        assert_eq!(list["result"]["tools"][0]["name"], "a__t", "{list}");
    }
}

/// Clients that try to connect again and again must not keep the gateway in a load balancer.
#[tokio::test(start_paused = true)]
async fn a_required_program_that_hangs_at_its_start_is_not_ready() {
    let (settings, mut servers) = Scripted::upstream();
    let mount = Mount::new(settings).required();
    let (gateway, mut first) = servers.gateway(Gateway::builder().mount("a", mount)).await;
    // The gateway closes its own connection for the client.
    let mut peer = Peer::with(gateway.clone(), json!({ "elicitation": {} }));
    peer.request("tools/call", json!({ "name": "a__t" })).await;
    first.ended().await;
    let _hangs = servers.accept_raw().await;
    assert_eq!(check(&gateway).await.unwrap(), []);
    // sleep: the clock is paused.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let expected = ("a".to_owned(), "it does not respond within 2s".to_owned());
    assert_eq!(check(&gateway).await.unwrap(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_starts_for_a_session_ends_with_the_session() {
    let (settings, mut servers) = Scripted::upstream();
    let builder = Gateway::builder().mount("a", settings);
    let (gateway, _first) = servers.gateway(builder).await;
    let mut peer = Peer::session(gateway, json!({})).await;
    peer.request("tools/list", json!({})).await;
    let mut starting = servers.accept_raw().await;
    peer.wire.recv().await;
    // sleep: the clock is paused. The list has ended at its deadline.
    tokio::time::sleep(Duration::from_secs(1)).await;
    starting.next("initialize").await;
    drop(peer);
    starting.ended().await;
}

/// Requests for a server that is connected again wait for its lists only for a short time.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_list_its_tools_again_can_be_used() {
    let (settings, mut servers) = Scripted::upstream();
    let mount = Mount::new(settings).required();
    let (gateway, first) = servers.gateway(Gateway::builder().mount("a", mount)).await;
    drop(first);
    // sleep: the clock is paused. The gateway notices the end of the server.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let checking = check(&gateway);
    let (mut server, _) = servers.accept().await;
    server.next("tools/list").await;
    assert_eq!(checking.await.unwrap().len(), 1);
    // sleep: the clock is paused.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let checking = check(&gateway);
    server.respond("ping", json!({})).await;
    assert_eq!(checking.await.unwrap(), []);
}
