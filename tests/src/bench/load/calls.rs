//! Many equal calls, and the cost of one of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::check::Check;
use super::child::ServerProcess;
use super::cpu::cpu;
use super::figures::{Figures, Times};
use super::http::Connection;
use super::memory;
use super::options::{Limit, Options};
use super::stdio::{Lines, Pace};
use crate::bench::Fault;
use crate::bench::requests::{Protocol, Requests, opening};

/// Additional time limit of a run: to start the server, to warm up, and for the last responses.
const GRACE: Duration = Duration::from_secs(60);

/// Starts the server, makes the calls, and ends the server.
pub(super) async fn run(options: &Options) -> Result<Figures, Fault> {
    let mut served = ServerProcess::start(options)?;
    let all = options.limit.time + options.warm + GRACE;
    let figures = timeout(all, measure(options, &mut served))
        .await
        .map_err(|_| format!("not done after {} s", all.as_secs()))??;
    served.end()?;
    Ok(figures)
}

async fn measure(options: &Options, served: &mut ServerProcess) -> Result<Figures, Fault> {
    let mut client = Client::open(options, served).await?;
    if !options.warm.is_zero() {
        let warm = Limit {
            calls: u64::MAX,
            time: options.warm,
        };
        client.calls(warm).await?;
    }
    let own = std::process::id();
    let before = (served.cpu()?, cpu(own)?);
    let start = Instant::now();
    let times = client.calls(options.limit).await?;
    let took = start.elapsed();
    let after = (served.cpu()?, cpu(own)?);
    let spent = |from: Duration, to: Duration| to.saturating_sub(from);
    Ok(Figures::new(
        times,
        took,
        spent(before.0, after.0),
        spent(before.1, after.1),
    ))
}

/// The client of one server.
pub(super) enum Client {
    Lines {
        lines: Box<Lines>,
        requests: Requests,
        check: Check,
        pace: Pace,
        ids: u64,
    },
    Http {
        callers: Vec<Caller>,
        ids: Arc<AtomicU64>,
        /// Idle connections.
        _beside: Vec<Connection>,
    },
}

impl Client {
    pub(super) async fn open(options: &Options, served: &mut ServerProcess) -> Result<Self, Fault> {
        let (wire, asked) = (options.wire, options.asked);
        let check = Check::new(asked);
        if wire.is_http() {
            let host = served.host()?;
            let check = Arc::new(check);
            let mut callers = Vec::with_capacity(options.inflight);
            for _ in 0..options.inflight {
                callers.push(Caller::open(options, &host, &check).await?);
            }
            return Ok(Self::Http {
                callers,
                ids: Arc::new(AtomicU64::new(1)),
                _beside: memory::beside(options, &host).await?,
            });
        }
        let mut lines = Box::new(Lines::new(served.pipes()?));
        if !wire.is_stateless() {
            lines.open(opening(wire, "", None)).await?;
        }
        Ok(Self::Lines {
            lines,
            requests: Requests::new(wire, asked, "", None).with_tool_prefix(&options.tool_prefix),
            check,
            pace: Pace {
                inflight: options.inflight,
                batch: options.batch,
            },
            ids: 0,
        })
    }

    /// Makes calls until a limit is reached and all of them have responses.
    pub(super) async fn calls(&mut self, limit: Limit) -> Result<Times, Fault> {
        match self {
            Self::Lines {
                lines,
                requests,
                check,
                pace,
                ids,
            } => lines.calls(requests, check, *pace, ids, limit).await,
            Self::Http { callers, ids, .. } => {
                let start = ids.load(Ordering::Relaxed);
                let share = Share {
                    ids: Arc::clone(ids),
                    last: start.saturating_add(limit.calls),
                    end: Instant::now() + limit.time,
                };
                let mut tasks = JoinSet::new();
                for caller in callers.drain(..) {
                    tasks.spawn(caller.calls(share.clone()));
                }
                let mut times = Times::default();
                while let Some(done) = tasks.join_next().await {
                    let (caller, own) = done??;
                    callers.push(caller);
                    times.add(&own);
                }
                Ok(times)
            }
        }
    }
}

/// State that the callers of one run share.
#[derive(Clone)]
struct Share {
    ids: Arc<AtomicU64>,
    last: u64,
    end: Instant,
}

/// One connection and its session.
pub(super) struct Caller {
    connection: Connection,
    requests: Requests,
    check: Arc<Check>,
    request: Vec<u8>,
}

impl Caller {
    async fn open(options: &Options, host: &str, check: &Arc<Check>) -> Result<Self, Fault> {
        let (wire, asked) = (options.wire, options.asked);
        let mut connection = Connection::open(host).await?;
        let session = match wire.is_stateless() {
            true => None,
            false => open_session(wire, host, &mut connection).await?,
        };
        Ok(Self {
            connection,
            requests: Requests::new(wire, asked, host, session.as_deref())
                .with_tool_prefix(&options.tool_prefix),
            check: Arc::clone(check),
            request: Vec::new(),
        })
    }

    async fn calls(mut self, share: Share) -> Result<(Self, Times), Fault> {
        let mut times = Times::default();
        let mut start = Instant::now();
        while start < share.end {
            let id = share.ids.fetch_add(1, Ordering::Relaxed);
            if id >= share.last {
                break;
            }
            self.request.clear();
            self.requests.write(id, &mut self.request);
            let reply = self.connection.exchange(&self.request).await?;
            if reply.head.status != 200 {
                let said = String::from_utf8_lossy(reply.body);
                return Err(format!("{}: {said}", reply.head.status).into());
            }
            self.check.body(reply.body, reply.head.is_events, id)?;
            let now = Instant::now();
            times.note(now.duration_since(start));
            start = now;
        }
        Ok((self, times))
    }
}

/// Opens a session on a connection; returns its id if the server uses session ids.
pub(crate) async fn open_session(
    wire: Protocol,
    host: &str,
    connection: &mut Connection,
) -> Result<Option<String>, Fault> {
    let [initialize, _] = opening(wire, host, None);
    let reply = connection.exchange(&initialize).await?;
    if reply.head.status != 200 {
        return Err(format!("initialize: {}", reply.head.status).into());
    }
    let session = reply.head.session;
    if wire == Protocol::Http && session.is_none() {
        return Err("the server has opened no session".into());
    }
    let [_, initialized] = opening(wire, host, session.as_deref());
    let reply = connection.exchange(&initialized).await?;
    if reply.head.status != 202 {
        return Err(format!("initialized: {}", reply.head.status).into());
    }
    Ok(session)
}
