//! Data of one user is out of reach of another user who knows its ids.

use mcp_tests::tcp::Request;
use serde_json::json;

use super::support::{ProtectedServer, bearing, request, tool};

// proves: SEC-006, AUTH-110
#[tokio::test]
async fn a_session_cannot_be_used_by_other_principals() {
    let world = ProtectedServer::start().await;
    let token = world.token("alice", "mcp");
    let session = world.open(&token, "2025-11-25").await;
    let subscribe = |session: &Request| {
        request(
            session,
            1,
            "resources/subscribe",
            json!({ "uri": "notes://all" }),
        )
    };
    assert_eq!(world.ask(&subscribe(&session)).await.status, 200);
    let others = [
        world.token("bob", "mcp notes:write notes:admin"),
        // The same user through another client.
        world.auth.token("alice", "client-2", "mcp", &world.url),
    ];
    for other in others {
        let thief = bearing(session.clone(), &other);
        let stream = thief.line("GET /mcp HTTP/1.1").carrying("");
        for request in [
            tool(&thief, 2, "whoami"),
            subscribe(&thief),
            request(
                &thief,
                3,
                "resources/unsubscribe",
                json!({ "uri": "notes://all" }),
            ),
            request(&thief, 4, "tools/list", json!({ "cursor": "x" })),
            thief.carrying(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            stream.clone(),
            stream.with("last-event-id", "1-1-1"),
            thief.line("DELETE /mcp HTTP/1.1").carrying(""),
        ] {
            let answer = world.ask(&request).await;
            assert_eq!(answer.status, 404, "{request:?}");
            assert!(!answer.text().contains("alice"));
        }
    }
    assert_eq!(world.done.runs(), 0);
    assert_eq!(world.said(&session, "whoami").await, "alice");
    let ended = session.line("DELETE /mcp HTTP/1.1").carrying("");
    assert_eq!(world.ask(&ended).await.status, 204);
}

#[tokio::test]
async fn only_the_user_of_a_session_can_resume_its_stream() {
    let world = ProtectedServer::start().await;
    let session = world.open(&world.token("alice", "mcp"), "2025-11-25").await;
    let stream = session.line("GET /mcp HTTP/1.1").carrying("");
    assert_eq!(world.head(&stream).await.status, 200);
    let bob = bearing(stream.clone(), &world.token("bob", "mcp"));
    assert_eq!(world.head(&bob).await.status, 404);
    // A refreshed token of the same user is accepted.
    world.auth.wait(250);
    let renewed = bearing(stream, &world.token("alice", "mcp"));
    assert_eq!(world.head(&renewed).await.status, 200);
}

#[tokio::test]
async fn a_change_notification_reaches_only_its_subscriber() {
    let world = ProtectedServer::start().await;
    let uri = json!({ "uri": "notes://all" });
    let mut streams = Vec::new();
    for (user, subscribes) in [("alice", true), ("bob", false)] {
        let session = world.open(&world.token(user, "mcp"), "2025-11-25").await;
        if subscribes {
            let request = request(&session, 1, "resources/subscribe", uri.clone());
            assert_eq!(world.ask(&request).await.status, 200);
        }
        let stream = session.line("GET /mcp HTTP/1.1").carrying("");
        let mut conn = world.connect().await;
        conn.send(stream.bytes()).await;
        assert_eq!(conn.head().await.status, 200);
        streams.push(conn);
    }
    world.server.resources().updated("notes://all");
    let [alice, bob] = &mut streams[..] else {
        unreachable!()
    };
    let event = alice.chunk().await.unwrap();
    assert!(String::from_utf8_lossy(&event).contains("notes://all"));
    assert!(!bob.has_answer());
}
