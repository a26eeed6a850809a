//! Which server a request goes to, and its params there.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson, decode};
use mcp_protocol::{Payload, Reply, RequestContext, downgrade, gate};
use mcp_types::v2026_07_28::SubscriptionFilter;
use mcp_types::{SetLevelRequestParams, method};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::access::{Item, ItemKind};
use super::lists::ListKind;
use super::mount::MountedServer;
use super::search::{self, CALL_TOOL, SEARCH_TOOLS};
use super::state::State;
use crate::catalog::scheme;
use crate::core;
use crate::pool::ChosenLevel;
use crate::text::{ObjectText, member, string};

impl State {
    /// Serves a request.
    pub(super) fn serve(
        self: &Arc<Self>,
        name: &str,
        params: Option<&str>,
        context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let name = gate::core_method(name).ok_or_else(|| ErrorObject::method_not_found(name))?;
        let text = params.unwrap_or("{}");
        match name {
            method::LOGGING_SET_LEVEL => return self.set_level(text, &context),
            method::SUBSCRIPTIONS_LISTEN => return self.subscribe(text, context),
            _ => {}
        }
        let guard = self.counter.admit(self.policy().limits, &context)?;
        let reply = self.forward(name, params, context)?;
        Ok(match (guard, reply) {
            (Some(guard), Reply::Pending(handler)) => Reply::Pending(Box::pin(async move {
                let outcome = handler.await;
                drop(guard);
                outcome
            })),
            (_, reply) => reply,
        })
    }

    fn forward(
        self: &Arc<Self>,
        name: &'static str,
        params: Option<&str>,
        context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let text = params.unwrap_or("{}");
        if let Some(kind) = ListKind::of(name) {
            let (state, params) = (Arc::clone(self), params.map(RawJson::copy));
            return Ok(Reply::Pending(Box::pin(state.list(kind, params, context))));
        }
        match name {
            method::TOOLS_CALL => {
                let tool = text_member(text, "name")?;
                if self.search_above.is_some() && tool == SEARCH_TOOLS {
                    let search = Arc::clone(self).search(RawJson::copy(text), context);
                    return Ok(Reply::Pending(Box::pin(search)));
                }
                let (tool, text) = match self.search_above.is_some() && tool == CALL_TOOL {
                    true => {
                        let text = search::called(text)?;
                        (text_member(&text, "name")?.into_owned(), Cow::Owned(text))
                    }
                    false => (tool.into_owned(), Cow::Borrowed(text)),
                };
                let text = &*text;
                let (mount, tool) = self.tool(&tool).ok_or_else(|| unknown("tool", &tool))?;
                self.check_scope(ItemKind::Tool, &mount, &tool, &context)?;
                let arguments = member(text, "arguments");
                let arguments = mount.catalog.transform.arguments(&tool, arguments);
                let text = renamed(text, &tool, arguments.as_deref());
                Ok(mount.connected()?.serve(name, Some(&text), context))
            }
            method::PROMPTS_GET => {
                let prompt = text_member(text, "name")?;
                let (mount, prompt) = self
                    .prompt(&prompt)
                    .ok_or_else(|| unknown("prompt", &prompt))?;
                self.check_scope(ItemKind::Prompt, &mount, &prompt, &context)?;
                let text = renamed(text, &prompt, None);
                Ok(mount.connected()?.serve(name, Some(&text), context))
            }
            method::RESOURCES_READ
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE => {
                let uri = text_member(text, "uri")?;
                let mount = self
                    .resource(&uri)
                    .map_err(|error| downgrade::handler_error(error, context.rules()))?;
                self.check_scope(ItemKind::Resource, &mount, &uri, &context)?;
                Ok(mount.connected()?.serve(name, params, context))
            }
            method::COMPLETION_COMPLETE => self.complete(text, context),
            _ => Err(ErrorObject::method_not_found(name)),
        }
    }

    fn subscribe(
        self: &Arc<Self>,
        text: &str,
        context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let filter = member(text, "notifications").unwrap_or("{}");
        let filter: SubscriptionFilter = decode(filter)
            .map_err(|error| ErrorObject::invalid_params(format!("invalid params: {error}")))?;
        for uri in filter.resource_subscriptions.iter().flatten() {
            if let Ok(mount) = self.resource(uri) {
                self.check_scope(ItemKind::Resource, &mount, uri, &context)?;
            }
        }
        let source = Arc::clone(self);
        Ok(Reply::Pending(Box::pin(core::listen(
            source, filter, context,
        ))))
    }

    /// Checks that the request has the scope that an item requires.
    fn check_scope(
        &self,
        kind: ItemKind,
        mount: &MountedServer,
        name: &str,
        context: &RequestContext,
    ) -> Result<(), ErrorObject> {
        let mount = &*mount.name;
        let policy = self.policy();
        policy
            .access
            .check_scope(&Item { kind, mount, name }, context)
    }

    /// Returns the server of a tool, and its name there.
    pub(super) fn tool(&self, exposed: &str) -> Option<(Arc<MountedServer>, String)> {
        let mount = self.mount_of(exposed)?;
        let name = mount.catalog.tool(exposed)?;
        let is_shown = self.shows(ItemKind::Tool, &mount.name, &name);
        is_shown.then_some((mount, name))
    }

    fn prompt(&self, exposed: &str) -> Option<(Arc<MountedServer>, String)> {
        let mount = self.mount_of(exposed)?;
        let name = mount.catalog.prompt(exposed)?;
        let is_shown = self.shows(ItemKind::Prompt, &mount.name, &name);
        is_shown.then_some((mount, name))
    }

    /// Returns the mount whose name is the prefix. Mounts have no `__` in their names, so the prefix ends at the first one.
    fn mount_of(&self, exposed: &str) -> Option<Arc<MountedServer>> {
        let (prefix, _) = exposed.split_once("__")?;
        let mounts = self.mounts();
        mounts.iter().find(|mount| *mount.name == *prefix).cloned()
    }

    /// Returns the server of a resource: the first that listed the URI, else the one with the longest matching template,
    /// else the only one with this scheme, else the only one with resources. A URI is never sent to several servers.
    pub(super) fn resource(&self, uri: &str) -> Result<Arc<MountedServer>, ErrorObject> {
        let mount = self.mount_of_uri(uri);
        let mount = mount.filter(|mount| self.shows(ItemKind::Resource, &mount.name, uri));
        mount.ok_or_else(|| {
            let text = format!("no server of the gateway lists the resource {uri:?}");
            let error = ErrorObject::new(ErrorCode::RESOURCE_NOT_FOUND, text);
            error.with_data(json!({ "uri": uri }))
        })
    }

    fn mount_of_uri(&self, uri: &str) -> Option<Arc<MountedServer>> {
        let mounts = self.mounts();
        if let Some(mount) = mounts.iter().find(|mount| mount.catalog.lists_uri(uri)) {
            return Some(Arc::clone(mount));
        }
        let matching = mounts.iter().filter_map(|mount| {
            let length = mount.catalog.template_match(uri)?;
            Some((length, mount))
        });
        // The first of several with the same length.
        let best = matching.rev().max_by_key(|(length, _)| *length);
        if let Some((_, mount)) = best {
            return Some(Arc::clone(mount));
        }
        let scheme = scheme(uri).unwrap_or_default();
        let with_scheme = only(
            mounts
                .iter()
                .filter(|mount| mount.catalog.has_scheme(scheme)),
        );
        let found =
            with_scheme.or_else(|| only(mounts.iter().filter(|mount| has_resources(mount))));
        found.cloned()
    }

    fn complete(&self, text: &str, context: RequestContext) -> Result<Reply, ErrorObject> {
        let reference =
            member(text, "ref").ok_or_else(|| ErrorObject::invalid_params("\"ref\" is missing"))?;
        let name = method::COMPLETION_COMPLETE;
        if member(reference, "uri").is_some() {
            let uri = text_member(reference, "uri")?;
            let mount = self
                .resource(&uri)
                .map_err(|error| downgrade::handler_error(error, context.rules()))?;
            self.check_scope(ItemKind::Resource, &mount, &uri, &context)?;
            return Ok(mount.connected()?.serve(name, Some(text), context));
        }
        let prompt = text_member(reference, "name")?;
        let (mount, prompt) = self
            .prompt(&prompt)
            .ok_or_else(|| unknown("prompt", &prompt))?;
        self.check_scope(ItemKind::Prompt, &mount, &prompt, &context)?;
        let mut params = ObjectText::new();
        params.add("ref", &renamed(reference, &prompt, None));
        params.copy_all(text, &["ref"]);
        Ok(mount
            .connected()?
            .serve(name, Some(&params.finish()), context))
    }

    /// Sets the log level of the session. Servers to which the session has no connection get it when there is one.
    fn set_level(&self, text: &str, context: &RequestContext) -> Result<Reply, ErrorObject> {
        let params: SetLevelRequestParams = decode(text)
            .map_err(|error| ErrorObject::invalid_params(format!("invalid params: {error}")))?;
        let session = context.session();
        session.set_log_level(params.level);
        session.value(ChosenLevel::default).set(params.level);
        let mut connections = JoinSet::new();
        for proxy in self.mounts().iter().filter_map(|mount| mount.proxy()) {
            if let Some(connection) = proxy.0.connection_of(session).current() {
                connections.spawn(async move { connection.set_level(params.level).await });
            }
        }
        let limit = self.list_timeout;
        Ok(Reply::Pending(Box::pin(async move {
            // A server that does not respond does not matter to the others.
            let _ = timeout(limit, connections.join_all()).await;
            Ok(Payload::Empty)
        })))
    }
}

fn has_resources(mount: &MountedServer) -> bool {
    mount.proxy().is_some_and(|proxy| {
        let known = proxy.0.shared.known();
        known.facts.capabilities.resources.is_some()
    })
}

/// Returns the only item.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

fn text_member<'a>(object: &'a str, name: &str) -> Result<Cow<'a, str>, ErrorObject> {
    let value = member(object, name)
        .ok_or_else(|| ErrorObject::invalid_params(format!("{name:?} is missing")))?;
    let text: String = decode(value)
        .map_err(|_| ErrorObject::invalid_params(format!("{name:?} must be a string")))?;
    Ok(text.into())
}

fn unknown(kind: &str, name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("unknown {kind} {name:?}"))
}

/// Returns params with another name, and with other arguments if there are any.
fn renamed(params: &str, name: &str, arguments: Option<&str>) -> String {
    let mut text = ObjectText::new();
    text.add("name", &string(name));
    let mut replaced = vec!["name"];
    if let Some(arguments) = arguments {
        text.add("arguments", arguments);
        replaced.push("arguments");
    }
    text.copy_all(params, &replaced);
    text.finish()
}
