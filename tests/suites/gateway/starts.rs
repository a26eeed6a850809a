//! Servers whose processes start slowly.

use std::thread::available_parallelism;

use mcp_client::{Transport, TransportError};
use mcp_gateway::{Proxy, Sharing, Upstream};
use mcp_host::StderrLog;
use mcp_protocol::{BoxFuture, Connection, Inbound};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::prelude::*;

#[derive(Clone, Default)]
struct Counts {
    starting: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

/// A transport that takes `takes` to start.
struct SlowStart {
    inner: mcp_transport_stdio::InMemory,
    takes: Duration,
    counts: Counts,
}

impl Transport for SlowStart {
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        Box::pin(async move {
            let counts = &self.counts;
            let now = counts.starting.fetch_add(1, Ordering::AcqRel) + 1;
            counts.most.fetch_max(now, Ordering::AcqRel);
            // sleep: the clock is paused.
            sleep(self.takes).await;
            counts.starting.fetch_sub(1, Ordering::AcqRel);
            Box::new(self.inner).start(inbound).await
        })
    }
}

/// A proxy for a server that takes `takes` to start for clients, and starts at once for the proxy itself.
async fn proxy(takes: Duration, counts: &Counts) -> Endpoint {
    let (counts, is_first) = (counts.clone(), AtomicBool::new(true));
    let server = Server::builder("works", "1").tool(Tool::new("work", async || "done"));
    let server = server.build().unwrap();
    let connector = move |_: &StderrLog| {
        Ok(SlowStart {
            inner: mcp_transport_stdio::in_memory(server.clone()),
            takes: match is_first.swap(false, Ordering::AcqRel) {
                true => Duration::ZERO,
                false => takes,
            },
            counts: counts.clone(),
        })
    };
    let settings = Upstream::new("works", connector)
        .sharing(Sharing::Principal)
        .negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased)
        .max_connections(256)
        .max_connections_per_client(64);
    Endpoint::new(Proxy::connect(settings).await.unwrap()).unwrap()
}

/// Calls the tool `count` times at once, from one address.
fn call(calls: &mut JoinSet<(u8, Duration)>, endpoint: &Endpoint, address: u8, count: usize) {
    for number in 0..count {
        let mut client = StatelessPeer::new(endpoint);
        client.peer.address = Some(format!("10.0.0.{address}:1").parse().unwrap());
        calls.spawn(async move {
            let start = Instant::now();
            let number = i64::try_from(number).unwrap();
            let call = client.call(number, "tools/call", json!({ "name": "work" }));
            let reply = call.await.answer().await;
            assert!(reply["result"].is_object(), "{reply}");
            (address, start.elapsed())
        });
    }
}

fn limit() -> usize {
    available_parallelism().map_or(4, |cores| 4.max(2 * cores.get()))
}

/// Fifty processes that start at once on two processors all miss the time limit of their first request.
#[tokio::test(start_paused = true)]
async fn few_processes_start_at_the_same_time() {
    let counts = Counts::default();
    let endpoint = proxy(Duration::from_secs(1), &counts).await;
    let mut calls = JoinSet::new();
    call(&mut calls, &endpoint, 1, 4 * limit());
    tokio::task::yield_now().await;
    call(&mut calls, &endpoint, 2, 1);
    let mut times = [Duration::ZERO; 3];
    while let Some(done) = calls.join_next().await {
        let (address, time) = done.unwrap();
        times[usize::from(address)] = times[usize::from(address)].max(time);
    }
    assert!(counts.most.load(Ordering::Acquire) <= limit());
    // The process of the other client starts with the next group.
    assert!(times[2] < Duration::from_millis(2_500), "{times:?}");
    assert!(times[1] > Duration::from_millis(3_500), "{times:?}");
}

/// A process that does not answer delays others for a limited time only.
#[tokio::test(start_paused = true)]
async fn a_process_that_hangs_delays_other_starts_for_a_limited_time() {
    let counts = Counts::default();
    let endpoint = proxy(Duration::from_secs(20), &counts).await;
    let mut calls = JoinSet::new();
    call(&mut calls, &endpoint, 1, limit());
    tokio::task::yield_now().await;
    call(&mut calls, &endpoint, 2, 1);
    let mut longest = Duration::ZERO;
    while let Some(done) = calls.join_next().await {
        longest = longest.max(done.unwrap().1);
    }
    assert!(longest < Duration::from_millis(22_500), "{longest:?}");
}
