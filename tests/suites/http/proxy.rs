//! Client and server with a proxy between them that cuts connections. Sockets do not work with paused time.

use std::net::SocketAddr;

use mcp_transport_http::{ClientOptions, serve_with};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::prelude::*;

const WORK: Duration = Duration::from_millis(400);

/// Forwards connections while it is up; cuts them and drops new ones while it is down.
struct Proxy {
    address: SocketAddr,
    up: watch::Sender<bool>,
    accepted: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

impl Proxy {
    async fn to(server: SocketAddr) -> Self {
        let (listener, address) = listen().await;
        let up = watch::Sender::new(true);
        let accepted = Arc::new(AtomicUsize::new(0));
        let mut task = JoinSet::new();
        let (state, count) = (up.clone(), Arc::clone(&accepted));
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::AcqRel);
                let mut up = state.subscribe();
                connections.spawn(async move {
                    if !*up.borrow() {
                        return;
                    }
                    let mut far = TcpStream::connect(server).await.unwrap();
                    tokio::select! {
                        _ = up.wait_for(|up| !up) => {}
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                    }
                });
            }
        });
        Self {
            address,
            up,
            accepted,
            _task: task,
        }
    }
}

async fn served(runs: &Arc<AtomicUsize>) -> (SocketAddr, JoinSet<()>) {
    let runs = Arc::clone(runs);
    let service =
        Server::builder("counts", "1").tool(Tool::new("work", move |Args(echo): Args<Echo>| {
            runs.fetch_add(1, Ordering::AcqRel);
            async move {
                // sleep: sockets do not wait for a paused clock
                sleep(WORK).await;
                echo.message
            }
        }));
    let options = ServerOptions::new()
        .with_streams(|streams| streams.upgrade_delay = Duration::from_millis(50))
        .with_streams(|streams| streams.reconnect_delay = Duration::from_millis(100));
    let endpoint = Endpoint::with_options(service, options).unwrap();
    let (listener, address) = listen().await;
    let mut task = JoinSet::new();
    task.spawn(async move {
        serve_with(listener, endpoint, std::future::pending())
            .await
            .unwrap();
    });
    (address, task)
}

#[tokio::test]
async fn a_cut_connection_loses_no_response() {
    let runs = Arc::default();
    let (server, _serving) = served(&runs).await;
    let proxy = Proxy::to(server).await;
    let url = format!("http://{}/mcp", proxy.address);
    let delay = Duration::from_millis(50);
    let options = ClientOptions::new()
        .with_reconnect_delay(delay)
        .with_max_reconnect_delay(Duration::from_millis(500));
    let transport = HttpTransport::new(url).unwrap().options(options);
    let client = Client::builder("proxied", "1")
        .negotiation(Negotiation::SessionBased)
        .connect(transport)
        .await
        .unwrap();
    let mut calls = 0;
    for outage in [100, 300, 600].map(Duration::from_millis) {
        // During the call, while its response is being created, and after it is ready.
        for at in [150, 380].map(Duration::from_millis) {
            let before = proxy.accepted.load(Ordering::Acquire);
            let call = client.call_tool("work", json!({"message": "the answer"}));
            let (outcome, ()) = tokio::join!(call, async {
                // sleep: sockets do not wait for a paused clock
                sleep(at).await;
                proxy.up.send_replace(false);
                // sleep: sockets do not wait for a paused clock
                sleep(outage).await;
                proxy.up.send_replace(true);
            });
            calls += 1;
            assert_eq!(
                outcome.unwrap().joined_text(),
                "the answer",
                "{at:?} for {outage:?}"
            );
            assert_eq!(runs.load(Ordering::Acquire), calls);
            let connections = proxy.accepted.load(Ordering::Acquire) - before;
            assert!(connections < 40, "{connections} connections");
        }
    }
    client.close().await.unwrap();
}

#[tokio::test]
async fn another_path_gets_an_error_that_names_the_endpoint() {
    let (server, _serving) = served(&Arc::default()).await;
    let mut socket = TcpStream::connect(server).await.unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let request = format!(
        "POST /elsewhere HTTP/1.1\r\nhost: {server}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(answer.contains("/mcp"), "{answer}");
}
