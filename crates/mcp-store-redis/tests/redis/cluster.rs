//! A cluster of three nodes.

use std::process::Stdio;
use std::time::Duration;

use mcp_store_redis::{RedisOptions, RedisStore};
use mcp_transport_http::SessionStoreErrorKind;
use mcp_transport_http::testing::{event_store_contract, session_store_contract};
use tokio::process::Command;
use tokio::time::timeout;

use crate::process::{LIMIT, Redis, command, ports, until};
use crate::stores::{append, create, key, renew, renewed};

struct Cluster {
    nodes: [Redis; 3],
    urls: [String; 3],
}

impl Cluster {
    async fn start(name: &str) -> Option<Self> {
        let ports: [u16; 6] = ports();
        let mut nodes = Vec::new();
        for number in 0..3 {
            let (port, bus) = (ports[number].to_string(), ports[number + 3].to_string());
            let settings = ["--port", &port, "--cluster-enabled", "yes"];
            let cluster = ["--cluster-port", &bus, "--cluster-node-timeout", "2000"];
            let coverage = ["--cluster-require-full-coverage", "no"];
            let settings = [&settings[..], &cluster, &coverage].concat();
            nodes.push(Redis::start(&format!("{name}-{number}"), &settings).await?);
        }
        let hosts = [0, 1, 2].map(|number: usize| format!("127.0.0.1:{}", ports[number]));
        let created = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(&hosts)
            .args(["--cluster-replicas", "0", "--cluster-yes"])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let created = timeout(LIMIT, created).await.unwrap().unwrap();
        assert!(created.status.success(), "{created:?}");
        let urls = hosts.map(|host| format!("redis://{host}"));
        for url in &urls {
            until("the cluster is ready", async || {
                let info: String = command(url, &["CLUSTER", "INFO"]).await.ok()?;
                info.contains("cluster_state:ok").then_some(())
            })
            .await;
        }
        let nodes = nodes.try_into().unwrap_or_else(|_| panic!("three nodes"));
        Some(Self { nodes, urls })
    }

    async fn redis(&self, options: RedisOptions) -> RedisStore {
        let options = options.with_response_timeout(Duration::from_millis(500));
        let options = options.with_cluster(&self.urls[1..]);
        RedisStore::connect_with(&self.urls[0], options)
            .await
            .unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stores_fulfil_their_contracts_in_a_cluster() {
    let Some(cluster) = Cluster::start("contracts").await else {
        return;
    };
    let redis = cluster.redis(RedisOptions::new()).await;
    session_store_contract(&redis.session_store())
        .await
        .unwrap();
    let events = redis.event_store();
    event_store_contract(&events).await.unwrap();
    // Keys at all nodes in one batch.
    let appends = (1..=100).map(|number| append(&events, key(number), 1, 10));
    for stored in appends.collect::<Vec<_>>() {
        stored.await.unwrap();
    }
    for url in &cluster.urls {
        let keys: usize = command(url, &["DBSIZE"]).await.unwrap();
        assert!(keys > 10, "{keys}");
    }
    let number = std::sync::atomic::AtomicUsize::new(0);
    let mut stores = Vec::new();
    for store in 0..10 {
        let options = RedisOptions::new().with_prefix(format!("{store}:"));
        stores.push(cluster.redis(options).await.task_store());
    }
    let fresh = || stores[number.fetch_add(1, std::sync::atomic::Ordering::Relaxed)].clone();
    mcp_protocol::task::contract::check(fresh).await.unwrap();
}

#[cfg(feature = "changes")]
#[tokio::test(flavor = "multi_thread")]
async fn changes_are_received_in_a_cluster() {
    use crate::changes::{publish_until_received, receiver};

    let Some(cluster) = Cluster::start("bus").await else {
        return;
    };
    let one = cluster.redis(RedisOptions::new()).await.change_bus();
    let two = cluster.redis(RedisOptions::new()).await.change_bus();
    let mut changes = receiver(&two);
    publish_until_received(&mcp_server::Change::Tools, &one, &mut changes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_at_other_nodes_continue_while_one_node_is_unreachable() {
    const SESSIONS: u32 = 30;
    let Some(mut cluster) = Cluster::start("away").await else {
        return;
    };
    let store = cluster.redis(RedisOptions::new()).await.session_store();
    for number in 0..SESSIONS {
        create(&store, number).await.unwrap();
    }
    // The node in the URL.
    cluster.nodes[0].kill().await;
    let mut away = Vec::new();
    for number in 0..SESSIONS {
        match renew(&store, number).await {
            Ok(()) => {}
            Err(SessionStoreErrorKind::Unavailable) => away.push(number),
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!((1..SESSIONS as usize).contains(&away.len()), "{away:?}");
    assert!(cluster.nodes[0].run().await);
    for number in 0..SESSIONS {
        // The node has no file, so its sessions are lost. No other session is.
        let expected = match away.contains(&number) {
            true => Err(SessionStoreErrorKind::LeaseLost),
            false => Ok(()),
        };
        assert_eq!(renewed(&store, number).await, expected);
    }
}
