//! Subscriptions of `TestClient`, at every revision.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mcp_protocol::Service as _;
use mcp_server::testing::{TestClient, block_on};
use mcp_server::{Change, Ctx, Principal, Resource, Revision, Server, Tool};
use serde_json::json;

fn note(id: &str) -> String {
    format!("note:///{id}")
}

fn changed(id: &str) -> Change {
    Change::Resource(note(id))
}

/// A server with two notes, and a tool that changes both and adds a tool.
fn server() -> Server {
    let read = async || "text";
    let touch = Tool::new("touch", |cx: Ctx| {
        for change in [changed("a"), Change::Tools, changed("b"), Change::Resources] {
            cx.changed(change);
        }
    });
    let server = Server::builder("notes", "1").tool(touch);
    let notes = ["a", "b"].map(|id| Resource::new(note(id), id, read));
    server.resources(notes).build().unwrap()
}

async fn touch(client: &TestClient) {
    client.call_tool("touch", json!({})).await.unwrap();
}

#[test]
fn a_subscription_receives_the_changes_that_it_names() {
    for revision in Revision::ALL {
        block_on(async {
            let client = TestClient::at(revision, server());
            let wanted = [changed("b"), Change::Resources];
            let mut changes = client.listen(wanted.clone()).await.unwrap();
            assert_eq!(changes.try_next(), None, "{revision}");
            for _ in 0..2 {
                touch(&client).await;
                for change in &wanted {
                    assert_eq!(changes.next().await.as_ref(), Some(change), "{revision}");
                }
                assert_eq!(changes.try_next(), None, "{revision}");
            }
        });
    }
}

/// Earlier changes do not belong to a subscription, and each subscription has its own.
#[test]
fn two_subscriptions_receive_a_change_once_each() {
    for revision in Revision::ALL {
        block_on(async {
            let client = TestClient::at(revision, server());
            let mut first = client.listen([changed("a")]).await.unwrap();
            touch(&client).await;
            let mut second = client.listen([changed("a")]).await.unwrap();
            touch(&client).await;
            assert_eq!(first.try_next(), Some(changed("a")), "{revision}");
            assert_eq!(first.try_next(), Some(changed("a")), "{revision}");
            assert_eq!(second.try_next(), Some(changed("a")), "{revision}");
            assert_eq!([first.try_next(), second.try_next()], [None, None]);
        });
    }
}

#[test]
fn a_change_wakes_the_waiting_subscription() {
    for revision in Revision::ALL {
        let server = server();
        let client = TestClient::at(revision, server.clone());
        let mut changes = block_on(client.listen([changed("a")])).unwrap();
        let other = std::thread::spawn(move || block_on(changes.next()));
        server.changed(changed("a"));
        assert_eq!(other.join().unwrap(), Some(changed("a")), "{revision}");
    }
}

#[test]
fn a_dropped_or_ended_subscription_receives_nothing() {
    block_on(async {
        let server = server();
        let client = TestClient::new(server.clone());
        drop(client.listen([changed("a")]).await.unwrap());
        touch(&client).await;
        let is_update = |(method, _): &(String, _)| method == "notifications/resources/updated";
        assert!(!client.notifications().iter().any(is_update));

        let mut changes = client.listen([changed("a")]).await.unwrap();
        touch(&client).await;
        server.closing();
        assert_eq!(changes.next().await, Some(changed("a")));
        assert_eq!(changes.next().await, None);
        assert_eq!(changes.next().await, None);
    });
}

#[test]
fn a_rejected_subscription_is_an_error() {
    for revision in Revision::ALL {
        let client = TestClient::at(revision, server());
        let result = block_on(client.listen([changed("a"), changed("missing")]));
        // In a session, the URI is in the data of the server's error.
        let said = format!("{:?}", result.unwrap_err());
        assert!(said.contains("note:///missing"), "{revision}: {said}");
    }
    let error = block_on(TestClient::new(server()).listen([Change::Prompts])).unwrap_err();
    assert!(error.message.contains("Prompts"), "{error}");
}

#[test]
fn a_change_of_one_user_is_received_by_that_user() {
    for revision in Revision::ALL {
        block_on(async {
            let server = server();
            let users = ["ada", "eve"].map(Principal::new);
            let change = changed("a").only_for(users[0].user());
            let mut received = Vec::new();
            for user in users {
                let client = TestClient::at(revision, server.clone()).on_behalf(user);
                let mut changes = client.listen([change.clone()]).await.unwrap();
                server.changed(change.clone());
                received.push(changes.try_next());
            }
            assert_eq!(received, [Some(changed("a")), None], "{revision}");
        });
    }
}
