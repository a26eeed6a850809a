//! A TCP proxy that delays, cuts, repeats and reorders.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::bench::Fault;
use crate::random::Random;

/// How often the proxy disturbed a connection.
#[derive(Default)]
pub(super) struct Disturbed {
    pub(super) cuts: AtomicU64,
    pub(super) delays: AtomicU64,
    /// Requests that were sent again on another connection.
    pub(super) repeats: AtomicU64,
}

/// A running proxy.
pub(super) struct Proxy {
    pub(super) host: String,
    pub(super) disturbed: Arc<Disturbed>,
}

impl Proxy {
    /// Starts a proxy to this address. Each connection is disturbed in a way that the seed decides.
    pub(super) async fn start(server: &str, seed: u64) -> Result<Self, Fault> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let host = listener.local_addr()?.to_string();
        let disturbed = Arc::new(Disturbed::default());
        let (server, counts) = (server.to_owned(), Arc::clone(&disturbed));
        tokio::spawn(async move {
            let mut random = Random::new(seed);
            while let Ok((client, _)) = listener.accept().await {
                let random = Random::new(random.below(u64::MAX));
                let (server, counts) = (server.clone(), Arc::clone(&counts));
                tokio::spawn(async move {
                    // Ends with the connection.
                    let _ = connection(client, &server, random, &counts).await;
                });
            }
        });
        Ok(Self { host, disturbed })
    }
}

async fn connection(
    client: TcpStream,
    server: &str,
    mut random: Random,
    counts: &Arc<Disturbed>,
) -> Result<(), Fault> {
    let upstream = TcpStream::connect(server).await?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = upstream.into_split();
    // Half of the connections are cut: in the first, middle or last part of a conversation, in either direction.
    let cut = || [40, 400, 4_000, 40_000];
    let limits = [random.below(4), random.below(4)].map(|class| cut()[class as usize]);
    let [up, down] = limits.map(|limit| random.below(limit));
    let is_cut = random.below(2) == 0;
    let is_up = random.below(2) == 0;
    let up = if is_cut && is_up { up } else { u64::MAX };
    let down = if is_cut && !is_up { down } else { u64::MAX };
    let repeats = (random.below(10) == 0).then(|| server.to_owned());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let uploading = copy(
        from_client,
        to_server,
        up,
        Random::new(random.below(u64::MAX)),
        counts,
        Some(&seen),
    );
    let downloading = copy(from_server, to_client, down, random, counts, None);
    // The end of one direction ends both.
    let ended = tokio::select! {
        ended = uploading => ended,
        ended = downloading => ended,
    };
    let request = seen.lock().map(|seen| seen.clone()).unwrap_or_default();
    if let Some(server) = repeats
        && !request.is_empty()
    {
        counts.repeats.fetch_add(1, Ordering::Relaxed);
        let mut again = TcpStream::connect(server).await?;
        again.write_all(&request).await?;
    }
    ended
}

/// Copies at most `limit` bytes, with pauses.
async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut limit: u64,
    mut random: Random,
    counts: &Disturbed,
    seen: Option<&Mutex<Vec<u8>>>,
) -> Result<(), Fault> {
    let mut piece = vec![0; 16 << 10];
    loop {
        let count = from.read(&mut piece).await?;
        if count == 0 {
            return Ok(());
        }
        // Connections overtake each other, so that requests arrive in another order.
        if random.below(4) == 0 {
            counts.delays.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_millis(random.below(30))).await;
        }
        let passed = (count as u64).min(limit) as usize;
        to.write_all(&piece[..passed]).await?;
        limit -= passed as u64;
        if let Some(Ok(mut seen)) = seen.map(Mutex::lock)
            && seen.len() < 64 << 10
        {
            seen.extend_from_slice(&piece[..passed]);
        }
        if limit == 0 {
            counts.cuts.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
    }
}
