//! Input requests: requests to the client that are sent in the result of a client request.

use std::sync::{Arc, Mutex};

use mcp_jsonrpc::{decode, text_of};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::AskError;
use crate::RequestContext;
use crate::middleware::{self, Layers, Response};
use crate::modern::PendingInput;
use crate::sync::lock;

impl RequestContext {
    /// Sends an input request and waits for its response. The input request passes through the middleware when it is sent. The
    /// response, which arrives in a later round trip, does not pass through the middleware.
    pub(super) async fn ask_for_input<T: DeserializeOwned + Send>(
        &self,
        pending: &Arc<PendingInput>,
        method: &'static str,
        params: Option<Value>,
        fits: impl Fn(&T) -> Result<(), String> + Send + 'static,
    ) -> Result<T, AskError> {
        let is_new = || !pending.is_answered(self.key(), method, params.as_ref());
        match self.layers().filter(|_| is_new()) {
            None => ask(pending, self.key(), method, params, fits).await,
            Some(layers) => {
                let fits = move |value: &Value| {
                    let value: T =
                        serde_json::from_value(value.clone()).map_err(|e| without_type(&e))?;
                    fits(&value)
                };
                let answer = self.ask_layered(layers, pending, method, params, fits);
                serde_json::from_value(answer.await?)
                    .map_err(|error| AskError::BadAnswer(error.to_string()))
            }
        }
    }

    async fn ask_layered(
        &self,
        layers: &Layers,
        pending: &Arc<PendingInput>,
        method: &'static str,
        params: Option<Value>,
        fits: impl Fn(&Value) -> Result<(), String> + Send + 'static,
    ) -> Result<Value, AskError> {
        let (pending, key) = (Arc::clone(pending), self.key().map(str::to_owned));
        let params = params.map(|params| text_of(&params));
        let revision = self.session().revision();
        let request = middleware::Request::outbound(method.into(), params, Some(revision));
        // A `Response` cannot contain an `AskError`, so the error is passed separately.
        let failure = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&failure);
        let response = layers.outbound(request, move |request| {
            Box::pin(async move {
                let params = request.params().and_then(|params| decode(params).ok());
                match ask(&pending, key.as_deref(), method, params, fits).await {
                    Ok(answer) => Response::result(answer),
                    Err(error) => {
                        let response = Response::error(error.clone().into_error());
                        *lock(&failed) = Some(error);
                        response
                    }
                }
            })
        });
        match response.await.into_answer() {
            Ok(Ok(answer)) => answer
                .decode()
                .map_err(|error| AskError::BadAnswer(error.to_string())),
            Ok(Err(error)) => Err(lock(&failure).take().unwrap_or(AskError::Rejected(error))),
            Err(error) => Err(AskError::Failed(error)),
        }
    }
}

/// Adds an input request and waits for its response. If `fits` rejects the response, sends the request again, with the reason in
/// its message.
async fn ask<T: DeserializeOwned + Send>(
    pending: &Arc<PendingInput>,
    key: Option<&str>,
    method: &'static str,
    params: Option<Value>,
    fits: impl Fn(&T) -> Result<(), String> + Send,
) -> Result<T, AskError> {
    if pending.is_detached() {
        return pending.ask_detached(key, method, params, fits).await;
    }
    let read = move |answer| {
        let answer = serde_json::from_value(answer).map_err(|error| without_type(&error))?;
        fits(&answer).map(|()| answer)
    };
    Ok(pending.ask(key, method, params, read).await)
}

/// Returns the error text for users, without names of Rust types.
fn without_type(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once("expected struct ") {
        Some((before, name)) => {
            let rest = name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            format!("{before}expected an object{rest}")
        }
        None => text,
    }
}
