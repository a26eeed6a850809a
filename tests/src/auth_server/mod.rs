//! An authorization server for tests: one user that always consents, any client, and two kinds of
//! tokens.
//!
//! It listens on a local port, and its clock moves only when a test moves it. It records everything
//! it issues, so that a test can search for it in wrong places.

mod pages;
mod serve;
mod sign;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_auth::client::{Callback, CustomUserAgent, Error, UserAgent};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

pub use serve::serve;
use sign::Signer;

use crate::tcp::{Conn, Request};

/// The redirect URI of browsers; no server listens there.
pub const BACK: &str = "http://127.0.0.1:4711/callback";
/// The client id of the resource server.
pub const SERVER_ID: &str = "resource-server";
/// The client secret of the resource server.
pub const SERVER_SECRET: &str = "canary-introspection";
/// The client id of a program that signs in as itself.
pub const ROBOT_ID: &str = "robot";
/// The client secret of that program.
pub const ROBOT_SECRET: &str = "canary-robot";
/// The first time of its clock.
const BEGIN: u64 = 1_800_000_000;
/// The lifetime of a token in seconds.
const LIFE: u64 = 300;

/// The authorization server. Cloning gives another handle to it.
#[derive(Clone)]
pub struct AuthServer(Arc<Inner>);

struct Inner {
    issuer: String,
    signer: Signer,
    now: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Clients, and the redirect URIs of each.
    clients: HashMap<String, Vec<String>>,
    codes: HashMap<String, Code>,
    refreshes: HashMap<String, Grant>,
    /// The claims of each token.
    tokens: HashMap<String, Value>,
    secrets: Vec<String>,
    /// The token requests.
    asked: Vec<HashMap<String, String>>,
    opaque: bool,
}

struct Code {
    grant: Grant,
    redirect: String,
    challenge: String,
}

/// The consent of a user.
#[derive(Clone)]
struct Grant {
    client: String,
    scope: String,
    resource: String,
}

impl AuthServer {
    /// Starts a server that signs with ES256.
    pub async fn start() -> Self {
        Self::signing(Signer::es256()).await
    }

    /// Starts a server that signs with RS256.
    pub async fn start_with_rsa() -> Self {
        Self::signing(Signer::rs256()).await
    }

    async fn signing(signer: Signer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let this = Self(Arc::new(Inner {
            issuer: format!("http://{address}"),
            signer,
            now: AtomicU64::new(BEGIN),
            state: Mutex::default(),
        }));
        serve(listener, pages::Pages(this.clone()));
        this
    }

    /// The issuer.
    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// Returns the clock of the server.
    pub fn clock(&self) -> impl Fn() -> SystemTime + Send + Sync + 'static {
        let this = self.clone();
        move || UNIX_EPOCH + Duration::from_secs(this.now())
    }

    /// Moves the clock.
    pub fn wait(&self, seconds: u64) {
        self.0.now.fetch_add(seconds, Ordering::SeqCst);
    }

    fn now(&self) -> u64 {
        self.0.now.load(Ordering::SeqCst)
    }

    /// Issues opaque tokens from now on, which require introspection.
    pub fn give_out_opaque_tokens(&self) {
        self.state().opaque = true;
    }

    /// Returns the token requests, in order.
    pub fn asked(&self) -> Vec<HashMap<String, String>> {
        self.state().asked.clone()
    }

    /// All secrets that the server issued.
    pub fn secrets(&self) -> Vec<String> {
        self.state().secrets.clone()
    }

    /// Issues a token directly.
    pub fn token(&self, subject: &str, client: &str, scope: &str, resource: &str) -> String {
        self.bound_token(subject, client, scope, resource, None)
    }

    /// Issues a token that is bound to the key with this thumbprint, if any.
    fn bound_token(
        &self,
        subject: &str,
        client: &str,
        scope: &str,
        resource: &str,
        key: Option<&str>,
    ) -> String {
        let mut claims = json!({
            "sub": subject, "client_id": client, "scope": scope, "aud": resource,
        });
        if let Some(key) = key {
            claims["cnf"] = json!({ "jkt": key });
        }
        self.mint(claims)
    }

    /// Returns all tokens that the server issued.
    pub fn tokens(&self) -> Vec<String> {
        self.state().tokens.keys().cloned().collect()
    }

    /// Creates a user agent whose user consents to everything.
    pub fn browser(&self) -> impl UserAgent {
        browser(BACK)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = &self.0.state;
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mint(&self, mut claims: Value) -> String {
        let now = self.now();
        claims["iss"] = self.issuer().into();
        claims["iat"] = now.into();
        claims["exp"] = (now + LIFE).into();
        let opaque = self.state().opaque;
        let token = if opaque {
            self.secret("canary-access")
        } else {
            let token = self.0.signer.token(&claims);
            // Only the signature is secret.
            let signature = token.rsplit('.').next().unwrap_or_default().to_owned();
            self.state().secrets.push(signature);
            token
        };
        claims["active"] = true.into();
        self.state().tokens.insert(token.clone(), claims);
        token
    }

    /// Random text that cannot be guessed.
    fn secret(&self, name: &str) -> String {
        let mut bytes = [0; 16];
        SystemRandom::new()
            .fill(&mut bytes)
            .expect("random numbers");
        let secret = format!("{name}-{}", sign::encode(&bytes));
        self.state().secrets.push(secret.clone());
        secret
    }
}

impl fmt::Debug for AuthServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AuthServer").field(&self.0.issuer).finish()
    }
}

/// Creates a user agent that opens pages of this machine, which redirect at once to this URI.
pub fn browser(redirect_uri: &str) -> impl UserAgent {
    CustomUserAgent::new(redirect_uri, |url: String| async move {
        let (host, path) = split(&url);
        let stream = TcpStream::connect(host).await;
        let stream = stream.map_err(|error| Error::user_agent(error.to_string()))?;
        let request = Request::get().line(&format!("GET /{path} HTTP/1.1"));
        let answer = Conn::new(stream).ask(&request.with("host", host)).await;
        let location = answer.header("location");
        let location = location.ok_or_else(|| Error::user_agent(answer.text().to_owned()))?;
        Ok(Callback::parse(location))
    })
}

/// Splits a local URL into its authority and the rest.
fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").expect("a page on this machine");
    rest.split_once('/').expect("a path")
}
