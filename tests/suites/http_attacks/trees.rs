//! Messages just under the limits whose parsed form would stay in memory: of sessions, of calls that wait, and of
//! subscriptions. Measured from outside the server process.

use mcp_tests::tcp::{Conn, Request, Session};
use mcp_types::method;

use super::memory::{Process, objects};

/// Number of messages of an attack.
const MESSAGES: usize = 24;
/// Size of the part of a message that would become a tree: about 32,000 objects, which take slightly less than the part of
/// `MemoryLimits::max_request_bytes` that one client can use.
const TREE: usize = 250 << 10;
/// How much the peak memory of the server may grow.
const ALLOWED: usize = 160 << 20;

fn message(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{params}}}")
}

/// Builds a request of 2026-07-28 whose `_meta` has these members too.
fn stateless(method: &str, name: Option<&str>, params: &str, meta: &str) -> Request {
    let params = format!(
        "{{{params},\"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
         \"io.modelcontextprotocol/clientInfo\":{{\"name\":\"a\",\"version\":\"1\"}},{meta}}}}}"
    );
    let request = Request::post(message(method, &params))
        .with("mcp-protocol-version", "2026-07-28")
        .with("mcp-method", method);
    match name {
        Some(name) => request.with("mcp-name", name),
        None => request,
    }
}

/// Members of `_meta` of a client that wants log messages, which show it that a call has started.
const CLIENT: &str = "\"io.modelcontextprotocol/clientCapabilities\":{},\"io.modelcontextprotocol/logLevel\":\"info\"";

/// Sends the request on many connections, which stay open; returns the statuses and the first texts.
async fn attack(request: Request) -> Vec<(u16, String)> {
    let server = Process::start();
    let mut conns: Vec<Conn> = Vec::new();
    let before = server.peak();
    let mut responses = Vec::new();
    for _ in 0..MESSAGES {
        let mut conn = server.connect().await;
        conn.send(request.bytes()).await;
        let answer = conn.started().await;
        responses.push((answer.status, answer.text().to_owned()));
        conns.push(conn);
    }
    server.survives().await;
    let grown = server.peak() - before;
    assert!(grown < ALLOWED, "{} MiB, {responses:?}", grown >> 20);
    responses
}

// A session keeps what its client says about itself.
#[tokio::test]
async fn initialize_with_large_capabilities_is_refused() {
    let params = format!(
        "{{\"protocolVersion\":\"2025-11-25\",\"clientInfo\":{{\"name\":\"a\",\"version\":\"1\"}},\
         \"capabilities\":{{\"experimental\":{{\"a\":{{\"b\":{}}}}}}}}}",
        objects(TREE)
    );
    let request = Request::post(message(method::INITIALIZE, &params));
    refused(&attack(request).await, "longer than 16384 bytes");
}

/// Asserts that all messages were refused with an error that contains this text.
fn refused(responses: &[(u16, String)], reason: &str) {
    for (status, text) in responses {
        assert!(text.contains(reason), "{status} {text}");
    }
}

// A call that waits keeps its `_meta` as text, and the client's capabilities as a tree.
#[tokio::test]
async fn calls_that_wait_keep_no_large_metadata() {
    let params = r#""name":"wait","arguments":{}"#;
    let tree = objects(TREE);
    let meta = format!("{CLIENT},\"com.example/a\":{tree}");
    let request = stateless(method::TOOLS_CALL, Some("wait"), params, &meta);
    for (status, text) in attack(request).await {
        let waits = status == 200 && text.contains("waits");
        assert!(waits || status == 503, "{status} {text}");
    }
    let meta = format!(
        "\"io.modelcontextprotocol/clientCapabilities\":{{\"experimental\":{{\"a\":{{\"b\":{tree}}}}}}}"
    );
    let request = stateless(method::TOOLS_CALL, Some("wait"), params, &meta);
    refused(&attack(request).await, "longer than 16384 bytes");
}

// The handler has parsed its arguments and keeps them while it waits.
#[tokio::test]
async fn calls_that_wait_share_a_limit_for_their_arguments() {
    let params = format!(
        "\"name\":\"wait\",\"arguments\":{{\"a\":{}}}",
        objects(TREE)
    );
    let request = stateless(method::TOOLS_CALL, Some("wait"), &params, CLIENT);
    let responses = attack(request).await;
    let waiting = responses
        .iter()
        .filter(|(status, _)| *status == 200)
        .count();
    assert!((1..=3).contains(&waiting), "{waiting} wait");
    let refused = responses.iter().filter(|(status, _)| *status == 503);
    assert_eq!(refused.count(), MESSAGES - waiting);
}

// A subscription keeps the URIs of its resources.
#[tokio::test]
async fn subscriptions_keep_no_megabytes_of_uris() {
    let uri = |n: usize| format!("\"any:///{n}{}\"", "x".repeat(8_000));
    let uris: Vec<String> = (0..500).map(uri).collect();
    let params = format!(
        "\"notifications\":{{\"resourceSubscriptions\":[{}]}}",
        uris.join(",")
    );
    let request = stateless(method::SUBSCRIPTIONS_LISTEN, None, &params, CLIENT);
    refused(&attack(request).await, "the limit is 65536");
}

// The handler of a task keeps its arguments after the call was answered.
#[tokio::test]
async fn running_tasks_share_a_limit_for_their_arguments() {
    let params = format!(
        "\"name\":\"later\",\"arguments\":{{\"a\":{}}}",
        objects(TREE)
    );
    let server = Process::start();
    let session = Session::open(&mut server.connect().await).await;
    let params = format!("{{{params},\"task\":{{\"ttl\":3600000}}}}");
    let request = session.post(message(method::TOOLS_CALL, &params));
    let mut refused = 0;
    for _ in 0..MESSAGES {
        let answer = server.connect().await.ask(&request).await;
        refused += usize::from(answer.text().contains("with_max_running_bytes"));
    }
    // One task may keep its arguments.
    assert!(refused >= MESSAGES - 1, "{refused}");
    server.survives().await;
}

// As many sessions as one address can keep, each with nearly all that a client may say about itself.
#[tokio::test]
async fn sessions_of_one_address_take_little_memory() {
    let server = Process::start();
    let said = "x".repeat(15 << 10);
    let params = format!(
        "{{\"protocolVersion\":\"2025-11-25\",\"clientInfo\":{{\"name\":\"{said}\",\"version\":\"1\"}},\"capabilities\":{{}}}}"
    );
    let request = Request::post(message(method::INITIALIZE, &params));
    let mut conn = server.connect().await;
    for _ in 0..6_000 {
        assert_eq!(conn.ask(&request).await.status, 200);
    }
    server.survives().await;
}

/// Returns the accepted `initialize` params whose parsed form takes the most memory compared with their text: four chains of
/// nested objects.
fn worst_client() -> String {
    let chain = format!("{}1{}", "{\"a\":".repeat(20), "}".repeat(20));
    format!(
        "{{\"protocolVersion\":\"2025-11-25\",\"clientInfo\":{{\"name\":\"a\",\"version\":\"1\"}},\
         \"capabilities\":{{\"experimental\":{{\"a\":{chain},\"b\":{chain},\"c\":{chain},\"d\":{chain}}}}}}}"
    )
}

// Sessions that each need 60 times the memory of the text that opened them, from one address and from fifty addresses.
#[tokio::test]
async fn sessions_with_deeply_nested_capabilities_stay_within_the_memory_limit() {
    let opened = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for addresses in [1, 50] {
        let server = Process::start();
        let request = Request::post(message(method::INITIALIZE, &worst_client()));
        for from in 1..=addresses {
            let mut conn = server.connect_from(from).await;
            for _ in 0..5_000 / u32::from(addresses) {
                let answer = conn.ask(&request).await;
                assert_eq!(answer.status, 200, "{answer:?}");
                let session = Session::known(answer.header("mcp-session-id").unwrap());
                conn.ask(&session.post(opened)).await;
            }
        }
        println!("{addresses} addresses: {} MiB", server.peak() >> 20);
        server.survives().await;
    }
}

// Each subscription has a connection, a head and a task.
#[tokio::test]
async fn subscriptions_take_no_more_memory_than_is_charged() {
    const SUBSCRIPTIONS: usize = 500;
    const CHARGED: usize = 28 << 10;
    let server = Process::start();
    let filter = "\"notifications\":{\"toolsListChanged\":true}";
    let request = stateless(method::SUBSCRIPTIONS_LISTEN, None, filter, CLIENT);
    let mut conns = Vec::new();
    let mut before = 0;
    for n in 0..=SUBSCRIPTIONS {
        let mut conn = server.connect().await;
        conn.send(request.bytes()).await;
        assert_eq!(conn.started().await.status, 200);
        conns.push(conn);
        if n == 0 {
            before = server.peak();
        }
    }
    let each = (server.peak() - before) / SUBSCRIPTIONS;
    println!("{each} bytes for each subscription");
    assert!(each <= CHARGED, "{each} bytes");
    server.survives().await;
}

// A small body can become a large tree.
#[tokio::test]
async fn waiting_calls_with_small_bodies_share_a_limit_for_their_arguments() {
    let params = format!(
        "\"name\":\"wait\",\"arguments\":{{\"a\":{}}}",
        objects(3_500)
    );
    let request = stateless(method::TOOLS_CALL, Some("wait"), &params, CLIENT);
    let server = Process::start();
    let (mut conns, mut refused) = (Vec::new(), 0);
    for from in 1..=10 {
        for _ in 0..100 {
            let mut conn = server.connect_from(from).await;
            conn.send(request.bytes()).await;
            refused += usize::from(conn.started().await.status == 503);
            conns.push(conn);
        }
    }
    println!("{refused} are refused, {} MiB", server.peak() >> 20);
    server.survives().await;
    assert!(refused > 500, "{refused}");
}

// Bodies that lack one byte.
#[tokio::test]
async fn unfinished_bodies_of_one_client_leave_room_for_other_clients() {
    let server = Process::start();
    let session = Session::open(&mut server.connect().await).await;
    let request = session.post(" ".repeat(4 << 20)).bytes();
    let mut conns = Vec::new();
    for _ in 0..64 {
        let mut conn = server.connect().await;
        // The server may refuse the rest.
        let _ = conn.try_send(&request[..request.len() - 1]).await;
        conns.push(conn);
    }
    server.survives().await;
}

// Calls that wait, on more connections than are needed to use up the limit.
#[tokio::test]
async fn waiting_calls_of_one_client_leave_room_for_other_clients() {
    let server = Process::start();
    let request = stateless(
        method::TOOLS_CALL,
        Some("wait"),
        "\"name\":\"wait\",\"arguments\":{}",
        CLIENT,
    );
    let mut conns = Vec::new();
    for _ in 0..1_100 {
        let mut conn = server.connect().await;
        conn.send(request.bytes()).await;
        conns.push(conn);
    }
    server.survives().await;
}
