//! Completion of arguments.

use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, decode_params, quote, text_of};
use mcp_protocol::{Payload, Reply, RequestContext, Session};
use mcp_types::{CompleteRequestParams, CompleteResult, Completion, CompletionReference, method};

use super::unknown_prompt;
use serde_json::json;

use crate::Call;
use crate::handler::Erased;
use crate::registry::completion::{Completions, FinishCompletion, ForCompletion};
use crate::server::core::Core;
use crate::server::settings::GuardedRequest;

/// Maximum length of an argument value in a completion request, in bytes.
const MAX_COMPLETION_VALUE: usize = 4_096;

impl Core {
    pub(super) fn complete(
        self: &Arc<Self>,
        params: Option<&str>,
        context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let params: CompleteRequestParams = decode_params(params)?;
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
        self.settings.check(&GuardedRequest {
            method: method::COMPLETION_COMPLETE,
            target: Some(target),
            context: &context,
        })?;
        let argument = &params.argument.name;
        let completer = match &params.reference {
            CompletionReference::Prompt(prompt) => {
                let prompts = self.prompts.snapshot();
                let entry = prompts.get(&prompt.name, context.session());
                let entry = entry.ok_or_else(|| unknown_prompt(&prompt.name))?;
                let mut known = entry.definition.arguments.iter().flatten();
                check_argument(known.any(|known| known.name == *argument), argument)?;
                entry.completers.get(argument).cloned()
            }
            _ => self.completer_of_template(target, argument, context.session())?,
        };
        let Some(completer) = completer else {
            let completion = Completion::from(Completions::default());
            return Ok(Reply::ok(Payload::of(CompleteResult::new(completion))));
        };
        let given = params.context.and_then(|context| context.arguments);
        let arguments =
            json!({ "value": params.argument.value, "arguments": given.unwrap_or_default() });
        let finish = FinishCompletion {
            rules: context.rules(),
        };
        let arguments = text_of(&arguments);
        let call = Call::new(&arguments, context, self);
        Ok(call.run(&*completer, method::COMPLETION_COMPLETE, target, finish))
    }

    fn completer_of_template(
        &self,
        uri: &str,
        argument: &str,
        session: &Session,
    ) -> Result<Option<Erased<ForCompletion>>, ErrorObject> {
        if let Some(entry) = self.templates.snapshot().get(uri, session) {
            check_argument(entry.template.variables().any(|v| v == argument), argument)?;
            return Ok(entry.completers.get(argument).cloned());
        }
        if self.resources.snapshot().get(uri, session).is_some() {
            return Ok(None);
        }
        Err(ErrorObject::invalid_params(format!(
            "unknown resource template {}",
            quote(uri, 256)
        )))
    }
}

fn check_argument(known: bool, name: &str) -> Result<(), ErrorObject> {
    if known {
        return Ok(());
    }
    Err(ErrorObject::invalid_params(format!(
        "unknown argument {}",
        quote(name, 128)
    )))
}

fn unknown_reference(reference: &CompletionReference) -> ErrorObject {
    let kind = match reference {
        CompletionReference::Unknown(value) => value["type"].as_str().unwrap_or_default(),
        _ => "",
    };
    ErrorObject::invalid_params(format!(
        "unknown reference type {}; use ref/prompt or ref/resource",
        quote(kind, 128)
    ))
}
