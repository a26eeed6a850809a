//! Tokens that are bound to a key of the client (DPoP), at processes that share used proofs and forward requests to each other.

use std::collections::HashSet;
use std::sync::atomic::AtomicU8;

use ::http::HeaderMap;
use mcp_auth::OAuth;
use mcp_auth::server::{Dpop, MemoryReplayCache, ReplayCache, RequireBearer, require_bearer};
use mcp_protocol::BoxFuture;
use mcp_server::StateKeys;
use mcp_tests::auth_server::AuthServer;
use mcp_tests::tcp::{Conn, Request};
use mcp_transport_http::ClientOptions;
use tokio::net::TcpStream;

use super::processes::{Processes, gateway, responding_client, shared_sessions};
use super::support::{Done, jwt, notes};
use crate::prelude::*;

const FORWARDED: &str = "mcp-forwarded";
const TICKET: &str = "mcp-forward-ticket";

/// Creates the authentication layers of processes with one cache of used proofs.
fn layers(auth: &AuthServer, dpop: Dpop) -> impl Fn(&str) -> RequireBearer {
    let dpop = dpop.required().clock(auth.clock());
    let verifier = jwt(auth);
    move |url| {
        let builder = require_bearer(url, verifier.clone());
        builder.scope("mcp").dpop(dpop.clone()).build().unwrap()
    }
}

async fn client(auth: &AuthServer, url: &str, builder: ClientBuilder) -> Client {
    let oauth = OAuth::client(url)
        .user_agent(auth.browser())
        .clock(auth.clock())
        .build();
    let options = ClientOptions::new()
        .without_listening()
        .with_max_retry_after(Duration::ZERO);
    let transport = HttpTransport::new(url).unwrap();
    let transport = transport.options(options).authorize(oauth.unwrap());
    builder.connect(transport).await.unwrap()
}

/// Starts processes with sessions, and a client with one of them.
async fn sessions(done: &Done, dpop: Dpop) -> (Processes, Client) {
    let auth = AuthServer::start().await;
    let server = async |_| notes(done).state_keys(StateKeys::new([7; 32]));
    let processes = Processes::start(server, shared_sessions(), layers(&auth, dpop)).await;
    let builder = crate::peer::client().negotiation(Negotiation::SessionBased);
    let client = client(&auth, &processes.url, builder).await;
    (processes, client)
}

/// Returns the tickets of forwarded requests.
fn tickets(processes: &Processes) -> Vec<String> {
    let forwarded = processes.forwarded.lock().unwrap();
    let ticket = |headers: &HeaderMap| headers[TICKET].to_str().unwrap().to_owned();
    forwarded.iter().map(ticket).collect()
}

#[tokio::test]
async fn requests_of_a_session_are_forwarded() {
    let done = Done::default();
    let (processes, client) = sessions(&done, Dpop::new()).await;
    for _ in 0..4 {
        assert_eq!(called(&client, "whoami", json!({})).await, "alice");
        assert_eq!(called(&client, "upstream", json!({})).await, "sent");
        // The two tools reach the process of the session in turn.
        called(&client, "whoami", json!({})).await;
    }
    let tickets = tickets(&processes);
    assert!(tickets.len() >= 6, "{tickets:?}");
    assert_eq!(tickets.iter().collect::<HashSet<_>>().len(), tickets.len());
    let seen = done.upstream.lock().unwrap();
    assert!(seen.contains(FORWARDED) && !seen.contains(TICKET));
    assert!(tickets.iter().all(|ticket| !seen.contains(ticket)));
}

#[tokio::test]
async fn parked_calls_are_continued() {
    let auth = AuthServer::start().await;
    let layers = layers(&auth, Dpop::new());
    let processes = Processes::start(gateway, ServerOptions::new(), layers).await;
    let client = client(&auth, &processes.url, responding_client()).await;
    for _ in 0..10 {
        assert_eq!(called(&client, "m__ask", json!({})).await, "Ada");
    }
    assert_eq!(tickets(&processes).len(), 10);
}

#[tokio::test]
async fn a_repeated_proof_is_rejected_by_each_process() {
    let done = Done::default();
    let (processes, client) = sessions(&done, Dpop::new()).await;
    for _ in 0..2 {
        called(&client, "whoami", json!({})).await;
    }
    let runs = done.runs();
    let forwarded = processes.forwarded.lock().unwrap().last().unwrap().clone();
    let call = json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": { "name": "whoami" } });
    let mut request = Request::post(call.to_string());
    for (name, value) in &forwarded {
        if name != "host" && name != "content-length" {
            request = request.with(name.as_str(), value);
        }
    }
    let other = "AAAAAAAAAAAAAAAAAAAAAA";
    assert_eq!(forwarded[TICKET].len(), other.len());
    for repeated in [
        request.without(FORWARDED).without(TICKET),
        request.without(TICKET),
        request.without(FORWARDED),
        request.with(TICKET, other),
        request.and(TICKET, other),
        request.with(TICKET, ""),
        request,
    ] {
        for address in processes.addresses {
            let mut conn = Conn::new(TcpStream::connect(address).await.unwrap());
            // An invalid ticket stays invalid.
            for _ in 0..2 {
                let answer = conn.ask(&repeated).await;
                assert_eq!(answer.status, 401, "{answer:?}");
                assert_eq!(answer.json()["error"], "invalid_dpop_proof");
                assert!(answer.text().contains("used before"), "{answer:?}");
                assert_eq!(answer.header(TICKET), None);
            }
        }
    }
    assert_eq!(done.runs(), runs);
    assert_eq!(called(&client, "whoami", json!({})).await, "alice");
}

const AVAILABLE: u8 = 0;
const REJECTS_TICKETS: u8 = 1;
const KEEPS_TICKETS: u8 = 2;

/// A cache that can fail for tickets, which have a shorter lifetime than proofs.
#[derive(Default)]
struct FailingCache {
    proofs: MemoryReplayCache,
    mode: Arc<AtomicU8>,
}

type Stored<'a> = BoxFuture<'a, Result<bool, Box<dyn std::error::Error + Send + Sync>>>;

impl FailingCache {
    fn fails(&self, mode: u8) -> bool {
        self.mode.load(Ordering::Acquire) == mode
    }
}

impl ReplayCache for FailingCache {
    fn insert<'a>(&'a self, key: &'a str, id: &'a str, lifetime: Duration) -> Stored<'a> {
        if self.fails(REJECTS_TICKETS) && lifetime < Duration::from_secs(60) {
            return Box::pin(std::future::ready(Err("canary".into())));
        }
        self.proofs.insert(key, id, lifetime)
    }

    fn remove<'a>(&'a self, key: &'a str, id: &'a str) -> Stored<'a> {
        if self.fails(KEEPS_TICKETS) {
            return Box::pin(std::future::ready(Err("canary".into())));
        }
        self.proofs.remove(key, id)
    }
}

#[tokio::test]
async fn forwarded_requests_are_rejected_while_the_replay_cache_fails() {
    let done = Done::default();
    let cache = FailingCache::default();
    let mode = Arc::clone(&cache.mode);
    let (processes, client) = sessions(&done, Dpop::new().replay_cache(cache)).await;
    for failure in [REJECTS_TICKETS, KEEPS_TICKETS] {
        let runs = done.runs();
        mode.store(failure, Ordering::Release);
        let mut errors = Vec::new();
        for _ in 0..4 {
            let result = client.call_tool("whoami", json!({})).await;
            errors.extend(result.err().map(|error| error.to_string()));
        }
        // The process of the session responds to the requests that reach it directly.
        assert_eq!((errors.len(), done.runs()), (2, runs + 2), "{errors:?}");
        for error in errors {
            assert!(
                error.contains("503") && !error.contains("canary"),
                "{error}"
            );
        }
        mode.store(AVAILABLE, Ordering::Release);
        let before = processes.forwarded.lock().unwrap().len();
        for _ in 0..4 {
            assert_eq!(called(&client, "whoami", json!({})).await, "alice");
        }
        assert_eq!(processes.forwarded.lock().unwrap().len(), before + 2);
    }
}
