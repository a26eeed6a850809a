//! The client's side of a pair of byte streams.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::{BoxFuture, Closed, Connection, Inbound, Mux, Transport, TransportError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::connection::channel;
use crate::driver::spawner::{Spawner, Threads};
use crate::driver::{Driver, Role};
use crate::error::End;
use crate::options::StdioOptions;
use crate::stray::{StrayFilter, StrayOutput};

/// A transport to a server over a pair of byte streams, for example a socket or a pair of pipes.
///
/// Messages are framed as on [stdio]. [`start`](Transport::start) must be called within a tokio
/// runtime with its timer enabled. A task of that runtime moves the bytes until the connection is
/// closed or dropped.
///
/// [stdio]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
pub struct Pipe<R, W> {
    streams: (R, W),
    options: StdioOptions,
}

impl<R, W> Pipe<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// Creates a transport. `read` is the server's output, and `write` is the server's input.
    pub fn new(read: R, write: W) -> Self {
        Self {
            streams: (read, write),
            options: StdioOptions::for_client(),
        }
    }

    /// Sets limits and timeouts; the default is [`StdioOptions::for_client`].
    #[must_use]
    pub fn options(mut self, options: StdioOptions) -> Self {
        self.options = options;
        self
    }

    /// Starts a task that moves bytes. When both streams are closed, the task runs `after`. The connection has ended when `after`
    /// completes.
    pub(crate) fn connect(
        self,
        inbound: Arc<dyn Inbound>,
        after: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<dyn Connection> {
        let (mux, stray, mut driver) = open(inbound, self.streams, &self.options);
        let (handle, control) = channel(mux);
        let drain = self.options.drain_timeout;
        tokio::spawn(async move {
            let end = control.until_stopped(driver.run()).await;
            let end = end.unwrap_or(End::Closed);
            if matches!(end, End::Write(_)) {
                // Responses may still be in the pipe.
                let _ = timeout(drain, driver.read_rest()).await;
            }
            let reason = stray.explain(reason(end, &stray));
            control.close(reason.clone());
            let _ = timeout(drain, driver.finish()).await;
            drop(driver);
            after.await;
            control.gone(reason, None);
        });
        handle
    }
}

impl<R, W> Transport for Pipe<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        Box::pin(async move { Ok(self.connect(inbound, async {})) })
    }
}

impl<R, W> fmt::Debug for Pipe<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Creates the multiplexer, the record of stray lines and the driver of a client's connection.
pub(crate) fn open<R, W>(
    inbound: Arc<dyn Inbound>,
    streams: (R, W),
    options: &StdioOptions,
) -> (Arc<Mux>, Arc<StrayOutput>, Driver<R, W>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let stray = StrayOutput::new(options.max_stray_lines);
    let quiet = StrayFilter {
        inner: inbound,
        stray: Arc::clone(&stray),
    };
    let mux = Mux::new(Arc::new(quiet), options.limits.clone());
    let spawner = Spawner::new(Threads::Runtime, options.max_blocking_handlers);
    let role = Role::Client(Arc::clone(&stray));
    let driver = Driver::new(Arc::clone(&mux), streams, role, spawner, options);
    (mux, stray, driver)
}

/// Returns the reason with which pending calls fail. The reason does not contain the stray lines yet.
pub(crate) fn reason(end: End, stray: &StrayOutput) -> Closed {
    match end {
        End::TooManyStrayLines => stray.limit_reason(),
        end => end.into_closed(),
    }
}
