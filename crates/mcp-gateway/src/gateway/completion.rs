//! Completions without the values that lead to denied resources.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Outcome, Payload, Reply, downgrade};
use mcp_types::method;
use serde_json::Value;
use tokio::task::yield_now;

use super::access::ItemKind;
use super::forward::{missing_resource, renamed, text_member, unknown};
use super::mount::{MountedServer, outcome_of};
use super::record::ClientRequest;
use super::state::State;
use crate::catalog::{UriSource, expand};
use crate::text::{ObjectText, member};

/// Maximum number of values of a completion (specification: Completion, "Completion Results").
const MAX_VALUES: usize = 100;

impl State {
    pub(super) fn complete(
        self: &Arc<Self>,
        text: &str,
        context: &ClientRequest,
    ) -> Result<Reply, ErrorObject> {
        let reference =
            member(text, "ref").ok_or_else(|| ErrorObject::invalid_params("\"ref\" is missing"))?;
        let name = method::COMPLETION_COMPLETE;
        let kind = text_member(reference, "type")?;
        let (is_prompt, other) = match &*kind {
            "ref/prompt" => (true, "uri"),
            "ref/resource" => (false, "name"),
            _ => {
                let text =
                    format!("the type {kind:?} of \"ref\" is neither ref/prompt nor ref/resource");
                return Err(ErrorObject::invalid_params(text));
            }
        };
        if member(reference, other).is_some() {
            let text = format!("\"ref\" of the type {kind:?} must not have the member {other:?}");
            return Err(ErrorObject::invalid_params(text));
        }
        if !is_prompt {
            let template = text_member(reference, "uri")?;
            let mount = self.allowed_resource(&template, true, context)?;
            let item = mount.item(ItemKind::Resource, &template);
            let is_restricted = self.settings().access.policy().has_rules(&item);
            // A server may complete by the name of the argument, whatever the template is.
            if is_restricted && !mount.catalog.lists_uri(&template) {
                self.denials
                    .item(&item, "the server does not list it", context);
                let missing = missing_resource(&template);
                return Err(downgrade::handler_error(missing, context.rules()));
            }
            let reply = Arc::clone(&mount).serve(name, text, context.clone());
            return match is_restricted {
                true => self.with_allowed_values(reply, mount, &template, text, context),
                false => Ok(reply),
            };
        }
        let exposed = text_member(reference, "name")?;
        let (mount, prompt) = self.allowed_prompt(&exposed, context)?;
        let item = mount.item(ItemKind::Prompt, &prompt);
        if self.settings().access.policy().has_rules(&item) && !mount.catalog.lists_prompt(&prompt)
        {
            self.denials
                .item(&item, "the server does not list it", context);
            return Err(unknown("prompt", &exposed));
        }
        let mut params = ObjectText::new();
        params.add("ref", &renamed(reference, &prompt, None));
        params.copy_all(text, &["ref"]);
        Ok(mount.serve(name, &params.finish(), context.clone()))
    }

    /// Removes a value if the template, expanded with this value, is the URI of a resource that the client may not use.
    fn with_allowed_values(
        self: &Arc<Self>,
        reply: Reply,
        mount: Arc<MountedServer>,
        template: &str,
        params: &str,
        context: &ClientRequest,
    ) -> Result<Reply, ErrorObject> {
        let argument = member(params, "argument").unwrap_or("{}");
        let variable = text_member(argument, "name")?.into_owned();
        let known = known_arguments(params)?;
        let (template, context) = (template.to_owned(), context.clone());
        let state = Arc::clone(self);
        Ok(Reply::Pending(Box::pin(async move {
            let is_allowed = |value: &str| {
                let uri = expand(&template, &variable, value, |name| {
                    known.get(name).map(|value| Cow::Borrowed(&**value))
                });
                uri.is_some_and(|uri| {
                    let item = mount.item(ItemKind::Resource, &uri);
                    let decision = state.decide_as(&mount, &item, UriSource::Expansion);
                    decision.is_usable(&context)
                })
            };
            retain_values(&outcome_of(reply).await?, is_allowed).await
        })))
    }
}

/// Reads the arguments that the client already knows.
///
/// # Errors
/// An argument is not a string. Servers interpret other values in different ways.
fn known_arguments(params: &str) -> Result<BTreeMap<String, String>, ErrorObject> {
    let Some(context) = member(params, "context") else {
        return Ok(BTreeMap::new());
    };
    let problem = "\"context\" must be an object; its member \"arguments\" must be an object with strings as values";
    let invalid = || ErrorObject::invalid_params(problem);
    if !context.starts_with('{') {
        return Err(invalid());
    }
    match member(context, "arguments") {
        None => Ok(BTreeMap::new()),
        Some(arguments) => mcp_jsonrpc::decode(arguments).map_err(|_| invalid()),
    }
}

async fn retain_values(result: &Payload, is_allowed: impl Fn(&str) -> bool) -> Outcome {
    let mut text = Vec::new();
    result.write(&mut text);
    let invalid =
        || ErrorObject::internal("the server returned a completion without a list of values");
    let mut result: Value = serde_json::from_slice(&text).map_err(|_| invalid())?;
    if result["resultType"] == "input_required" {
        return Ok(Payload::of(result));
    }
    // Unknown members are removed, because they could also contain denied values.
    keep_members(&mut result, &["completion", "resultType", "_meta"]);
    let completion = result.get_mut("completion").and_then(Value::as_object_mut);
    let completion = completion.ok_or_else(invalid)?;
    let values = completion.get_mut("values").and_then(Value::as_array_mut);
    let values = values.ok_or_else(invalid)?;
    values.truncate(MAX_VALUES);
    let count = values.len();
    for value in mem::take(values) {
        if value.as_str().is_some_and(&is_allowed) {
            values.push(value);
        }
        // Comparing many URIs with rules must not delay other requests.
        yield_now().await;
    }
    // If values were removed, `total` and `hasMore` would reveal how many values the server has.
    let is_shorter = values.len() < count;
    let known: &[_] = match is_shorter {
        true => &["values"],
        false => &["values", "total", "hasMore"],
    };
    keep_members(&mut result["completion"], known);
    Ok(Payload::of(result))
}

/// Removes all members of an object except the members in `known`.
fn keep_members(object: &mut Value, known: &[&str]) {
    if let Some(members) = object.as_object_mut() {
        members.retain(|name, _| known.contains(&&**name));
    }
}
