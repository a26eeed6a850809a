//! Roots for servers, their log messages, and the progress of calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::{LoggingLevel, Revision};
use mcp_host::{Host, ServerLimits};
use mcp_server::{Ctx, Server, ServerBuilder, Tool};

use crate::support::{Folder, Killable, call, client};

/// A server whose tool `roots` returns the URIs of the roots.
fn rooted() -> ServerBuilder {
    let roots = |cx: Ctx| async move {
        let roots = cx.roots().await.unwrap();
        let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
        uris.join(" ")
    };
    Server::builder("fixture", "1.0.0").tool(Tool::new("roots", roots))
}

#[tokio::test(start_paused = true)]
async fn existing_roots_are_sent_to_each_server_and_changes_are_announced() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let folder = Folder::new(&format!("roots-{revision}"));
        let path = folder.0.canonicalize().unwrap();
        let [a, b] = ["a b", "b"].map(|name| path.join(name));
        std::fs::create_dir(&a).unwrap();
        std::fs::create_dir(&b).unwrap();
        let uri = |path: &std::path::Path| {
            format!("file://{}", path.to_str().unwrap().replace(' ', "%20"))
        };
        let connector = || Killable::default().connector(|_| Some(rooted()));
        let host = Host::builder(client().revision(revision))
            .connector("one", connector())
            .connector("two", connector())
            .roots([a.clone(), b.clone(), path.join("missing")])
            .server_roots("two", [&b])
            .start();
        let both = format!("{} {}", uri(&a), uri(&b));
        assert_eq!(call(&host, "one__roots").await, both);
        assert_eq!(call(&host, "two__roots").await, uri(&b));

        std::fs::remove_dir(&a).unwrap();
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(
            call(&host, "one__roots").await,
            uri(&b),
            "a has disappeared"
        );
        std::fs::create_dir(&a).unwrap();
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(call(&host, "one__roots").await, both);

        assert!(host.set_roots([&a]));
        assert!(host.set_server_roots("two", [&path; 0]));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(call(&host, "one__roots").await, uri(&a));
        assert_eq!(call(&host, "two__roots").await, "");
    }
    let host = Host::builder(client()).start();
    assert!(!host.set_roots(["/"]), "roots were not declared");
}

/// A server whose tool `log` sends 5 messages of 100 bytes.
fn logging() -> ServerBuilder {
    let log = |cx: Ctx| async move {
        for number in 0..5 {
            let text = format!("{number}\u{1b}\n{}", "x".repeat(96));
            cx.log_as("logger", LoggingLevel::Warning, text);
        }
        "done"
    };
    Server::builder("fixture", "1.0.0").tool(Tool::new("log", log))
}

#[tokio::test(start_paused = true)]
async fn log_messages_of_all_servers_are_one_bounded_stream() {
    let of_client = Arc::new(AtomicUsize::new(0));
    let builder = |limits| {
        let connector = || Killable::default().connector(|_| Some(logging()));
        let counted = Arc::clone(&of_client);
        let client = client().revision(Revision::V2025_11_25).on_log(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        Host::builder(client)
            .connector("one", connector())
            .connector("two", connector())
            .logs()
            .server_limits(limits)
    };
    let host = builder(ServerLimits::default().with_logs_per_second(3)).start();
    let logs = host.logs();
    for tool in ["one__log", "two__log"] {
        call(&host, tool).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    call(&host, "one__log").await;
    let mut received = Vec::new();
    for _ in 0..9 {
        let message = logs.next().await.unwrap();
        received.push((message.server.clone(), message.dropped));
        let line = message.to_string();
        assert!(line.starts_with(&format!("{} warning logger: ", message.server)));
        assert!(line.contains("\\u{1b}\\u{a}x"), "{line}");
    }
    let one = |dropped| ("one".to_owned(), dropped);
    assert_eq!(received[0], one(0));
    assert_eq!(received[3], ("two".to_owned(), 0));
    assert_eq!(received[6..], [one(2), one(0), one(0)]);
    assert_eq!(logs.dropped(), 6);
    assert_eq!(of_client.load(Ordering::SeqCst), 15, "without the limits");
    host.close().await;
    drop(host);
    assert_eq!(logs.next().await, None, "the host has ended");

    let host = builder(ServerLimits::default().with_max_log_bytes(600)).start();
    call(&host, "one__log").await;
    call(&host, "two__log").await;
    let logs = host.logs();
    assert_eq!(logs.dropped(), 8, "only two messages fit");
    for _ in 0..2 {
        assert_eq!(logs.next().await.unwrap().server, "one");
    }
    call(&host, "two__log").await;
    let message = logs.next().await.unwrap();
    assert_eq!((&*message.server, message.dropped), ("two", 5));

    let host = Host::builder(client()).start();
    assert_eq!(host.logs().next().await, None, "without HostBuilder::logs");
}

#[tokio::test]
async fn progress_has_the_names_of_its_server_and_tool() {
    let updates = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&updates);
    let work = |cx: Ctx| async move {
        cx.progress(1.0, 2.0);
        "done"
    };
    let server = move || Server::builder("fixture", "1.0.0").tool(Tool::new("work", work));
    let host = Host::builder(client())
        .connector(
            "one",
            Killable::default().connector(move |_| Some(server())),
        )
        .on_progress(move |server, tool, progress| {
            let text = format!("{server} {tool} {} {:?}", progress.progress, progress.total);
            seen.lock().unwrap().push(text);
        })
        .start();
    assert_eq!(call(&host, "one__work").await, "done");
    assert_eq!(*updates.lock().unwrap(), ["one work 1 Some(2.0)"]);
}
