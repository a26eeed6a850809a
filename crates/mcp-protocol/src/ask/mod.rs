//! Requests of a server to its client: elicitation, sampling and roots.
//!
//! The server checks each request against the client's capabilities and down-converts it to the negotiated revision. The response
//! is validated.

mod answer;
pub mod form;
mod form_repair;
mod input;
pub mod sampling;
mod task;

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject, text_of};
use mcp_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestParams,
    ElicitResult, IncludeContext, ListRootsResult, method,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::gate::{self, Unsupported, declared, known};
use crate::{AskError, Owner, RequestContext, downgrade};

use answer::FormAnswer;

impl RequestContext {
    /// Elicits input from the user, by a form or by a URL.
    ///
    /// The content of an accepted form is validated before it is returned.
    ///
    /// # Errors
    /// See [`AskError`]. A decline is a result, not an error.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn elicit(&self, params: ElicitRequestParams) -> Result<ElicitResult, AskError> {
        let prepared = self.prepare_elicitation(params);
        let (params, schema) = prepared.map_err(|error| self.undeclared(error))?;
        let session = Arc::clone(self.session());
        let fields = schema.clone();
        let fits = move |answer: &FormAnswer| match &answer.result.action {
            ElicitAction::Accept => answer.check(schema.as_ref(), &session),
            ElicitAction::Unknown(action) => Err(format!("unknown action {action:?}")),
            _ => Ok(()),
        };
        let answer: FormAnswer = self
            .ask(method::ELICITATION_CREATE, Some(params), fits)
            .await?;
        let mut result = answer.result;
        if let (Some(fields), Some(content)) = (fields, &mut result.content) {
            content.retain(|name, _| fields.properties.get(name).is_some());
        }
        Ok(result)
    }

    /// Converts the error for a missing client capability. On the stateless revision, each client request declares the
    /// capabilities, so the new error is the response to the client's request. In other revisions, and for other
    /// errors, returns `error` unchanged.
    fn undeclared(&self, error: AskError) -> AskError {
        match error {
            AskError::Unsupported(Unsupported::Capability(name)) if self.rules().stateless => {
                AskError::Undeclared(missing_capability(name))
            }
            other => other,
        }
    }

    fn prepare_elicitation(
        &self,
        params: ElicitRequestParams,
    ) -> Result<(Value, Option<mcp_types::RequestedSchema>), AskError> {
        let rules = self.rules();
        known(rules.elicitation, "elicitation", rules)?;
        let declares = self
            .session()
            .client_capabilities()
            .and_then(|capabilities| capabilities.elicitation.clone());
        let Some(modes) = declares else {
            return Err(Unsupported::Capability("elicitation").into());
        };
        match params {
            ElicitRequestParams::Form(mut params) => {
                declared(
                    modes.form.is_some() || modes.url.is_none(),
                    "elicitation.form",
                )?;
                form::check_fields(&params.requested_schema).map_err(AskError::Invalid)?;
                form::downgrade(&mut params.requested_schema, rules)?;
                let schema = params.requested_schema.clone();
                let mut value = to_value(&params)?;
                if let (false, Value::Object(members)) = (rules.elicitation_modes, &mut value) {
                    members.shift_remove("mode");
                }
                Ok((value, Some(schema)))
            }
            ElicitRequestParams::Url(mut params) => {
                if rules.stateless {
                    params.elicitation_id = None;
                }
                known(rules.elicitation_modes, "elicitation by URL", rules)?;
                declared(modes.url.is_some(), "elicitation.url")?;
                if !form::is_uri(&params.url) {
                    return Err(AskError::Invalid(format!("{:?} is not a URL", params.url)));
                }
                Ok((to_value(&ElicitRequestParams::Url(params))?, None))
            }
            _ => Err(AskError::Invalid("unknown elicitation mode".to_owned())),
        }
    }

    /// Sends a sampling request to the model of the client.
    ///
    /// # Errors
    /// See [`AskError`]. If the user rejects the request, [`AskError::Rejected`] has code -1.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn sample(
        &self,
        mut params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, AskError> {
        self.prepare_sampling(&mut params)
            .map_err(|error| self.undeclared(error))?;
        let params = to_value(&params)?;
        self.ask(method::SAMPLING_CREATE_MESSAGE, Some(params), |_| Ok(()))
            .await
    }

    fn prepare_sampling(&self, params: &mut CreateMessageRequestParams) -> Result<(), AskError> {
        let rules = self.rules();
        let declares = self
            .session()
            .client_capabilities()
            .and_then(|capabilities| capabilities.sampling.clone());
        let Some(declares) = declares else {
            return Err(Unsupported::Capability("sampling").into());
        };
        if params.tools.is_some() || params.tool_choice.is_some() {
            known(rules.sampling_tools, "tools in sampling", rules)?;
            declared(declares.tools.is_some(), "sampling.tools")?;
        }
        if !matches!(params.include_context, None | Some(IncludeContext::None))
            && declares.context.is_none()
            && rules.sampling_tools
        {
            params.include_context = None;
        }
        sampling::check(params).map_err(AskError::Invalid)?;
        for message in &mut params.messages {
            if !rules.sampling_tools {
                message.meta = None;
            }
            downgrade::sampling_content(&mut message.content, rules)?;
        }
        Ok(())
    }

    /// Requests the roots that the server may use. The roots are cached if the client declared change notifications for roots.
    ///
    /// # Errors
    /// See [`AskError`].
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn roots(&self) -> Result<ListRootsResult, AskError> {
        let (known, mark) = self.session().known_roots();
        if let Some(roots) = known {
            return Ok(roots);
        }
        let roots: ListRootsResult = self.ask(method::ROOTS_LIST, None, |_| Ok(())).await?;
        let owner = Owner::of(&self.link().origin());
        self.session().remember_roots(&roots, mark, &owner);
        Ok(roots)
    }

    /// Sends a request with a method that is not part of the protocol.
    ///
    /// # Errors
    /// See [`AskError`].
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn send_request<R: mcp_types::Request>(
        &self,
        params: &R::Params,
    ) -> Result<R::Result, AskError> {
        let rules = self.rules();
        known(!rules.stateless, "requests to the client", rules)?;
        let params = to_value(params)?;
        self.ask(R::METHOD, Some(params), |_| Ok(())).await
    }

    /// Returns `Some` if the client is to run a server request with this method as a task. The inner value is the requested time
    /// to live of the task.
    fn delegates(&self, method: &str) -> Option<Option<Duration>> {
        let ttl = self.delegated()?;
        let capabilities = self.session().client_capabilities()?;
        task::is_supported(method, capabilities, self.rules()).then_some(ttl)
    }

    /// Sends a server request or an input request, and decodes the response. A server request is sent on the stream of the
    /// client's request. On the stateless revision, and for a detached call, a pending input request is added instead. An invalid
    /// response to a pending input request is treated as missing.
    async fn ask<T: DeserializeOwned + Send>(
        &self,
        method: &'static str,
        params: Option<Value>,
        fits: impl Fn(&T) -> Result<(), String> + Send + 'static,
    ) -> Result<T, AskError> {
        let live = self.pending_input().filter(|pending| pending.is_detached());
        // A detached call may outlive its session.
        if live.is_none() && !self.session().is_open() {
            return Err(AskError::NotReady);
        }
        let rules = self.rules();
        let capabilities = self.session().client_capabilities().cloned();
        gate::client_offers(method, &capabilities.unwrap_or_default(), rules)
            .map_err(|missing| self.undeclared(missing.into()))?;
        if let Some(pending) = live {
            return self.ask_for_input(pending, method, params, fits).await;
        }
        if rules.stateless {
            let what = "input requests outside of tools, prompts and resources";
            let pending = self.pending_input().ok_or(Unsupported::Revision {
                what: what.into(),
                revision: rules.name,
            })?;
            return self.ask_for_input(pending, method, params, fits).await;
        }
        let link = &self.link();
        let raw = match self.delegates(method) {
            Some(ttl) => task::ask(link, method, params, ttl).await?,
            None => {
                let params = params.map(|params| text_of(&params).into_bytes());
                let answer = link.request(method, params).await?;
                answer.map_err(AskError::Rejected)?
            }
        };
        let answer = raw
            .decode()
            .map_err(|error| AskError::BadAnswer(error.to_string()))?;
        fits(&answer).map_err(AskError::BadAnswer)?;
        Ok(answer)
    }
}

/// Returns the error for a client request that does not declare the capability at `path`. The data of the error contains this
/// path as nested objects.
fn missing_capability(path: &str) -> ErrorObject {
    let mut required = json!({});
    let mut at = &mut required;
    for step in path.split('.') {
        at[step] = json!({});
        at = &mut at[step];
    }
    ErrorObject::new(
        ErrorCode::MISSING_CLIENT_CAPABILITY,
        format!("the request does not declare the client capability {path:?}"),
    )
    .with_data(json!({ "requiredCapabilities": required }))
}

fn to_value(params: &impl Serialize) -> Result<Value, AskError> {
    serde_json::to_value(params).map_err(|error| AskError::Invalid(error.to_string()))
}
