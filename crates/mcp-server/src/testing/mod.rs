//! Tests of servers, without a transport: a client in the same process, at any revision.
//!
//! ```
//! use mcp_server::testing::{TestClient, on_every_revision};
//! use mcp_server::{Ask, Server, tool};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! /// Really wipe it?
//! #[derive(Deserialize, JsonSchema)]
//! struct Confirm { sure: bool }
//!
//! /// Wipes a disk.
//! #[tool]
//! fn wipe(/** which one */ disk: u32, Ask(confirm): Ask<Confirm>) -> String {
//!     format!("disk {disk} {}", if confirm.sure { "wiped" } else { "kept" })
//! }
//!
//! # mcp_server::testing::block_on(async {
//! let said = on_every_revision(
//!     || Server::builder("disks", "1.0.0").tool(wipe::tool()),
//!     async |client: TestClient| {
//!         let client = client.answer_forms(|_, _| json!({"sure": true}));
//!         client.call_tool("wipe", json!({"disk": 7})).await.unwrap().joined_text()
//!     },
//! )
//! .await;
//! assert_eq!(said, "disk 7 wiped");
//! # });
//! ```

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_jsonrpc::{
    ErrorObject, Frame, Limits, Message, Notification, RequestId, parse, write_notification,
    write_request,
};
use mcp_protocol::{
    Caller, Exchange, Inbound as _, IntoService, Link, Principal, Reply, Revision, Running,
    ServerSession, guarded,
};
use mcp_types::{
    CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, PROTOCOL_VERSION_KEY, method,
};
use serde_json::{Map, Value, json};

use crate::Change;
use crate::sync::thread_waker;

mod calls;
mod link;
mod subscription;

use link::{Answers, Notifications, TestLink};
pub use subscription::TestSubscription;

/// Maximum number of round trips of one call.
const MAX_ROUND_TRIPS: usize = 16;

/// A client in the same process, for tests. It answers server requests and input requests.
///
/// In session-based revisions it opens a session with the first request. Clones share the session
/// and the received notifications.
#[derive(Clone)]
pub struct TestClient {
    server: Arc<ServerSession>,
    revision: Revision,
    capabilities: Value,
    answers: Answers,
    caller: Arc<Caller>,
    notifications: Arc<Notifications>,
    /// The link for messages that do not belong to a request. The server holds only a weak reference to the link.
    general: Arc<TestLink>,
    next: Arc<AtomicI64>,
}

impl TestClient {
    /// Creates a client of the latest revision, without capabilities. `server` is a server or a
    /// builder.
    ///
    /// # Panics
    /// The server configuration is invalid; the message says what to correct.
    pub fn new(server: impl IntoService) -> Self {
        Self::at(Revision::LATEST, server)
    }

    /// Creates a client of the given revision, without capabilities.
    ///
    /// # Panics
    /// The server configuration is invalid; the message says what to correct.
    pub fn at(revision: Revision, server: impl IntoService) -> Self {
        let server = match server.into_service() {
            Ok(server) => server,
            Err(error) => panic!("the server configuration is invalid: {error}"),
        };
        server.start();
        let server = ServerSession::new(server);
        let notifications = Arc::<Notifications>::default();
        let answers: Answers = Arc::new(|method, _| Err(ErrorObject::method_not_found(method)));
        let general = Arc::new(TestLink {
            answers: Arc::clone(&answers),
            notifications: Arc::clone(&notifications),
            caller: OnceLock::new(),
        });
        let link: Arc<dyn Link> = Arc::<TestLink>::clone(&general);
        server.opened(Arc::downgrade(&link) as Weak<dyn Link>);
        Self {
            server,
            revision,
            capabilities: json!({}),
            answers,
            caller: Arc::new(Caller::local()),
            notifications,
            general,
            next: Arc::new(AtomicI64::new(1)),
        }
    }

    /// Declares client capabilities, and answers server requests and input requests: `answers` receives the method and params,
    /// and returns the result. Replaces earlier answers. Call it before the first request, because the client declares its
    /// capabilities when it opens the session.
    #[must_use]
    pub fn answer(
        mut self,
        capabilities: Value,
        answers: impl Fn(&str, &Value) -> Result<Value, ErrorObject> + Send + Sync + 'static,
    ) -> Self {
        self.capabilities = capabilities;
        self.answers = Arc::new(answers);
        self
    }

    /// Accepts every elicitation form with the content that `fill` returns for its message and
    /// schema. Replaces earlier answers, see [`answer`](Self::answer).
    #[must_use]
    pub fn answer_forms(
        self,
        fill: impl Fn(&str, &Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.answer(json!({ "elicitation": {} }), move |method, params| {
            if method != method::ELICITATION_CREATE {
                return Err(ErrorObject::method_not_found(method));
            }
            let message = params["message"].as_str().unwrap_or_default();
            let content = fill(message, &params["requestedSchema"]);
            Ok(json!({ "action": "accept", "content": content }))
        })
    }

    /// Sends requests as this principal, with all scopes. The first
    /// principal of a client owns its session.
    #[must_use]
    pub fn on_behalf(self, principal: Principal) -> Self {
        let mut caller = Caller::local();
        caller.principal = Some(principal);
        self.signed_in(caller)
    }

    /// Signs the client in. In contrast to [`on_behalf`](Self::on_behalf), requests contain everything that an authentication
    /// layer adds. For a `mcp_auth::server::Identity`, these are the scopes of the identity and the value of the extractor
    /// `mcp_auth::server::Auth`. The first caller of a client owns its session.
    #[must_use]
    pub fn signed_in(mut self, caller: impl Into<Caller>) -> Self {
        self.caller = Arc::new(caller.into());
        self.general.caller.get_or_init(|| Arc::clone(&self.caller));
        self
    }

    /// Returns the revision of the client.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the method and params of all notifications received so far, in order. In revision 2026-07-28, a client receives
    /// changes only while a subscription is open, see [`listen`](Self::listen). In a session, a client receives changes of lists
    /// without a subscription.
    pub fn notifications(&self) -> Vec<(String, Value)> {
        self.notifications.all()
    }

    /// Subscribes to changes, and returns when the server has confirmed the subscription. In revision 2026-07-28, sends one
    /// `subscriptions/listen`. In a session, sends `resources/subscribe` for each resource; the server always announces changes
    /// of lists.
    ///
    /// ```
    /// use mcp_server::testing::{TestClient, block_on};
    /// use mcp_server::{Change, Ctx, Resource, Server, Tool};
    /// use serde_json::json;
    ///
    /// # let uri = "note:///a";
    /// let server = Server::builder("notes", "1.0.0")
    ///     .resource(Resource::new(uri, "a", async || "text"))
    ///     .tool(Tool::new("touch", |cx: Ctx| {
    ///         cx.changed(Change::Resource("note:///a".into()));
    ///         "touched"
    ///     }));
    /// let client = TestClient::new(server);
    /// block_on(async {
    ///     let mut changes = client.listen([Change::Resource(uri.into())]).await.unwrap();
    ///     client.call_tool("touch", json!({})).await.unwrap();
    ///     assert_eq!(changes.next().await, Some(Change::Resource(uri.into())));
    /// });
    /// ```
    ///
    /// # Errors
    /// The server rejected the subscription.
    pub async fn listen(
        &self,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<TestSubscription, ErrorObject> {
        TestSubscription::open(self, changes.into_iter().collect()).await
    }

    /// Sends a request, answers its input requests, and returns its result. On the stateless revision, the client adds the
    /// revision, its name, its capabilities and the log level `info` to `_meta` in `params`.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn request(&self, method: &str, mut params: Value) -> Result<Value, ErrorObject> {
        if !self.revision.is_stateless() {
            self.open().await?;
            return self.send(method, &params).await;
        }
        self.add_meta(&mut params);
        for _ in 0..MAX_ROUND_TRIPS {
            let result = self.send(method, &params).await?;
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            let mut responses = Map::new();
            for (key, request) in result["inputRequests"].as_object().into_iter().flatten() {
                let method = request["method"].as_str().unwrap_or_default();
                responses.insert(key.clone(), (self.answers)(method, &request["params"])?);
            }
            params["inputResponses"] = responses.into();
            if let Some(members) = params.as_object_mut() {
                match result.get("requestState") {
                    Some(state) => members.insert("requestState".into(), state.clone()),
                    None => members.shift_remove("requestState"),
                };
            }
        }
        Err(ErrorObject::internal(format!(
            "the call took more than {MAX_ROUND_TRIPS} round trips"
        )))
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// The session could not be opened.
    pub async fn notify(&self, method: &str, mut params: Value) -> Result<(), ErrorObject> {
        if self.revision.is_stateless() {
            self.add_meta(&mut params);
        } else {
            self.open().await?;
        }
        let params = params.to_string();
        let notification = Notification::new(method, Some(&*params));
        guarded(|| self.server.notification(&notification))
    }

    /// Adds the revision, the client's name and capabilities, and the log level to `_meta`. Other members, such as a progress
    /// token, stay.
    fn add_meta(&self, params: &mut Value) {
        let meta = &mut params["_meta"];
        meta[PROTOCOL_VERSION_KEY] = self.revision.as_str().into();
        meta[CLIENT_INFO_KEY] = json!({ "name": "test", "version": "1" });
        meta[CLIENT_CAPABILITIES_KEY] = json!(self.capabilities);
        meta[LOG_LEVEL_KEY] = "info".into();
    }

    /// Initializes the session, unless it is open.
    async fn open(&self) -> Result<(), ErrorObject> {
        if self.server.is_agreed() {
            return Ok(());
        }
        let params = json!({
            "protocolVersion": self.revision.as_str(),
            "capabilities": self.capabilities,
            "clientInfo": { "name": "test", "version": "1" }
        });
        self.send(method::INITIALIZE, &params).await?;
        let mut text = Vec::new();
        write_notification(&mut text, method::NOTIFICATIONS_INITIALIZED, None);
        if let Ok(Frame::Single(Message::Notification(opened))) = parse(&text, &Limits::default()) {
            self.server.notification(&opened);
        }
        Ok(())
    }

    /// Sends one request and returns its result.
    async fn send(&self, method: &str, params: &Value) -> Result<Value, ErrorObject> {
        self.send_as(self.next_id(), method, params).await
    }

    fn next_id(&self) -> RequestId {
        RequestId::from(self.next.fetch_add(1, Ordering::Relaxed))
    }

    async fn send_as(
        &self,
        id: RequestId,
        method: &str,
        params: &Value,
    ) -> Result<Value, ErrorObject> {
        let mut text = Vec::new();
        write_request(&mut text, &id, method, Some(params.to_string().as_bytes()));
        let broken =
            || ErrorObject::internal("the test client cannot parse or run its own request");
        let Ok(Frame::Single(Message::Request(request))) = parse(&text, &Limits::default()) else {
            return Err(broken());
        };
        let exchange = Exchange::new(
            id,
            Arc::new(TestLink {
                answers: Arc::clone(&self.answers),
                notifications: Arc::clone(&self.notifications),
                caller: OnceLock::from(Arc::clone(&self.caller)),
            }),
        );
        let outcome = match guarded(|| self.server.request(&request, exchange.clone()))? {
            Reply::Ready(outcome) => outcome,
            Reply::Pending(future) => Running::new(exchange.clone(), future).await,
            Reply::Blocking(work) => guarded(work)?,
            _ => Err(broken()),
        };
        exchange.settle();
        let mut out = Vec::new();
        outcome?.write(&mut out);
        serde_json::from_slice(&out).map_err(|error| ErrorObject::internal(error.to_string()))
    }
}

impl fmt::Debug for TestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestClient")
            .field("revision", &self.revision)
            .field("general", &self.general)
            .finish_non_exhaustive()
    }
}

/// Runs a test at every revision that supports forms (2025-06-18 and later), each with a new
/// server, and returns the common result.
///
/// # Panics
/// The results of two revisions differ, or the server configuration is invalid.
pub async fn on_every_revision<S: IntoService, T: PartialEq + fmt::Debug>(
    server: impl Fn() -> S,
    run: impl AsyncFn(TestClient) -> T,
) -> T {
    let revisions = Revision::ALL.into_iter().rev();
    let mut agreed: Option<(Revision, T)> = None;
    for revision in revisions.filter(|revision| revision.rules().elicitation) {
        let result = run(TestClient::at(revision, server())).await;
        match &agreed {
            None => agreed = Some((revision, result)),
            Some((newest, first)) => {
                assert_eq!(&result, first, "{revision} differs from {newest}");
            }
        }
    }
    match agreed {
        Some((_, result)) => result,
        None => unreachable!("some revisions support forms"),
    }
}

/// Runs a future on this thread until it completes, for tests without a runtime. If a handler needs
/// a runtime, for example for timers, await the client in that runtime instead.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = thread_waker();
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(result) => return result,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(1)),
        }
    }
}

#[cfg(test)]
mod tests;
