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
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_jsonrpc::{
    ErrorObject, Frame, Limits, Message, Notification, RawJson, RequestId, parse,
    write_notification, write_request,
};
use mcp_protocol::{
    Call, Caller, Closed, Delivery, Exchange, Extras, Inbound as _, IntoService, Link, MethodName,
    Principal, Reply, RequestOrigin, Revision, Running, ServerSession, guarded, lock,
};
use mcp_types::{
    CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, CallToolResult, CompleteResult, GetPromptResult,
    LOG_LEVEL_KEY, PROTOCOL_VERSION_KEY, ReadResourceResult, ResourceTemplate, method,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::sync::thread_waker;

/// Maximum number of round trips of one call.
const MAX_ROUND_TRIPS: usize = 16;
/// Maximum number of pages of a list.
const MAX_PAGES: usize = 1_000;

/// Answers a server request or input request: returns the result for its method and params.
type Answers = Arc<dyn Fn(&str, &Value) -> Result<Value, ErrorObject> + Send + Sync>;

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
    notifications: Arc<Mutex<Vec<(String, Value)>>>,
    /// The link for messages outside of requests; the server holds a weak reference to it.
    general: Arc<TestLink>,
    next: Arc<AtomicI64>,
}

impl TestClient {
    /// Creates a client of the latest revision, without capabilities. Takes a server or its
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
        let notifications = Arc::default();
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

    /// Declares client capabilities, and answers server requests and input requests: `answers` gets
    /// the method and params, and returns the result. Replaces earlier answers. Call it before the
    /// first request, because a session declares its capabilities when it opens.
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

    /// Signs the client in. Unlike [`on_behalf`](Self::on_behalf), handlers see what an authentication layer would have verified: from a
    /// `mcp_auth::server::Identity`, its scopes and the extractor `mcp_auth::server::Auth`. The first caller of a client owns its session.
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

    /// Returns the method and params of all notifications received so far, in order. In revision 2026-07-28, a client receives changes only while a request
    /// `subscriptions/listen` runs; with sessions, a client receives changes of lists without it.
    pub fn notifications(&self) -> Vec<(String, Value)> {
        lock(&self.notifications).clone()
    }

    /// Calls a tool and answers its input requests.
    ///
    /// # Errors
    /// The call was answered with a JSON-RPC error, or needed more than 16 round trips. An error of
    /// the tool itself is a result with `is_error`.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<CallToolResult, ErrorObject> {
        let params = json!({ "name": name, "arguments": arguments });
        self.typed(method::TOOLS_CALL, params).await
    }

    /// Lists all tools, from all pages.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn list_tools(&self) -> Result<Vec<mcp_types::Tool>, ErrorObject> {
        self.list(method::TOOLS_LIST, "tools").await
    }

    /// Lists all prompts, from all pages.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn list_prompts(&self) -> Result<Vec<mcp_types::Prompt>, ErrorObject> {
        self.list(method::PROMPTS_LIST, "prompts").await
    }

    /// Gets the messages of a prompt and answers its input requests.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<GetPromptResult, ErrorObject> {
        let params = json!({ "name": name, "arguments": arguments });
        self.typed(method::PROMPTS_GET, params).await
    }

    /// Lists all resources, from all pages.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn list_resources(&self) -> Result<Vec<mcp_types::Resource>, ErrorObject> {
        self.list(method::RESOURCES_LIST, "resources").await
    }

    /// Lists all resource templates, from all pages.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, ErrorObject> {
        let method = method::RESOURCES_TEMPLATES_LIST;
        self.list(method, "resourceTemplates").await
    }

    /// Reads a resource and answers its input requests.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, ErrorObject> {
        self.typed(method::RESOURCES_READ, json!({ "uri": uri }))
            .await
    }

    /// Returns the suggestions for an argument whose text is `value`. `reference` is
    /// `{"type": "ref/prompt", "name": ..}` or `{"type": "ref/resource", "uri": ..}`.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn complete(
        &self,
        reference: Value,
        argument: &str,
        value: &str,
    ) -> Result<Vec<String>, ErrorObject> {
        let argument = json!({ "name": argument, "value": value });
        let params = json!({ "ref": reference, "argument": argument });
        let result: CompleteResult = self.typed(method::COMPLETION_COMPLETE, params).await?;
        Ok(result.completion.values)
    }

    async fn list<T: DeserializeOwned>(
        &self,
        method: &str,
        member: &str,
    ) -> Result<Vec<T>, ErrorObject> {
        let mut items = Vec::new();
        let mut params = json!({});
        for _ in 0..MAX_PAGES {
            let mut page = self.request(method, params).await?;
            let list = serde_json::from_value::<Vec<T>>(page[member].take());
            items.extend(list.map_err(|error| ErrorObject::internal(error.to_string()))?);
            match page["nextCursor"].take() {
                Value::Null => return Ok(items),
                cursor => params = json!({ "cursor": cursor }),
            }
        }
        Err(ErrorObject::internal(format!(
            "the list has more than {MAX_PAGES} pages"
        )))
    }

    async fn typed<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
    ) -> Result<T, ErrorObject> {
        let result = self.request(method, params).await?;
        serde_json::from_value(result).map_err(|error| ErrorObject::internal(error.to_string()))
    }

    /// Sends a request, answers its input requests, and returns its result. On the stateless
    /// revision the client adds its members to `_meta` in `params`, and its log level is `info`.
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

    /// Adds the members of the client to `_meta`. Other members, such as a progress token, stay.
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
        let id = RequestId::from(self.next.fetch_add(1, Ordering::Relaxed));
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

/// The link of one request.
struct TestLink {
    answers: Answers,
    notifications: Arc<Mutex<Vec<(String, Value)>>>,
    caller: OnceLock<Arc<Caller>>,
}

impl Link for TestLink {
    fn notify(&self, method: &str, params: Option<&[u8]>, _: Delivery) -> Result<(), Closed> {
        let params = params.and_then(|text| serde_json::from_slice(text).ok());
        lock(&self.notifications).push((method.to_owned(), params.unwrap_or_default()));
        Ok(())
    }

    fn request_with(&self, method: MethodName, params: Option<Vec<u8>>, _: Extras) -> Call {
        let params = params.and_then(|text| serde_json::from_slice(&text).ok());
        let answer = (self.answers)(&method, &params.unwrap_or_default());
        Call::new(async move { Ok(answer.map(|answer| RawJson::copy(&answer.to_string()))) })
    }

    fn origin(&self) -> RequestOrigin<'_> {
        let caller = self.caller.get();
        caller.map_or_else(RequestOrigin::local, |caller| caller.origin())
    }
}

impl fmt::Debug for TestLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestLink")
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
mod tests {
    use super::*;
    use crate::{Ctx, HandlerError, Server, Tool};

    fn server() -> crate::ServerBuilder {
        let greet = Tool::new("greet", async |cx: Ctx| {
            cx.progress(1.0, 2.0);
            let roots = cx.roots().await?;
            Ok::<_, HandlerError>(format!("{} roots", roots.len()))
        });
        Server::builder("s", "1").tool(greet)
    }

    #[test]
    fn a_server_request_is_answered_at_every_revision() {
        for revision in Revision::ALL {
            let client =
                TestClient::at(revision, server()).answer(json!({ "roots": {} }), |method, _| {
                    assert_eq!(method, method::ROOTS_LIST);
                    Ok(json!({ "roots": [{ "uri": "file:///a" }] }))
                });
            let said = block_on(client.call_tool("greet", json!({}))).unwrap();
            assert_eq!(said.joined_text(), "1 roots", "{revision}");
        }
    }

    #[test]
    fn a_progress_token_is_sent_at_every_revision() {
        for revision in Revision::ALL {
            let client = TestClient::at(
                revision,
                Server::builder("s", "1").tool(Tool::new("pour", |cx: Ctx| {
                    cx.progress(1.0, 2.0);
                })),
            );
            let params = json!({ "name": "pour", "_meta": { "progressToken": "p" } });
            block_on(client.request(method::TOOLS_CALL, params)).unwrap();
            let [(name, params)] = client.notifications().try_into().unwrap();
            assert_eq!(name, method::NOTIFICATIONS_PROGRESS, "{revision}");
            assert_eq!(params["progressToken"], "p", "{revision}");
        }
    }

    #[test]
    #[should_panic(expected = "differs from 2026-07-28")]
    fn different_results_of_revisions_are_reported() {
        block_on(on_every_revision(server, async |client| client.revision()));
    }
}
