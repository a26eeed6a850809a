//! Completion of arguments.

use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Payload, Reply, RequestContext};
use mcp_types::{CompleteRequestParams, CompleteResult, Completion, CompletionReference, method};

use super::{typed, unknown_prompt};
use crate::Ctx;
use crate::registry::completion::{CompletionRequest, Completions};
use crate::server::core::Core;
use crate::server::core::{GuardedRequest, Settings};

/// Maximum length of an argument value in a completion request, in bytes.
const MAX_COMPLETION_VALUE: usize = 4_096;

impl Core {
    pub(super) fn complete(
        &self,
        params: Option<&str>,
        context: RequestContext,
        settings: &Settings,
    ) -> Result<Reply, ErrorObject> {
        let params: CompleteRequestParams = typed(params)?;
        if params.argument.value.len() > MAX_COMPLETION_VALUE {
            return Err(ErrorObject::invalid_params(format!(
                "the value to complete is longer than {MAX_COMPLETION_VALUE} bytes"
            )));
        }
        let target = match &params.reference {
            CompletionReference::Prompt(prompt) => &prompt.name,
            CompletionReference::Resource(template) => &template.uri,
            other => return Err(unknown_reference(other)),
        };
        settings.check(&GuardedRequest {
            method: method::COMPLETION_COMPLETE,
            target: Some(target),
            context: &context,
        })?;
        let session = Arc::clone(context.session());
        let argument = params.argument.name;
        let given = params.context.and_then(|context| context.arguments);
        let completing = CompletionRequest::new(
            params.argument.value,
            given.unwrap_or_default(),
            Ctx::new(context),
        );
        let completions = match &params.reference {
            CompletionReference::Prompt(prompt) => {
                let prompts = self.prompts.snapshot();
                let entry = prompts.get(&prompt.name, &session);
                let entry = entry.ok_or_else(|| unknown_prompt(&prompt.name))?;
                let mut known = entry.definition.arguments.iter().flatten();
                check_argument(known.any(|known| known.name == argument), &argument)?;
                entry.completers.run(&argument, completing)
            }
            CompletionReference::Resource(template) => {
                self.complete_template(&template.uri, &argument, completing, &session)?
            }
            _ => Completions::default(),
        };
        let result = CompleteResult::new(Completion::from(completions));
        Ok(Reply::Ready(Ok(Payload::of(result))))
    }

    pub(super) fn complete_template(
        &self,
        uri: &str,
        argument: &str,
        completing: CompletionRequest,
        session: &mcp_protocol::Session,
    ) -> Result<Completions, ErrorObject> {
        if let Some(entry) = self.templates.snapshot().get(uri, session) {
            check_argument(entry.template.variables().any(|v| v == argument), argument)?;
            return Ok(entry.completers.run(argument, completing));
        }
        if self.resources.snapshot().get(uri, session).is_some() {
            return Ok(Completions::default());
        }
        let uri: String = uri.chars().take(256).collect();
        Err(ErrorObject::invalid_params(format!(
            "unknown resource template {uri:?}"
        )))
    }
}

fn check_argument(known: bool, name: &str) -> Result<(), ErrorObject> {
    if known {
        return Ok(());
    }
    let name: String = name.chars().take(128).collect();
    Err(ErrorObject::invalid_params(format!(
        "unknown argument {name:?}"
    )))
}

fn unknown_reference(reference: &CompletionReference) -> ErrorObject {
    let kind = match reference {
        CompletionReference::Unknown(value) => value["type"].as_str().unwrap_or_default(),
        _ => "",
    };
    let kind: String = kind.chars().take(128).collect();
    ErrorObject::invalid_params(format!(
        "unknown reference type {kind:?}; use ref/prompt or ref/resource"
    ))
}
