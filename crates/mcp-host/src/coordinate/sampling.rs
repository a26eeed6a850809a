//! Sampling: requests of servers to the model of the host.
//!
//! Specification: [sampling](https://modelcontextprotocol.io/specification/2025-11-25/client/sampling).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::types::{CreateMessageRequestParams, IncludeContext};
use mcp_client::{CreateMessageResult, ErrorCode, ErrorObject, Sample, json_hash};
use mcp_jsonrpc::quote;
use mcp_protocol::{BoxFuture, Rate, TokenBucket, lock};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::limits::ServerLimits;
use crate::consent::{ActionKind, Basis, ConsentAction, ServerGate};
use crate::supervise::nesting::{RunningCalls, within};

/// A language model that answers sampling requests. A closure from [`SamplingRequest`] to a future with a result implements it.
pub trait Model: Send + Sync + 'static {
    /// Asks the model. The request has already been approved. The result needs a separate approval before the server receives it.
    ///
    /// Show only the request to the model: the host does not add its conversation or
    /// the results of other servers, and the model must not see them.
    ///
    /// # Errors
    /// The server receives the error, so it must not contain secrets.
    ///
    /// # Cancel safety
    /// The host drops the future when the server cancels its request or the connection ends.
    fn sample(
        &self,
        request: SamplingRequest,
    ) -> impl Future<Output = Result<CreateMessageResult, ErrorObject>> + Send;
}

impl<F, A> Model for F
where
    F: Fn(SamplingRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send,
{
    fn sample(
        &self,
        request: SamplingRequest,
    ) -> impl Future<Output = Result<CreateMessageResult, ErrorObject>> + Send {
        self(request)
    }
}

/// An approved sampling request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The name that the configuration gives the server. The server does not choose this name.
    pub server: String,
    /// The request of the server: messages, settings and preferences. `max_tokens` does not exceed the limit of the host.
    pub sample: Sample,
    /// The nesting depth: 1 for a request that is not nested, otherwise one more than the depth of the enclosing request.
    pub depth: u32,
}

impl SamplingRequest {
    /// Attributes the tool calls in `future` to this request, for the [depth limit](crate::ServerLimits::max_sampling_depth).
    /// This is necessary only for calls that do not run in the tokio task of [`Model::sample`]. Without this method, such calls
    /// have depth 0.
    pub async fn run<F: Future>(&self, future: F) -> F::Output {
        within(self.depth, future).await
    }
}

pub(super) type AskModel = Arc<
    dyn Fn(SamplingRequest) -> BoxFuture<'static, Result<CreateMessageResult, ErrorObject>>
        + Send
        + Sync,
>;

/// Returns a closure that calls the model.
pub(super) fn ask_model(model: impl Model) -> AskModel {
    let model = Arc::new(model);
    Arc::new(move |request| {
        let model = Arc::clone(&model);
        Box::pin(async move { model.sample(request).await })
    })
}

/// The handler of the sampling requests of one server.
pub(super) struct Sampling {
    pub(super) model: AskModel,
    pub(super) gate: Arc<ServerGate>,
    pub(super) calls: Arc<RunningCalls>,
    pub(super) limits: ServerLimits,
    pub(super) bucket: Mutex<TokenBucket>,
}

impl Sampling {
    pub(super) fn new(
        model: AskModel,
        gate: Arc<ServerGate>,
        calls: Arc<RunningCalls>,
        limits: &ServerLimits,
    ) -> Self {
        Self {
            model,
            gate,
            calls,
            limits: limits.clone(),
            bucket: Mutex::default(),
        }
    }

    /// Answers a request. The depth is determined from the calls that run when this method is called, not when the returned
    /// future is polled.
    pub(super) fn answer(
        self: Arc<Self>,
        mut sample: Sample,
    ) -> impl Future<Output = Result<CreateMessageResult, ErrorObject>> + Send {
        let depth = self.calls.max_depth().saturating_add(1);
        async move {
            sample.params.max_tokens = sample
                .params
                .max_tokens
                .min(self.limits.max_sampling_tokens);
            self.check(&sample.params, depth)?;
            let details = request_details(&sample.params, depth);
            let action = ConsentAction::SamplingRequest {
                params: Box::new(sample.params.clone()),
                depth,
            };
            self.approve(ActionKind::SamplingRequest, details, action)
                .await?;
            self.gate.mark_untrusted();
            let request = SamplingRequest {
                server: self.gate.server().to_owned(),
                sample,
                depth,
            };
            let result = within(depth, (self.model)(request)).await?;
            let details = json!({
                "sha256": hash(&result), "model": result.model, "stopReason": result.stop_reason
            });
            let action = ConsentAction::SamplingResult {
                result: Box::new(result.clone()),
            };
            self.approve(ActionKind::SamplingResult, details, action)
                .await?;
            Ok(result)
        }
    }

    /// Checks the limits, and checks that the request does not ask for the context of other servers.
    fn check(&self, params: &CreateMessageRequestParams, depth: u32) -> Result<(), ErrorObject> {
        let limits = &self.limits;
        let denied = |basis, error: ErrorObject| {
            let mut details = request_details(params, depth);
            details["reason"] = error.message.as_ref().into();
            self.gate
                .refuse(ActionKind::SamplingRequest, basis, details);
            error
        };
        let rate = Rate::per(Duration::from_secs(60), limits.sampling_per_minute);
        let taken = lock(&self.bucket).take(1.0, rate, Instant::now().into_std());
        if let Err(refused) = taken {
            let error = ErrorObject::internal(format!(
                "this host answers at most {} sampling requests per minute from one server; repeat the request later",
                limits.sampling_per_minute
            ));
            return Err(match refused.is_first {
                true => denied(Basis::Limit, error),
                false => error,
            });
        }
        if depth > limits.max_sampling_depth {
            let error = format!(
                "the nesting depth {depth} of the sampling request exceeds the limit of {}",
                limits.max_sampling_depth
            );
            return Err(denied(Basis::Limit, ErrorObject::internal(error)));
        }
        match &params.include_context {
            None | Some(IncludeContext::None | IncludeContext::ThisServer) => Ok(()),
            Some(foreign) => {
                let error = format!(
                    "includeContext {} is not available: this host keeps servers apart; use \"none\" or \
                     \"thisServer\"",
                    quote(foreign.as_str(), 64)
                );
                Err(denied(Basis::Isolation, ErrorObject::invalid_params(error)))
            }
        }
    }

    async fn approve(
        &self,
        kind: ActionKind,
        details: Value,
        action: ConsentAction,
    ) -> Result<(), ErrorObject> {
        let approved = self.gate.request(kind, details, action).await;
        approved.map_err(|reason| {
            tracing::info!(server = self.gate.server(), %kind, reason, "sampling was denied");
            // The server does not learn the rules of the host.
            ErrorObject::new(ErrorCode::USER_REJECTED, "user rejected sampling request")
        })
    }
}

/// Returns the details of a request for the audit log. The details do not contain the text of the request, because it may be
/// private.
fn request_details(params: &CreateMessageRequestParams, depth: u32) -> Value {
    let context = params.include_context.as_ref().map(|context| {
        let context = context.as_str().chars().take(64);
        context.collect::<String>()
    });
    json!({
        "sha256": hash(params), "messages": params.messages.len(), "maxTokens": params.max_tokens,
        "includeContext": context, "depth": depth
    })
}

fn hash(value: &impl Serialize) -> String {
    json_hash(&serde_json::to_value(value).unwrap_or_default())
}
