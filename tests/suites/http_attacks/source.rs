//! T01, T02: the origin of a request. T25: headers with invalid contents.

use mcp_tests::tcp::{Request, RunningServer, tool};
use mcp_transport_http::{Endpoint, ServerOptions, serve_with};
use tokio::net::TcpListener;

use super::h2::H2;
use super::{Gate, healthy, served, server};
use crate::traced::Traced;

/// Values of `Host`, and whether they name this machine. The unit tests of the allow list have all forms of the values;
/// these also show what the HTTP parser lets through.
const HOSTS: [(&[u8], bool); 10] = [
    (b"localhost", true),
    (b"LOCALHOST:65535", true),
    (b"127.0.0.1:8080", true),
    (b"[::1]:8080", true),
    (b"", false),
    (b"localhost.evil.com", false),
    (b"localhost:80:80", false),
    (b"localhost, evil.com", false),
    (b"localhost@evil.com", false),
    (b"localhost\xff", false),
];

#[tokio::test]
async fn t01_only_requests_whose_host_names_this_machine_reach_the_handler() {
    let gate = Gate::new();
    let served = served(&gate).await;
    let (mut conn, session) = served.open().await;
    for (host, passes) in HOSTS {
        let before = gate.calls();
        let answer = conn
            .ask(&session.tool(1, "echo", "x").with("host", host))
            .await;
        let shown = host.escape_ascii();
        assert_eq!(answer.status == 200, passes, "{shown}: {answer:?}");
        assert_eq!(gate.calls() - before, usize::from(passes), "{shown}");
        if !passes {
            assert_eq!(answer.status, 403, "{shown}");
            assert!(
                answer.text().contains("ServerOptions::allow_host"),
                "{answer:?}"
            );
        }
    }
}

/// Without the warning, the operator would only see that clients are refused.
#[tokio::test]
async fn t01_listening_beyond_this_machine_without_allowed_hosts_is_reported() {
    for (address, host, is_reported) in [
        ("0.0.0.0:0", None, true),
        ("0.0.0.0:0", Some("mcp.example.com"), false),
        ("127.0.0.1:0", None, false),
    ] {
        let (traced, _guard) = Traced::start();
        let options = host
            .into_iter()
            .fold(ServerOptions::new(), ServerOptions::allow_host);
        let endpoint = Endpoint::with_options(server(&Gate::new()), options).unwrap();
        let listener = TcpListener::bind(address).await.unwrap();
        // The shutdown begins before a connection is accepted.
        let served = serve_with(listener, endpoint, std::future::ready(()));
        served.await.unwrap();
        let line = traced.line("only local Host headers");
        assert_eq!(line.is_some(), is_reported, "{address} {host:?}");
    }
}

// A request without `Host`, with two `Host` headers, or with a target that contradicts `Host` is rejected.
#[tokio::test]
async fn t01_a_request_with_no_host_or_several_hosts_is_rejected() {
    let gate = Gate::new();
    let served = served(&gate).await;
    let (_conn, session) = served.open().await;
    let call = session.tool(1, "echo", "x");
    let hosts = |values: &[&str]| {
        let bare = call.without("host");
        values
            .iter()
            .fold(bare, |call, host| call.and("host", host))
    };
    for (values, target, passes) in [
        (&[][..], "/mcp HTTP/1.1", false),
        (&[], "/mcp HTTP/1.0", false),
        (&[], "http://evil.com/mcp HTTP/1.1", false),
        (&[], "http://localhost/mcp HTTP/1.1", true),
        (&["localhost"], "/mcp HTTP/1.0", true),
        (&["localhost"], "http://localhost/mcp HTTP/1.1", true),
        (&["localhost"], "http://evil.com/mcp HTTP/1.1", false),
        (&["localhost"], "http://localhost:81/mcp HTTP/1.1", false),
        (&["localhost"], "http://user@localhost/mcp HTTP/1.1", false),
        (&["localhost", "localhost"], "/mcp HTTP/1.1", false),
        (&["evil.com", "localhost"], "/mcp HTTP/1.1", false),
    ] {
        let request = hosts(values).line(&format!("POST {target}"));
        let before = gate.calls();
        let mut conn = served.connect().await;
        let answer = conn.ask(&request).await;
        let head = String::from_utf8(request.head()).unwrap();
        assert_eq!(answer.status, if passes { 200 } else { 403 }, "{head}");
        assert_eq!(gate.calls() - before, usize::from(passes), "{head}");
    }
}

// Requests that a web page can send without a preflight never reach the handler, and no response is
// readable for a page.
#[tokio::test]
async fn t02_requests_of_pages_without_a_preflight_reach_no_handler() {
    let gate = Gate::new();
    let served = served(&gate).await;
    let (mut conn, session) = served.open().await;
    let call = session.tool(1, "echo", "x");
    let page = call
        .with("origin", "https://evil.example")
        .with("sec-fetch-site", "cross-site");
    let typed = |kind: &str| call.with("content-type", kind);
    for (request, status) in [
        (typed("text/plain"), 415),
        (typed("text/plain;charset=UTF-8"), 415),
        (typed("application/x-www-form-urlencoded"), 415),
        (typed("multipart/form-data; boundary=x"), 415),
        (typed("text/plain; application/json"), 415),
        (typed("text/plain, application/json"), 415),
        (typed("application/json, text/plain"), 415),
        (typed("application/jsonp"), 415),
        (typed("").and("content-type", "application/json"), 415),
        (call.without("content-type"), 415),
        (page.with("content-type", "text/plain"), 403),
        (page.clone(), 403),
        (call.with("origin", "null"), 403),
        (call.with("origin", "https://localhost.evil.example"), 403),
        (
            call.with("origin", "http://localhost")
                .and("origin", "http://localhost"),
            403,
        ),
        (page.line("OPTIONS /mcp HTTP/1.1"), 403),
        (call.line("OPTIONS /mcp HTTP/1.1"), 405),
    ] {
        let answer = conn.ask(&request).await;
        let head = String::from_utf8(request.head()).unwrap();
        assert_eq!(answer.status, status, "{head}");
        let opens = |(name, _): &(String, String)| name.starts_with("access-control-");
        assert!(!answer.headers.iter().any(opens), "{answer:?}");
    }
    assert_eq!(gate.calls(), 0);
    for request in [
        typed("application/json; charset=utf-8"),
        call.with("origin", "http://localhost:5173"),
    ] {
        assert_eq!(conn.ask(&request).await.said(), "x");
    }
    assert_eq!(gate.calls(), 2);
}

// Every method checks the origin: a foreign page gets 403 and an error without an id, also for a
// handshake; requests without an origin pass.
// proves: HTTP-002, HTTP-003, HTTP-004, M-HTTP-004
#[tokio::test]
async fn t02_a_foreign_origin_is_refused_by_every_method() {
    let served = served(&Gate::new()).await;
    let (mut conn, session) = served.open().await;
    let ping = session.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let requests = [
        Request::post(mcp_tests::tcp::initialize()),
        ping.clone(),
        session.get(),
        ping.line("DELETE /mcp HTTP/1.1"),
    ];
    for request in &requests {
        for origin in [
            "https://evil.example",
            "null",
            "http://localhost.evil.example",
        ] {
            let answer = conn.ask(&request.with("origin", origin)).await;
            assert_eq!(answer.status, 403, "{origin}");
            let error = answer.json();
            assert_eq!(error["error"]["code"], -32600, "{error}");
            assert!(error.get("id").is_none(), "{error}");
            assert!(
                answer.text().contains("ServerOptions::allow_origin"),
                "{error}"
            );
            assert_eq!(answer.header("mcp-session-id"), None);
        }
    }
    assert_eq!(served.endpoint.sessions(), 1);
    for request in requests {
        let mut conn = served.connect().await;
        conn.send(request.bytes()).await;
        let status = conn.head().await.status;
        assert!(matches!(status, 200 | 204), "{status}");
    }
}

// Over HTTP/2 the host is in the target; a contradicting Host header is rejected.
#[tokio::test]
async fn t01_over_http2_the_target_names_the_host() {
    let gate = Gate::new();
    let served = served(&gate).await;
    let (_conn, session) = served.open().await;
    let mut h2 = H2::connect(served.address).await;
    for (uri, host, passes) in [
        ("http://localhost/mcp", None, true),
        ("http://127.0.0.1:9/mcp", None, true),
        ("http://evil.example/mcp", None, false),
        ("http://localhost/mcp", Some("localhost"), true),
        ("http://localhost/mcp", Some("evil.example"), false),
        ("http://evil.example/mcp", Some("localhost"), false),
    ] {
        let before = gate.calls();
        let mut headers = vec![("mcp-session-id", session.id())];
        headers.extend(host.map(|host| ("host", host)));
        let reply = h2.post(uri, &headers, tool(1, "echo", "x")).await;
        assert_eq!(
            reply.status,
            if passes { 200 } else { 403 },
            "{uri} {host:?}"
        );
        assert_eq!(gate.calls() - before, usize::from(passes), "{uri} {host:?}");
    }
}

// The endpoints of HTTP+SSE make the same checks.
// proves: SSE-001
#[tokio::test]
async fn t01_t02_the_endpoints_of_2024_11_05_have_the_same_checks() {
    let gate = Gate::new();
    let served = RunningServer::start(server(&gate), ServerOptions::new().with_legacy()).await;
    let mut stream = served.connect().await;
    let listen = Request::get().at("/sse");
    stream.send(listen.bytes()).await;
    assert_eq!(stream.head().await.status, 200);
    let told = stream.chunk().await.unwrap();
    let told = String::from_utf8(told).unwrap();
    let (_, path) = told.split_once("data: ").unwrap();
    let path = path.trim_end();
    let call = Request::post(tool(1, "echo", "x")).at(path);
    for (request, status) in [
        (listen.with("host", "evil.example"), 403),
        (listen.with("origin", "http://evil.example"), 403),
        (listen.without("host"), 403),
        (call.with("host", "evil.example"), 403),
        (call.with("origin", "http://evil.example"), 403),
        (call.with("content-type", "text/plain"), 415),
        (call.with("content-encoding", "gzip"), 415),
        (
            Request::post(tool(1, "echo", "x")).at("/message?sessionId=guess"),
            404,
        ),
    ] {
        let mut conn = served.connect().await;
        let answer = conn.ask(&request).await;
        let head = String::from_utf8(request.head()).unwrap();
        assert_eq!(answer.status, status, "{head}");
    }
    assert_eq!(gate.calls(), 0);
}

/// Sends a request with this header value and returns the response.
async fn raw(served: &RunningServer, name: &str, value: &[u8]) -> Vec<u8> {
    let (_, session) = served.open().await;
    let request = match name {
        "last-event-id" => session.get(),
        _ => session.tool(1, "echo", "x"),
    };
    let mut conn = served.connect().await;
    conn.send(
        request
            .with(name, value)
            .with("connection", "close")
            .bytes(),
    )
    .await;
    conn.closed().await
}

// Each of the 256 byte values in each header of the protocol: rejected, and never echoed unescaped.
#[tokio::test]
async fn t25_no_byte_of_a_header_is_echoed_unescaped() {
    let gate = Gate::new();
    let served = served(&gate).await;
    for name in ["mcp-session-id", "mcp-protocol-version", "last-event-id"] {
        for byte in 0..=u8::MAX {
            let value = [b"canary".as_slice(), &[byte], b"x-injected: 1"].concat();
            let said = raw(&served, name, &value).await;
            let text = String::from_utf8(said).expect("an answer in UTF-8");
            let shown = byte.escape_ascii();
            assert!(text.starts_with("HTTP/1.1 4"), "{name} {shown}: {text}");
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(!head.contains("canary"), "{name} {shown}: {text}");
            assert!(!head.contains("x-injected"), "{name} {shown}: {text}");
            assert!(head.lines().skip(1).all(|line| line.contains(": ")));
            // Echoed text is escaped and on one line.
            assert!(!body.contains(char::is_control), "{name} {shown}: {text}");
        }
    }
    assert_eq!(gate.calls(), 0);
    let (mut conn, session) = served.open().await;
    healthy(&mut conn, &session).await;
}

// A repeated header of the protocol is rejected.
#[tokio::test]
async fn t25_a_repeated_header_is_refused() {
    let gate = Gate::new();
    let served = served(&gate).await;
    let (mut conn, session) = served.open().await;
    let (_, other) = served.open().await;
    let call = session.tool(1, "echo", "x");
    let stream = session.get().and("last-event-id", "1-1-0");
    for twice in [
        call.and("mcp-session-id", session.id()),
        call.and("mcp-session-id", other.id()),
        call.and("Mcp-Session-Id", other.id()),
        call.and("mcp-protocol-version", "2025-11-25"),
        call.and("mcp-protocol-version", "2025-06-18"),
        stream.and("last-event-id", "1-1-0"),
        stream,
    ] {
        assert_eq!(conn.ask(&twice).await.status, 400);
    }
    let both = call.with(
        "mcp-session-id",
        format!("{}, {}", session.id(), other.id()),
    );
    assert_eq!(conn.ask(&both).await.status, 404);
    assert_eq!(gate.calls(), 0);
}

// A head with more than a hundred headers, or with long values, is rejected.
#[tokio::test]
async fn t25_the_number_of_headers_is_limited() {
    let served = served(&Gate::new()).await;
    let (mut conn, session) = served.open().await;
    let mut call = session.tool(1, "echo", "x");
    for n in 0..200 {
        call = call.and(&format!("x-{n}"), "y");
    }
    assert_eq!(conn.ask(&call).await.status, 431);
}
