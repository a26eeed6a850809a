//! Memory of a server: at rest, and for each session, connection and stream.

use std::time::Duration;

use serde::Serialize;
use tokio::time::{sleep, timeout};

use super::calls::open_session;
use super::check::Check;
use super::child::ServerProcess;
use super::http::Connection;
use super::options::Options;
use crate::bench::Fault;
use crate::bench::requests::{Protocol, Requests, listening};

/// Time limit of the measurement.
const LIMIT: Duration = Duration::from_secs(120);
/// Delay before the memory of a server is read.
const SETTLE: Duration = Duration::from_millis(300);

/// Resident memory in KiB.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Memory {
    /// After the first answer.
    idle: u64,
    /// Additional memory per session with a closed connection; `None` without sessions.
    session: Option<f64>,
    /// Additional memory per open connection after a call, with its session.
    connection: f64,
    /// Additional memory per session with an open stream; `None` without sessions.
    stream: Option<f64>,
}

/// The object that is measured.
#[derive(Clone, Copy, PartialEq)]
enum Held {
    Session,
    Connection,
    Stream,
}

/// Measures each object with a separate server, because freed memory would be used again.
pub(super) async fn run(options: &Options) -> Result<Memory, Fault> {
    let held = async |what| {
        let mut served = ServerProcess::start(options)?;
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

/// Returns the memory at rest, and the additional memory per object.
async fn measure(
    options: &Options,
    host: &str,
    served: &ServerProcess,
    held: Held,
) -> Result<(u64, Option<f64>), Fault> {
    // The first connection makes the server allocate its shared state.
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

/// Opens idle sessions with their streams; if the protocol has no streams, connections.
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

/// Opens a connection with one object; returns `None` if the server does not support it.
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
            Requests::new(wire, options.asked, host, session.as_deref())
                .with_tool_prefix(&options.tool_prefix)
                .write(1, &mut request);
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
    // The server notices closed connections a little later.
    sleep(SETTLE).await;
    served.resident()
}
