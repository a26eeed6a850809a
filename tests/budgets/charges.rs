//! Compares the memory of values that outlive their message with the charge, that is, with the memory that the server counts
//! for them: the charge is an upper bound even for the worst accepted values. `cargo test -p mcp-tests --test budgets charge -- --nocapture` prints both.

use std::time::Duration;

use mcp_jsonrpc::{RawJson, TreeSize, decode};
use mcp_protocol::Revision;
use mcp_protocol::task::{Task, TaskCall, Timestamp};
use mcp_server::{Resource, Server};
use mcp_tests::http::{Peer, StatelessPeer};
use mcp_transport_http::{Endpoint, ServerOptions};
use mcp_types::CLIENT_CAPABILITIES_KEY;
use serde_json::{Value, json};

/// Maximum overhead of the allocator for one allocation: a small allocation takes 32 bytes.
const PER_ALLOCATION: i64 = 31;

/// Creates a value with `make`; returns the value and its memory.
fn measured<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let mut made = None;
    let counted = allocation_counter::measure(|| made = Some(make()));
    let bytes = counted.bytes_current + PER_ALLOCATION * counted.count_current;
    (made.unwrap(), usize::try_from(bytes).unwrap_or(0))
}

/// The name of a shape of JSON, and a function that returns a value of about `size` items.
type Shape = (&'static str, fn(usize) -> String);

fn list(item: impl Fn(usize) -> String, size: usize) -> String {
    (0..size).map(item).collect::<Vec<_>>().join(",")
}

fn members(item: impl Fn(usize) -> String, size: usize) -> String {
    format!("{{{}}}", list(|n| format!("\"{n:x}\":{}", item(n)), size))
}

fn array(item: impl Fn(usize) -> String, size: usize) -> String {
    format!("[{}]", list(item, size))
}

/// Chains of nested containers, 50 in each.
fn chains(open: &str, close: &str, size: usize) -> String {
    let chain = |n| format!("{}1{}", open.repeat(n), close.repeat(n));
    array(|n| chain((size - n * 50).min(50)), size.div_ceil(50))
}

const SHAPES: [Shape; 17] = [
    ("nested objects", |n| chains("{\"a\":", "}", n)),
    ("nested objects, empty names", |n| chains("{\"\":", "}", n)),
    ("nested arrays", |n| chains("[", "]", n)),
    ("objects", |n| array(|_| "{\"a\":1}".into(), n)),
    ("objects of strings", |n| {
        array(|_| "{\"a\":\"b\"}".into(), n)
    }),
    ("objects with 12 members", |n| {
        array(|_| members(|_| "\"b\"".into(), 12), n / 12)
    }),
    ("an object beside empty objects", |n| {
        format!(
            "[{},{}]",
            members(|_| "\"a\"".into(), n),
            list(|_| "{}".into(), n)
        )
    }),
    ("empty objects", |n| array(|_| "{}".into(), n)),
    ("empty arrays", |n| array(|_| "[]".into(), n)),
    ("arrays", |n| array(|_| "[1]".into(), n)),
    ("numbers", |n| array(|n| (n % 10).to_string(), n)),
    ("long numbers", |n| {
        array(|_| "-1.2345678901234567e-300".into(), n)
    }),
    ("strings", |n| array(|_| "\"a\"".into(), n)),
    ("escaped strings", |n| array(|_| "\"\\u0001\\n\"".into(), n)),
    ("members", |n| members(|_| "1".into(), n)),
    ("members with strings", |n| members(|_| "\"a\"".into(), n)),
    ("long names", |n| {
        array(|_| format!("{{\"{}\":1}}", "x".repeat(40)), n)
    }),
];

/// Returns values of each shape with their names, in sizes around the capacities of vectors and tree nodes, and mixtures of shapes.
fn values(max: usize) -> Vec<(String, String)> {
    let sizes = [
        1, 2, 5, 7, 11, 12, 17, 33, 60, 65, 100, 129, 200, 255, 257, 500,
    ];
    let mut values = Vec::new();
    for size in sizes.into_iter().filter(|size| *size <= max) {
        for (name, shape) in SHAPES {
            values.push((format!("{size} {name}"), shape(size)));
        }
    }
    let mut seed = 8_741_usize;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for n in 0..100 {
        let part = |random: &mut dyn FnMut(usize) -> usize| {
            SHAPES[random(SHAPES.len())].1(1 + random(max / 3))
        };
        let parts: Vec<String> = (0..3).map(|_| part(&mut random)).collect();
        let mixed = match random(2) {
            0 => array(|n| parts[n].clone(), 3),
            _ => members(|n| parts[n].clone(), 3),
        };
        values.push((format!("mixture {n}"), mixed));
    }
    values
}

/// The value so far whose memory comes closest to its charge.
#[derive(Default)]
struct Worst {
    name: String,
    memory: usize,
    charged: usize,
}

impl Worst {
    fn add(&mut self, name: &str, memory: usize, charged: usize) {
        assert!(
            memory <= charged,
            "{name}: {memory} bytes, {charged} charged"
        );
        if memory * self.charged.max(1) >= self.memory * charged {
            *self = Self {
                name: name.to_owned(),
                memory,
                charged,
            };
        }
    }

    fn print(&self, what: &str) {
        eprintln!(
            "| {what} | {} | {} | {} |",
            self.name, self.memory, self.charged
        );
    }
}

#[test]
fn the_charge_for_a_json_tree_is_an_upper_bound_for_any_values() {
    let mut worst = Worst::default();
    for (name, text) in values(500) {
        let (_tree, memory) = measured(|| decode::<Value>(&text).unwrap());
        worst.add(&name, memory, TreeSize::of(&text).heap_bytes());
    }
    worst.print("tree");
}

fn endpoint() -> Endpoint {
    let server = Server::builder("charges", "1")
        .resource(Resource::new("any:///{path}", "any", || "text"))
        .build()
        .unwrap();
    let options = ServerOptions::new()
        .with_client_share(100)
        .with_session_limits(|limits| limits.max_sessions = 1_000_000)
        .with_memory_limits(|memory| memory.max_session_bytes = 1 << 30);
    Endpoint::with_options(server, options).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Returns capabilities of clients, some of which the server refuses.
fn capabilities() -> Vec<(String, Value)> {
    let capable = |(name, text): (String, String)| {
        let value: Value = decode(&text).unwrap();
        (name, json!({"experimental": {"x": {"y": value}}}))
    };
    let mut all: Vec<_> = values(255).into_iter().map(capable).collect();
    all.push(("nothing".into(), json!({})));
    all
}

const SESSIONS: usize = 20;

#[test]
fn the_charge_for_a_session_is_an_upper_bound_for_any_client() {
    let (mut worst, mut accepted) = (Worst::default(), 0);
    let (runtime, endpoint) = (runtime(), endpoint());
    let open = |capabilities: &Value| {
        runtime.block_on(async {
            let mut status = 200;
            for _ in 0..SESSIONS {
                let mut peer = Peer::new(&endpoint);
                let reply = peer.initialize("2025-11-25", capabilities.clone()).await;
                status = reply.status.as_u16();
                if status == 200 {
                    peer.post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                        .await;
                }
            }
            status
        })
    };
    // Fills caches and tables.
    for _ in 0..20 {
        open(&json!({}));
    }
    for (name, capabilities) in capabilities() {
        let before = endpoint.session_bytes();
        let (status, memory) = measured(|| open(&capabilities));
        let charged = endpoint.session_bytes() - before;
        if status == 200 {
            accepted += 1;
            worst.add(&name, memory / SESSIONS, charged / SESSIONS);
        } else {
            assert_eq!(charged, 0, "{name}");
        }
    }
    assert!(accepted > 100, "{accepted} descriptions were accepted");
    worst.print("session");
}

#[test]
fn the_charge_for_the_subscriptions_of_a_session_is_an_upper_bound_for_short_and_long_uris() {
    let (runtime, endpoint) = (runtime(), endpoint());
    let mut worst = Worst::default();
    for (count, length) in [(1_000, 1), (1_000, 40), (60, 1_000), (8, 8_000)] {
        let peer = runtime.block_on(Peer::open(&endpoint));
        let uris = (0..count).map(|n| format!("any:///{n:05}{}", "x".repeat(length)));
        let uris: Vec<String> = uris.collect();
        let ((), memory) = measured(|| {
            runtime.block_on(async {
                for uri in &uris {
                    peer.ask("resources/subscribe", json!({ "uri": uri })).await;
                }
            });
        });
        let charged = uris.iter().map(|uri| 128 + uri.len()).sum::<usize>();
        worst.add(
            &format!("{count} URIs of {length} bytes"),
            memory,
            charged + 1_024,
        );
    }
    worst.print("subscriptions of a session");
}

#[test]
fn the_charge_for_a_subscription_is_an_upper_bound_for_any_client() {
    let (mut worst, runtime, endpoint) = (Worst::default(), runtime(), endpoint());
    for (name, capabilities) in capabilities() {
        let client = StatelessPeer::new(&endpoint).with_meta(CLIENT_CAPABILITIES_KEY, capabilities);
        let before = endpoint.stream_bytes();
        let listen = || {
            runtime.block_on(async {
                let mut replies = Vec::new();
                for id in 0..SESSIONS {
                    let filter = json!({"notifications": {"toolsListChanged": true}});
                    let reply = client.call(id, "subscriptions/listen", filter).await;
                    replies.push(reply);
                }
                replies
            })
        };
        let (replies, memory) = measured(listen);
        let charged = endpoint.stream_bytes() - before;
        if replies[0].status == 200 {
            assert!(replies.iter().all(|reply| reply.status == 200), "{name}");
            worst.add(&name, memory / SESSIONS, charged / SESSIONS);
        }
        drop(replies);
        // The tasks of the subscriptions end.
        runtime.block_on(async {
            while runtime.metrics().num_alive_tasks() > 0 {
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(endpoint.stream_bytes(), before, "{name}");
    }
    worst.print("subscription without its connection");
}

#[test]
fn the_estimated_size_of_a_task_is_an_upper_bound_for_any_values() {
    let mut worst = Worst::default();
    for (name, text) in values(255) {
        let client =
            format!("{{\"capabilities\":{{\"experimental\":{{\"x\":{{\"y\":{text}}}}}}}}}");
        let make = || {
            let arguments = RawJson::copy("{}");
            let mut call = TaskCall::new("tools/call", "tool", arguments, Revision::LATEST);
            call.client = std::sync::Arc::new(decode(&client).unwrap());
            let ttl = Some(Duration::from_secs(60));
            let mut task = Task::new("t".repeat(64), None, call, Timestamp::default(), ttl);
            let requests = decode(&format!("{{\"a\":{{\"params\":{text}}}}}")).unwrap();
            task.require_input(requests, Timestamp::default()).unwrap();
            task
        };
        let (task, memory) = measured(make);
        worst.add(&name, memory, task.weight());
    }
    worst.print("task");
}
