//! One pipe, many exchanges: ids, in-flight tables both ways, cancellation, one output queue.
//!
//! A [`Mux`] does no I/O. A driver feeds it frames, spawns the [`Work`] it hands out, and writes
//! what [`Mux::poll_output`] gives. Everything is bounded by [`MuxLimits`].

mod batch;
mod outbox;
mod outgoing;
mod work;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll};

use mcp_jsonrpc::{
    ErrorObject, Frame, Limits, Message, Notification, ParseError, Request, RequestId, Response,
    parse, write_error, write_notification,
};
use mcp_types::method;

use crate::{Call, Closed, Delivery, Exchange, Inbound, Link, Reply, lock};
use batch::BatchState;
use outbox::Outbox;
use outgoing::Outgoing;
use work::Ticket;
pub use work::{BlockingRun, Expiry, Run, Work};

/// What one connection may hold at once.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MuxLimits {
    /// Limits on one frame.
    pub frame: Limits,
    /// Requests of the peer that wait for their handler. Default 64; more are refused at once,
    /// because the next frame may be a cancellation.
    pub incoming: usize,
    /// Requests of this side that wait for the peer. Default 1,024; more fail locally.
    pub outgoing: usize,
    /// Bytes queued for a peer that does not read. Default 4 MiB; above it lossy notifications
    /// are dropped, new requests wait, and the driver stops reading.
    pub queue_bytes: usize,
}

impl Default for MuxLimits {
    fn default() -> Self {
        Self {
            frame: Limits::default(),
            incoming: 64,
            outgoing: 1_024,
            queue_bytes: 4 << 20,
        }
    }
}

impl MuxLimits {
    /// Sets [`frame`](Self::frame).
    #[must_use]
    pub fn with_frame(mut self, frame: Limits) -> Self {
        self.frame = frame;
        self
    }

    /// Sets [`incoming`](Self::incoming).
    #[must_use]
    pub fn with_incoming(mut self, incoming: usize) -> Self {
        self.incoming = incoming;
        self
    }

    /// Sets [`outgoing`](Self::outgoing).
    #[must_use]
    pub fn with_outgoing(mut self, outgoing: usize) -> Self {
        self.outgoing = outgoing;
        self
    }

    /// Sets [`queue_bytes`](Self::queue_bytes).
    #[must_use]
    pub fn with_queue_bytes(mut self, queue_bytes: usize) -> Self {
        self.queue_bytes = queue_bytes;
        self
    }
}

/// Turns one pipe into exchanges. Both roles use it; it knows neither.
pub struct Mux {
    inbound: Arc<dyn Inbound>,
    limits: MuxLimits,
    outbox: Outbox,
    outgoing: Mutex<Outgoing>,
    incoming: Mutex<HashMap<RequestId, Exchange>>,
    closed: OnceLock<Closed>,
    this: Weak<Self>,
}

impl Mux {
    /// A multiplexer that hands what arrives to `inbound`.
    pub fn new(inbound: Arc<dyn Inbound>, limits: MuxLimits) -> Arc<Self> {
        let mux = Arc::new_cyclic(|this: &Weak<Self>| Self {
            inbound,
            outbox: Outbox::new(limits.queue_bytes),
            limits,
            outgoing: Mutex::default(),
            incoming: Mutex::default(),
            closed: OnceLock::new(),
            this: this.clone(),
        });
        mux.inbound.opened(Weak::<Self>::clone(&mux.this));
        mux
    }

    /// Handles one frame, without its newline.
    ///
    /// Answers that are ready are queued when it returns. What still waits after one poll in
    /// place is handed to `spawn`. After the end of the connection it does nothing.
    pub fn receive(self: &Arc<Self>, frame: &[u8], spawn: &mut dyn FnMut(Work)) {
        if self.closed.get().is_some() {
            return;
        }
        match parse(frame, &self.limits.frame) {
            Ok(Frame::Single(message)) => self.message(message, None, spawn),
            Ok(Frame::Batch(batch)) if self.inbound.accepts_batches() => {
                let state = BatchState::new(self);
                for member in batch.iter() {
                    match member {
                        Ok(message) => self.message(message, Some(&state), spawn),
                        Err(error) => self.unreadable(frame, &error, Some(&state)),
                    }
                }
            }
            Ok(Frame::Batch(_)) => self.reject(&ErrorObject::invalid_request(
                "batches are not part of the negotiated revision; send one message per frame",
            )),
            Err(error) => self.unreadable(frame, &error, None),
        }
    }

    /// Handles a frame that was too long to be read; `head` is how it began.
    ///
    /// If the head tells the id, the error carries it, and an answer fails its call at once.
    pub fn too_long(&self, head: &[u8], limit: usize) {
        self.unreadable(head, &ParseError::too_long(head, limit), None);
    }

    /// Answers something that has no id.
    fn reject(&self, error: &ErrorObject) {
        self.outbox.push(|out| write_error(out, None, error));
    }

    fn message(
        self: &Arc<Self>,
        message: Message<'_>,
        batch: Option<&Arc<BatchState>>,
        spawn: &mut dyn FnMut(Work),
    ) {
        match message {
            Message::Request(request) => self.request(&request, batch, spawn),
            Message::Notification(notification) => self.notification(&notification),
            Message::Response(response) => self.response(response),
        }
    }

    fn request(
        self: &Arc<Self>,
        request: &Request<'_>,
        batch: Option<&Arc<BatchState>>,
        spawn: &mut dyn FnMut(Work),
    ) {
        let link: Arc<dyn Link> = self.clone();
        let exchange = Exchange::new(request.id.clone(), link);
        let mut ticket = Ticket::new(Arc::clone(self), exchange, batch.cloned());
        if let Err(error) = self.admit(request) {
            return match error {
                Refused::Duplicate(error) => ticket.abandon(&error),
                Refused::Full(error) => ticket.settle(&Err(error)),
            };
        }
        let reply = work::guarded(|| self.inbound.request(request, ticket.exchange().clone()));
        let work = match reply {
            Ok(Reply::Ready(outcome)) => return ticket.settle(&outcome),
            Ok(Reply::Pending(future)) => match Run::new(ticket, future).poll_once() {
                None => return,
                Some(run) => Work::Async(run),
            },
            Ok(Reply::Blocking(work)) => Work::Blocking(BlockingRun::new(ticket, work)),
            Err(panicked) => return ticket.settle(&Err(panicked)),
        };
        let exchange = work.exchange();
        lock(&self.incoming).insert(exchange.id().clone(), exchange.clone());
        if self.closed.get().is_some() {
            // `close` took the table before this one was on it.
            exchange.cancel();
            self.forget(exchange);
        }
        spawn(work);
    }

    /// Whether a request may start. Ping always may, as long as its id is free.
    fn admit(&self, request: &Request<'_>) -> Result<(), Refused> {
        let id = &request.id;
        let incoming = lock(&self.incoming);
        if incoming.is_empty() {
            return Ok(());
        }
        if incoming.contains_key(id) {
            return Err(Refused::Duplicate(ErrorObject::invalid_request(format!(
                "request id {id} is in use by a request that is still running"
            ))));
        }
        if incoming.len() >= self.limits.incoming && request.method != method::PING {
            return Err(Refused::Full(ErrorObject::internal(format!(
                "{} requests are in flight, the limit; send again when one is answered",
                self.limits.incoming
            ))));
        }
        Ok(())
    }

    fn notification(&self, notification: &Notification<'_>) {
        if notification.method == method::NOTIFICATIONS_CANCELLED {
            self.cancelled(notification.params);
        } else if work::guarded(|| self.inbound.notification(notification)).is_err() {
            tracing::error!("a notification handler panicked");
        }
    }

    /// `notifications/cancelled`: ends the exchange; anything malformed or unknown is ignored.
    fn cancelled(&self, params: Option<&str>) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            request_id: RequestId,
            #[serde(default)]
            reason: Option<String>,
        }
        let Some(Ok(params)) = params.map(serde_json::from_str::<Params>) else {
            tracing::debug!("ignored a malformed notifications/cancelled");
            return;
        };
        let exchange = lock(&self.incoming).get(&params.request_id).cloned();
        if let Some(exchange) = exchange {
            let reason: String = params
                .reason
                .unwrap_or_default()
                .chars()
                .take(256)
                .collect();
            tracing::debug!(id = %params.request_id, ?reason, "peer cancelled a request");
            exchange.cancel();
            self.forget(&exchange);
        }
    }

    fn response(&self, response: Response<'_>) {
        let Some(id) = response.id else {
            let error = response.outcome.err();
            tracing::warn!(?error, "peer reports a message it could not read");
            return;
        };
        let answer = response.outcome.map(mcp_jsonrpc::RawJson::copy);
        if !lock(&self.outgoing).complete(&id, Ok(answer)) {
            tracing::debug!(%id, "dropped a late or unknown answer");
        }
    }

    fn unreadable(&self, frame: &[u8], error: &ParseError, batch: Option<&Arc<BatchState>>) {
        if error.is_response() {
            let failed = error.id().is_some_and(|id| {
                let failure = crate::CallError::Malformed(error.clone());
                lock(&self.outgoing).complete(id, Err(failure))
            });
            tracing::warn!(%error, failed, "peer sent a malformed answer");
            return;
        }
        if !self.inbound.unreadable(frame, error) || !error.is_answerable() {
            return;
        }
        let object = error.to_error_object();
        let running = error
            .id()
            .filter(|id| !lock(&self.incoming).contains_key(id));
        match batch {
            Some(batch) => batch.push(|out| write_error(out, running, &object)),
            None => self.outbox.push(|out| write_error(out, running, &object)),
        }
    }

    /// Takes an exchange off the table.
    fn forget(&self, exchange: &Exchange) {
        let mut incoming = lock(&self.incoming);
        if incoming.is_empty() {
            return;
        }
        incoming.remove(exchange.id());
    }

    /// Swaps queued bytes, whole frames each ended by a newline, into the empty `spare`.
    ///
    /// `Ready(true)` means there is something to write, `Ready(false)` that the connection is
    /// closed and everything was taken.
    pub fn poll_output(&self, cx: &mut Context<'_>, spare: &mut Vec<u8>) -> Poll<bool> {
        self.outbox.poll_take(cx, spare)
    }

    /// Whether the peer reads so slowly that the driver should stop reading it.
    pub fn is_congested(&self) -> bool {
        self.outbox.is_full()
    }

    /// The peer will send nothing more: every call of this side fails with `reason` at once,
    /// while requests of the peer go on and can still be answered.
    pub fn end_of_input(&self, reason: &Closed) {
        lock(&self.outgoing).close(reason);
    }

    /// How many requests are in flight: of the peer, and of this side.
    pub fn in_flight(&self) -> (usize, usize) {
        (lock(&self.incoming).len(), lock(&self.outgoing).len())
    }

    /// Ends the connection: every call of this side fails with `reason` at once, every running
    /// request of the peer is cancelled, and nothing more is queued. Idempotent.
    pub fn close(&self, reason: Closed) {
        if self.closed.set(reason).is_err() {
            return;
        }
        let reason = self.closed.get_or_init(Closed::local);
        lock(&self.outgoing).close(reason);
        let running = std::mem::take(&mut *lock(&self.incoming));
        for exchange in running.into_values() {
            exchange.cancel();
        }
        self.outbox.close();
        self.inbound.closed(reason);
    }

    /// Why the connection ended, if it has.
    pub fn closed(&self) -> Option<&Closed> {
        self.closed.get()
    }
}

enum Refused {
    Duplicate(ErrorObject),
    Full(ErrorObject),
}

impl Link for Mux {
    fn notify(
        &self,
        method: &str,
        params: Option<&[u8]>,
        delivery: Delivery,
    ) -> Result<(), Closed> {
        if let Some(reason) = self.closed.get() {
            return Err(reason.clone());
        }
        if delivery == Delivery::Lossy && self.outbox.is_full() {
            tracing::trace!(method, "dropped a notification, the peer does not read");
            return Ok(());
        }
        self.outbox
            .push(|out| write_notification(out, method, params));
        Ok(())
    }

    fn request(&self, method: &'static str, params: Option<Vec<u8>>) -> Call {
        match self.this.upgrade() {
            Some(mux) => Call::new(outgoing::MuxCall::new(mux, method, params)),
            None => Call::failed(crate::CallError::Closed(Closed::local())),
        }
    }
}

impl fmt::Debug for Mux {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mux")
            .field("in_flight", &self.in_flight())
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
