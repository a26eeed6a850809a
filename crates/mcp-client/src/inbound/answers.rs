//! Results of server requests and input requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, decode_params, quote};
use mcp_protocol::gate::client_offers;
use mcp_protocol::middleware::Request;
use mcp_protocol::{Deviation, Outcome, Payload, Reply, Revision, downgrade, form, lock, sampling};
use mcp_types::{
    CreateMessageRequestParams, ElicitAction, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestUrlParams, ElicitResult, Implementation, ListRootsResult,
    SamplingMessageContentBlock, ToolChoiceMode, method,
};
use tokio::sync::OwnedSemaphorePermit;

use super::ClientInbound;
use super::handlers::{ElicitForm, ElicitUrl, Sample};
use crate::request::round_trips::AnswerInput;

/// Maximum number of concurrent requests to the user or the model.
pub(super) const MAX_INPUT_REQUESTS: usize = 16;
/// Maximum number of accepted URL elicitations whose completion the client waits for.
const MAX_URLS: usize = 256;

impl AnswerInput for ClientInbound {
    fn answer(&self, method: &str, params: Option<&str>) -> Result<Reply, ErrorObject> {
        self.answer_layered(method, params)
    }
}

impl ClientInbound {
    /// Starts the handler of a server request or an input request, without the middleware.
    ///
    /// # Errors
    /// Returns an error if there is no handler, or before the negotiation has ended.
    pub(super) fn answer_now(
        &self,
        method: &str,
        text: Option<&str>,
    ) -> Result<Reply, ErrorObject> {
        let Some((revision, server)) = self.agreed.get() else {
            return Err(ErrorObject::invalid_request(
                "the initialization is not complete; until then, only ping is answered",
            ));
        };
        client_offers(method, &self.capabilities, revision.rules())
            .map_err(|_| ErrorObject::method_not_found(method))?;
        match method {
            method::ROOTS_LIST => {
                let mut roots = lock(&self.roots).clone();
                let rules = revision.rules();
                roots
                    .iter_mut()
                    .for_each(|root| downgrade::root(root, rules));
                Ok(Reply::ok(Payload::of(ListRootsResult::new(roots))))
            }
            method::ELICITATION_CREATE => match self.elicitation(text)? {
                ElicitRequestParams::Form(params) => self.form(params, server, *revision),
                ElicitRequestParams::Url(params) => self.url(params, server, *revision),
                _ => Err(ErrorObject::invalid_params("unknown elicitation mode")),
            },
            method::SAMPLING_CREATE_MESSAGE => self.sample(decode_params(text)?, server, *revision),
            other => self.call_method(other, text),
        }
    }

    /// Answers an input request that a result contains. The input request first passes through the middleware.
    fn answer_layered(&self, method: &str, params: Option<&str>) -> Result<Reply, ErrorObject> {
        let (Some(layers), Some(this)) = (&self.layers, self.this.upgrade()) else {
            return self.answer_now(method, params);
        };
        let revision = self.agreed.get().map(|(revision, _)| *revision);
        let request = Request::input(method, params, revision);
        Ok(layers.inbound(request, move |request| {
            this.answer_now(request.method(), request.params())
                .unwrap_or_else(Reply::error)
        }))
    }

    fn call_method(&self, method: &str, params: Option<&str>) -> Result<Reply, ErrorObject> {
        let Some(handler) = self.handlers.custom.method(method, self.declared()) else {
            return Err(ErrorObject::method_not_found(method));
        };
        let permit = self.permit()?;
        let outcome = handler(params)?;
        Ok(Reply::Pending(Box::pin(async move {
            let outcome = outcome.await;
            drop(permit);
            outcome
        })))
    }

    /// Passes a custom notification to its handler; returns whether there is a handler.
    pub(super) fn notify_custom(&self, method: &str, params: &str) -> bool {
        let handler = self.handlers.custom.notification(method, self.declared());
        if let Some(handler) = handler {
            handler(params);
        }
        handler.is_some()
    }

    /// Reads the params of an elicitation.
    fn elicitation(&self, text: Option<&str>) -> Result<ElicitRequestParams, ErrorObject> {
        decode_params(text).or_else(|error| {
            let repaired = form::repaired(text.unwrap_or("{}"));
            let admits = |_: &_| self.tolerance.admits(Deviation::MalformedForm, &error);
            repaired.filter(admits).ok_or(error)
        })
    }

    fn form(
        &self,
        params: ElicitRequestFormParams,
        server: &Implementation,
        revision: Revision,
    ) -> Result<Reply, ErrorObject> {
        let Some(handler) = &self.handlers.form else {
            return Err(ErrorObject::invalid_params(
                "the client did not declare form elicitation",
            ));
        };
        let permit = self.permit()?;
        let schema = params.requested_schema.clone();
        let answer = handler(ElicitForm {
            params,
            server: server.clone(),
        });
        Ok(Reply::Pending(Box::pin(async move {
            let mut result = answer.await?;
            drop(permit);
            if result.action == ElicitAction::Accept {
                let content = result.content.get_or_insert_with(BTreeMap::new);
                form::apply_defaults(&schema, content);
                if let Some(field) = form::mismatch(&schema, content) {
                    // The field is named; the user's input is neither logged nor sent.
                    tracing::error!(
                        field,
                        "the user's input does not match the form; it was not sent"
                    );
                    return Err(ErrorObject::internal(format!(
                        "the user's input does not match the form: field {field:?}"
                    )));
                }
            } else {
                result.content = None;
            }
            finish_elicitation(result, revision)
        })))
    }

    fn url(
        &self,
        params: ElicitRequestUrlParams,
        server: &Implementation,
        revision: Revision,
    ) -> Result<Reply, ErrorObject> {
        let handler = match &self.handlers.url {
            Some(handler) if revision.rules().elicitation_modes => handler,
            _ => {
                return Err(ErrorObject::invalid_params(
                    "the client did not declare URL elicitation",
                ));
            }
        };
        if !is_web_url(&params.url) {
            return Err(ErrorObject::invalid_params(format!(
                "the URL {} is not an https or http URL; other URLs are not shown to the user",
                quote(&params.url, 128)
            )));
        }
        let permit = self.permit()?;
        let id = params.elicitation_id.clone();
        let urls = Arc::clone(&self.urls);
        let answer = handler(ElicitUrl {
            params,
            server: server.clone(),
        });
        Ok(Reply::Pending(Box::pin(async move {
            let mut result = answer.await?;
            drop(permit);
            result.content = None;
            if let (ElicitAction::Accept, Some(id)) = (&result.action, id) {
                let mut urls = lock(&urls);
                if urls.len() < MAX_URLS {
                    urls.insert(id);
                }
            }
            finish_elicitation(result, revision)
        })))
    }

    fn sample(
        &self,
        params: CreateMessageRequestParams,
        server: &Implementation,
        revision: Revision,
    ) -> Result<Reply, ErrorObject> {
        let Some(handler) = &self.handlers.sample else {
            return Err(ErrorObject::method_not_found(
                method::SAMPLING_CREATE_MESSAGE,
            ));
        };
        if (params.tools.is_some() || params.tool_choice.is_some()) && !self.handlers.sampling_tools
        {
            return Err(ErrorObject::invalid_params(
                "the client did not declare the capability sampling.tools",
            ));
        }
        sampling::check(&params).map_err(ErrorObject::invalid_params)?;
        let permit = self.permit()?;
        let choice = params
            .tool_choice
            .as_ref()
            .and_then(|choice| choice.mode.clone());
        let answer = handler(Sample {
            params,
            server: server.clone(),
        });
        Ok(Reply::Pending(Box::pin(async move {
            let mut result = answer.await?;
            drop(permit);
            let uses = |block: &SamplingMessageContentBlock| {
                matches!(block, SamplingMessageContentBlock::ToolUse(_))
            };
            let used = result.content.iter().any(uses);
            let wrong = match choice {
                Some(ToolChoiceMode::None) if used => Some(
                    "the model used a tool that is not in \
                 the request",
                ),
                Some(ToolChoiceMode::Required) if !used => Some("the model did not use a tool"),
                _ => None,
            };
            if let Some(wrong) = wrong {
                return Err(ErrorObject::internal(wrong));
            }
            downgrade::create_message_result(&mut result, revision.rules())
                .map_err(|missing| ErrorObject::internal(missing.to_string()))?;
            Ok(Payload::of(result))
        })))
    }

    /// Acquires a permit to run one handler. Fails if [`MAX_INPUT_REQUESTS`] handlers are running.
    fn permit(&self) -> Result<OwnedSemaphorePermit, ErrorObject> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| {
            ErrorObject::internal(format!(
                "{MAX_INPUT_REQUESTS} requests to the user or the model are open, which is the \
                 limit of this client; repeat the request later"
            ))
        })
    }
}

/// Returns whether a URL can be opened safely in a web browser. A URL with another scheme could run programs or read files.
fn is_web_url(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|it| it.eq_ignore_ascii_case("https") || it.eq_ignore_ascii_case("http"))
}

fn finish_elicitation(mut result: ElicitResult, revision: Revision) -> Outcome {
    if matches!(result.action, ElicitAction::Unknown(_)) {
        result.action = ElicitAction::Cancel;
    }
    if revision.is_stateless() {
        result.meta = None;
    }
    downgrade::elicit_result(&mut result, revision.rules())
        .map_err(|missing| ErrorObject::internal(missing.to_string()))?;
    Ok(Payload::of(result))
}
