//! The request, as handlers see it.

use std::fmt;
use std::time::{Duration, Instant};

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_protocol::{AskError, Cancelled, Principal, RequestContext, Revision};
use mcp_types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitAction,
    ElicitRequestFormParams, ElicitRequestParams, ElicitRequestUrlParams, ElicitResult,
    Implementation, LoggingLevel, Meta, ProgressToken, Root, method,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::form::{self, Elicitation};
use crate::{Call, Extraction, FromCall, HandlerError};

/// The request a handler serves: progress, log messages, questions, cancellation.
///
/// Everything sent through it travels on the request's own stream. Cloning shares it.
#[derive(Clone)]
pub struct Ctx(RequestContext);

impl Ctx {
    pub(crate) fn new(context: RequestContext) -> Self {
        Self(context)
    }

    /// Reports progress towards `total`. It is sent only if the client asked for progress, only if
    /// the value is above the last one, and at most 50 times a second after a first burst of 64;
    /// returns whether it was. The step that reaches `total` is never held back.
    pub fn progress(&self, progress: f64, total: impl Into<Option<f64>>) -> bool {
        self.0
            .progress(progress, total.into(), None, Instant::now())
    }

    /// Reports progress with a sentence for the user.
    pub fn progress_with(
        &self,
        progress: f64,
        total: impl Into<Option<f64>>,
        message: &str,
    ) -> bool {
        self.0
            .progress(progress, total.into(), Some(message), Instant::now())
    }

    /// The token under which the client wants progress, if it does.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.0.progress_token()
    }

    /// Sends a log message if the client's level admits it; returns whether it was sent. A
    /// session sends at most 100 a second after a first burst of 500.
    pub fn log(&self, level: LoggingLevel, data: impl Into<Value>) -> bool {
        self.0.log(level, None, data.into(), Instant::now())
    }

    /// Sends a log message under a logger's name.
    pub fn log_as(&self, logger: &str, level: LoggingLevel, data: impl Into<Value>) -> bool {
        self.0.log(level, Some(logger), data.into(), Instant::now())
    }

    /// On whose behalf the request came, if whoever stands before the server verified that.
    pub fn principal(&self) -> Option<&Principal> {
        self.0.principal()
    }

    /// Whether the request may do what needs `scope`, one or more words. Over stdio everything
    /// may be done, because the client started the server; over HTTP only what a verified token
    /// covers. If it may not, end the call: the client is told what to ask for.
    pub fn permits(&self, scope: &str) -> bool {
        self.0.permits(scope)
    }

    /// What the transport knows of the request, if it keeps a `T`. Over HTTP that is an
    /// `http::request::Parts`: headers, URI, and the extensions that layers and the listener left
    /// there. Over stdio there is nothing, so the same handler runs there too.
    pub fn transport<T: 'static>(&self) -> Option<&T> {
        self.0.transport()
    }

    /// Gives the connection back that carries this request's stream: the client comes back for
    /// the rest after `retry`, and nothing is lost meanwhile. For work that takes long, over HTTP
    /// from 2025-11-25 on; `false`, and nothing happens, elsewhere.
    pub fn release(&self, retry: Duration) -> bool {
        self.0.release(retry)
    }

    /// Completes when the client cancelled the request or is gone. The handler's future is
    /// dropped at that point anyway; this is for work that was moved elsewhere.
    pub fn cancelled(&self) -> Cancelled {
        self.0.cancelled()
    }

    /// Whether the client cancelled the request or is gone: for blocking loops.
    pub fn is_cancelled(&self) -> bool {
        !self.0.exchange().is_running()
    }

    /// The same request, whose questions go by a name: in revisions without sessions, questions
    /// and answers are matched by one. Without it the name is made from the text of the question,
    /// which must then be the same each time the handler runs.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        Self(self.0.named(name))
    }

    /// The same request, whose questions the client answers as tasks where it takes them
    /// (2025-11-25): it says at once that it has taken the question, and is then asked for the
    /// answer. For questions that people may think about for long; `ttl` is for how long the
    /// client should keep its task. Where clients take no tasks nothing changes.
    #[must_use]
    pub fn as_task(&self, ttl: impl Into<Option<Duration>>) -> Self {
        Self(self.0.as_task(ttl.into()))
    }

    /// Does something once, though the handler may run again: in revisions without sessions, a
    /// handler starts over after each question, and what stands before the question is done
    /// again. The result of `work` is remembered under `name` (encrypted, by the client) and
    /// handed out in later runs. Elsewhere it simply runs.
    ///
    /// ```
    /// # use mcp_server::{Ctx, HandlerError};
    /// # use mcp_server::Server;
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Confirm { yes: bool }
    /// # async fn book() -> u32 { 7 }
    /// async fn reserve(cx: Ctx) -> Result<String, HandlerError> {
    ///     let seat = cx.memoize("seat", book()).await?;
    ///     let answer = cx.elicit::<Confirm>(format!("Take seat {seat}?")).await?;
    ///     Ok(if answer.accepted().is_some_and(|it| it.yes) { "booked" } else { "kept" }.to_owned())
    /// }
    /// ```
    ///
    /// # Errors
    /// The result cannot be remembered, or what was remembered does not fit its type.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work`, and nothing is remembered.
    pub async fn memoize<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, HandlerError> {
        let Some(pending) = self.0.pending_input() else {
            return Ok(work.await);
        };
        if let Some(note) = pending.step_result(name) {
            return Ok(serde_json::from_value(note)?);
        }
        let working = pending.begin_step();
        let result = work.await;
        working.complete(name, serde_json::to_value(&result)?);
        // What a task did is kept before it does anything else.
        pending.wait_saved().await;
        Ok(result)
    }

    /// From here on the call is a task: the request is answered with it, and the handler goes on
    /// where it is, in the background. Questions before this are asked while the client waits,
    /// those after it when it looks at the task.
    ///
    /// For tools that [say so](crate::Tool::detaches). Nothing happens where the call is a task
    /// already, or cannot be one: in older revisions, for clients that know no tasks.
    ///
    /// # Errors
    /// No task can be made, because a limit is reached or the store failed. The call is as it
    /// was.
    pub async fn detach(&self) -> Result<(), HandlerError> {
        match self.0.pending_input() {
            Some(pending) => pending.detach().await.map_err(HandlerError::protocol),
            None => Ok(()),
        }
    }

    /// Says in a sentence what a task is about, for whoever looks at it; returns whether the call
    /// is a task. A client hears of it when it looks, so it may be said as often as there is news.
    pub fn status(&self, message: &str) -> bool {
        self.0
            .pending_input()
            .is_some_and(|pending| pending.set_status(message))
    }

    /// Asks the user to fill in a form made from `T`, a flat struct of strings, numbers, bools
    /// and fieldless enums.
    ///
    /// # Errors
    /// The client cannot show forms, refused the request, or is gone. Declining is no error.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the question.
    pub async fn elicit<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> Result<Elicitation<T>, AskError> {
        let schema = form::form_of::<T>().map_err(AskError::Invalid)?;
        let params = ElicitRequestFormParams::new(message, schema);
        let result = self.elicit_raw(ElicitRequestParams::Form(params)).await?;
        Ok(match result.action {
            ElicitAction::Accept => {
                let content = serde_json::to_value(result.content.unwrap_or_default())
                    .map_err(|error| AskError::BadAnswer(error.to_string()))?;
                let answer = serde_json::from_value(content)
                    .map_err(|error| AskError::BadAnswer(error.to_string()))?;
                Elicitation::Accepted(answer)
            }
            ElicitAction::Decline => Elicitation::Declined,
            _ => Elicitation::Cancelled,
        })
    }

    /// Asks the user to open a URL, for everything secret or out of band. An accept says that
    /// the user agreed to go there, not that anything is done.
    ///
    /// # Errors
    /// The client cannot open URLs, refused the request, or is gone.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the question.
    pub async fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<UrlElicitation, AskError> {
        let id = crate::random::id();
        let params = ElicitRequestUrlParams::new(message, url).with_elicitation_id(&*id);
        let result = self.elicit_raw(ElicitRequestParams::Url(params)).await?;
        Ok(UrlElicitation {
            id,
            accepted: result.action == ElicitAction::Accept,
            context: self.0.clone(),
        })
    }

    /// The failure of a call that works only after the user has visited these URLs. A client that
    /// declared it can open URLs is told to, and may call again; the model of any other client
    /// reads the URLs.
    pub fn urls_required(
        &self,
        urls: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> HandlerError {
        let elicitations: Vec<ElicitRequestUrlParams> = urls
            .into_iter()
            .map(|(message, url)| {
                let id = crate::random::id();
                ElicitRequestUrlParams::new(message, url).with_elicitation_id(id)
            })
            .collect();
        let opens_urls = self
            .client_capabilities()
            .and_then(|capabilities| capabilities.elicitation.as_ref())
            .is_some_and(|modes| modes.url.is_some());
        let rules = self.0.rules();
        // A task is not called again, so there is no use in telling its client to.
        let is_task = rules.stateless
            && self
                .0
                .pending_input()
                .is_some_and(|pending| pending.is_detached());
        if !(opens_urls && rules.elicitation_modes) || elicitations.is_empty() || is_task {
            let lines: Vec<String> = elicitations
                .iter()
                .map(|elicitation| format!("{}: {}", elicitation.message, elicitation.url))
                .collect();
            return HandlerError::new(format!("visit first: {}", lines.join("; ")));
        }
        if rules.stateless {
            let requests = elicitations
                .into_iter()
                .enumerate()
                .map(|(at, mut params)| {
                    params.elicitation_id = None;
                    let params = ElicitRequestParams::Url(params);
                    let request = json!({ "method": method::ELICITATION_CREATE, "params": params });
                    (format!("url{}", at + 1), request)
                });
            return HandlerError::input_required(requests.collect());
        }
        let modes: Vec<ElicitRequestParams> = elicitations
            .into_iter()
            .map(ElicitRequestParams::Url)
            .collect();
        HandlerError::protocol(
            ErrorObject::new(
                ErrorCode::URL_ELICITATION_REQUIRED,
                "the user has to visit a URL first",
            )
            .with_data(serde_json::json!({ "elicitations": modes })),
        )
    }

    /// Asks with params made by hand.
    ///
    /// # Errors
    /// As [`elicit`](Self::elicit).
    pub async fn elicit_raw(&self, params: ElicitRequestParams) -> Result<ElicitResult, AskError> {
        self.0.elicit(params).await
    }

    /// Asks the client's model.
    ///
    /// # Errors
    /// The client has no model to offer, the user refused (code -1), the messages break the
    /// rules of tool use, or the client is gone.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the question.
    pub async fn sample(
        &self,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, AskError> {
        self.0.sample(params).await
    }

    /// Asks for the directories and files the server may work in.
    ///
    /// # Errors
    /// The client has no roots to offer, or is gone.
    pub async fn roots(&self) -> Result<Vec<Root>, AskError> {
        Ok(self.0.roots().await?.roots)
    }

    /// Who the client says it is. Not verified: never a reason to trust.
    pub fn client(&self) -> Option<&Implementation> {
        self.0.session().client()
    }

    /// What the client declared it can do.
    pub fn client_capabilities(&self) -> Option<&ClientCapabilities> {
        self.0.session().client_capabilities()
    }

    /// The `_meta` of the request.
    pub fn meta(&self) -> Option<&Meta> {
        self.0.meta()
    }

    /// The negotiated revision, for diagnostics: handlers need not care.
    pub fn revision(&self) -> Revision {
        self.0.session().revision()
    }

    /// The protocol's own view of the request.
    pub fn request(&self) -> &RequestContext {
        &self.0
    }
}

impl<S> FromCall<S> for Ctx {
    fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
        Extraction::Ready(Self::new(call.context.clone()))
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ctx").field(&self.0).finish()
    }
}

/// A URL the user was asked to open.
#[derive(Debug)]
#[non_exhaustive]
pub struct UrlElicitation {
    /// Names it; unique to this question.
    pub id: String,
    /// Whether the user agreed to open the URL.
    pub accepted: bool,
    context: RequestContext,
}

impl UrlElicitation {
    /// Tells the client that the user finished there. May be called after the request was
    /// answered; returns whether it was sent.
    pub fn complete(&self) -> bool {
        let params = mcp_types::ElicitationCompleteNotificationParams::new(&self.id);
        let Ok(params) = serde_json::to_vec(&params) else {
            return false;
        };
        self.context.rules().elicitation_modes
            && self.context.session().notify(
                method::NOTIFICATIONS_ELICITATION_COMPLETE,
                Some(&params),
                mcp_protocol::Delivery::Always,
            )
    }
}
