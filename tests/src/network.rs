//! A network between a client and an [`Endpoint`] in one process. It can be cut: then it refuses
//! requests and interrupts responses. There is no socket, so tests can pause the time.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body::Frame;
use mcp_protocol::BoxFuture;
use mcp_transport_http::{Body, Endpoint};
use tokio::sync::watch;
use tower_service::Service;

/// The network. Cloning gives another handle to it.
#[derive(Debug, Clone)]
pub struct Network {
    endpoint: Arc<Mutex<Endpoint>>,
    up: watch::Sender<bool>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Method and headers of each request.
    heads: Mutex<Vec<(Method, HeaderMap)>>,
    /// Cuts the network at the next response to a tool call.
    trap: AtomicBool,
    /// Interrupts every response, although the network is up.
    curse: AtomicBool,
}

impl Network {
    /// Creates a network that is up and leads to this endpoint.
    pub fn to(endpoint: &Endpoint) -> Self {
        Self {
            endpoint: Arc::new(Mutex::new(endpoint.clone())),
            up: watch::Sender::new(true),
            state: Arc::default(),
        }
    }

    /// Interrupts all responses and refuses new requests.
    pub fn cut(&self) {
        self.up.send_replace(false);
    }

    /// Lets all requests pass again.
    pub fn mend(&self) {
        self.up.send_replace(true);
    }

    /// Leads to another endpoint, as after a restart; interrupts all responses.
    pub fn lead_to(&self, endpoint: &Endpoint) {
        self.cut();
        *self.leads_to() = endpoint.clone();
        self.mend();
    }

    fn leads_to(&self) -> MutexGuard<'_, Endpoint> {
        self.endpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts the network when the server sends the response to a tool call, before it arrives.
    pub fn cut_at_the_answer(&self) {
        self.state.trap.store(true, Ordering::Release);
    }

    /// Interrupts every response at its first byte from now on, although the network is up.
    pub fn break_every_response(&self) {
        self.state.curse.store(true, Ordering::Release);
    }

    /// Returns the numbers of POST and other requests, including refused ones.
    pub fn requests(&self) -> (usize, usize) {
        let heads = self.heads();
        let posts = heads.iter().filter(|(it, _)| *it == Method::POST).count();
        (posts, heads.len() - posts)
    }

    /// Returns method and headers of each request, including refused ones.
    pub fn heads(&self) -> Vec<(Method, HeaderMap)> {
        let heads = self.state.heads.lock();
        heads.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether these bytes are the response that the network was armed for.
    fn trips(&self, data: &[u8]) -> bool {
        let answer = data.windows(9).any(|part| part == b"\"content\"");
        answer && self.state.trap.swap(false, Ordering::AcqRel)
    }
}

async fn down(up: &mut watch::Receiver<bool>) {
    // Every handle holds a sender, and the caller has a handle.
    let _ = up.wait_for(|up| !up).await;
}

fn reset() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "the network was cut")
}

impl<B> Service<Request<B>> for Network
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Carried>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Response<Carried>, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let head = (request.method().clone(), request.headers().clone());
        let heads = self.state.heads.lock();
        heads.unwrap_or_else(PoisonError::into_inner).push(head);
        let authority = request.uri().authority().cloned();
        if let Some(host) = authority.and_then(|host| host.as_str().parse().ok()) {
            request.headers_mut().insert("host", host);
        }
        let this = self.clone();
        let mut up = self.up.subscribe();
        let served = self.leads_to().clone().call(request);
        Box::pin(async move {
            if !*up.borrow() {
                let refused = "the network is down";
                return Err(io::Error::new(io::ErrorKind::ConnectionRefused, refused));
            }
            let served = tokio::select! {
                biased;
                () = down(&mut up) => return Err(reset()),
                served = served => served,
            };
            let Ok(response) = served;
            Ok(response.map(|body| Carried {
                body,
                broken: Box::pin(async move { down(&mut up).await }),
                network: this,
            }))
        })
    }
}

/// The body of a response that the network can interrupt.
pub struct Carried {
    body: Body,
    broken: Pin<Box<dyn Future<Output = ()> + Send>>,
    network: Network,
}

impl http_body::Body for Carried {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        if this.broken.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(reset())));
        }
        let frame = std::task::ready!(Pin::new(&mut this.body).poll_frame(cx));
        let data = frame
            .as_ref()
            .and_then(|frame| frame.as_ref().ok()?.data_ref());
        if this.network.state.curse.load(Ordering::Acquire) {
            return Poll::Ready(Some(Err(reset())));
        }
        if data.is_some_and(|data| this.network.trips(data)) {
            this.network.cut();
            return Poll::Ready(Some(Err(reset())));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(|never| match never {})))
    }
}

impl std::fmt::Debug for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Carried")
    }
}
