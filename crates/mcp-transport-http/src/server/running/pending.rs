//! Requests that run, and where their answers go.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_protocol::{Inbound as _, Outcome, Running, expired};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use crate::permit::Permit;
use crate::server::response::text::render;
use crate::server::session::{HttpSession, Pin as Pinned};
use crate::server::stream::Stream;

/// One request of a body.
pub(crate) struct Member {
    running: Option<Running>,
    answer: Option<Vec<u8>>,
}

impl Member {
    pub(crate) fn running(running: Running) -> Self {
        Self {
            running: Some(running),
            answer: None,
        }
    }

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
    _slot: Option<Permit>,
    _pinned: Pinned,
}

impl Work {
    pub(crate) fn new(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        members: Vec<Member>,
        batch: bool,
        slot: Option<Permit>,
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
