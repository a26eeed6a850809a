//! The right to read a resource, which applies to reads, subscriptions and notifications.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashSet;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{
    Args, Cancelled, Change, Ctx, ErrorObject, HandlerError, LoggingLevel, Principal, Resource,
    Revision, Server, ServerBuilder, State,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const UPDATED: &str = "notifications/resources/updated";
const LIST_CHANGED: &str = "notifications/resources/list_changed";

#[derive(Deserialize, JsonSchema)]
struct Home {
    user: String,
}

/// Creates a server on which each user may read only the resource with the user's name, `home:///{user}`.
fn homes() -> ServerBuilder<String> {
    let owns = async |Args(home): Args<Home>, State(broken): State<String>, cx: Ctx| {
        if home.user == broken {
            return Err(HandlerError::new("the database is down"));
        }
        Ok(cx.principal().is_some_and(|it| it.user() == home.user))
    };
    let home = Resource::new("home:///{user}", "home", |Args(home): Args<Home>| home.user);
    Server::builder("homes", "1")
        .state("broken".to_owned())
        .resource(home.readable_if(owns))
        .resource(Resource::text("home:///all", "all", "all").with_state(()))
}

fn client<S: Clone + Send + Sync + 'static>(
    revision: Revision,
    server: &Server<S>,
    user: &str,
) -> TestClient {
    TestClient::at(revision, server.clone()).on_behalf(Principal::new(user))
}

/// Subscribes to the resource list and to resources; with sessions, sends one request for each resource.
/// Returns the future that keeps the subscription open, and the URIs that were accepted.
fn subscribe<'a>(
    client: &'a TestClient,
    uris: &[&str],
) -> (
    impl Future<Output = Result<Value, ErrorObject>> + 'a,
    Vec<String>,
) {
    let stateless = client.revision().is_stateless();
    let filter = json!({ "resourcesListChanged": true, "resourceSubscriptions": uris });
    let mut listening = Box::pin(async move {
        let params = json!({ "notifications": filter });
        client.request("subscriptions/listen", params).await
    });
    if stateless {
        let mut cx = Context::from_waker(Waker::noop());
        // Other tasks run after each check.
        for _ in 0..=uris.len() {
            let poll = listening.as_mut().poll(&mut cx);
            assert!(poll.is_pending(), "{poll:?}");
        }
        let notifications = client.notifications();
        let (_, params) = notifications
            .iter()
            .find(|(method, _)| method == ACKNOWLEDGED)
            .unwrap();
        let accepted = &params["notifications"]["resourceSubscriptions"];
        let accepted = accepted.as_array().into_iter().flatten();
        return (
            listening,
            accepted.map(|it| it.as_str().unwrap().to_owned()).collect(),
        );
    }
    let accepts = |uri: &&&str| {
        block_on(client.request("resources/subscribe", json!({ "uri": uri }))).is_ok()
    };
    (
        listening,
        uris.iter()
            .filter(accepts)
            .map(|uri| (*uri).to_owned())
            .collect(),
    )
}

fn received(client: &TestClient, notification: &str) -> Vec<Value> {
    let notifications = client.notifications().into_iter();
    notifications
        .filter(|(method, _)| method == notification)
        .map(|(_, params)| params["uri"].clone())
        .collect()
}

#[test]
fn a_client_that_may_not_read_a_resource_cannot_subscribe_to_it() {
    let secrets = || {
        let secret = Resource::text("x://secret", "secret", "s");
        let open = Resource::text("x://open", "open", "o");
        Server::builder("s", "1")
            .resource(secret)
            .resource(open)
            .guard(|request| match (request.method, request.target) {
                ("resources/read", Some("x://secret")) => Err(ErrorObject::invalid_request("no")),
                _ => Ok(()),
            })
    };
    let merged = || Server::builder("outer", "1").merge(secrets());
    for revision in Revision::ALL {
        for server in [secrets(), merged()] {
            let client = TestClient::at(revision, server);
            let (_listening, accepted) = subscribe(&client, &["x://secret", "x://open"]);
            assert_eq!(accepted, ["x://open"], "{revision}");
        }
    }
}

#[test]
fn a_resource_that_is_not_readable_does_not_exist_for_any_method() {
    for revision in Revision::ALL {
        let server = homes().build().unwrap();
        let alice = client(revision, &server, "alice");
        let (uris, none) = (
            [
                "home:///alice",
                "home:///bob",
                "home:///broken",
                "home:///all",
            ],
            "none:///",
        );
        let (_listening, accepted) = subscribe(&alice, &uris);
        let mut sorted = accepted.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["home:///alice", "home:///all"], "{revision}");

        assert!(block_on(alice.read_resource("home:///alice")).is_ok());
        let failed = block_on(alice.read_resource("home:///broken")).unwrap_err();
        assert!(failed.message.contains("database is down"), "{failed}");
        let hidden = block_on(alice.read_resource("home:///bob")).unwrap_err();
        let unknown = block_on(alice.read_resource(none)).unwrap_err();
        assert_eq!(
            (hidden.code, &hidden.message),
            (unknown.code, &unknown.message)
        );
        if !revision.is_stateless() {
            let subscribe = |uri| alice.request("resources/subscribe", json!({ "uri": uri }));
            let refused = block_on(subscribe("home:///bob")).unwrap_err();
            let unknown = block_on(subscribe(none)).unwrap_err();
            assert_eq!(
                (refused.code, &refused.message),
                (unknown.code, &unknown.message)
            );
        }
    }
}

#[test]
fn without_an_access_check_a_subscription_needs_a_successful_read() {
    for revision in Revision::ALL {
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        let owner = move |Args(home): Args<Home>, cx: Ctx| {
            counted.fetch_add(1, Ordering::Relaxed);
            let user = cx.principal().map(|principal| principal.user().to_owned());
            async move { (user == Some(home.user)).then_some("home") }
        };
        let mine = |cx: Ctx| cx.principal().map(|_| "mine");
        let broken = || Err::<String, _>(HandlerError::new("the database is down"));
        let panics = |cx: Ctx| match cx.principal() {
            Some(_) => panic!("a bug"),
            None => std::future::ready(None::<String>),
        };
        let server = Server::builder("homes", "1")
            .resource(Resource::new("home:///{user}", "home", owner))
            .resource(Resource::new("home:///", "mine", mine))
            .resource(Resource::new("home:///broken", "broken", broken))
            .resource(Resource::new("home:///panics", "panics", panics))
            .resource(Resource::new("home:///open", "open", || "open"))
            .build()
            .unwrap();
        let uris = [
            "home:///alice",
            "home:///bob",
            "home:///",
            "home:///broken",
            "home:///open",
            "home:///panics",
        ];
        let alice = client(revision, &server, "alice");
        let (_listening, accepted) = subscribe(&alice, &uris);
        let expected = HashSet::from(["home:///alice", "home:///", "home:///open"]);
        assert_eq!(
            accepted.iter().map(|it| &**it).collect::<HashSet<_>>(),
            expected,
            "{revision}"
        );
        assert_eq!(reads.load(Ordering::Relaxed), 2, "{revision}");
        let unknown = TestClient::at(revision, server);
        let (_listening, accepted) = subscribe(&unknown, &uris);
        assert_eq!(accepted, ["home:///open"], "{revision}");
    }
}

#[test]
fn messages_of_a_handler_that_checks_a_subscription_are_not_sent() {
    async fn read(cx: Ctx) -> Result<&'static str, HandlerError> {
        cx.log(LoggingLevel::Error, "reading");
        Ok("text")
    }
    async fn ask(cx: Ctx) -> Result<String, HandlerError> {
        let roots = cx.roots().await?;
        Ok(roots.len().to_string())
    }
    for revision in Revision::ALL {
        let server = Server::builder("s", "1")
            .resource(Resource::new("x:///read", "read", read))
            .resource(
                Resource::new("x:///checked", "checked", || "text")
                    .readable_if(async |cx: Ctx| read(cx).await.is_ok()),
            )
            .resource(Resource::new("x:///ask", "ask", ask))
            .build()
            .unwrap();
        let client = client(revision, &server, "alice");
        let client = client.answer(json!({ "roots": {} }), |_, _| Ok(json!({ "roots": [] })));
        let (_listening, mut accepted) =
            subscribe(&client, &["x:///read", "x:///checked", "x:///ask"]);
        accepted.sort_unstable();
        assert_eq!(accepted, ["x:///checked", "x:///read"], "{revision}");
        let sent = client.notifications();
        assert!(
            sent.iter().all(|(method, _)| method == ACKNOWLEDGED),
            "{revision}: {sent:?}"
        );
    }
}

#[test]
fn the_exchange_of_a_handler_without_a_response_ends_with_the_handler() {
    for revision in Revision::ALL {
        let ends: Arc<Mutex<Vec<Cancelled>>> = Arc::default();
        let [read, checked, told] = [(); 3].map(|()| Arc::clone(&ends));
        let read = Resource::new("x:///read", "read", move |cx: Ctx| {
            read.lock().unwrap().push(cx.cancelled());
            "text"
        });
        let checked =
            Resource::text("x:///checked", "checked", "text").readable_if(move |cx: Ctx| {
                checked.lock().unwrap().push(cx.cancelled());
                async { true }
            });
        let server = Server::builder("s", "1").resource(read).resource(checked);
        let server = server.on_notification("com.example/told", move |cx: Ctx| {
            told.lock().unwrap().push(cx.cancelled());
        });
        let client = client(revision, &server.build().unwrap(), "alice");
        block_on(client.notify("com.example/told", json!({}))).unwrap();
        let (_listening, accepted) = subscribe(&client, &["x:///read", "x:///checked"]);
        assert_eq!((accepted.len(), ends.lock().unwrap().len()), (2, 3));
        for end in ends.lock().unwrap().drain(..) {
            let polled = pin!(end).poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_ready(), "{revision}");
        }
    }
}

#[test]
fn a_subscription_reads_each_resource_once_and_lets_other_tasks_run_in_between() {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let item = move |Args(home): Args<Home>| {
        counted.fetch_add(1, Ordering::Relaxed);
        home.user
    };
    let server = Server::builder("s", "1").resource(Resource::new("x:///{user}", "item", item));
    let client = TestClient::new(server);
    let uris: Vec<_> = (0..200).map(|n| format!("x:///{}", n % 100)).collect();
    let params = json!({ "notifications": { "resourceSubscriptions": uris } });
    let mut listening = pin!(client.request("subscriptions/listen", params));
    let mut before = 0;
    while client.notifications().is_empty() {
        let polled = listening
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "{polled:?}");
        let after = reads.load(Ordering::Relaxed);
        assert!(after - before <= 1, "{before} {after}");
        before = after;
    }
    assert_eq!(before, 100);
    let (method, params) = &client.notifications()[0];
    assert_eq!(method, ACKNOWLEDGED);
    assert_eq!(
        params["notifications"]["resourceSubscriptions"]
            .as_array()
            .map(Vec::len),
        Some(100)
    );
}

#[test]
fn all_access_checks_of_a_resource_must_accept_the_client() {
    let both = [(true, true), (true, false), (false, true)];
    for (first, second) in both {
        let resource = Resource::text("x://y", "y", "y")
            .readable_if(move || first)
            .readable_if(move || std::future::ready(second));
        let client = TestClient::new(Server::builder("s", "1").resource(resource));
        let read = block_on(client.read_resource("x://y"));
        assert_eq!(read.is_ok(), first && second, "{first} {second}");
    }
}

#[test]
fn a_change_for_one_user_reaches_each_client_of_the_user_and_no_other() {
    for revision in Revision::ALL {
        let server = homes().build().unwrap();
        let of = |principal| TestClient::at(revision, server.clone()).on_behalf(principal);
        let phone = of(Principal::new("alice on a phone").with_user("alice"));
        let laptop = of(Principal::new("alice on a laptop").with_user("alice"));
        let (bob, unknown) = (
            of(Principal::new("bob")),
            TestClient::at(revision, server.clone()),
        );
        let clients = [&phone, &laptop, &bob, &unknown];
        let mut listening: Vec<_> = clients
            .map(|client| subscribe(client, &["home:///all"]).0)
            .into_iter()
            .collect();
        server.changed(Change::Resources.only_for("alice"));
        server.changed(
            Change::Resource("home:///all".to_owned())
                .only_for("bob")
                .only_for("alice"),
        );
        for client in [&phone, &laptop] {
            assert_eq!(received(client, LIST_CHANGED).len(), 1, "{revision}");
            assert_eq!(received(client, UPDATED), ["home:///all"]);
        }
        for client in [&bob, &unknown] {
            assert!(
                received(client, LIST_CHANGED).is_empty() && received(client, UPDATED).is_empty()
            );
        }
        server.changed(Change::Resources);
        for client in clients {
            assert!(!received(client, LIST_CHANGED).is_empty(), "{revision}");
        }
        listening.clear();
    }
}

#[test]
fn an_equal_spelling_of_a_uri_reads_the_resource_and_does_not_evade_a_guard() {
    let server = Server::builder("s", "1")
        .resource(Resource::text("test://static-text", "open", "open"))
        .resource(Resource::text("Secret://a", "secret", "secret"))
        .resource(Resource::new(
            "Note://{id}",
            "note",
            |Args(note): Args<Note>| note.id,
        ))
        .resource(Resource::new(
            "page:///list{?of,number}",
            "page",
            |Args(page): Args<Page>| format!("{}{}", page.of, page.number),
        ))
        .guard(|request| match request.target {
            Some("Secret://a" | "Note://2" | "page:///list?of=a&number=2") => {
                Err(ErrorObject::invalid_request("secret"))
            }
            _ => Ok(()),
        })
        .build()
        .unwrap();
    let client = TestClient::new(server);
    let read = |uri: &str| {
        let result = block_on(client.read_resource(uri));
        result.map(|result| json!(result)["contents"][0].clone())
    };
    for uri in [
        "test://static-text",
        "TEST://static-text",
        "test://static%2dtext",
    ] {
        let contents = read(uri).unwrap();
        assert_eq!(contents["text"], "open", "{uri}");
        assert_eq!(contents["uri"], "test://static-text");
    }
    assert_eq!(read("note://1").unwrap()["text"], "1");
    let page = read("page:///list?number=3&of=a").unwrap();
    assert_eq!(page["text"], "a3");
    assert_eq!(page["uri"], "page:///list?of=a&number=3");
    for uri in [
        "Secret://a",
        "secret://a",
        "SECRET://%61",
        "note://2",
        "NOTE://%32",
        "Note://2",
        "page:///list?number=2&of=a",
        "PAGE:///list?number=%32&of=%61",
    ] {
        let error = read(uri).unwrap_err();
        assert_eq!(error.message, "secret", "{uri}");
    }
    assert!(read("test://Static-text").is_err());
}

#[derive(Deserialize, JsonSchema)]
struct Page {
    of: String,
    number: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    id: String,
}
