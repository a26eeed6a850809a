//! Servers whose processes end some time after their connections.

use mcp_client::{Transport, TransportError};
use mcp_gateway::{Proxy, Sharing, Upstream};
use mcp_host::StderrLog;
use mcp_protocol::{BoxFuture, Closed, Connection, Inbound, Link};
use tokio::time::{sleep, timeout};

use crate::prelude::*;

/// A connection to a server that ignores signals. Its process ends 3 s after the connection was closed.
#[derive(Debug)]
struct SlowConnection {
    inner: Arc<dyn Connection>,
    running: Arc<AtomicUsize>,
}

impl Connection for SlowConnection {
    fn link(&self) -> Arc<dyn Link> {
        self.inner.link()
    }

    fn close(&self) -> BoxFuture<'static, Result<(), TransportError>> {
        let (close, running) = (self.inner.close(), Arc::clone(&self.running));
        Box::pin(async move {
            let closed = close.await;
            // sleep: the clock is paused.
            sleep(Duration::from_secs(3)).await;
            running.fetch_sub(1, Ordering::AcqRel);
            closed
        })
    }

    fn closed(&self) -> BoxFuture<'static, Closed> {
        self.inner.closed()
    }
}

/// A transport that starts processes, and counts the processes that have not ended.
struct SlowTransport {
    inner: mcp_transport_stdio::InMemory,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Transport for SlowTransport {
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        Box::pin(async move {
            let inner = Box::new(self.inner).start(inbound).await?;
            let running = self.running;
            let now = running.fetch_add(1, Ordering::AcqRel) + 1;
            self.most.fetch_max(now, Ordering::AcqRel);
            Ok(Arc::new(SlowConnection { inner, running }) as Arc<dyn Connection>)
        })
    }
}

/// A client that disconnects again and again must not start more processes than its share, although each of them ends late.
#[tokio::test(start_paused = true)]
async fn a_process_counts_until_it_has_ended() {
    let (running, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let counts = (Arc::clone(&running), Arc::clone(&most));
    let server = Server::builder("works", "1")
        .tool(Tool::new("hang", async || {
            std::future::pending::<String>().await
        }))
        .tool(Tool::new("work", async || "done"));
    let server = server.build().unwrap();
    let connector = move |_: &StderrLog| {
        Ok(SlowTransport {
            inner: mcp_transport_stdio::in_memory(server.clone()),
            running: Arc::clone(&counts.0),
            most: Arc::clone(&counts.1),
        })
    };
    let settings = Upstream::new("works", connector)
        .sharing(Sharing::All)
        .negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased)
        .max_connections(8)
        .max_connections_per_client(2);
    let endpoint = Endpoint::new(Proxy::connect(settings).await.unwrap()).unwrap();
    let mut client = StatelessPeer::new(&endpoint);
    client.peer.address = Some("10.0.0.1:1".parse().unwrap());
    for number in 0..12 {
        let call = client.call(number, "tools/call", json!({ "name": "hang" }));
        assert!(timeout(Duration::from_millis(200), call).await.is_err());
    }
    let call = client.call(99, "tools/call", json!({ "name": "work" }));
    let reply = call.await.json().await;
    assert!(reply["result"].is_object(), "{reply}");
    // One connection for all clients, and two connections for this client.
    assert!(most.load(Ordering::Acquire) <= 3, "{most:?}");
}
