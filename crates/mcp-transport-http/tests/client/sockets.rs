//! The built-in HTTP client on real sockets.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_protocol::{Connection, Link, Transport};
use mcp_transport_http::{ClientOptions, HttpTransport};
use mcp_types::method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::support::{Ear, ear, failure, initialize, result, spawn};

/// A minimal HTTP server.
struct Peer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: mpsc::Receiver<String>,
    /// Has a value for each connection that has ended.
    ended: mpsc::Receiver<()>,
}

/// The reaction to a message.
enum Do {
    /// Writes the bytes and continues to read.
    Say(Vec<u8>),
    /// Writes the bytes and closes the connection.
    Cut(Vec<u8>),
}

type Script = Arc<dyn Fn(&str, Option<Value>) -> Do + Send + Sync>;

impl Peer {
    async fn new(script: impl Fn(&str, Option<Value>) -> Do + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (heads, seen) = mpsc::channel(4_096);
        let (end, ended) = mpsc::channel(4_096);
        let count = Arc::clone(&connections);
        let script: Script = Arc::new(script);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let served = serve(socket, Arc::clone(&script), heads.clone());
                let end = end.clone();
                tokio::spawn(async move {
                    // `served` fails if the client resets the connection.
                    let _ = served.await;
                    let _ = end.send(()).await;
                });
            }
        });
        Self {
            address,
            connections,
            heads: seen,
            ended,
        }
    }

    async fn connect(&self, options: ClientOptions) -> (Arc<dyn Connection>, Arc<dyn Link>) {
        let http = HttpTransport::new(format!("http://{}/mcp", self.address)).unwrap();
        let http = http.options(options.without_listening());
        start(http, ear().0).await
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn start(http: HttpTransport, ear: Ear) -> (Arc<dyn Connection>, Arc<dyn Link>) {
    let connection = Box::new(http).start(Arc::new(ear)).await.unwrap();
    let link = connection.link();
    (connection, link)
}

/// Serves one connection as the script says.
async fn serve(
    mut socket: TcpStream,
    script: Script,
    heads: mpsc::Sender<String>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            if socket.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        bytes.drain(..end);
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        while bytes.len() < length {
            if socket.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        }
        let message = serde_json::from_slice(&bytes[..length]).ok();
        bytes.drain(..length);
        let what = script(&head, message);
        let _ = heads.send(head).await;
        match what {
            Do::Say(text) => socket.write_all(&text).await?,
            Do::Cut(text) => return socket.write_all(&text).await,
        }
    }
}

fn json_response(headers: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn stream_response(body: &Value) -> Vec<u8> {
    let event = format!("data: {body}\n\n");
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n{event}\r\n0\r\n\r\n",
        event.len()
    )
    .into_bytes()
}

fn accepted() -> Vec<u8> {
    b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec()
}

fn answer(message: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "result": {}})
}

/// Answers requests as JSON and accepts all other messages.
fn polite(_: &str, message: Option<Value>) -> Do {
    Do::Say(match message {
        Some(message) if message.get("id").is_some() => json_response("", &answer(&message)),
        _ => accepted(),
    })
}

async fn call_often(link: &Arc<dyn Link>, times: usize) {
    for n in 0..times {
        if n % 10 == 0 {
            link.notify("notifications/n", None, mcp_protocol::Delivery::Always)
                .unwrap();
        }
        link.request(method::TOOLS_LIST, None)
            .await
            .unwrap()
            .unwrap();
    }
}

#[tokio::test]
async fn a_thousand_calls_use_one_connection() {
    let peer = Peer::new(polite).await;
    let (connection, link) = peer.connect(ClientOptions::new()).await;
    call_often(&link, 1_000).await;
    assert_eq!(peer.connections(), 1);
    connection.close().await.unwrap();
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn a_thousand_streams_use_one_connection() {
    let script = |head: &str, message: Option<Value>| match message {
        Some(message) if message.get("id").is_some() => Do::Say(stream_response(&answer(&message))),
        message => polite(head, message),
    };
    let peer = Peer::new(script).await;
    let (_connection, link) = peer.connect(ClientOptions::new()).await;
    call_often(&link, 1_000).await;
    assert_eq!(peer.connections(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_several_threads_use_one_connection() {
    let peer = Peer::new(polite).await;
    let (_connection, link) = peer.connect(ClientOptions::new()).await;
    call_often(&link, 1_000).await;
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn idle_connections_end_after_the_timeout_and_beyond_the_maximum() {
    for (max_idle, timeout) in [(1, Duration::from_millis(20)), (0, Duration::from_secs(60))] {
        let mut peer = Peer::new(polite).await;
        let options = ClientOptions::new()
            .with_max_idle_connections(max_idle)
            .with_idle_timeout(timeout);
        let (_connection, link) = peer.connect(options).await;
        for calls in 1..=3 {
            link.request(method::TOOLS_LIST, None)
                .await
                .unwrap()
                .unwrap();
            peer.ended.recv().await.unwrap();
            assert_eq!(peer.connections(), calls);
        }
    }
}

#[tokio::test]
async fn clones_of_a_transport_share_their_connections() {
    let mut peer = Peer::new(polite).await;
    let http = HttpTransport::new(format!("http://{}/mcp", peer.address)).unwrap();
    let http = http.options(ClientOptions::new().without_listening());
    let mut open = Vec::new();
    for _ in 0..5 {
        let (connection, link) = start(http.clone(), ear().0).await;
        call_often(&link, 10).await;
        open.push(connection);
    }
    assert_eq!(peer.connections(), 1);
    // Other options need other connections.
    let other = http
        .clone()
        .options(ClientOptions::new().without_listening());
    let (other, link) = start(other, ear().0).await;
    call_often(&link, 10).await;
    assert_eq!(peer.connections(), 2);
    drop((http, open, other, link));
    for _ in 0..2 {
        peer.ended.recv().await.unwrap();
    }
}

#[tokio::test]
async fn idle_connections_end_with_the_client() {
    let mut peer = Peer::new(polite).await;
    let (connection, link) = peer.connect(ClientOptions::new()).await;
    link.request(method::TOOLS_LIST, None)
        .await
        .unwrap()
        .unwrap();
    drop((connection, link));
    peer.ended.recv().await.unwrap();
}

/// The host of the server is not a secret of the client, so an error shows it.
#[tokio::test]
async fn each_request_has_the_host_header_and_an_error_may_show_the_host() {
    let script = |head: &str, _: Option<Value>| {
        let host = lines(head, "host").concat().replace("host: ", "");
        let challenge =
            format!("www-authenticate: Bearer resource_metadata=\"http://{host}/known\"");
        Do::Say(format!("HTTP/1.1 401 No\r\n{challenge}\r\ncontent-length: 0\r\n\r\n").into_bytes())
    };
    let mut peer = Peer::new(script).await;
    let (_connection, link) = peer.connect(ClientOptions::new()).await;
    let error = failure(spawn(link.request(method::TOOLS_CALL, None))).await;
    assert!(
        error.contains(&format!("http://{}/known", peer.address)),
        "{error}"
    );
    let head = peer.heads.recv().await.unwrap();
    assert_eq!(lines(&head, "host"), [format!("host: {}", peer.address)]);

    let http = HttpTransport::new(format!("http://{}/mcp", peer.address)).unwrap();
    let http = http.header("host", "other.test").unwrap();
    let (_connection, link) = start(
        http.options(ClientOptions::new().without_listening()),
        ear().0,
    )
    .await;
    failure(spawn(link.request(method::TOOLS_CALL, None))).await;
    let head = peer.heads.recv().await.unwrap();
    assert_eq!(lines(&head, "host"), ["host: other.test"]);
}

#[tokio::test]
async fn a_connection_closed_between_calls_is_replaced() {
    let script = |_: &str, message: Option<Value>| match message {
        Some(message) => Do::Cut(json_response("", &answer(&message))),
        None => Do::Cut(accepted()),
    };
    let peer = Peer::new(script).await;
    let (_connection, link) = peer.connect(ClientOptions::new()).await;
    for _ in 0..20 {
        // Even a tool call is repeated, because it was certainly not sent.
        link.request(method::TOOLS_CALL, None)
            .await
            .unwrap()
            .unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(peer.connections(), 20);
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_end_of_a_response_fails_its_call() {
    let whole = json_response("", &json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    let head = whole.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    for at in [0, 9, head, head + 5, whole.len() - 1] {
        let part = whole[..at].to_vec();
        let peer = Peer::new(move |_, _| Do::Cut(part.clone())).await;
        let (_connection, link) = peer.connect(ClientOptions::new()).await;
        let error = failure(spawn(link.request(method::TOOLS_CALL, None))).await;
        assert!(
            error.contains("tools/call may have run"),
            "cut at {at}: {error}"
        );
        assert_eq!(peer.connections(), 1, "cut at {at}");
    }
    let peer = Peer::new(move |_, _| Do::Cut(whole.clone())).await;
    let (_connection, link) = peer.connect(ClientOptions::new()).await;
    result(spawn(link.request(method::TOOLS_CALL, None))).await;
}

#[tokio::test]
async fn a_refused_connection_fails_immediately() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let http = HttpTransport::new(format!("http://{address}/mcp")).unwrap();
    let (_connection, link) = start(http, ear().0).await;
    let error = failure(spawn(link.request(method::INITIALIZE, Some(initialize())))).await;
    assert!(
        error.contains(&format!("http://{address}/mcp cannot be reached")),
        "{error}"
    );
    assert!(error.to_lowercase().contains("refused"), "{error}");
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let (tell, mut told) = mpsc::channel(1);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"}") {
            socket.read_buf(&mut bytes).await.unwrap();
        }
        tell.send(()).await.unwrap();
        while socket
            .read_buf(&mut bytes)
            .await
            .is_ok_and(|count| count > 0)
        {}
        tell.send(()).await.unwrap();
    });
    let http = HttpTransport::new(format!("http://{address}/mcp")).unwrap();
    let (_connection, link) = start(http, ear().0).await;
    let call = spawn(link.request(method::TOOLS_CALL, None));
    told.recv().await.unwrap();
    call.abort();
    told.recv().await.unwrap();
}

/// Returns the lines of a header.
fn lines<'a>(head: &'a str, name: &str) -> Vec<&'a str> {
    let prefix = format!("{name}: ");
    let lines = head.split("\r\n");
    lines
        .filter(|line| line.to_ascii_lowercase().starts_with(&prefix))
        .collect()
}

#[tokio::test]
async fn a_value_cannot_inject_a_header() {
    for byte in 0..=255_u8 {
        let char = char::from(byte);
        let script = move |_: &str, message: Option<Value>| {
            let message = message.unwrap();
            let mut response = json_response("mcp-session-id: aXb\r\n", &answer(&message));
            let at = response.windows(3).position(|w| w == b"aXb").unwrap();
            // Raw bytes, as a hostile server would send them.
            response[at + 1] = byte;
            Do::Say(response)
        };
        let mut peer = Peer::new(script).await;
        let mut http = HttpTransport::new(format!("http://{}/mcp", peer.address)).unwrap();
        let value = format!("a{char}b");
        let plain = (0x20..0x7F).contains(&byte);
        let with_header = http.header("x-test", &value);
        assert_eq!(with_header.is_ok(), plain, "{byte:#x}");
        http = match with_header {
            Ok(http) => http,
            Err(_) => HttpTransport::new(format!("http://{}/mcp", peer.address)).unwrap(),
        };
        let (_connection, link) = start(http, ear().0).await;
        let opened = link.request(method::INITIALIZE, Some(initialize())).await;
        let head = peer.heads.recv().await.unwrap();
        assert_eq!(lines(&head, "x-test").len(), usize::from(plain));
        if opened.is_err() {
            assert!(!char.is_ascii_graphic(), "{byte:#x}");
            continue;
        }
        if char.is_ascii_graphic() {
            link.request(method::PING, None).await.unwrap().unwrap();
            let head = peer.heads.recv().await.unwrap();
            assert_eq!(
                lines(&head, "mcp-session-id"),
                [format!("mcp-session-id: a{char}b")]
            );
        }
    }
}

#[tokio::test]
async fn an_event_id_cannot_inject_a_header() {
    for byte in 0..=255_u8 {
        let script = move |head: &str, message: Option<Value>| {
            if head.starts_with("GET") {
                return Do::Cut(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n".to_vec());
            }
            drop(message);
            let mut response =
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nid: a".to_vec();
            response.push(byte);
            response.extend_from_slice(b"b\ndata:\n\n");
            Do::Cut(response)
        };
        let mut peer = Peer::new(script).await;
        let options = ClientOptions::new().with_random(|| 0);
        let (_connection, link) = peer.connect(options).await;
        let error = failure(spawn(link.request(method::TOOLS_CALL, None))).await;
        peer.heads.recv().await.unwrap();
        let Ok(head) = peer.heads.try_recv() else {
            // The id is not valid in a header, so the stream cannot be resumed.
            assert!(byte < 0x20 || byte == 0x7F, "{byte:#x}: {error}");
            continue;
        };
        assert_eq!(lines(&head, "last-event-id").len(), 1, "{byte:#x}");
        assert_eq!(head.matches("\r\n\r\n").count(), 1);
    }
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn a_server_without_tls_cannot_be_reached_by_https() {
    for (greeting, problem) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "cannot be reached",
        ),
        // A server that does not respond.
        (b"", "ClientOptions::with_connect_timeout"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            socket.write_all(greeting).await.unwrap();
            let mut bytes = Vec::new();
            while socket
                .read_buf(&mut bytes)
                .await
                .is_ok_and(|count| count > 0)
            {}
        });
        let options = ClientOptions::new().with_connect_timeout(Duration::from_millis(100));
        let http = HttpTransport::new(format!("https://{address}/mcp"))
            .unwrap()
            .options(options);
        let (_connection, link) = start(http, ear().0).await;
        let opening = spawn(link.request(method::INITIALIZE, Some(initialize())));
        let error = failure(opening).await;
        assert!(error.contains("cannot be reached"), "{error}");
        assert!(error.contains(problem), "{error}");
    }
}
