//! One pipe, many exchanges: ids, in-flight tables both ways, cancellation, one output queue.
//!
//! A [`Mux`] does no I/O. A driver feeds it frames, spawns the [`Work`] it hands out, and writes
//! what [`Mux::poll_output`] gives. Everything is bounded by [`MuxLimits`].

mod batch;
mod call;
mod outbox;
mod work;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};

use mcp_jsonrpc::{
    ErrorObject, Frame, Limits, Message, Notification, ParseError, Request, RequestId, Response,
    parse, write_error, write_notification,
};
use mcp_types::method;

use crate::guarded;
use crate::{
    AdmissionError, Call, Caller, Closed, Delivery, Exchange, Extras, Grant, Inbound, Incoming,
    Link, Outgoing, Principal, Reply,
};
use batch::BatchState;
use outbox::Outbox;
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
    outbox: Arc<Outbox>,
    outgoing: Outgoing,
    incoming: Incoming,
    closed: OnceLock<Closed>,
    caller: Caller,
    this: Weak<Self>,
}

impl Mux {
    /// A multiplexer that hands what arrives to `inbound`, for a pipe of this process, whose
    /// other end may do everything.
    pub fn new(inbound: Arc<dyn Inbound>, limits: MuxLimits) -> Arc<Self> {
        Self::on_behalf(inbound, limits, Caller::local())
    }

    /// A multiplexer for a connection that `caller` opened.
    pub fn on_behalf(inbound: Arc<dyn Inbound>, limits: MuxLimits, caller: Caller) -> Arc<Self> {
        let mux = Arc::new_cyclic(|this: &Weak<Self>| Self {
            inbound,
            outbox: Arc::new(Outbox::new(limits.queue_bytes)),
            outgoing: Outgoing::new(limits.outgoing),
            incoming: Incoming::new(limits.incoming),
            limits,
            closed: OnceLock::new(),
            caller,
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
                let state = BatchState::new(&self.outbox);
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
        if !self.inbound.answers() {
            tracing::warn!(%error, "dropped what could not be understood");
            return;
        }
        self.outbox.push(|out| write_error(out, None, error));
    }

    fn message(
        self: &Arc<Self>,
        message: Message<'_>,
        batch: Option<&Arc<BatchState>>,
        spawn: &mut dyn FnMut(Work),
    ) {
        match message {
            Message::Request(request) if !self.inbound.answers() => {
                let method = &*request.method;
                tracing::warn!(
                    method,
                    "dropped a request, which this revision does not know"
                );
            }
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
        if let Err(error) = self.incoming.admit(request) {
            return match error {
                AdmissionError::Duplicate(error) => ticket.abandon(&error),
                AdmissionError::Full(error) => ticket.settle(&Err(error)),
            };
        }
        let reply = guarded(|| self.inbound.request(request, ticket.exchange().clone()));
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
        self.incoming.insert(exchange);
        if self.closed.get().is_some() {
            // `close` took the table before this one was on it.
            exchange.cancel();
            self.forget(exchange);
        }
        spawn(work);
    }

    fn notification(&self, notification: &Notification<'_>) {
        if notification.method == method::NOTIFICATIONS_CANCELLED && self.inbound.answers() {
            self.incoming.cancelled(notification.params);
        } else if guarded(|| self.inbound.notification(notification)).is_err() {
            tracing::error!("a notification handler panicked");
        }
    }

    fn response(&self, response: Response<'_>) {
        let Some(id) = response.id else {
            let error = response.outcome.err();
            tracing::warn!(?error, "peer reports a message it could not read");
            return;
        };
        let answer = response.outcome.map(mcp_jsonrpc::RawJson::copy);
        if !self.outgoing.complete(&id, Ok(answer)) {
            tracing::debug!(%id, "dropped a late or unknown answer");
        }
    }

    fn unreadable(&self, frame: &[u8], error: &ParseError, batch: Option<&Arc<BatchState>>) {
        if error.is_response() {
            let failed = error.id().is_some_and(|id| {
                let failure = crate::CallError::Malformed(error.clone());
                self.outgoing.complete(id, Err(failure))
            });
            tracing::warn!(%error, failed, "peer sent a malformed answer");
            return;
        }
        let wanted = self.inbound.unreadable(frame, error) && self.inbound.answers();
        if !wanted || !error.is_answerable() {
            return;
        }
        let object = error.to_error_object();
        let running = error.id().filter(|id| !self.incoming.contains(id));
        match batch {
            Some(batch) => batch.push(|out| write_error(out, running, &object)),
            None => self.outbox.push(|out| write_error(out, running, &object)),
        }
    }

    /// Takes an exchange off the table.
    fn forget(&self, exchange: &Exchange) {
        self.incoming.forget(exchange);
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
        self.outgoing.close(reason);
    }

    /// Fails a request of this side that could not be delivered; `false` if it is not waited for.
    pub fn fail(&self, id: &RequestId, error: crate::CallError) -> bool {
        self.outgoing.complete(id, Err(error))
    }

    /// How many requests are in flight: of the peer, and of this side.
    pub fn in_flight(&self) -> (usize, usize) {
        (self.incoming.len(), self.outgoing.len())
    }

    /// Ends the connection: every call of this side fails with `reason` at once, every running
    /// request of the peer is cancelled, and nothing more is queued. Idempotent.
    pub fn close(&self, reason: Closed) {
        if self.closed.set(reason).is_err() {
            return;
        }
        let reason = self.closed.get_or_init(Closed::local);
        self.outgoing.close(reason);
        self.incoming.cancel_all();
        self.outbox.close();
        self.inbound.closed(reason);
    }

    /// Why the connection ended, if it has.
    pub fn closed(&self) -> Option<&Closed> {
        self.closed.get()
    }
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
        self.request_with(method, params, Extras::default())
    }

    fn request_with(&self, method: &'static str, params: Option<Vec<u8>>, extras: Extras) -> Call {
        match self.this.upgrade() {
            Some(mux) => Call::new(call::MuxCall::new(mux, method, params, extras.id)),
            None => Call::failed(crate::CallError::Closed(Closed::local())),
        }
    }

    fn facts(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.caller.facts.as_deref()
    }

    fn principal(&self) -> Option<&Principal> {
        self.caller.principal.as_ref()
    }

    fn permits(&self, scope: &str) -> bool {
        self.caller.permits(scope)
    }

    fn grant(&self) -> Option<Grant> {
        self.caller.grant.clone()
    }

    fn is_local(&self) -> bool {
        self.caller.is_local()
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
