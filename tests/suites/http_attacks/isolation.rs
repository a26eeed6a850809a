//! T03, T05: data of one client never reaches another.

use mcp_server::ServerBuilder;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Instant;

use mcp_tests::http::{Peer, Reply};
use mcp_tests::random::Random;
use tokio::task::{JoinSet, yield_now};

use super::{Gate, server};
use crate::prelude::*;

const CLIENTS: u64 = 200;
/// Calls of each client, one after the other and at the same time.
const WAVES: u64 = 50;
const AT_ONCE: u64 = 5;

/// Creates a generator of pseudorandom numbers and prints its seed.
fn seeded() -> Random {
    let seed = match std::env::var("MCP_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => RandomState::new().hash_one(0),
    };
    eprintln!("MCP_SEED={seed}");
    Random::new(seed)
}

#[derive(Deserialize, JsonSchema)]
struct Nonce {
    nonce: String,
    speaks: bool,
    yields: u64,
}

/// Returns the nonce, sooner or later, and may send it before.
fn nonces() -> ServerBuilder {
    Server::builder("nonces", "1").tool(Tool::new(
        "nonce",
        |Args(it): Args<Nonce>, cx: Ctx| async move {
            if it.speaks {
                cx.progress_with(1.0, 2.0, &it.nonce);
            }
            for _ in 0..it.yields {
                yield_now().await;
            }
            it.nonce
        },
    ))
}

/// The outcome of a call.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    Answer,
    Nothing,
}

/// Reads a response to its end and checks that all of it belongs to this call.
async fn read(mut reply: Reply, id: &str, nonce: &str) -> Came {
    assert_eq!(reply.status, 200);
    let check = |answer: Value| {
        assert_eq!(answer["id"], id, "{answer}");
        let text = &answer["result"]["content"][0]["text"];
        assert_eq!(text, nonce, "{answer}");
    };
    if reply.kind() == "application/json" {
        check(reply.json().await);
        return Came::Answer;
    }
    let mut came = Came::Nothing;
    while let Some(message) = reply.message().await {
        assert_eq!(came, Came::Nothing, "{message} after the answer");
        if message["method"] == "notifications/progress" {
            assert_eq!(message["params"]["progressToken"], id, "{message}");
            assert_eq!(message["params"]["message"], nonce, "{message}");
        } else {
            check(message);
            came = Came::Answer;
        }
    }
    came
}

/// Sends all calls of one client, with the same ids as all other clients; returns the number of
/// responses.
async fn client(peer: Peer, number: u64, mut random: Random, cancels: bool) -> u64 {
    let mut answered = 0;
    for wave in 0..WAVES {
        let mut calls = JoinSet::new();
        for call in 0..AT_ONCE {
            let (peer, mut random) = (peer.clone(), Random::new(random.below(u64::MAX)));
            calls.spawn(async move {
                let id = format!("{wave}-{call}");
                let nonce = format!("nonce of {number} {wave} {call}");
                let arguments = json!({
                    "nonce": nonce, "speaks": random.below(3) == 0, "yields": random.below(4),
                });
                let params = json!({
                    "name": "nonce", "arguments": arguments, "_meta": {"progressToken": id},
                });
                let cancelled = random.below(5) == 0;
                let cancel = async {
                    for _ in 0..random.below(6) {
                        yield_now().await;
                    }
                    if cancelled {
                        let params = json!({"requestId": id});
                        let cancel = json!({
                            "jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": params,
                        });
                        assert_eq!(peer.post(cancel).await.status, 202);
                    }
                };
                let answer = async {
                    let reply = peer.call(id.as_str(), "tools/call", params).await;
                    read(reply, &id, &nonce).await
                };
                let (came, ()) = tokio::join!(answer, cancel);
                assert!(came == Came::Answer || (cancelled && cancels), "{nonce}");
                u64::from(came == Came::Answer)
            });
        }
        while let Some(call) = calls.join_next().await {
            answered += call.unwrap();
        }
    }
    answered
}

async fn storm(options: ServerOptions, sessions: bool) {
    let start = Instant::now();
    let mut random = seeded();
    let endpoint = Endpoint::with_options(nonces(), options).unwrap();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let peer = match sessions {
            true => Peer::open(&endpoint).await,
            false => Peer::new(&endpoint).with("mcp-protocol-version", Some("2025-11-25")),
        };
        let random = Random::new(random.below(u64::MAX));
        clients.spawn(client(peer, number, random, sessions));
    }
    let mut answered = 0;
    while let Some(client) = clients.join_next().await {
        answered += client.unwrap();
    }
    let all = CLIENTS * WAVES * AT_ONCE;
    // Calls that were cancelled in time get no response.
    let least = if sessions { all / 2 } else { all };
    assert!((least..=all).contains(&answered), "{answered}");
    assert_eq!(endpoint.in_flight(), 0);
    assert!(
        start.elapsed() < Duration::from_secs(120),
        "{:?}",
        start.elapsed()
    );
}

// 200 clients with sessions, 50,000 calls, the same ids in each, some cancelled: every response and
// every progress notification carries the nonce of its caller.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t05_answers_reach_their_callers_with_sessions() {
    storm(ServerOptions::new(), true).await;
}

// The same without sessions, where all clients share one session object: cancelling the id of
// another client does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t05_answers_reach_their_callers_without_sessions() {
    storm(ServerOptions::new().without_sessions(), false).await;
}

// Events of another principal's session are not replayed to a client that has stolen its ids.
#[tokio::test]
async fn t03_a_replay_is_refused_to_another_principal() {
    let endpoint = Endpoint::new(server(&Gate::new())).unwrap();
    let mut alice = Peer::new(&endpoint);
    alice.principal = Some(Principal::new("alice"));
    alice.initialize("2025-11-25", json!({})).await;
    let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    alice.post(opened).await;
    let mut call = alice.tool(1, "speaks", json!({"message": "hers"})).await;
    let first = call.event().await.unwrap().id;
    let mut bob = alice.clone();
    bob.principal = Some(Principal::new("bob"));
    let reply = bob.get(first.as_deref()).await;
    assert_eq!(reply.status, 404);
    assert!(!reply.text().await.contains("hers"));
    drop(call);
    assert_eq!(alice.get(first.as_deref()).await.said().await, "hers");
}
