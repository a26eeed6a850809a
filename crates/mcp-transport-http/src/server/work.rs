//! Requests that run, and where their answers go.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use mcp_jsonrpc::{ErrorObject, Request, RequestId, write_error, write_result};
use mcp_protocol::{
    AdmissionError, BoxFuture, Exchange, Inbound as _, Link, Outcome, Reply, Running, expired,
    guarded,
};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use super::endpoint::Shared;
use super::session::{HttpSession, Pin as Pinned};
use super::stream::Stream;
use super::text::Text;
use crate::threads::Threads;

/// A place among the requests that run, or among the subscriptions that last; given back on
/// drop.
pub(crate) struct Slot {
    shared: Arc<Shared>,
    lasts: bool,
}

impl Slot {
    pub(crate) fn take(shared: &Arc<Shared>) -> Option<Self> {
        // The slot exists first, so that a refused one is given back by its `Drop`.
        let slot = Self {
            shared: Arc::clone(shared),
            lasts: false,
        };
        let running = shared.in_flight.fetch_add(1, Ordering::AcqRel);
        (running < shared.options.in_flight).then_some(slot)
    }

    /// Exchanges it for one of those for subscriptions, which would leave requests no room.
    pub(crate) fn into_lasting(self) -> Option<Self> {
        let slot = Self {
            shared: Arc::clone(&self.shared),
            lasts: true,
        };
        let open = slot.shared.subscriptions.fetch_add(1, Ordering::AcqRel);
        (open < slot.shared.options.subscriptions).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.slot_freed(self.lasts);
    }
}

/// What a request has come to after its handler was called.
pub(crate) enum Begun {
    /// This is the answer.
    Answer(Text),
    /// It runs.
    Runs(Member),
}

/// Calls the handler of one request.
///
/// # Errors
/// It may not start.
pub(crate) fn begin(
    session: &Arc<HttpSession>,
    stream: &Arc<Stream>,
    request: &Request<'_>,
    threads: &Threads,
) -> Result<Begun, AdmissionError> {
    if session.is_kept() {
        session.incoming.admit(request)?;
    }
    let link: Arc<dyn Link> = Arc::<Stream>::clone(stream);
    let exchange = Exchange::new(request.id.clone(), link);
    let reply = guarded(|| session.inbound.answer(request, exchange.clone()));
    let future = match handle(reply, &exchange, threads) {
        Handled::Ended(outcome) => return Ok(Begun::Answer(settle(&exchange, &outcome))),
        Handled::Waits(future) => future,
    };
    if session.is_kept() && !session.incoming.insert(&exchange) {
        // Another request took the id between the two looks at the table.
        return Err(AdmissionError::Duplicate(ErrorObject::invalid_request(
            format!(
                "request id {} is in use by a request that is still running",
                exchange.id()
            ),
        )));
    }
    if session.streams.closed().is_some() {
        // The session ended before this one was on the table.
        exchange.cancel();
    }
    Ok(Begun::Runs(Member {
        running: Some(Running::new(exchange, future)),
        answer: None,
    }))
}

/// What a handler has come to after it was called.
pub(crate) enum Handled {
    Ended(Outcome),
    Waits(BoxFuture<'static, Outcome>),
}

/// Whatever kind of reply it is, and one that panicked: an outcome, or a future of it.
pub(crate) fn handle(
    reply: Result<Reply, ErrorObject>,
    exchange: &Exchange,
    threads: &Threads,
) -> Handled {
    match reply {
        Ok(Reply::Ready(outcome)) => Handled::Ended(outcome),
        Ok(Reply::Pending(future)) => Handled::Waits(future),
        Ok(Reply::Blocking(work)) => match run_blocking(work, exchange, threads) {
            Ok(future) => Handled::Waits(future),
            Err(error) => Handled::Ended(Err(error)),
        },
        Ok(other) => {
            tracing::error!(?other, "unknown kind of reply");
            let error = ErrorObject::internal("the handler cannot be run here");
            Handled::Ended(Err(error))
        }
        Err(panicked) => Handled::Ended(Err(panicked)),
    }
}

fn run_blocking(
    work: Box<dyn FnOnce() -> Outcome + Send>,
    exchange: &Exchange,
    threads: &Threads,
) -> Result<BoxFuture<'static, Outcome>, ErrorObject> {
    let Some(thread) = threads.take() else {
        return Err(ErrorObject::internal(format!(
            "{} blocking handlers are under way, the limit of Options::with_blocking",
            threads.limit
        )));
    };
    let exchange = exchange.clone();
    let task = tokio::task::spawn_blocking(move || {
        let outcome = if exchange.is_running() {
            guarded(work).and_then(|outcome| outcome)
        } else {
            Err(ErrorObject::internal("the request has ended"))
        };
        drop(thread);
        outcome
    });
    Ok(Box::pin(async move {
        let lost = |_| Err(ErrorObject::internal("the handler was dropped"));
        task.await.unwrap_or_else(lost)
    }))
}

/// The answer, for an exchange that nothing else can have ended.
fn settle(exchange: &Exchange, outcome: &Outcome) -> Text {
    exchange.settle();
    render(exchange.id(), outcome)
}

/// The answer as JSON text.
pub(crate) fn render(id: &RequestId, outcome: &Outcome) -> Text {
    match outcome {
        Ok(payload) => match payload.shared() {
            Some((text, stamp)) if text.tail().len() >= SHARED => {
                let start = Text::written(|out| {
                    write_result(out, id, |out| text.write_start(out, stamp));
                    // The tail has the brace that closes the envelope.
                    out.pop();
                });
                start.before(text)
            }
            _ => Text::written(|out| write_result(out, id, |out| payload.write(out))),
        },
        Err(error) => Text::written(|out| write_error(out, Some(id), error)),
    }
}

/// What is worth to be sent without a copy.
const SHARED: usize = 16 << 10;

/// One request of a body.
pub(crate) struct Member {
    running: Option<Running>,
    answer: Option<Vec<u8>>,
}

impl Member {
    /// One that was answered at once.
    pub(crate) fn answered(answer: Vec<u8>) -> Self {
        Self {
            running: None,
            answer: Some(answer),
        }
    }

    fn poll(&mut self, session: &HttpSession, cx: &mut Context<'_>) -> Poll<()> {
        let Some(running) = &mut self.running else {
            return Poll::Ready(());
        };
        let outcome = match Pin::new(running).poll(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(outcome) => outcome,
        };
        self.end(session, &outcome);
        Poll::Ready(())
    }

    fn end(&mut self, session: &HttpSession, outcome: &Outcome) {
        let Some(running) = self.running.take() else {
            return;
        };
        let exchange = running.exchange();
        session.incoming.forget(exchange);
        self.answer = exchange
            .settle()
            .then(|| render(exchange.id(), outcome).into_whole());
    }
}

/// The requests of one body, at work.
///
/// It completes with the JSON text of the answer: one object, or an array for a batch; or with
/// nothing, if all were cancelled.
pub(crate) struct Work {
    members: Vec<Member>,
    batch: bool,
    deadline: Option<Instant>,
    session: Arc<HttpSession>,
    pub(crate) stream: Arc<Stream>,
    _slot: Option<Slot>,
    _pinned: Pinned,
}

impl Work {
    pub(crate) fn new(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        members: Vec<Member>,
        batch: bool,
        slot: Option<Slot>,
    ) -> Self {
        let deadline = session
            .inbound
            .deadline()
            .map(|limit| Instant::now() + limit);
        Self {
            members,
            batch,
            deadline,
            session: Arc::clone(session),
            stream,
            _slot: slot,
            _pinned: session.pin(),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let mut pending = false;
        for member in &mut self.members {
            pending |= member.poll(&self.session, cx).is_pending();
        }
        if pending {
            return Poll::Pending;
        }
        Poll::Ready(self.answer())
    }

    /// Ends what still runs because the deadline has passed.
    pub(crate) fn expire(&mut self) -> Option<Vec<u8>> {
        let limit = self.session.inbound.deadline();
        for member in &mut self.members {
            if let Some(running) = &mut member.running {
                let outcome = running.end(Err(expired(limit)));
                member.end(&self.session, &outcome);
            }
        }
        self.answer()
    }

    fn answer(&mut self) -> Option<Vec<u8>> {
        let mut answers = self.members.iter_mut().filter_map(|it| it.answer.take());
        if !self.batch {
            return answers.next();
        }
        let first = answers.next()?;
        let mut out = vec![b'['];
        out.extend_from_slice(&first);
        for answer in answers {
            out.push(b',');
            out.extend_from_slice(&answer);
        }
        out.push(b']');
        Some(out)
    }

    fn is_pending(&self) -> bool {
        self.members.iter().any(|member| member.running.is_some())
    }

    /// Runs to the end without whoever asked; the answer goes to the stream, if there is one to
    /// come back to.
    pub(crate) async fn finish(mut self) {
        let deadline = self.deadline;
        let all = std::future::poll_fn(|cx| self.poll(cx));
        let answer = match deadline {
            None => all.await,
            Some(deadline) => match timeout_at(deadline, all).await {
                Ok(answer) => answer,
                Err(_) => self.expire(),
            },
        };
        if self.stream.is_started() {
            self.stream.finish(answer.as_deref());
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        for member in &mut self.members {
            if let Some(running) = &member.running {
                self.session.incoming.forget(running.exchange());
                running.exchange().cancel();
            }
        }
        // Whoever reads the stream must not wait for what will not come.
        if self.stream.is_started() {
            self.stream.finish(None);
        }
    }
}

/// Work whose HTTP task may go away: that is no cancellation, so the work is then finished by a
/// task of its own.
///
/// Specification: transports, sending messages to the server.
pub(crate) struct Attended(Option<Work>);

impl Attended {
    pub(crate) fn new(work: Work) -> Self {
        Self(Some(work))
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        match &mut self.0 {
            Some(work) => work.poll(cx),
            None => Poll::Ready(None),
        }
    }

    /// Nobody attends to it any more.
    pub(crate) fn into_inner(mut self) -> Option<Work> {
        self.0.take()
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        let Some(work) = self.0.take().filter(Work::is_pending) else {
            return;
        };
        work.stream.detach(0);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(work.finish());
        }
    }
}
