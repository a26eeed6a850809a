//! The examples of servers over HTTP.

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use mcp_sdk::client::Negotiation;
use mcp_sdk::http::HttpTransport;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::issuer::Issuer;
use crate::program::{BOTH, Program, client, connect, get, text, within};

#[tokio::test]
async fn hello_http_adds_numbers_and_ends_at_sigterm() {
    let (program, url) = Program::serve("hello_http").await;
    assert!(
        url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp"),
        "{url}"
    );
    for negotiation in BOTH {
        let client = connect(client(negotiation), &url).await;
        assert_eq!(text(&client, "add", json!({ "a": 2, "b": 3 })).await, "5");
    }
    #[cfg(unix)]
    {
        program.terminate();
        assert!(program.ended().await.success());
    }
    #[cfg(not(unix))]
    drop(program);
}

#[tokio::test]
async fn axum_shutdown_serves_other_routes() {
    let (_program, url) = Program::serve("axum_shutdown").await;
    let health = get(&url.replace("/mcp", "/health")).await;
    assert!(
        health.starts_with("HTTP/1.1 200") && health.ends_with("ok"),
        "{health}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn axum_shutdown_lets_running_calls_finish() {
    let (mut program, url) = Program::serve("axum_shutdown").await;
    // The session has an open stream, which does not delay the shutdown.
    let client = connect(client(Negotiation::SessionBased), &url).await;
    let (started, mut starts) = mpsc::channel(1);
    let running = client
        .call_tool("work", json!({ "seconds": 1 }))
        .on_progress(move |_| {
            let _ = started.try_send(());
        })
        .into_future();
    let running = tokio::spawn(running);
    within(starts.recv()).await.unwrap();
    program.terminate();
    program.stderr.until("shutting down").await;
    let result = within(running).await.unwrap().unwrap();
    assert_eq!(result.joined_text(), "done");
    assert!(program.ended().await.success());
}

#[tokio::test]
async fn static_token_knows_its_users_and_their_scopes() {
    let tokens = [
        ("ADA_TOKEN", "token-of-ada-1815"),
        ("BOB_TOKEN", "token-of-bob-1789"),
    ];
    let mut program = Program::start_with("static_token", &["127.0.0.1:0"], &tokens);
    let url = program.url().await;
    for negotiation in BOTH {
        let signed_in = async |token| {
            let transport = HttpTransport::new(&url).unwrap().bearer(token).unwrap();
            within(client(negotiation).connect(transport)).await
        };
        let ada = signed_in(tokens[0].1).await.unwrap();
        assert_eq!(text(&ada, "whoami", json!({})).await, "ada");
        assert_eq!(text(&ada, "publish", json!({})).await, "published by ada");
        let bob = signed_in(tokens[1].1).await.unwrap();
        assert_eq!(text(&bob, "whoami", json!({})).await, "bob");
        let refused = within(bob.call_tool("publish", json!({})))
            .await
            .unwrap_err();
        assert!(refused.to_string().contains("news:write"), "{refused}");
        let unknown = signed_in("token-of-mallory").await.unwrap_err();
        assert!(unknown.to_string().contains("401"), "{unknown}");
    }
}

#[tokio::test]
async fn http_jwt_accepts_tokens_of_its_issuer_for_its_url() {
    let issuer = Issuer::start().await;
    let mut program = Program::start("http_jwt", &[issuer.url(), "127.0.0.1:0"]);
    let url = program.url().await;
    let signed_in = async |token: String| {
        let transport = HttpTransport::new(&url).unwrap().bearer(token).unwrap();
        within(client(Negotiation::Auto).connect(transport)).await
    };
    let delete = json!({ "note": 7 });
    let writer = signed_in(issuer.token(&url, "notes:write")).await.unwrap();
    assert_eq!(text(&writer, "whoami", json!({})).await, "ada");
    assert_eq!(
        text(&writer, "delete_note", delete.clone()).await,
        "ada deleted note 7"
    );
    let reader = signed_in(issuer.token(&url, "")).await.unwrap();
    let refused = within(reader.call_tool("delete_note", delete))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("notes:write"), "{refused}");

    let of_another_server = issuer.token("https://other.example/mcp", "notes:write");
    let of_another_issuer = Issuer::start().await.token(&url, "notes:write");
    for token in [of_another_server, of_another_issuer] {
        let refused = signed_in(token).await.unwrap_err();
        assert!(refused.to_string().contains("401"), "{refused}");
    }
    // Clients read here where their users sign in, and which scopes exist.
    let metadata = get(&url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")).await;
    assert!(
        metadata.contains(issuer.url()) && metadata.contains("notes:write"),
        "{metadata}"
    );
}

#[tokio::test]
async fn otel_metrics_sends_the_duration_of_calls_to_the_collector() {
    let (sender, mut exports) = mpsc::channel::<Bytes>(64);
    let collect = async move |body: Bytes| drop(sender.try_send(body));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let collector = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/metrics", post(collect));
    tokio::spawn(async move { axum::serve(listener, router).await });

    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector),
        ("OTEL_METRIC_EXPORT_INTERVAL", "100"),
    ];
    let mut program = Program::start_with("otel_metrics", &["127.0.0.1:0"], &variables);
    let url = program.url().await;
    let client = connect(client(Negotiation::Auto), &url).await;
    assert_eq!(text(&client, "add", json!({ "a": 2, "b": 3 })).await, "5");
    let is_complete = |export: &Bytes| {
        let text = String::from_utf8_lossy(export);
        let words = [
            "mcp.server.operation.duration",
            "tools/call",
            "add",
            "calculator",
        ];
        words.iter().all(|word| text.contains(word))
    };
    while !is_complete(&within(exports.recv()).await.unwrap()) {}
}
