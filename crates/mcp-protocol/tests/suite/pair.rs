//! Two multiplexers; the test moves the bytes between them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::{ErrorObject, Notification, Request};
use mcp_protocol::middleware::Discarded;
use mcp_protocol::{
    BoxFuture, Call, CallError, Closed, Exchange, Extras, Inbound, Link as _, Mux, MuxLimits,
    Outcome, Payload, PendingHandler, Reply,
};

/// How a handler of the server ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    Answers,
    Fails,
    Panics,
}

/// The server: its handlers wait until the test ends them.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) waiting: Mutex<VecDeque<Arc<Mutex<Option<Fate>>>>>,
    pub(crate) notified: Mutex<Vec<String>>,
    pub(crate) closed: Mutex<u32>,
    pub(crate) discarded: Mutex<Vec<String>>,
}

impl Inbound for Handlers {
    fn request(&self, request: &Request<'_>, _exchange: Exchange) -> Reply {
        match &*request.method {
            "now" => Reply::ok(Payload::Empty),
            "refuse" => Reply::error(ErrorObject::invalid_params("no")),
            "panic" => panic!("in place"),
            "block" => Reply::Blocking(Box::new(|| Ok(Payload::Empty))),
            _ => {
                let fate = Arc::new(Mutex::new(None));
                self.waiting.lock().unwrap().push_back(Arc::clone(&fate));
                Reply::Pending(Box::pin(std::future::poll_fn(move |_| decide(&fate))))
            }
        }
    }

    fn notification(&self, notification: &Notification<'_>) {
        self.notified
            .lock()
            .unwrap()
            .push(notification.method.to_string());
    }

    fn discarded(&self, message: Discarded<'_>) {
        self.discarded.lock().unwrap().push(format!("{message:?}"));
    }

    fn closed(&self, _reason: &Closed) {
        *self.closed.lock().unwrap() += 1;
    }
}

fn decide(fate: &Mutex<Option<Fate>>) -> Poll<Outcome> {
    let fate = *fate.lock().unwrap();
    match fate {
        None => Poll::Pending,
        Some(Fate::Answers) => Poll::Ready(Ok(Payload::Empty)),
        Some(Fate::Fails) => Poll::Ready(Err(ErrorObject::internal("failed"))),
        Some(Fate::Panics) => panic!("the error of the handler"),
    }
}

pub(crate) type Answered = Result<Result<String, ErrorObject>, String>;

/// A client that calls and a server that answers.
pub(crate) struct Pair {
    pub(crate) near: Arc<Mux>,
    pub(crate) far: Arc<Mux>,
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) client: Arc<Handlers>,
    pub(crate) calls: BTreeMap<u32, BoxFuture<'static, Result<mcp_protocol::Answer, CallError>>>,
    pub(crate) results: BTreeMap<u32, Answered>,
    pub(crate) work: Vec<PendingHandler>,
    /// Frames in transit, and every frame that the server wrote.
    pub(crate) to_far: VecDeque<Vec<u8>>,
    pub(crate) to_near: VecDeque<Vec<u8>>,
    pub(crate) said: Vec<String>,
}

impl Pair {
    pub(crate) fn new(limits: MuxLimits) -> Self {
        let (handlers, client) = (Arc::new(Handlers::default()), Arc::new(Handlers::default()));
        Self {
            near: Mux::new(Arc::<Handlers>::clone(&client), limits.clone()),
            far: Mux::new(Arc::<Handlers>::clone(&handlers), limits),
            handlers,
            client,
            calls: BTreeMap::new(),
            results: BTreeMap::new(),
            work: Vec::new(),
            to_far: VecDeque::new(),
            to_near: VecDeque::new(),
            said: Vec::new(),
        }
    }

    pub(crate) fn call(&mut self, key: u32, method: &'static str) {
        let call: Call = self
            .near
            .request_with(method.into(), None, Extras::default());
        self.calls.insert(key, Box::pin(call));
        self.poll_calls();
    }

    /// Polls all running handlers and calls, as a runtime would.
    pub(crate) fn poll_calls(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        let results = &mut self.results;
        self.calls
            .retain(|key, call| match call.as_mut().poll(&mut cx) {
                Poll::Pending => true,
                Poll::Ready(answer) => {
                    let answer = answer
                        .map(|answer| answer.map(|raw| raw.as_str().to_owned()))
                        .map_err(|error| error.to_string());
                    assert!(results.insert(*key, answer).is_none(), "resolved twice");
                    false
                }
            });
    }

    pub(crate) fn poll_work(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        let work = std::mem::take(&mut self.work);
        for work in work {
            match work {
                PendingHandler::Async(mut run) => {
                    if std::pin::Pin::new(&mut run).poll(&mut cx).is_pending() {
                        self.work.push(PendingHandler::Async(run));
                    }
                }
                PendingHandler::Blocking(run) => run.run(),
                _ => unreachable!("there are two kinds of handlers"),
            }
        }
    }

    /// Moves the output of both sides into transit.
    pub(crate) fn flush(&mut self) {
        for frame in take(&self.near) {
            self.to_far.push_back(frame);
        }
        for frame in take(&self.far) {
            self.said.push(String::from_utf8(frame.clone()).unwrap());
            self.to_near.push_back(frame);
        }
    }

    pub(crate) fn deliver_to_far(&mut self) {
        self.flush();
        if let Some(frame) = self.to_far.pop_front() {
            let work = &mut self.work;
            self.far.receive(&frame, &mut |new| work.push(new));
        }
    }

    pub(crate) fn deliver_to_near(&mut self) {
        self.flush();
        if let Some(frame) = self.to_near.pop_front() {
            self.near
                .receive(&frame, &mut |_| panic!("the server sends no requests"));
            self.poll_calls();
        }
    }

    /// Moves bytes and polls until nothing changes.
    pub(crate) fn settle(&mut self) {
        loop {
            self.poll_work();
            self.poll_calls();
            self.flush();
            if self.to_far.is_empty() && self.to_near.is_empty() {
                return;
            }
            while !self.to_far.is_empty() {
                self.deliver_to_far();
            }
            while !self.to_near.is_empty() {
                self.deliver_to_near();
            }
        }
    }
}

/// The frames in the output queue of a multiplexer.
pub(crate) fn take(mux: &Mux) -> Vec<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    let mut frames = Vec::new();
    while let Poll::Ready(true) = mux.poll_output(&mut cx, &mut bytes) {
        assert_eq!(bytes.last(), Some(&b'\n'), "a torn frame");
        frames.extend(
            bytes
                .split(|b| *b == b'\n')
                .filter(|f| !f.is_empty())
                .map(<[u8]>::to_vec),
        );
        bytes.clear();
    }
    frames
}
