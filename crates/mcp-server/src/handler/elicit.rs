//! Requests of a handler to the client: elicitation, sampling and roots.

use std::pin::pin;
use std::task::{Context, Poll};

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_protocol::{AskError, RequestContext};
use mcp_schema::{Origin, Validator};
use mcp_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestUrlParams, ElicitResult, Root, method,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::arguments::decode_arguments;
use super::ask::{Elicitation, form_of};
use crate::sync::thread_waker;
use crate::{Ctx, HandlerError, IntoHandlerError, schema};

impl Ctx {
    /// Shows the user a form with the fields of `T`, and waits for the response. `T` is a flat
    /// struct of strings, numbers, bools and fieldless enums.
    ///
    /// # Errors
    /// The client does not support forms, rejected the request, sent an invalid response, or has disconnected; or `T` cannot be a
    /// form. A decline of the user is not an error.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the request.
    pub async fn elicit<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> Result<Elicitation<T>, AskError> {
        let form = form_of::<T>().map_err(AskError::Invalid)?;
        let params = ElicitRequestFormParams::new(message, form);
        let result = self.elicit_raw(ElicitRequestParams::Form(params)).await?;
        Ok(match result.action {
            ElicitAction::Accept => {
                let content = json!(result.content.unwrap_or_default());
                check_answer::<T>(&content).map_err(AskError::BadAnswer)?;
                let content = content.to_string();
                let answer = decode_arguments(&content)
                    .map_err(|error| AskError::BadAnswer(error.to_string()))?;
                Elicitation::Accepted(answer)
            }
            ElicitAction::Decline => Elicitation::Declined,
            _ => Elicitation::Cancelled,
        })
    }

    /// Like [`elicit`](Self::elicit), for a [blocking](crate::Tool::blocking) handler: blocks its
    /// thread until the user has answered.
    ///
    /// # Errors
    /// The errors of `elicit`; an error if the request was cancelled; and an error if the form must be sent in the response to
    /// the request (since 2026-07-28). In the last case, the handler must return this error. The handler runs again from its
    /// start when the user has answered.
    pub fn elicit_blocking<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> Result<Elicitation<T>, HandlerError> {
        let pending = self.request.pending_input();
        let stops = pending.filter(|pending| !pending.is_detached());
        let (waker, mut ended) = (thread_waker(), pin!(self.cancelled()));
        let mut cx = Context::from_waker(&waker);
        let mut asking = pin!(self.elicit::<T>(message));
        loop {
            if let Poll::Ready(answer) = asking.as_mut().poll(&mut cx) {
                return answer.map_err(IntoHandlerError::into_handler_error);
            }
            if let Some(pending) = stops {
                pending.stop_blocking();
                return Err(HandlerError::new(
                    "the user has not answered yet; return this error from the handler",
                ));
            }
            if ended.as_mut().poll(&mut cx).is_ready() {
                return Err(HandlerError::new("the request was cancelled"));
            }
            std::thread::park();
        }
    }

    /// Asks the user to open a URL, for secrets and for interaction outside the protocol. Returns
    /// when the user agrees or declines to open the URL, not when the interaction is complete.
    ///
    /// ```
    /// use mcp_server::{Ctx, Elicitation, HandlerError, tool};
    ///
    /// /// Connects an account.
    /// #[tool]
    /// async fn connect(cx: Ctx) -> Result<&'static str, HandlerError> {
    ///     Ok(match cx.elicit_url("Connect your account", "https://example.com/connect").await? {
    ///         Elicitation::Accepted(visit) => {
    ///             // .. and when the account is connected:
    ///             visit.complete();
    ///             "connected"
    ///         }
    ///         Elicitation::Declined => "the user does not want to connect the account",
    ///         Elicitation::Cancelled => "the user has not decided",
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// The client does not support URL elicitation, rejected the request, or has disconnected.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the request.
    pub async fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<Elicitation<UrlElicitation>, AskError> {
        let id = crate::random::id();
        let params = ElicitRequestUrlParams::new(message, url).with_elicitation_id(&*id);
        let result = self.elicit_raw(ElicitRequestParams::Url(params)).await?;
        Ok(match result.action {
            ElicitAction::Accept => Elicitation::Accepted(UrlElicitation {
                id,
                context: self.request.clone(),
            }),
            ElicitAction::Decline => Elicitation::Declined,
            _ => Elicitation::Cancelled,
        })
    }

    /// Creates the error that asks the user to open URLs before the call can succeed. Each item of `urls` is a message and a URL.
    /// Return the error from the handler. A client that supports URL elicitation asks the user to open the URLs and may call
    /// again. For other clients, the error text contains the URLs, and the model reads this text.
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
        let rules = self.request.rules();
        // The client cannot repeat a call that has become a task, so the error contains the URLs as text.
        let is_task = rules.stateless
            && self
                .request
                .pending_input()
                .is_some_and(|pending| pending.is_detached());
        if !(opens_urls && rules.elicitation_modes) || elicitations.is_empty() || is_task {
            let lines: Vec<String> = elicitations
                .iter()
                .map(|elicitation| format!("{}: {}", elicitation.message, elicitation.url))
                .collect();
            return HandlerError::new(format!("the user must first visit: {}", lines.join("; ")));
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
                "the user must visit a URL first",
            )
            .with_data(serde_json::json!({ "elicitations": modes })),
        )
    }

    /// Sends an elicitation request with custom params. The content of the response is not checked
    /// against a type.
    ///
    /// # Errors
    /// See [`elicit`](Self::elicit).
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the request.
    pub async fn elicit_raw(&self, params: ElicitRequestParams) -> Result<ElicitResult, AskError> {
        self.request.elicit(params).await
    }

    /// Requests a completion from the client's model (sampling).
    ///
    /// # Errors
    /// The client does not support sampling or has disconnected, the user rejected the request (code -1), or the messages violate
    /// the rules of tool use.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the request.
    pub async fn sample(
        &self,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, AskError> {
        self.request.sample(params).await
    }

    /// Requests the roots: the directories and files that the server may use.
    ///
    /// # Errors
    /// The client does not support roots, rejected the request, or has disconnected.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the request.
    pub async fn roots(&self) -> Result<Vec<Root>, AskError> {
        Ok(self.request.roots().await?.roots)
    }
}

/// Checks the content of an answer against the rules of `T` that neither the form nor the decoder checks, such as a pattern.
/// Without the feature `validate`, patterns are not checked.
fn check_answer<T: JsonSchema>(content: &Value) -> Result<(), String> {
    let schema = schema::form::<T>().map_err(|error| error.to_string())?;
    match Validator::compile(&schema.schema, Origin::Own) {
        Ok(validator) => schema::validate(&validator, content),
        Err(_) => Ok(()),
    }
}

/// A URL that the user agreed to open. Returned by [`Ctx::elicit_url`].
#[derive(Debug)]
#[non_exhaustive]
pub struct UrlElicitation {
    /// The unique id of this elicitation.
    pub id: String,
    context: RequestContext,
}

impl UrlElicitation {
    /// Notifies the client that the user finished the interaction; returns whether the notification
    /// was sent. May be called after the request was answered. Revisions without this notification
    /// return `false`.
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
