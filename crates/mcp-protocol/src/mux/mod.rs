//! Multiplexing of many exchanges over one pipe: ids, requests in flight in both directions,
//! cancellation, one output queue.
//!
//! A [`Mux`] does no I/O. A driver passes frames to the multiplexer, spawns each
//! [`PendingHandler`] that [`Mux::receive`] creates, and writes the bytes from
//! [`Mux::poll_output`]. [`MuxLimits`] bound its memory.

mod call;
mod caller;
mod outbox;
mod work;

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};

use mcp_jsonrpc::{
    ErrorObject, Frame, Limits, Message, Notification, ParseError, Request, RequestId, Response,
    parse, write_error, write_notification,
};
use mcp_types::method;

use crate::guarded;
use crate::middleware::Discarded;
use crate::{
    AdmissionError, Call, Caller, Closed, Delivery, Deviation, Exchange, Extras, Inbound, Incoming,
    Link, MethodName, Outgoing, Reply, RequestOrigin,
};
use outbox::{BatchState, Outbox};
use work::ResponseGuard;
pub use work::{BlockingRun, Expiry, PendingHandler, Run};

/// Limits of one connection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MuxLimits {
    /// Limits that apply to each frame.
    pub frame: Limits,
    /// Maximum number of running requests of the peer. Default 64. Further requests are rejected at once and not queued, because
    /// the next frame may be a cancellation.
    pub incoming: usize,
    /// Maximum number of requests from this side that wait for a response. Default 1,024. Further requests fail without being
    /// sent.
    pub outgoing: usize,
    /// Maximum number of bytes queued for a peer that does not read (backpressure). Default 4 MiB. Above this number, lossy
    /// notifications are dropped, new requests wait, and the driver stops reading.
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

/// A multiplexer. It converts the frames of one pipe into exchanges, for clients and servers.
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
    /// Creates a multiplexer that passes messages to `inbound`, for a local pipe whose other end has
    /// every permission.
    pub fn new(inbound: Arc<dyn Inbound>, limits: MuxLimits) -> Arc<Self> {
        Self::on_behalf(inbound, limits, Caller::local())
    }

    /// Creates a multiplexer that passes messages to `inbound`, for a connection that `caller` opened.
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
    /// Polls each handler once. If the response is ready, queues it. Otherwise passes the handler to `spawn`. After the end of
    /// the connection, this method does nothing.
    pub fn receive(self: &Arc<Self>, frame: &[u8], spawn: &mut dyn FnMut(PendingHandler)) {
        self.receive_on(None, frame, spawn);
    }

    /// Handles one frame like [`receive`](Self::receive). Use this method if `caller` sent the frame, and `caller` did not
    /// open the connection. `caller` becomes the origin of the frame's requests.
    pub fn receive_for(
        self: &Arc<Self>,
        caller: Caller,
        frame: &[u8],
        spawn: &mut dyn FnMut(PendingHandler),
    ) {
        let connection: Arc<dyn Link> = Arc::<Self>::clone(self);
        let link: Arc<dyn Link> = Arc::new(caller::CallerLink { connection, caller });
        self.receive_on(Some(&link), frame, spawn);
    }

    fn receive_on(
        self: &Arc<Self>,
        link: Option<&Arc<dyn Link>>,
        frame: &[u8],
        spawn: &mut dyn FnMut(PendingHandler),
    ) {
        if self.closed.get().is_some() {
            return;
        }
        match parse(frame, &self.limits.frame) {
            Ok(Frame::Single(message)) => self.message(message, link, None, spawn),
            Ok(Frame::Batch(batch)) if self.inbound.accepts_batches() => {
                let state = BatchState::new(&self.outbox);
                for member in batch.iter() {
                    match member {
                        Ok(message) => self.message(message, link, Some(&state), spawn),
                        Err(error) => self.unreadable(frame, &error, Some(&state)),
                    }
                }
            }
            Ok(Frame::Batch(batch)) => {
                self.inbound.discarded(Discarded::Batch);
                if self.outgoing.fail_batch(&batch) {
                    tracing::warn!(
                        "dropped a batch of responses, which the revision does not allow"
                    );
                    return;
                }
                self.reject(&ErrorObject::invalid_request(
                    "batches are not part of the negotiated revision; send one message per frame",
                ));
            }
            Err(error) => match self.inbound.repaired(frame, &error) {
                Some(text) => self.receive_on(link, text.as_bytes(), spawn),
                None => self.unreadable(frame, &error, None),
            },
        }
    }

    /// Handles a frame that was too long to be read; `head` is its start, and
    /// `setting` names the setting that contains the limit.
    ///
    /// If the head contains the id, the error response has this id. If the frame was a response, its call fails at once.
    pub fn too_long(&self, head: &[u8], limit: usize, setting: &str) {
        self.unreadable(head, &ParseError::too_long(head, limit, setting), None);
    }

    /// Notifies `inbound` that a frame was too long and was discarded. Sends no response and fails no call.
    pub fn discard_too_long(&self, head: &[u8], limit: usize, setting: &str) {
        let error = ParseError::too_long(head, limit, setting);
        self.inbound.discarded(Discarded::Malformed(&error));
    }

    /// Sends an error response without an id.
    fn reject(&self, error: &ErrorObject) {
        if !self.inbound.answers() {
            tracing::warn!(%error, "dropped a frame that is not a valid message");
            return;
        }
        self.outbox.push(|out| write_error(out, None, error));
    }

    fn message(
        self: &Arc<Self>,
        message: Message<'_>,
        link: Option<&Arc<dyn Link>>,
        batch: Option<&Arc<BatchState>>,
        spawn: &mut dyn FnMut(PendingHandler),
    ) {
        match message {
            Message::Request(request) if !self.inbound.answers() => {
                let method = &*request.method;
                tracing::warn!(
                    method,
                    "dropped a request: the negotiated revision has no requests to the client"
                );
            }
            Message::Request(request) => self.request(&request, link, batch, spawn),
            Message::Notification(notification) => self.notification(&notification),
            Message::Response(response) => self.response(response),
        }
    }

    fn request(
        self: &Arc<Self>,
        request: &Request<'_>,
        link: Option<&Arc<dyn Link>>,
        batch: Option<&Arc<BatchState>>,
        spawn: &mut dyn FnMut(PendingHandler),
    ) {
        let link = link.map_or_else(|| Arc::<Self>::clone(self) as _, Arc::clone);
        let exchange = Exchange::new(request.id.clone(), link);
        let mut guard = ResponseGuard::new(Arc::clone(self), exchange, batch.cloned());
        if let Err(error) = self.incoming.admit(request) {
            return match error {
                AdmissionError::Duplicate(error) => guard.abandon(&error),
                AdmissionError::Full(error) => guard.settle(&Err(error)),
            };
        }
        let reply = guarded(|| self.inbound.request(request, guard.exchange().clone()));
        let work = match reply {
            Ok(Reply::Ready(outcome)) => return guard.settle(&outcome),
            Ok(Reply::Pending(future)) => match Run::new(guard, future).poll_once() {
                None => return,
                Some(run) => PendingHandler::Async(run),
            },
            Ok(Reply::Blocking(work)) => PendingHandler::Blocking(BlockingRun::new(guard, work)),
            Err(panicked) => return guard.settle(&Err(panicked)),
        };
        let exchange = work.exchange();
        self.incoming.insert(exchange);
        if self.closed.get().is_some() {
            // `close` may have cancelled the running requests before this exchange was added.
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
        let Some(mut id) = response.id else {
            let Err(error) = response.outcome else {
                return;
            };
            tracing::warn!(?error, "peer could not read a message");
            if self.inbound.takes_errors_without_id() {
                self.outgoing.complete_only(Ok(Err(error)));
            }
            return;
        };
        if let Some(number) = self.outgoing.named_by_text(&id)
            && self.inbound.tolerates(Deviation::TextId, &id.to_string())
        {
            id = number;
        }
        let answer = response.outcome.map(mcp_jsonrpc::RawJson::copy);
        if !self.outgoing.complete(&id, Ok(answer)) {
            tracing::debug!(%id, "dropped a late or unknown response");
            self.inbound.discarded(Discarded::UnknownResponse(&id));
        }
    }

    fn unreadable(&self, frame: &[u8], error: &ParseError, batch: Option<&Arc<BatchState>>) {
        self.inbound.discarded(Discarded::Malformed(error));
        if self
            .outgoing
            .fail_unreadable(frame, error, &self.limits.frame)
        {
            tracing::warn!(%error, "peer sent a malformed response");
            return;
        }
        let should_answer = self.inbound.unreadable(frame, error) && self.inbound.answers();
        if !should_answer || !error.is_answerable() {
            return;
        }
        let object = error.to_error_object();
        let running = error.id().filter(|id| !self.incoming.contains(id));
        match batch {
            Some(batch) => batch.push(|out| write_error(out, running, &object)),
            None => self.outbox.push(|out| write_error(out, running, &object)),
        }
    }

    /// Removes an exchange from the running requests.
    fn forget(&self, exchange: &Exchange) {
        self.incoming.forget(exchange);
    }

    /// Moves the queued bytes into `spare`, which must be empty. The bytes are whole frames, and each frame ends with a newline.
    ///
    /// Returns `Ready(true)` if there are bytes to write, and `Ready(false)` if the connection is
    /// closed and all bytes were taken.
    pub fn poll_output(&self, cx: &mut Context<'_>, spare: &mut Vec<u8>) -> Poll<bool> {
        self.outbox.poll_take(cx, spare)
    }

    /// Returns whether the output queue is full, so that the driver should stop reading from the peer
    /// (backpressure).
    pub fn is_congested(&self) -> bool {
        self.outbox.is_full()
    }

    /// Handles the end of the input: every call of this side fails with `reason` at once. Subscriptions of the peer are
    /// cancelled, because they would otherwise last as long as the connection. Other requests of the peer continue and can still
    /// be answered.
    pub fn end_of_input(&self, reason: &Closed) {
        self.outgoing.close(reason);
        self.incoming.cancel_endless();
    }

    /// Fails a request of this side that could not be delivered. Returns `false` if no request with this id is waiting for a
    /// response.
    pub fn fail(&self, id: &RequestId, error: crate::CallError) -> bool {
        self.outgoing.complete(id, Err(error))
    }

    /// Returns the number of requests in flight, as a pair: requests of the peer, and requests of this side.
    pub fn in_flight(&self) -> (usize, usize) {
        (self.incoming.len(), self.outgoing.len())
    }

    /// Closes the connection: every call of this side fails with `reason` at once, every running
    /// request of the peer is cancelled, and nothing more is queued. A second call does nothing.
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

    /// Returns the reason why the connection has ended. Returns `None` if it has not ended.
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
            tracing::trace!(
                method,
                "dropped a notification because the output queue is full"
            );
            return Ok(());
        }
        self.outbox
            .push(|out| write_notification(out, method, params));
        Ok(())
    }

    fn request_with(&self, method: MethodName, params: Option<Vec<u8>>, extras: Extras) -> Call {
        match self.this.upgrade() {
            Some(mux) => Call::new(call::MuxCall::new(mux, method, params, extras)),
            None => Call::failed(crate::CallError::Closed(Closed::local())),
        }
    }

    fn origin(&self) -> RequestOrigin<'_> {
        self.caller.origin()
    }

    fn queued_bytes(&self) -> usize {
        self.outbox.bytes()
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
