//! A master, a replica and a Sentinel.

use mcp_store_redis::{RedisOptions, RedisStore};
use mcp_transport_http::{SessionStore as _, SessionStoreErrorKind};
use rustix::process::Signal;

use crate::process::{Redis, command, ports, until};
use crate::stores::{create, lease, now, record, renew, renewed};

struct Failover {
    master: Redis,
    replica: Redis,
    _sentinel: Redis,
    redis: RedisStore,
}

impl Failover {
    async fn start(name: &str) -> Option<Self> {
        let [master, replica, sentinel, dead] = ports();
        let port = master.to_string();
        let folder = |process: &str| format!("{name}-{process}");
        let master = Redis::start(&folder("m"), &["--port", &port]).await?;
        let other = replica.to_string();
        let settings = &["--port", &other, "--replicaof", "127.0.0.1", &port];
        let replica = Redis::start(&folder("r"), settings).await?;
        let config = format!(
            "port {sentinel}\nsentinel monitor mymaster 127.0.0.1 {port} 1\n\
             sentinel down-after-milliseconds mymaster 500\nsentinel failover-timeout mymaster 3000\n"
        );
        let process = Redis::start_sentinel(&folder("s"), &config).await?;
        let url = format!("redis://127.0.0.1:{sentinel}");
        until("the replica is known", async || {
            let words = ["SENTINEL", "CKQUORUM", "mymaster"];
            let _: String = command(&url, &words).await.ok()?;
            let info: String = command(&url, &["INFO", "sentinel"]).await.ok()?;
            info.contains("slaves=1").then_some(())
        })
        .await;
        // The first Sentinel is not reachable.
        let sentinels = [format!("redis://127.0.0.1:{dead}"), url];
        let options = RedisOptions::new()
            .with_response_timeout(std::time::Duration::from_millis(500))
            .with_sentinels(sentinels);
        let redis = RedisStore::connect_with("redis://mymaster", options).await;
        Some(Self {
            master,
            replica,
            _sentinel: process,
            redis: redis.unwrap(),
        })
    }

    /// Waits until the replica has the number of keys.
    async fn replicated(&self, keys: usize) {
        until("the replication", async || {
            let found: usize = self.replica.command(&["DBSIZE"]).await;
            (found == keys).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_master_is_replaced_and_its_sessions_continue() {
    let Some(mut failover) = Failover::start("killed").await else {
        return;
    };
    let store = failover.redis.session_store();
    create(&store, 1).await.unwrap();
    failover.replicated(1).await;
    failover.master.kill().await;
    assert_eq!(
        renew(&store, 1).await,
        Err(SessionStoreErrorKind::Unavailable)
    );
    renewed(&store, 1).await.unwrap();
    assert_eq!(
        store.load(lease(1).session, now()).await.unwrap(),
        Some(record("a:1"))
    );
    create(&store, 2).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_master_is_replaced_and_is_not_used_when_it_continues() {
    let Some(failover) = Failover::start("hanging").await else {
        return;
    };
    let store = failover.redis.session_store();
    create(&store, 1).await.unwrap();
    failover.replicated(1).await;
    failover.master.signal(Signal::STOP);
    renewed(&store, 1).await.unwrap();
    create(&store, 2).await.unwrap();
    failover.master.signal(Signal::CONT);
    until("the old master is a replica", async || {
        let info: String = command(&failover.master.url(), &["INFO", "replication"])
            .await
            .ok()?;
        info.contains("role:slave").then_some(())
    })
    .await;
    renew(&store, 2).await.unwrap();
    until("the replication", async || {
        let found: usize = command(&failover.master.url(), &["DBSIZE"]).await.ok()?;
        (found == 2).then_some(())
    })
    .await;
}
