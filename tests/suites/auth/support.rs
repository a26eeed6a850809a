//! A protected server and its clients.

use mcp_server::ServerBuilder;
use std::net::SocketAddr;

use http::request::Parts;
use mcp_auth::OAuth;
use mcp_auth::server::{Auth, Introspection, Jwt, RequireBearer, Verify, require_bearer};
use mcp_tests::auth_server::{AuthServer, SERVER_ID, SERVER_SECRET, serve};
use mcp_tests::tcp::{Answer, Conn, Request};
use tokio::net::TcpStream;

use crate::prelude::*;

/// What the handlers have done.
#[derive(Clone, Default)]
pub(crate) struct Done {
    runs: Arc<AtomicUsize>,
    /// What an API behind the server received.
    pub(crate) upstream: Arc<Mutex<String>>,
}

impl Done {
    /// Returns how often a handler ran.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    fn ran(&self) {
        self.runs.fetch_add(1, Ordering::SeqCst);
    }
}

/// Creates a server whose handlers read or require the identity of the caller.
pub(crate) fn notes(done: &Done) -> ServerBuilder {
    let [who, write, admin, upstream] = [0; 4].map(|_| done.clone());
    Server::builder("notes", "1")
        .tool(Tool::new("whoami", move |auth: Auth| {
            who.ran();
            auth.subject().unwrap_or("you").to_owned()
        }))
        .tool(
            Tool::new("write", move || {
                write.ran();
                "written"
            })
            .scope("notes:write"),
        )
        .tool(Tool::new("admin", move |auth: Auth| {
            auth.require("notes:admin notes:write")?;
            admin.ran();
            Ok::<_, HandlerError>("done")
        }))
        .tool(Tool::new("upstream", move |cx: Ctx| {
            // Forwards the token like a careless proxy.
            let request = cx.transport::<Parts>();
            let mut sent = upstream.upstream.lock().unwrap();
            sent.push_str(&format!(
                "{:?} {request:?} {cx:?}",
                request.map(|it| &it.headers)
            ));
            "sent"
        }))
        .tool(Tool::new("ask", async |cx: Ctx| {
            cx.elicit_url("Sign in", "https://mcp.example/sign-in")
                .await?;
            Ok::<_, HandlerError>("asked")
        }))
        .resource(Resource::text("notes://all", "all", "secret notes"))
        .prompt(Prompt::new("plan", |auth: Auth| {
            auth.require("notes:read")?;
            Ok::<_, HandlerError>("plan the day")
        }))
}

/// A protected server on a local port.
pub(crate) struct ProtectedServer {
    pub(crate) auth: AuthServer,
    pub(crate) server: Server,
    pub(crate) endpoint: Endpoint,
    pub(crate) done: Done,
    pub(crate) url: String,
    address: SocketAddr,
}

impl ProtectedServer {
    /// Starts a server that requires signed tokens.
    pub(crate) async fn start() -> Self {
        let auth = AuthServer::start().await;
        let verifier = jwt(&auth);
        Self::behind(auth, verifier).await
    }

    /// Starts a server that asks the authorization server whether opaque tokens are active.
    pub(crate) async fn opaque() -> Self {
        let auth = AuthServer::start().await;
        auth.give_out_opaque_tokens();
        let verifier = Introspection::builder(auth.issuer(), SERVER_ID, SERVER_SECRET);
        let verifier = verifier.clock(auth.clock()).build().unwrap();
        Self::behind(auth, verifier).await
    }

    pub(crate) async fn behind(auth: AuthServer, verifier: impl Verify) -> Self {
        Self::guarded(auth, |url| guard(url, verifier)).await
    }

    /// Starts a server behind the layer for its URL.
    pub(crate) async fn guarded(
        auth: AuthServer,
        guard: impl FnOnce(&str) -> RequireBearer,
    ) -> Self {
        let (listener, address) = listen().await;
        let url = format!("http://{address}/mcp");
        let done = Done::default();
        let server = notes(&done).build().unwrap();
        let endpoint = Endpoint::new(server.clone()).unwrap();
        let guard = guard(&url);
        serve(listener, guard.layer(endpoint.clone()));
        Self {
            auth,
            server,
            endpoint,
            done,
            url,
            address,
        }
    }

    /// Connects a client that signs in as the user of the authorization server.
    pub(crate) async fn client(&self) -> Client {
        self.client_with(Negotiation::Auto).await
    }

    /// Like [`client`](Self::client), with a choice of revisions.
    pub(crate) async fn client_with(&self, negotiation: Negotiation) -> Client {
        let auth = OAuth::client(&self.url)
            .user_agent(self.auth.browser())
            .clock(self.auth.clock())
            .build();
        let http = HttpTransport::new(&self.url)
            .unwrap()
            .authorize(auth.unwrap());
        let builder = Client::builder("host", "1").negotiation(negotiation);
        let client = builder.connect(http).await;
        client.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Issues a token for this server.
    pub(crate) fn token(&self, subject: &str, scope: &str) -> String {
        self.auth.token(subject, "client-1", scope, &self.url)
    }

    /// Sends one request on a new connection.
    pub(crate) async fn ask(&self, request: &Request) -> Answer {
        self.connect().await.ask(request).await
    }

    /// Calls a tool in this session; returns the text of its result.
    pub(crate) async fn said(&self, session: &Request, name: &str) -> String {
        self.ask(&tool(session, 1, name)).await.said()
    }

    /// Calls a tool without a session.
    pub(crate) async fn stateless(&self, token: &str, id: i64, name: &str) -> Answer {
        let client = StatelessPeer::new(&self.endpoint);
        let message = client.request(id, "tools/call", json!({ "name": name }));
        let mut request = bearing(Request::post(message.to_string()), token);
        for (name, value) in &client.mirroring(&message).headers {
            if name.as_str().starts_with("mcp-") {
                request = request.with(name.as_str(), value.as_bytes());
            }
        }
        self.ask(&request).await
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self) -> Conn {
        Conn::new(TcpStream::connect(self.address).await.unwrap())
    }

    /// Returns the head of the response to one request.
    pub(crate) async fn head(&self, request: &Request) -> Answer {
        let mut conn = self.connect().await;
        conn.send(request.bytes()).await;
        conn.head().await
    }

    /// Opens a session with this token and returns the template for its requests.
    pub(crate) async fn open(&self, token: &str, revision: &str) -> Request {
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": mcp_tests::wire::initialize_params(revision, json!({ "elicitation": { "url": {} } })),
        });
        let answer = self
            .ask(&bearing(Request::post(hello.to_string()), token))
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        let opened = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let session = bearing(Request::post(opened), token).with("mcp-session-id", id);
        assert_eq!(self.ask(&session).await.status, 202);
        session
    }
}

pub(crate) fn jwt(auth: &AuthServer) -> Jwt {
    let builder = Jwt::builder(auth.issuer()).clock(auth.clock());
    builder.build().unwrap()
}

pub(crate) fn guard(url: &str, verifier: impl Verify) -> RequireBearer {
    let builder = require_bearer(url, verifier).scope("mcp");
    builder.build().unwrap()
}

pub(crate) fn bearing(request: Request, token: &str) -> Request {
    request.with("authorization", format!("Bearer {token}"))
}

/// Builds a request of this session.
pub(crate) fn request(session: &Request, id: i64, method: &str, params: Value) -> Request {
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    body(session, &message)
}

/// Builds any message of this session.
pub(crate) fn body(session: &Request, message: &Value) -> Request {
    session.carrying(message.to_string())
}

pub(crate) fn tool(session: &Request, id: i64, name: &str) -> Request {
    request(session, id, "tools/call", json!({ "name": name }))
}

/// Returns a parameter of the challenge.
pub(crate) fn said<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let challenge = answer.header("www-authenticate")?;
    let (_, rest) = challenge.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}
