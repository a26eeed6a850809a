//! The request context for handlers.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mcp_protocol::{AskError, Cancelled, Principal, RequestContext, Revision};
use mcp_types::{ClientCapabilities, Implementation, LoggingLevel, Meta, ProgressToken};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::server::ReportChange;
use crate::{Call, Change, Extraction, FromCall, HandlerError};

/// The context of a request: reports progress, logs, sends requests to the client, and detects
/// cancellation.
///
/// Messages are sent on the stream of the request. All clones refer to the same request.
#[derive(Clone)]
pub struct Ctx {
    pub(super) request: RequestContext,
    server: Weak<dyn ReportChange>,
}

impl Ctx {
    pub(crate) fn of(call: &Call<'_>) -> Self {
        Self {
            request: call.context.clone(),
            server: call.server.reporter(),
        }
    }

    /// Reports progress towards `total`; returns whether a notification was sent. A notification is sent only if the client
    /// requested progress and `progress` is greater than in the last notification. After a burst of 64, at most 50 notifications
    /// per second are sent. This limit does not apply to the notification that reaches `total`.
    pub fn progress(&self, progress: f64, total: impl Into<Option<f64>>) -> bool {
        self.request
            .progress(progress, total.into(), None, Instant::now())
    }

    /// Reports progress with a message for the user, as [`progress`](Self::progress) does. Clients
    /// of 2024-11-05 do not receive the message.
    pub fn progress_with(
        &self,
        progress: f64,
        total: impl Into<Option<f64>>,
        message: &str,
    ) -> bool {
        self.request
            .progress(progress, total.into(), Some(message), Instant::now())
    }

    /// Returns the progress token, if the client requested progress.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.request.progress_token()
    }

    /// Sends a log message if the client's log level admits it; returns whether it was sent. A
    /// session sends at most 100 messages per second after a burst of 500.
    pub fn log(&self, level: LoggingLevel, data: impl Into<Value>) -> bool {
        self.request.log(level, None, data.into(), Instant::now())
    }

    /// Sends a log message with the name of a logger, as [`log`](Self::log) does.
    pub fn log_as(&self, logger: &str, level: LoggingLevel, data: impl Into<Value>) -> bool {
        self.request
            .log(level, Some(logger), data.into(), Instant::now())
    }

    /// Returns the principal of the request, if an authentication layer verified a principal. The key for data of the user is
    /// [`Principal::user`], which is the same for every client of the user.
    pub fn principal(&self) -> Option<&Principal> {
        self.request.principal()
    }

    /// Returns whether the request has all scopes in `scope`, which are separated by spaces. Over stdio the result is always
    /// `true`, because the client started the server. Over HTTP the verified token must include the scopes. If this returns
    /// `false`, end the call: the client then receives a challenge with the missing scopes.
    pub fn permits(&self, scope: &str) -> bool {
        self.request.permits(scope)
    }

    /// Returns the transport's data about the request, if it has the type `T`. Over HTTP, `T` is
    /// `http::request::Parts`: headers, URI, and the extensions that layers and the listener added.
    /// Over stdio the result is always `None`.
    pub fn transport<T: 'static>(&self) -> Option<&T> {
        self.request.transport()
    }

    /// Closes the connection that carries the stream of this request, so that no connection is occupied during long work. The
    /// client resumes the stream after `retry` and loses no message. Returns `true` for HTTP sessions of 2025-11-25 with an event
    /// store; otherwise does nothing and returns `false`.
    pub fn release(&self, retry: Duration) -> bool {
        self.request.release(retry)
    }

    /// Completes when the request has ended: it was answered, the client cancelled it, or the client has disconnected. In these
    /// cases the handler's future is dropped, so only work on other tokio tasks or threads needs this method.
    pub fn cancelled(&self) -> Cancelled {
        self.request.cancelled()
    }

    /// Returns whether the request has ended, for loops in blocking handlers; see
    /// [`cancelled`](Self::cancelled).
    pub fn is_cancelled(&self) -> bool {
        !self.request.exchange().is_running()
    }

    /// Returns a context for the same request. Input requests that are sent through this context have the name `name`. On the
    /// stateless revision, input requests and responses are matched by name. By default the name is derived from the text of the
    /// input request, which must then be the same in each round trip.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        self.with_request(self.request.named(name))
    }

    /// Returns a context of the same request. Elicitation and sampling requests that are sent through this context run as tasks
    /// of the client (2025-11-25). The client accepts each request at once, and the server polls for the response. Use this
    /// context for requests that may take the user a long time. `ttl` is how long the client should keep its task; `None` leaves
    /// that to the client. If the client does not support tasks, requests are sent as usual.
    #[must_use]
    pub fn as_task(&self, ttl: impl Into<Option<Duration>>) -> Self {
        self.with_request(self.request.as_task(ttl.into()))
    }

    /// Runs `work` once per call, even if the handler runs again (a memoized step).
    ///
    /// On the stateless revision, a handler starts over in each round trip and repeats all work before an input request. The
    /// result of `work` is encrypted, and the client stores it under `name`. Later runs return this result. Each `name` must be
    /// unique within the handler. In session-based revisions `work` simply runs.
    ///
    /// ```
    /// # use mcp_server::{Ctx, HandlerError};
    /// # use mcp_server::Server;
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Confirm { yes: bool }
    /// # async fn book() -> u32 { 7 }
    /// async fn reserve(cx: Ctx) -> Result<String, HandlerError> {
    ///     let seat = cx.memoize("seat", book()).await?;
    ///     let answer = cx.elicit::<Confirm>(format!("Take seat {seat}?")).await?;
    ///     Ok(if answer.accepted().is_some_and(|confirm| confirm.yes) { "booked" } else { "kept" }.to_owned())
    /// }
    /// ```
    ///
    /// # Errors
    /// The result cannot be written as JSON, or the stored result does not match the type.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work`; nothing is stored.
    pub async fn memoize<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, HandlerError> {
        let Some(pending) = self.request.pending_input() else {
            return Ok(work.await);
        };
        if let Some(note) = pending.step_result(name) {
            return Ok(serde_json::from_value(note)?);
        }
        let working = pending.begin_step();
        let result = work.await;
        working.complete(name, serde_json::to_value(&result)?);
        // The result is saved before a task continues.
        pending.wait_saved().await;
        Ok(result)
    }

    /// Turns the call into a task: the request is answered with the task, and the handler continues in the background. Input
    /// requests before `detach` are sent while the client waits for the response. Later input requests are sent when the client
    /// polls the task.
    ///
    /// For [detachable](crate::Tool::detachable) tools. Does nothing if the call already is a task. Also does nothing in
    /// session-based revisions and for clients that do not support tasks.
    ///
    /// # Errors
    /// The task cannot be created, because a limit was reached or the store failed. The call is then not a task. A handler that
    /// ignores the error continues as an ordinary call.
    pub async fn detach(&self) -> Result<(), HandlerError> {
        match self.request.pending_input() {
            Some(pending) => pending.detach().await.map_err(HandlerError::protocol),
            None => Ok(()),
        }
    }

    /// Sets the status message of the task; returns whether the call is a task. The client receives
    /// the message when it polls the task or subscribes to it.
    pub fn status(&self, message: &str) -> bool {
        self.request
            .pending_input()
            .is_some_and(|pending| pending.set_status(message))
    }

    /// Returns the name and version that the client sent. Returns `None` if the client sent neither. The name and version are not
    /// verified, so do not trust them.
    pub fn client(&self) -> Option<&Implementation> {
        self.request.session().client()
    }

    /// Returns the capabilities that the client declared; `None` if it declared none.
    pub fn client_capabilities(&self) -> Option<&ClientCapabilities> {
        self.request.session().client_capabilities()
    }

    /// Returns the `_meta` of the request.
    pub fn meta(&self) -> Option<&Meta> {
        self.request.meta()
    }

    /// Returns the negotiated revision, for diagnostics: handlers do not need to know it.
    pub fn revision(&self) -> Revision {
        self.request.session().revision()
    }

    /// Returns the value of type `T` that belongs to the client's session, and creates it with `init` on the first call. A
    /// session holds one value of each type. A value that changes needs interior mutability, for example a `Mutex`.
    ///
    /// The value is dropped with the session. The stateless revision has no sessions, so the value belongs to the request. Store
    /// data of a user under the [user](Principal::user) of the [principal](Self::principal).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use mcp_server::{Ctx, Tool};
    ///
    /// #[derive(Default)]
    /// struct Calls(AtomicU64);
    ///
    /// let count = Tool::<()>::new("count", |cx: Ctx| {
    ///     cx.session_value(Calls::default).0.fetch_add(1, Ordering::Relaxed) + 1
    /// });
    /// # let _ = count;
    /// ```
    pub fn session_value<T: Send + Sync + 'static>(&self, init: impl FnOnce() -> T) -> Arc<T> {
        self.request.session().value(init)
    }

    /// Notifies the server's clients of a changed list or resource, for example after the resources of a data source changed.
    /// `add` and `remove` of [`Server::tools`](crate::Server::tools), `prompts` and `resources` already notify the clients. If
    /// only one user can see the change, restrict it with [`Change::only_for`].
    pub fn changed(&self, change: Change) {
        if let Some(server) = self.server.upgrade() {
            server.changed(change);
        }
    }

    /// Notifies the clients that subscribed to this URI that the resource changed.
    pub fn resource_updated(&self, uri: &str) {
        self.changed(Change::Resource(uri.to_owned()));
    }

    /// Sends a request of a custom method to the client, on the stream of this request.
    ///
    /// # Errors
    /// The client rejects the request, the result does not match its type, or the client has disconnected. On the stateless
    /// revision the method always fails, because a server cannot send requests there.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn send_request<R: mcp_types::Request>(
        &self,
        params: &R::Params,
    ) -> Result<R::Result, AskError> {
        self.request.send_request::<R>(params).await
    }

    /// Sends a custom notification to the client, on the stream of this request. Returns whether it
    /// was sent; after the end of the request nothing is sent.
    pub fn send_notification<N: mcp_types::Notification>(&self, params: &N::Params) -> bool {
        self.request.send_notification::<N>(params)
    }

    /// Returns the request context of `mcp-protocol`, which offers functions that `Ctx` does not have.
    pub fn request(&self) -> &RequestContext {
        &self.request
    }

    fn with_request(&self, request: RequestContext) -> Self {
        Self {
            request,
            server: Weak::clone(&self.server),
        }
    }
}

impl<S> FromCall<S> for Ctx {
    fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
        Extraction::Ready(Self::of(call))
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ctx").field(&self.request).finish()
    }
}
