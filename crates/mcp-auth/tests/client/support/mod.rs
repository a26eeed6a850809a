//! A network in memory: documents by URL, a scripted token endpoint, and a record of all requests.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, UNIX_EPOCH};

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, Request, Response, StatusCode, request, response};
use mcp_auth::OAuth;
use mcp_auth::client::{Callback, CustomUserAgent, Error, OAuthBuilder, RequestBody, UserAgent};
use mcp_protocol::{BoxFuture, TransportError};
use mcp_transport_http::{AfterRefusal, Authorize};
use serde_json::{Value, json};
use tower_service::Service;

pub(crate) const SERVER: &str = "https://mcp.example/mcp";
pub(crate) const ISSUER: &str = "https://as.example";
pub(crate) const BACK: &str = "http://127.0.0.1:4711/callback";
pub(crate) const PRM: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
pub(crate) const ASM: &str = "https://as.example/.well-known/oauth-authorization-server";

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl RecordedRequest {
    /// Returns a field of its form.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        pairs(&self.body)
            .into_iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }
}

/// Parses a form or a query.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(text.as_bytes())
        .into_owned()
        .collect()
}

type Answer = (u16, String);
type Tokens = dyn Fn(&RecordedRequest) -> Answer + Send + Sync;
type Registrar = dyn Fn(&RecordedRequest, u64) -> Answer + Send + Sync;

/// All servers of a test.
#[derive(Clone)]
pub(crate) struct Net(Arc<Inner>);

struct Inner {
    documents: Mutex<HashMap<String, Answer>>,
    redirects: Mutex<HashMap<String, String>>,
    tokens: Mutex<Arc<Tokens>>,
    seen: Mutex<Vec<RecordedRequest>>,
    visits: Mutex<Vec<String>>,
    callback: Mutex<String>,
    registrar: Mutex<Arc<Registrar>>,
    /// The challenge for a message without a token.
    challenge: Mutex<Option<String>>,
    registered: AtomicU64,
    now: AtomicU64,
}

impl Net {
    /// A network with a correct server and a correct authorization server.
    pub(crate) fn new() -> Self {
        let this = Self(Arc::new(Inner {
            documents: Mutex::default(),
            redirects: Mutex::default(),
            tokens: Mutex::new(Arc::new(|_| token("token-1"))),
            seen: Mutex::default(),
            visits: Mutex::default(),
            callback: Mutex::new("code=code-1&state=STATE".to_owned()),
            registrar: Mutex::new(Arc::new(|_, number| {
                let client = json!({ "client_id": format!("client-{number}") });
                (201, client.to_string())
            })),
            challenge: Mutex::default(),
            registered: AtomicU64::new(0),
            now: AtomicU64::new(1_000_000),
        }));
        this.document(
            PRM,
            &json!({ "resource": SERVER, "authorization_servers": [ISSUER] }),
        );
        this.document(ASM, &metadata(ISSUER));
        this
    }

    /// Publishes a document.
    pub(crate) fn document(&self, url: &str, document: &Value) {
        self.answer(url, 200, &document.to_string());
    }

    pub(crate) fn answer(&self, url: &str, status: u16, body: &str) {
        let mut all = self.0.documents.lock().unwrap();
        all.insert(url.to_owned(), (status, body.to_owned()));
    }

    pub(crate) fn redirect(&self, from: &str, to: &str) {
        let mut all = self.0.redirects.lock().unwrap();
        all.insert(from.to_owned(), to.to_owned());
    }

    pub(crate) fn gone(&self, url: &str) {
        self.0.documents.lock().unwrap().remove(url);
    }

    /// Sets the responses of token endpoints.
    pub(crate) fn tokens(
        &self,
        tokens: impl Fn(&RecordedRequest) -> Answer + Send + Sync + 'static,
    ) {
        *self.0.tokens.lock().unwrap() = Arc::new(tokens);
    }

    /// Sets the responses of registration endpoints; registrations are numbered.
    pub(crate) fn registers(
        &self,
        registrar: impl Fn(&RecordedRequest, u64) -> Answer + Send + Sync + 'static,
    ) {
        *self.0.registrar.lock().unwrap() = Arc::new(registrar);
    }

    /// Returns a registration response that repeats the request.
    pub(crate) fn repeating(seen: &RecordedRequest, number: u64) -> Answer {
        let mut client: Value = serde_json::from_str(&seen.body).unwrap();
        client["client_id"] = json!(format!("client-{number}"));
        (201, client.to_string())
    }

    /// Sets the query of the callback; `STATE` is replaced by the state of the request.
    pub(crate) fn callback(&self, query: &str) {
        query.clone_into(&mut self.0.callback.lock().unwrap());
    }

    /// Sets the challenge for a message without a token.
    pub(crate) fn challenge(&self, challenge: &str) {
        *self.0.challenge.lock().unwrap() = Some(challenge.to_owned());
    }

    pub(crate) fn wait(&self, seconds: u64) {
        self.0.now.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Returns the request lines of all requests so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        let seen = self.0.seen.lock().unwrap();
        seen.iter().map(|seen| seen.line.clone()).collect()
    }

    /// Returns all token requests so far.
    pub(crate) fn redeemed(&self) -> Vec<RecordedRequest> {
        self.requests("/token")
    }

    /// Returns all requests so far whose URL ends like this.
    pub(crate) fn requests(&self, end: &str) -> Vec<RecordedRequest> {
        let seen = self.0.seen.lock().unwrap();
        let matching = seen.iter().filter(|seen| seen.line.ends_with(end));
        matching.cloned().collect()
    }

    /// Returns all registrations so far.
    pub(crate) fn registrations(&self) -> Vec<Value> {
        let seen = self.0.seen.lock().unwrap();
        let all = seen.iter().filter(|seen| seen.line.ends_with("/register"));
        all.map(|seen| serde_json::from_str(&seen.body).unwrap())
            .collect()
    }

    /// Returns all requests as text.
    pub(crate) fn told(&self) -> String {
        format!("{:?}", self.0.seen.lock().unwrap())
    }

    /// Returns the queries of all authorization requests so far.
    pub(crate) fn visits(&self) -> Vec<HashMap<String, String>> {
        let visits = self.0.visits.lock().unwrap();
        let query = |url: &String| pairs(url.split_once('?').unwrap().1);
        visits
            .iter()
            .map(|url| query(url).into_iter().collect())
            .collect()
    }

    /// A user agent that returns the callback of [`callback`](Self::callback).
    pub(crate) fn user(&self) -> impl UserAgent {
        let net = self.clone();
        CustomUserAgent::new(BACK, move |url: String| {
            let net = net.clone();
            async move { net.visited(&url) }
        })
    }

    /// Records an authorization request and returns its callback.
    pub(crate) fn visited(&self, url: &str) -> Result<Callback, Error> {
        self.0.visits.lock().unwrap().push(url.to_owned());
        let state = pairs(url.split_once('?').unwrap().1);
        let (_, state) = state.into_iter().find(|(name, _)| name == "state").unwrap();
        let query = self.0.callback.lock().unwrap().replace("STATE", &state);
        Ok(Callback::parse(&query))
    }

    /// A client of the server in this network, for a user.
    pub(crate) fn client(&self) -> OAuthBuilder {
        self.client_of(SERVER)
    }

    /// Returns the builder of a client of the server with this URL.
    pub(crate) fn client_of(&self, server: &str) -> OAuthBuilder {
        let net = self.clone();
        let now = move || UNIX_EPOCH + Duration::from_secs(net.0.now.load(Ordering::SeqCst));
        OAuth::client(server)
            .user_agent(self.user())
            .service(self.clone())
            .clock(now)
    }

    fn serve(&self, seen: &RecordedRequest) -> Response<String> {
        let (method, url) = seen.line.split_once(' ').unwrap();
        if let Some(to) = self.0.redirects.lock().unwrap().get(url) {
            let response = Response::builder().status(302).header("location", to);
            return response.body(String::new()).unwrap();
        }
        let challenge = self.0.challenge.lock().unwrap().clone();
        if let Some(challenge) = challenge.filter(|_| method == "POST" && url == SERVER) {
            let response = Response::builder().status(401);
            let response = response.header(WWW_AUTHENTICATE, challenge);
            return response.body(String::new()).unwrap();
        }
        let (status, body) = match method {
            "POST" if url.ends_with("/token") => {
                let tokens = self.0.tokens.lock().unwrap().clone();
                tokens(seen)
            }
            "POST" if url.ends_with("/register") => {
                let number = self.0.registered.fetch_add(1, Ordering::SeqCst) + 1;
                let registrar = self.0.registrar.lock().unwrap().clone();
                registrar(seen, number)
            }
            _ => {
                let documents = self.0.documents.lock().unwrap();
                let known = documents.get(url).cloned();
                known.unwrap_or((404, String::new()))
            }
        };
        Response::builder().status(status).body(body).unwrap()
    }
}

impl Service<Request<RequestBody>> for Net {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let (head, body) = request.into_parts();
        let seen = RecordedRequest {
            line: format!("{} {}", head.method, head.uri),
            headers: head.headers,
            body: String::from_utf8(body.as_bytes().to_vec()).unwrap(),
        };
        let net = self.clone();
        Box::pin(async move {
            net.0.seen.lock().unwrap().push(seen.clone());
            // Other tasks run here, as on a real network.
            tokio::task::yield_now().await;
            Ok(net.serve(&seen))
        })
    }
}

/// The metadata of a correct authorization server.
pub(crate) fn metadata(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    })
}

/// A token response with this token and a refresh token.
pub(crate) fn token(name: &str) -> Answer {
    let body = json!({
        "access_token": name,
        "token_type": "Bearer",
        "expires_in": 3_600,
        "refresh_token": format!("refresh-of-{name}"),
    });
    (200, body.to_string())
}

pub(crate) fn error(status: u16, error: &str) -> Answer {
    (status, json!({ "error": error }).to_string())
}

/// Authorizes a message like the transport.
pub(crate) async fn sent(auth: &OAuth) -> Result<request::Parts, TransportError> {
    let (mut parts, ()) = Request::post(SERVER).body(()).unwrap().into_parts();
    auth.authorize(&mut parts).await?;
    Ok(parts)
}

/// Returns the token of a message.
pub(crate) fn shown(parts: &request::Parts) -> Option<&str> {
    let value = parts.headers.get(AUTHORIZATION)?.to_str().unwrap();
    Some(value.split_once(' ').unwrap().1)
}

/// A response of the server.
pub(crate) fn response(status: u16, challenge: &str) -> response::Parts {
    let (mut parts, ()) = Response::new(()).into_parts();
    parts.status = StatusCode::from_u16(status).unwrap();
    if !challenge.is_empty() {
        let value = challenge.parse().unwrap();
        parts.headers.insert(WWW_AUTHENTICATE, value);
    }
    parts
}

/// The server rejects a message.
pub(crate) async fn refuse(
    auth: &OAuth,
    message: &request::Parts,
    status: u16,
    challenge: &str,
) -> Result<AfterRefusal, TransportError> {
    let response = response(status, challenge);
    auth.responded(&response);
    auth.refused(message, &response).await
}

/// The server accepts a message.
pub(crate) fn accept(auth: &OAuth) {
    auth.responded(&response(200, ""));
}

/// Signs in after a rejected message and authorizes it again.
pub(crate) async fn signed_in(auth: &OAuth) -> request::Parts {
    let message = sent(auth).await.unwrap();
    let after = refuse(auth, &message, 401, "Bearer").await.unwrap();
    assert_eq!(after, AfterRefusal::SendAgain);
    let again = sent(auth).await.unwrap();
    assert!(shown(&again).is_some());
    accept(auth);
    again
}
