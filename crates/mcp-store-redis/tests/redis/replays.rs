//! Used DPoP proofs.

use std::time::Duration;

use mcp_auth::server::ReplayCache as _;
use tokio::task::JoinSet;

use crate::process::{Redis, until};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_is_accepted_once_by_all_processes_until_it_expires() {
    let Some(mut redis) = Redis::start("proofs", &[]).await else {
        return;
    };
    let caches = [
        redis.redis().await.replay_cache(),
        redis.redis().await.replay_cache(),
    ];
    let mut attempts = JoinSet::new();
    for attempt in 0..32 {
        let cache = caches[attempt % 2].clone();
        attempts.spawn(async move { cache.insert("key", "id", MINUTE).await.unwrap() });
    }
    let accepted = attempts.join_all().await;
    assert_eq!(accepted.iter().filter(|accepted| **accepted).count(), 1);
    for (key, id) in [("key", "other"), ("other", "id")] {
        assert!(caches[0].insert(key, id, MINUTE).await.unwrap());
    }

    let short = Duration::from_millis(1);
    assert!(caches[0].insert("key", "short", short).await.unwrap());
    until("the end of the proof", async || {
        let again = caches[1].insert("key", "short", short).await.unwrap();
        again.then_some(())
    })
    .await;

    // Only one of several processes removes an entry.
    let mut attempts = JoinSet::new();
    for attempt in 0..32 {
        let cache = caches[attempt % 2].clone();
        attempts.spawn(async move { cache.remove("key", "id").await.unwrap() });
    }
    let removed = attempts.join_all().await;
    assert_eq!(removed.iter().filter(|removed| **removed).count(), 1);
    assert!(!caches[0].remove("other", "other").await.unwrap());
    assert!(caches[0].remove("other", "id").await.unwrap());
    assert!(!caches[1].insert("key", "other", MINUTE).await.unwrap());

    redis.kill().await;
    assert!(caches[0].insert("key", "third", MINUTE).await.is_err());
    assert!(caches[0].remove("key", "other").await.is_err());
}
