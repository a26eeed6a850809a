//! A client whose server is killed and started again, with everything in one file.
//!
//! `RESTARTS=200 cargo test -p mcp-tests --test kills restarts` restarts the server 200 times instead of 25.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_client::{Client, Negotiation};
use mcp_protocol::{BoxFuture, Revision};
use mcp_tests::random::Random;
use mcp_transport_http::{ClientOptions, HttpTransport, RequestBody};
use serde_json::json;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::caller::{Caller, Kind, Outcome};
use super::marks::Marks;
use super::server::Process;
use super::{DEADLINE, SeedReport, Tally, TempFolder, check};

type HyperClient = hyper_util::client::legacy::Client<HttpConnector, RequestBody>;

/// The longest time from the moment when the client has reconnected until the server is killed, in milliseconds.
const MAX_LIFETIME: u64 = 250;
/// The delay before a client that reached no server tries again.
const ATTEMPT: Duration = Duration::from_millis(10);
/// The progress notifications of a change.
const PROGRESS: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

/// An HTTP client that counts what it sends.
#[derive(Clone)]
struct CountingClient {
    client: HyperClient,
    counts: watch::Sender<Counts>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Counts {
    /// Requests that open a session.
    initialized: usize,
    /// Standalone streams that a server has opened.
    opened: usize,
    /// Those that resumed after an event.
    resumed: usize,
    /// Streams of calls that a server has resumed.
    calls_resumed: usize,
}

impl tower_service::Service<Request<RequestBody>> for CountingClient {
    type Response = Response<Incoming>;
    type Error = hyper_util::client::legacy::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        self.client.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let headers = request.headers();
        let is_get = request.method() == Method::GET;
        let is_first = request.method() == Method::POST && !headers.contains_key("mcp-session-id");
        let last = headers.get("last-event-id").cloned();
        let of_call = |id: &http::HeaderValue| !id.as_bytes().starts_with(b"0-");
        let (is_resumed, is_of_call) = (last.is_some(), last.as_ref().is_some_and(of_call));
        let sent = self.client.request(request);
        let counts = self.counts.clone();
        Box::pin(async move {
            let response = sent.await?;
            counts.send_if_modified(|counts| {
                let before = *counts;
                let is_open = is_get && response.status() == StatusCode::OK;
                counts.initialized += usize::from(is_first);
                counts.opened += usize::from(is_open && !is_of_call);
                counts.resumed += usize::from(is_open && is_resumed && !is_of_call);
                counts.calls_resumed += usize::from(is_open && is_of_call);
                *counts != before
            });
            Ok(response)
        })
    }
}

/// The calls of `change`, and the updates that the client has received.
#[derive(Default)]
struct Log {
    /// The progress of each call, and its outcome.
    changes: Vec<(Vec<f64>, Outcome)>,
    /// How often each update was received.
    updates: BTreeMap<usize, usize>,
}

impl Log {
    /// How many changes were answered.
    fn answered(&self) -> usize {
        let is_text = |outcome: &Outcome| matches!(outcome, Outcome::Text(_));
        self.changes
            .iter()
            .filter(|change| is_text(&change.1))
            .count()
    }

    fn received(&self, number: usize) -> usize {
        self.updates.get(&number).copied().unwrap_or_default()
    }
}

/// A client of the server.
#[derive(Clone)]
struct Session {
    client: Client,
    log: watch::Sender<Log>,
    counts: watch::Receiver<Counts>,
    /// The reader of each subscription.
    readers: Arc<AsyncMutex<JoinSet<()>>>,
}

impl Session {
    async fn open(url: &str) -> Self {
        let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
        let client = client.build_http();
        let (counts, receiver) = watch::channel(Counts::default());
        let options = ClientOptions::new()
            .with_max_reconnects(1_000)
            .with_max_total_reconnects(1_000)
            .with_reconnect_delay(ATTEMPT)
            .with_max_reconnect_delay(10 * ATTEMPT);
        let transport = HttpTransport::new(url)
            .unwrap()
            .service(CountingClient { client, counts })
            .options(options);
        let client = Client::builder("subscriber", "1.0.0")
            .revision(Revision::V2025_11_25)
            .negotiation(Negotiation::SessionBased)
            .task_calls()
            .connect(transport)
            .await
            .unwrap();
        Self {
            client,
            log: watch::Sender::default(),
            counts: receiver,
            readers: Arc::default(),
        }
    }

    /// Subscribes to the next resource, changes it, and waits for the update if it is certain to arrive.
    async fn change(&self) {
        let number = self.log.borrow().changes.len();
        self.subscribe(number).await;
        let progress = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&progress);
        let call = self
            .client
            .call_tool("change", json!({ "number": number }))
            .on_progress(move |update| {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push(update.progress);
            });
        let outcome = timeout(DEADLINE, call).await.unwrap().into();
        let progress = std::mem::take(&mut *progress.lock().unwrap());
        let is_stored = !progress.is_empty();
        self.log
            .send_modify(|log| log.changes.push((progress, outcome)));
        if is_stored {
            let mut log = self.log.subscribe();
            let received = log.wait_for(|log| log.received(number) > 0);
            let received = timeout(DEADLINE, received).await;
            assert!(received.is_ok(), "the update of change {number} is lost");
        } else {
            // sleep: the server is being started.
            sleep(ATTEMPT).await;
        }
    }

    async fn subscribe(&self, number: usize) {
        let begin = Instant::now();
        let mut subscription = loop {
            match self.client.subscribe(format!("count:///{number}")).await {
                Ok(subscription) => break subscription,
                Err(error) => assert!(begin.elapsed() < DEADLINE, "{error}"),
            }
            // sleep: the server is being started.
            sleep(ATTEMPT).await;
        };
        let log = self.log.clone();
        self.readers.lock().await.spawn(async move {
            while subscription.next().await.is_some() {
                log.send_modify(|log| *log.updates.entry(number).or_default() += 1);
            }
        });
    }

    /// Waits until another change has been answered.
    async fn answered(&self) {
        let mut log = self.log.subscribe();
        let before = log.borrow().answered();
        let answered = log.wait_for(|log| log.answered() > before);
        timeout(DEADLINE, answered).await.unwrap().unwrap();
    }

    /// Waits until the client has opened its standalone stream so many times.
    async fn opened(&self, times: usize) {
        let mut counts = self.counts.clone();
        let opened = counts.wait_for(|counts| counts.opened >= times);
        let opened = timeout(DEADLINE, opened).await;
        assert!(opened.is_ok(), "not reconnected {times} times");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_continues_through_restarts_with_one_reconnect_each() {
    let restarts = std::env::var("RESTARTS").map_or(25, |text| text.parse().unwrap());
    let seed = SeedReport::new();
    let mut random = Random::new(seed.0);
    let folder = TempFolder::new("restarts");
    let mut server = Process::start(&folder.0, "127.0.0.1:0");
    let url = server.url().await;
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let session = Session::open(&url).await;
    session.change().await;
    let (stop, stopped) = watch::channel(false);
    let changing = tokio::spawn({
        let session = session.clone();
        async move {
            while !*stopped.borrow() {
                session.change().await;
            }
        }
    });
    let (mut tasks, mut slowest) = (JoinSet::new(), Duration::ZERO);
    for restart in 1..=restarts {
        let client = session.client.clone();
        let name = format!("task-{restart}");
        tasks.spawn(async move { Caller(client).call(Kind::Steps, name, true).await });
        if random.below(2) == 0 {
            session.answered().await;
        }
        // sleep: the server may be killed at any moment.
        sleep(Duration::from_millis(random.below(MAX_LIFETIME))).await;
        server.kill().await;
        let begin = Instant::now();
        server = Process::start(&folder.0, address);
        server.url().await;
        session.opened(restart + 1).await;
        slowest = slowest.max(begin.elapsed());
    }
    stop.send_replace(true);
    timeout(DEADLINE, changing).await.unwrap().unwrap();
    session.change().await;
    let tasks = timeout(DEADLINE, tasks.join_all()).await.unwrap();
    let counts = *session.counts.borrow();
    let (answered, interrupted) = check_changes(&session.log.borrow());
    let marks = Marks::read(&folder.0.join("marks"));
    let mut tally = Tally::default();
    for task in &tasks {
        if let Err(problem) = check(task, &marks, &mut tally) {
            panic!("{problem}: {task:?}, {:?}", marks.of(&task.name));
        }
    }
    eprintln!(
        "{restarts} restarts: {counts:?}; {answered} changes with a response, {interrupted} interrupted; {} tasks \
         completed, {} of them in several processes; reconnected within {slowest:?}",
        tally.acknowledged, tally.resumed,
    );
    assert_eq!((counts.initialized, counts.opened), (1, restarts + 1));
    // A loaded machine does less between two kills.
    assert!(answered >= restarts / 4 && interrupted >= restarts / 10);
    assert!(tally.acknowledged >= restarts / 4, "{tally:?}");
}

/// Checks that no event was lost or doubled. Returns the number of changes with a response, and of those without.
fn check_changes(log: &Log) -> (usize, usize) {
    for (number, (progress, outcome)) in log.changes.iter().enumerate() {
        let received = log.received(number);
        assert!(
            received <= 1,
            "the update of change {number} came {received} times"
        );
        assert!(
            PROGRESS.starts_with(progress),
            "change {number}: {progress:?}"
        );
        assert!(
            received == 1 || progress.is_empty(),
            "change {number} was not received"
        );
        if let Outcome::Text(text) = outcome {
            assert_eq!(*text, format!("count:///{number}"));
            assert_eq!(*progress, PROGRESS, "change {number}");
        }
    }
    (log.answered(), log.changes.len() - log.answered())
}
