//! Connections that are lost without a sign, as after the failure of a machine or of a firewall.

use std::future::pending;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mcp_store_redis::{RedisOptions, RedisStore};
use mcp_transport_http::SessionStoreErrorKind;
use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;

use crate::process::Redis;
use crate::stores::{create, renew, renewed};

/// Passes connections on to Redis. All that are open can be silenced: they stay open, and nothing arrives any more.
struct Relay {
    address: SocketAddr,
    silence: watch::Sender<()>,
}

impl Relay {
    async fn start(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let silence = watch::Sender::new(());
        let silenced = silence.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (mut silenced, socket) = (silenced.subscribe(), socket.clone());
                tokio::spawn(async move {
                    let mut redis = UnixStream::connect(&socket).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut redis) => {}
                        _ = silenced.changed() => pending().await,
                    }
                });
            }
        });
        Self { address, silence }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_was_lost_without_an_error_is_replaced() {
    let Some(redis) = Redis::start("silence", &[]).await else {
        return;
    };
    let relay = Relay::start(redis.socket()).await;
    let options = RedisOptions::new().with_response_timeout(Duration::from_millis(500));
    let url = format!("redis://{}", relay.address);
    let store = RedisStore::connect_with(&url, options).await.unwrap();
    let store = store.session_store();
    create(&store, 1).await.unwrap();
    for _ in 0..2 {
        relay.silence.send_replace(());
        assert_eq!(
            renew(&store, 1).await,
            Err(SessionStoreErrorKind::Unavailable)
        );
        renewed(&store, 1).await.unwrap();
    }
}

/// Previously, no connection was opened after one unexpected answer during a reconnection.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_opened_again_after_unexpected_answers() {
    let Some(redis) = Redis::start("unexpected", &["--requirepass", "secret"]).await else {
        return;
    };
    let answers = [
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "-WRONGPASS invalid username-password pair\r\n",
        "-ERR DB index is out of range\r\n",
        "*1000000000\r\n",
    ];
    for (number, answer) in (1..).zip(answers) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis://:secret@{}/1", listener.local_addr().unwrap());
        let (is_other, mut other) = watch::channel(false);
        let socket = redis.socket();
        let relaying = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                if *other.borrow() {
                    let _ = client.write_all(answer.as_bytes()).await;
                    continue;
                }
                let mut redis = UnixStream::connect(&socket).await.unwrap();
                tokio::select! {
                    _ = copy_bidirectional(&mut client, &mut redis) => {}
                    _ = other.changed() => {}
                }
            }
        });
        let options = RedisOptions::new().with_response_timeout(Duration::from_millis(500));
        let store = RedisStore::connect_with(&url, options).await.unwrap();
        let store = store.session_store();
        create(&store, number).await.unwrap();
        is_other.send_replace(true);
        for _ in 0..3 {
            let outcome = renew(&store, number).await;
            assert_eq!(outcome, Err(SessionStoreErrorKind::Unavailable), "{answer}");
        }
        is_other.send_replace(false);
        renewed(&store, number).await.unwrap();
        relaying.abort();
    }
}

/// Previously, the connection to a master that has become a replica was kept, and each change failed.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_to_a_master_that_becomes_a_replica_is_replaced() {
    let Some(old) = Redis::start("old-master", &[]).await else {
        return;
    };
    let Some(new) = Redis::start("new-master", &[]).await else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let (target, targets) = watch::channel(old.socket());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let socket = targets.borrow().clone();
            tokio::spawn(async move {
                let mut redis = UnixStream::connect(&socket).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut redis).await;
            });
        }
    });
    let store = RedisStore::connect(&url).await.unwrap().session_store();
    create(&store, 1).await.unwrap();
    target.send_replace(new.socket());
    old.command::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    assert!(create(&store, 2).await.is_err());
    create(&store, 2).await.unwrap();
}
