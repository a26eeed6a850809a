//! What a server keeps: at rest, for each session, for each connection, and for each stream.

use std::time::Duration;

use serde::Serialize;
use tokio::time::{sleep, timeout};

use super::calls::open_session;
use super::check::Check;
use super::child::ServerProcess;
use super::http::Connection;
use super::options::Options;
use crate::bench::Fault;
use crate::bench::words::{Protocol, Words, listening};

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a server gets to settle before its memory is read.
const SETTLE: Duration = Duration::from_millis(300);

/// Resident memory in KiB.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Memory {
    /// After the first answer.
    idle: u64,
    /// More for each session whose connection is closed; absent where there are none.
    session: Option<f64>,
    /// More for each connection that stays open after a call, with its session.
    connection: f64,
    /// More for each session with an open stream; absent where there are none.
    stream: Option<f64>,
}

/// What is held.
#[derive(Clone, Copy, PartialEq)]
enum Held {
    Session,
    Connection,
    Stream,
}

/// Measures each with a server of its own: memory that was freed would be used again, and not be seen.
pub(super) async fn run(options: &Options) -> Result<Memory, Fault> {
    let held = async |what| {
        let mut served = ServerProcess::start(&options.program)?;
        let host = served.host()?;
        let measured = timeout(LIMIT, measure(options, &host, &served, what))
            .await
            .map_err(|_| "the sessions were not opened in time")??;
        served.end()?;
        Ok::<_, Fault>(measured)
    };
    let (idle, connection) = held(Held::Connection).await?;
    let has_sessions = options.wire == Protocol::Http;
    let (session, stream) = match has_sessions {
        true => (held(Held::Session).await?.1, held(Held::Stream).await?.1),
        false => (None, None),
    };
    Ok(Memory {
        idle,
        session,
        connection: connection.unwrap_or_default(),
        stream,
    })
}

/// Resident memory at rest, and what each of many adds to it.
async fn measure(
    options: &Options,
    host: &str,
    served: &ServerProcess,
    held: Held,
) -> Result<(u64, Option<f64>), Fault> {
    // The first is no different, but what everybody shares is made for it.
    let first = one(options, host, Held::Connection).await?;
    let idle = resident(served).await?;
    let mut all = Vec::with_capacity(options.inflight);
    for _ in 0..options.inflight {
        let Some(connection) = one(options, host, held).await? else {
            return Ok((idle, None));
        };
        if held != Held::Session {
            all.push(connection);
        }
    }
    let more = resident(served).await?.saturating_sub(idle);
    drop((first, all));
    Ok((idle, Some(more as f64 / options.inflight as f64)))
}

/// Sessions with their streams that stand beside those that call; where there are no streams, connections.
pub(super) async fn beside(options: &Options, host: &str) -> Result<Vec<Connection>, Fault> {
    let mut all = Vec::with_capacity(options.beside);
    for _ in 0..options.beside {
        let stream = match options.wire {
            Protocol::Http => one(options, host, Held::Stream).await?,
            _ => None,
        };
        all.push(match stream {
            Some(stream) => stream,
            None => one(options, host, Held::Connection)
                .await?
                .ok_or("no connection")?,
        });
    }
    Ok(all)
}

/// A connection with whatever is held by it; none if the server has no such thing.
async fn one(options: &Options, host: &str, held: Held) -> Result<Option<Connection>, Fault> {
    let wire = options.wire;
    let mut connection = Connection::open(host).await?;
    let session = match wire.is_stateless() {
        true => None,
        false => open_session(wire, host, &mut connection).await?,
    };
    match held {
        Held::Session => {}
        Held::Connection => {
            let mut request = Vec::new();
            Words::new(wire, options.asked, host, session.as_deref()).write(1, &mut request);
            let reply = connection.exchange(&request).await?;
            Check::new(options.asked).body(reply.body, reply.head.is_events, 1)?;
        }
        Held::Stream => {
            let session = session.ok_or("no session")?;
            let head = connection.begin(&listening(host, &session)).await?;
            if head.status != 200 || !head.is_events {
                return Ok(None);
            }
        }
    }
    Ok(Some(connection))
}

async fn resident(served: &ServerProcess) -> Result<u64, Fault> {
    // Connections that were closed are noticed a little later.
    sleep(SETTLE).await;
    served.resident()
}
