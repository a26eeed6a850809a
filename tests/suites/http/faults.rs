//! This SDK's client and server with a failing network between them.

use mcp_client::Timeouts;
use mcp_server::ServerBuilder;
use mcp_tests::network::Network;
use tokio::time::{Instant, sleep};

use crate::prelude::*;

/// How long the handler of `work` takes.
const WORK: Duration = Duration::from_secs(3);
const OUTAGES: [Duration; 6] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Creates a server whose tools count their calls.
fn counting(runs: &Arc<AtomicUsize>) -> ServerBuilder {
    let silent = Arc::clone(runs);
    let talks = Arc::clone(runs);
    Server::builder("counts", "1")
        .tool(Tool::new("work", move |Args(echo): Args<Echo>| {
            silent.fetch_add(1, Ordering::AcqRel);
            async move {
                // sleep: the clock is paused
                sleep(WORK).await;
                echo.message
            }
        }))
        .tool(Tool::new(
            "talks",
            move |Args(echo): Args<Echo>, cx: Ctx| {
                talks.fetch_add(1, Ordering::AcqRel);
                async move {
                    for step in 0..30 {
                        cx.progress(f64::from(step), 30.0);
                        // sleep: the clock is paused
                        sleep(WORK / 30).await;
                    }
                    echo.message
                }
            },
        ))
}

/// Connects a client to a new server.
async fn counted() -> (Arc<AtomicUsize>, Network, Client) {
    let runs = Arc::default();
    let network = Network::to(&Endpoint::new(counting(&runs)).unwrap());
    let client = connect(&network).await;
    (runs, network, client)
}

async fn connect(network: &Network) -> Client {
    let transport = HttpTransport::new("http://localhost/mcp")
        .unwrap()
        .service(network.clone());
    let client = Client::builder("faults", "1")
        .negotiation(Negotiation::SessionBased)
        .timeouts(Timeouts::new(
            Duration::from_secs(60),
            Duration::from_secs(120),
        ))
        .connect(transport)
        .await
        .unwrap();
    // Waits until the handshake is complete and the GET stream is open.
    // sleep: the clock is paused
    sleep(Duration::from_millis(10)).await;
    client
}

/// Calls `work`; returns the text of the result.
async fn work(client: &Client, message: &str) -> Result<String, Error> {
    let call = client.call_tool("work", json!({"message": message}));
    call.await.map(|result| result.joined_text())
}

struct Run {
    outcome: Result<String, Error>,
    runs: usize,
    posts: usize,
    gets: usize,
    took: Duration,
}

/// One call with one outage, which begins `at` after the call, or while the response is being sent.
async fn outage(tool: &str, at: Option<Duration>, lasts: Duration) -> Run {
    let (runs, network, client) = counted().await;
    let (posts, gets) = network.requests();
    let start = Instant::now();
    let call = client.call_tool(tool, json!({"message": "the answer"}));
    let trouble = async {
        match at {
            Some(at) => {
                // sleep: the clock is paused
                sleep(at).await;
                network.cut();
            }
            None => {
                network.cut_at_the_answer();
                // sleep: the clock is paused
                sleep(WORK).await;
            }
        }
        // sleep: the clock is paused
        sleep(lasts).await;
        network.mend();
    };
    let (outcome, ()) = tokio::join!(call, trouble);
    let took = start.elapsed();
    let (all_posts, all_gets) = network.requests();
    // The connection can be used for the next call.
    let again = client.call_tool(tool, json!({"message": "again"})).await;
    assert_eq!(again.unwrap().joined_text(), "again");
    Run {
        outcome: outcome.map(|result| result.joined_text()),
        runs: runs.load(Ordering::Acquire) - 1,
        posts: all_posts - posts,
        gets: all_gets - gets,
        took,
    }
}

// proves: HTTP-020, HTTP-047
#[tokio::test(start_paused = true)]
async fn a_call_whose_stream_breaks_gets_its_answer_and_runs_once() {
    for tool in ["work", "talks"] {
        for lasts in OUTAGES {
            for at in [
                Some(Duration::from_secs(1)),
                Some(Duration::from_millis(2_900)),
                None,
            ] {
                let run = outage(tool, at, lasts).await;
                let case = format!("{tool}, cut at {at:?} for {lasts:?}");
                assert_eq!(run.outcome.unwrap(), "the answer", "{case}");
                assert_eq!(run.runs, 1, "{case}");
                assert_eq!(run.posts, 1, "{case}");
                assert!(run.gets <= 30, "{case}: {} reconnects", run.gets);
                assert!(
                    run.took < WORK + lasts + Duration::from_secs(35),
                    "{case}: {:?}",
                    run.took
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_during_an_outage_succeeds_or_fails_without_having_run() {
    for lasts in OUTAGES {
        let (runs, network, client) = counted().await;
        network.cut();
        let call = client.call_tool("work", json!({"message": "the answer"}));
        let (outcome, ()) = tokio::join!(call, async {
            sleep(lasts).await;
            network.mend();
        });
        match outcome {
            Ok(result) => assert_eq!(result.joined_text(), "the answer"),
            Err(error) => {
                assert!(error.to_string().contains("network is down"), "{error}");
                assert_eq!(runs.load(Ordering::Acquire), 0);
            }
        }
        assert!(runs.load(Ordering::Acquire) <= 1);
        assert_eq!(work(&client, "again").await.unwrap(), "again");
    }
}

// Before the server has sent an event id for the call.
#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_at_once_is_not_repeated_and_says_that_it_may_have_run() {
    for lasts in OUTAGES {
        let run = outage("work", Some(Duration::from_millis(50)), lasts).await;
        fails_with(run.outcome, "may have run");
        assert_eq!((run.runs, run.posts), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_without_side_effects_is_repeated() {
    let (_, network, client) = counted().await;
    network.cut();
    let list = client.list_tools();
    let (tools, ()) = tokio::join!(list, async {
        sleep(Duration::from_millis(100)).await;
        network.mend();
    });
    match tools {
        Ok(tools) => assert_eq!(tools.len(), 2),
        Err(error) => assert!(error.to_string().contains("network is down"), "{error}"),
    }
}

// rmcp C5: every reconnect succeeds and delivers no event.
#[tokio::test(start_paused = true)]
async fn a_stream_without_new_events_is_no_longer_resumed() {
    let (runs, network, client) = counted().await;
    let (_, before) = network.requests();
    let patient = Timeouts::new(Duration::from_secs(600), Duration::from_secs(600));
    let call = client
        .call_tool("work", json!({"message": "the answer"}))
        .timeouts(patient);
    let (outcome, ()) = tokio::join!(call, async {
        sleep(Duration::from_secs(1)).await;
        network.break_every_response();
        network.cut();
        sleep(Duration::from_millis(1)).await;
        network.mend();
    });
    let error = outcome.unwrap_err();
    assert!(!error.is_timeout(), "it ends before the timeout: {error}");
    assert!(error.to_string().contains("with_max_reconnects"), "{error}");
    assert_eq!(runs.load(Ordering::Acquire), 1);
    let (_, after) = network.requests();
    assert!(after - before < 60, "{} reconnects", after - before);
}

// proves: HTTP-059
#[tokio::test(start_paused = true)]
async fn a_server_that_was_restarted_is_found_again() {
    let (first, second) = (Arc::default(), Arc::default());
    let old = Endpoint::new(counting(&first)).unwrap();
    let new = Endpoint::new(counting(&second)).unwrap();
    let network = Network::to(&old);
    let client = connect(&network).await;
    assert_eq!(client.list_tools().await.unwrap().len(), 2);
    network.lead_to(&new);
    // A list can be requested again; the call after it finds a session.
    assert_eq!(client.list_tools().await.unwrap().len(), 2);
    assert_eq!(work(&client, "again").await.unwrap(), "again");
    assert_eq!(first.load(Ordering::Acquire), 0);
    assert_eq!(second.load(Ordering::Acquire), 1);
    // A tool call whose session is lost is not repeated.
    let third = Endpoint::new(counting(&second)).unwrap();
    network.lead_to(&third);
    fails_with(work(&client, "x").await, "session");
    assert_eq!(second.load(Ordering::Acquire), 1);
    assert_eq!(work(&client, "y").await.unwrap(), "y");
}
