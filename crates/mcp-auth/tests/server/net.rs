//! A network in memory that can fail, delay and forge responses.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Request, Response};
use mcp_auth::server::RequestBody;
use mcp_protocol::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower_service::Service;

use crate::support::{ISSUER, KEYS};

pub(crate) const ASM: &str = "https://issuer.example/.well-known/oauth-authorization-server";
pub(crate) const JWKS: &str = "https://issuer.example/keys";
pub(crate) const INTROSPECT: &str = "https://issuer.example/introspect";

#[derive(Clone)]
pub(crate) struct Net(Arc<Inner>);

struct Inner {
    answers: Mutex<HashMap<String, (u16, String)>>,
    seen: Mutex<Vec<(String, Request<String>)>>,
    /// Requests wait while this is false.
    open: watch::Sender<bool>,
}

impl Net {
    /// A network with a correct issuer.
    pub(crate) fn new() -> Self {
        let this = Self(Arc::new(Inner {
            answers: Mutex::default(),
            seen: Mutex::default(),
            open: watch::Sender::new(true),
        }));
        this.answer(
            ASM,
            200,
            &json!({ "issuer": ISSUER, "jwks_uri": JWKS, "introspection_endpoint": INTROSPECT }),
        );
        this.answer(JWKS, 200, &KEYS.set());
        this
    }

    pub(crate) fn answer(&self, url: &str, status: u16, body: &Value) {
        let mut all = self.0.answers.lock().unwrap();
        all.insert(url.to_owned(), (status, body.to_string()));
    }

    pub(crate) fn hold(&self, held: bool) {
        self.0.open.send_replace(!held);
    }

    /// Returns the number of requests to a URL.
    pub(crate) fn count(&self, url: &str) -> usize {
        let seen = self.0.seen.lock().unwrap();
        seen.iter().filter(|(at, _)| at == url).count()
    }

    pub(crate) fn last(&self) -> Request<String> {
        self.0.seen.lock().unwrap().pop().unwrap().1
    }

    pub(crate) fn all(&self) -> Vec<String> {
        let seen = self.0.seen.lock().unwrap();
        seen.iter().map(|(url, _)| url.clone()).collect()
    }
}

impl Service<Request<RequestBody>> for Net {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let net = self.clone();
        Box::pin(async move {
            let url = request.uri().to_string();
            let text = |body: RequestBody| String::from_utf8(body.as_bytes().to_vec()).unwrap();
            net.0
                .seen
                .lock()
                .unwrap()
                .push((url.clone(), request.map(text)));
            let mut open = net.0.open.subscribe();
            open.wait_for(|open| *open).await.unwrap();
            tokio::task::yield_now().await;
            let known = net.0.answers.lock().unwrap().get(&url).cloned();
            let (status, body) = known.unwrap_or((404, String::new()));
            let mut response = Response::builder().status(status);
            if status == 302 {
                let to: String = serde_json::from_str(&body).unwrap();
                response = response.header("location", to);
            }
            Ok(response.body(body).unwrap())
        })
    }
}
