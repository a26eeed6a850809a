//! Servers whose processes end some time after their connections, or do not answer the first request.

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
    /// The other end of a connection that nothing reads.
    _far: Option<tokio::io::DuplexStream>,
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
            let _far = None;
            Ok(Arc::new(SlowConnection {
                inner,
                running,
                _far,
            }) as Arc<dyn Connection>)
        })
    }
}

/// A client that disconnects again and again must not start more processes than its share, although each of them ends late.
#[tokio::test(start_paused = true)]
async fn a_process_counts_against_the_limits_until_it_has_ended() {
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

/// A server that does not answer `initialize`. Its process ends some time after the connection was closed.
#[tokio::test(start_paused = true)]
async fn processes_that_do_not_answer_initialize_do_not_lock_out_other_clients() {
    let running = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&running);
    let (is_first, must_hang) = (AtomicBool::new(true), Arc::new(AtomicBool::new(true)));
    let hangs = Arc::clone(&must_hang);
    let server = Server::builder("works", "1").tool(Tool::new("work", async || "done"));
    let server = server.build().unwrap();
    let connector = move |_: &StderrLog| {
        let is_first = is_first.swap(false, Ordering::AcqRel);
        Ok(HungTransport {
            inner: mcp_transport_stdio::in_memory(server.clone()),
            hangs: !is_first && hangs.load(Ordering::Acquire),
            running: Arc::clone(&counted),
        })
    };
    let settings = Upstream::new("works", connector)
        .sharing(Sharing::Principal)
        .negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased)
        .max_connections(8)
        .max_connections_per_client(3);
    let endpoint = Endpoint::new(Proxy::connect(settings).await.unwrap()).unwrap();
    let call = |address: u8| {
        let mut client = StatelessPeer::new(&endpoint);
        client.peer.address = Some(format!("10.0.0.{address}:1").parse().unwrap());
        async move {
            let call = client.call(1, "tools/call", json!({ "name": "work" }));
            call.await.answer().await
        }
    };
    // Requests whose clients leave end their processes.
    for address in 1..=3 {
        for _ in 0..3 {
            let call = call(address);
            assert!(timeout(Duration::from_millis(100), call).await.is_err());
        }
    }
    // sleep: the clock is paused.
    sleep(Duration::from_secs(4)).await;
    assert_eq!(running.load(Ordering::Acquire), 0);
    // Requests whose clients wait make room for a client that has fewer connections.
    let mut waiting = tokio::task::JoinSet::new();
    for address in 1..=3 {
        for _ in 0..3 {
            waiting.spawn(call(address));
        }
    }
    // sleep: the clock is paused.
    sleep(Duration::from_secs(5)).await;
    must_hang.store(false, Ordering::Release);
    let reply = timeout(Duration::from_secs(8), call(9)).await.unwrap();
    assert!(reply["result"].is_object(), "{reply}");
    // The client whose server was stopped learns the reason.
    let replies = waiting.join_all().await;
    let is_reason = |reply: &Value| reply.to_string().contains("stopped before it answered");
    let reasons = replies.iter().filter(|reply| is_reason(reply));
    let reasons: Vec<_> = reasons.map(Value::to_string).collect();
    assert!(!reasons.is_empty(), "{replies:?}");
    for reason in reasons {
        assert!(!reason.contains("cannot be reached"), "{reason}");
    }
}

/// A transport whose connection reads nothing, if `hangs` is true.
struct HungTransport {
    inner: mcp_transport_stdio::InMemory,
    hangs: bool,
    running: Arc<AtomicUsize>,
}

impl Transport for HungTransport {
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        Box::pin(async move {
            if !self.hangs {
                return Box::new(self.inner).start(inbound).await;
            }
            // Nothing reads or writes at the other end.
            let (near, far) = tokio::io::duplex(64 << 10);
            let (read, write) = tokio::io::split(near);
            let transport = mcp_transport_stdio::Pipe::new(read, write);
            let inner = Box::new(transport).start(inbound).await?;
            self.running.fetch_add(1, Ordering::AcqRel);
            let (running, _far) = (self.running, Some(far));
            Ok(Arc::new(SlowConnection {
                inner,
                running,
                _far,
            }) as Arc<dyn Connection>)
        })
    }
}
