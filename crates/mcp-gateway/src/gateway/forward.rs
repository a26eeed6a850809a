//! Chooses the server for a request, and writes the params that this server receives.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson, decode};
use mcp_protocol::{Payload, Reply, downgrade, gate};
use mcp_types::v2026_07_28::SubscriptionFilter;
use mcp_types::{SetLevelRequestParams, method};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::access::ItemKind;
use super::limits::RequestGuard;
use super::lists::{CALL_TOOL, ListKind, SEARCH_TOOLS, called};
use super::mount::{MountedServer, outcome_of};
use super::record::{ClientRequest, RequestOutcome};
use super::state::State;
use crate::catalog::{UriSource, scheme};
use crate::core;
use crate::pool::ChosenLevel;
use crate::shared::MAX_RECONNECT_WAIT;
use crate::text::{ObjectText, member, string};

impl State {
    /// Serves a request.
    pub(super) fn serve(
        self: &Arc<Self>,
        name: &str,
        params: Option<&str>,
        context: ClientRequest,
    ) -> Result<Reply, ErrorObject> {
        let name = gate::core_method(name).ok_or_else(|| ErrorObject::method_not_found(name))?;
        let text = params.unwrap_or("{}");
        match name {
            method::LOGGING_SET_LEVEL => return self.set_level(text, &context),
            method::SUBSCRIPTIONS_LISTEN => return self.subscribe(text, context),
            _ => {}
        }
        let counted = self.count(1, &context);
        let guard = counted.inspect_err(|_| self.note_refused(name, text, &context))?;
        let reply = match self.forward(name, params, &context) {
            // The name or URI may belong to a server whose first connection is being opened.
            Err(error) if error.code != ErrorCode::INVALID_REQUEST && !self.is_settled() => {
                self.forward_when_settled(name, params, context)
            }
            reply => reply?,
        };
        Ok(match (guard, reply) {
            (Some(guard), Reply::Pending(handler)) => Reply::Pending(Box::pin(async move {
                let outcome = handler.await;
                drop(guard);
                outcome
            })),
            (_, reply) => reply,
        })
    }

    /// Counts requests of a client.
    fn count(
        &self,
        requests: usize,
        context: &ClientRequest,
    ) -> Result<Option<RequestGuard>, ErrorObject> {
        let counted = self
            .counter
            .admit(self.settings().limits, context, requests);
        counted.inspect_err(|error| {
            context.note_refusal(RequestOutcome::Limited, None);
            self.denials.limit(error, context);
        })
    }

    /// Notes the item of a request that a limit refuses.
    fn note_refused(&self, name: &str, text: &str, context: &ClientRequest) {
        let item = |member| text_member(text, member).ok();
        let (mount, kind, name) = match name {
            method::TOOLS_CALL => match item("name").and_then(|exposed| self.tool(&exposed)) {
                Some((mount, name)) => (mount, ItemKind::Tool, name),
                None => return,
            },
            method::RESOURCES_READ => match item("uri") {
                Some(uri) => match self.mount_of_uri(&uri) {
                    Some(mount) => (mount, ItemKind::Resource, uri.into_owned()),
                    None => return,
                },
                None => return,
            },
            _ => return,
        };
        context.note_item(&mount, &mount.item(kind, &name));
    }

    fn is_settled(&self) -> bool {
        self.mounts().iter().all(|mount| mount.is_settled())
    }

    /// Forwards a request after the first attempts to connect to all servers have ended, or after a time limit.
    fn forward_when_settled(
        self: &Arc<Self>,
        name: &'static str,
        params: Option<&str>,
        context: ClientRequest,
    ) -> Reply {
        let (state, params) = (Arc::clone(self), params.map(RawJson::copy));
        Reply::Pending(Box::pin(async move {
            let settled = async {
                for mount in state.mounts().iter() {
                    mount.settled().await;
                }
            };
            // After the time limit, the request uses only the servers that are connected.
            let _ = timeout(MAX_RECONNECT_WAIT, settled).await;
            outcome_of(state.forward(name, params.as_deref(), &context)?).await
        }))
    }

    fn forward(
        self: &Arc<Self>,
        name: &'static str,
        params: Option<&str>,
        context: &ClientRequest,
    ) -> Result<Reply, ErrorObject> {
        let text = params.unwrap_or("{}");
        if let Some(kind) = ListKind::of(name) {
            let (state, params) = (Arc::clone(self), params.map(RawJson::copy));
            let context = context.clone();
            return Ok(Reply::Pending(Box::pin(state.list(kind, params, context))));
        }
        match name {
            method::TOOLS_CALL => self.call_tool(text, context),
            method::PROMPTS_GET => {
                let exposed = text_member(text, "name")?;
                let (mount, prompt) = self.allowed_prompt(&exposed, context)?;
                let text = renamed(text, &prompt, None);
                Ok(mount.serve(name, &text, context.clone()))
            }
            method::RESOURCES_READ
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE => {
                let uri = text_member(text, "uri")?;
                let mount = self.allowed_resource(&uri, false, context)?;
                let item = mount.item(ItemKind::Resource, &uri);
                let is_filtered = name == method::RESOURCES_READ
                    && self.settings().access.policy().has_rules(&item);
                let reply = Arc::clone(&mount).serve(name, text, context.clone());
                Ok(match is_filtered {
                    true => {
                        let uri = uri.into_owned();
                        self.with_allowed_contents(reply, mount, uri, context.clone())
                    }
                    false => reply,
                })
            }
            method::COMPLETION_COMPLETE => self.complete(text, context),
            _ => Err(ErrorObject::method_not_found(name)),
        }
    }

    fn call_tool(
        self: &Arc<Self>,
        text: &str,
        context: &ClientRequest,
    ) -> Result<Reply, ErrorObject> {
        let exposed = text_member(text, "name")?;
        let is_searched = self.settings().search_above.is_some();
        if is_searched && exposed == SEARCH_TOOLS {
            let search = Arc::clone(self).search(RawJson::copy(text), context.clone());
            return Ok(Reply::Pending(Box::pin(search)));
        }
        let (exposed, text) = match is_searched && exposed == CALL_TOOL {
            true => {
                let text = called(text)?;
                (text_member(&text, "name")?.into_owned(), Cow::Owned(text))
            }
            false => (exposed.into_owned(), Cow::Borrowed(text)),
        };
        let Some((mount, tool)) = self.tool(&exposed) else {
            if let Some(mount) = self.mount_of(&exposed) {
                // The server does not list the tool, or the gateway hides the tool.
                let (_, name) = exposed.split_once("__").unwrap_or_default();
                context.note_item(&mount, &mount.item(ItemKind::Tool, name));
            }
            return Err(unknown("tool", &exposed));
        };
        let item = mount.item(ItemKind::Tool, &tool);
        context.note_item(&mount, &item);
        let decision = self.decide(&mount, &item);
        self.check_allowed(&item, &decision, context, || unknown("tool", &exposed))?;
        let arguments = member(&text, "arguments");
        let arguments = mount.catalog.transform().arguments(&tool, arguments);
        let text = renamed(&text, &tool, arguments.as_deref());
        Ok(mount.serve(method::TOOLS_CALL, &text, context.clone()))
    }

    fn subscribe(
        self: &Arc<Self>,
        text: &str,
        context: ClientRequest,
    ) -> Result<Reply, ErrorObject> {
        let filter = member(text, "notifications").unwrap_or("{}");
        let filter: SubscriptionFilter = decode(filter).map_err(ErrorObject::malformed_params)?;
        let uris = filter.resource_subscriptions.as_deref().unwrap_or_default();
        // Checked before the gateway searches for the server of each URI, because other clients wait during the search.
        core::check_uris(uris)?;
        // Each resource counts, because it is a request to its server. The open subscription is not a request in flight.
        drop(self.count(1 + uris.len(), &context)?);
        for uri in uris {
            if let Some(mount) = self.mount_of_uri(uri) {
                let item = mount.item(ItemKind::Resource, uri);
                let decision = self.decide(&mount, &item);
                // A denied resource is not an error: it is left out of the subscription.
                self.check_scope(&item, &decision, &context)?;
            }
        }
        let source = Arc::clone(self);
        Ok(Reply::Pending(Box::pin(core::listen(
            source,
            filter,
            context.context,
        ))))
    }

    /// Returns the server of a tool, and the tool's name at this server.
    pub(super) fn tool(&self, exposed: &str) -> Option<(Arc<MountedServer>, String)> {
        let mount = self.mount_of(exposed)?;
        let name = mount.catalog.tool(exposed)?;
        Some((mount, name))
    }

    /// Returns the server of a prompt that the client may use, and the prompt's name at this server.
    pub(super) fn allowed_prompt(
        &self,
        exposed: &str,
        context: &ClientRequest,
    ) -> Result<(Arc<MountedServer>, String), ErrorObject> {
        let missing = || unknown("prompt", exposed);
        let mount = self.mount_of(exposed).ok_or_else(missing)?;
        let name = mount.catalog.prompt(exposed).ok_or_else(missing)?;
        let item = mount.item(ItemKind::Prompt, &name);
        context.note_item(&mount, &item);
        let decision = self.decide(&mount, &item);
        self.check_allowed(&item, &decision, context, missing)?;
        Ok((mount, name))
    }

    /// Returns the server of a resource or template, if the client may use the resource or template.
    pub(super) fn allowed_resource(
        &self,
        uri: &str,
        is_template: bool,
        context: &ClientRequest,
    ) -> Result<Arc<MountedServer>, ErrorObject> {
        let missing = || downgrade::handler_error(missing_resource(uri), context.rules());
        core::check_uri(uri)?;
        let mount = self.mount_of_uri(uri).ok_or_else(missing)?;
        let item = mount.item(ItemKind::Resource, uri);
        context.note_item(&mount, &item);
        let decision = match is_template {
            true => self.decide_as(&mount, &item, UriSource::Template),
            false => self.decide(&mount, &item),
        };
        self.check_allowed(&item, &decision, context, missing)?;
        Ok(mount)
    }

    /// Returns the mount whose name is the prefix of `exposed`. The name of a mount contains no `__`, so the prefix ends at the
    /// first `__`.
    fn mount_of(&self, exposed: &str) -> Option<Arc<MountedServer>> {
        let (prefix, _) = exposed.split_once("__")?;
        let mounts = self.mounts();
        mounts.iter().find(|mount| *mount.name == *prefix).cloned()
    }

    /// Returns the server of a resource that the client may use.
    pub(super) fn resource(
        &self,
        uri: &str,
        context: &ClientRequest,
    ) -> Result<Arc<MountedServer>, ErrorObject> {
        let missing = || missing_resource(uri);
        let mount = self.mount_of_uri(uri).ok_or_else(missing)?;
        let item = mount.item(ItemKind::Resource, uri);
        let decision = self.decide(&mount, &item);
        self.check_allowed(&item, &decision, context, missing)?;
        Ok(mount)
    }

    /// Returns the server of a resource: the first server that lists the URI, otherwise the server with the longest matching
    /// template. If no template matches, returns the only server that lists a URI with this scheme, otherwise the only server
    /// with resources. A URI is never sent to several servers.
    fn mount_of_uri(&self, uri: &str) -> Option<Arc<MountedServer>> {
        let mounts = self.mounts();
        if let Some(mount) = read_from(&mounts, uri) {
            return Some(Arc::clone(mount));
        }
        let matching = mounts.iter().filter_map(|mount| {
            let length = mount.catalog.template_match(uri)?;
            Some((length, mount))
        });
        // If several mounts have the same length, the first mount is chosen.
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

    /// Sets the log level of the session. If the session has no connection to a server yet, the server receives the level when
    /// the connection is opened.
    fn set_level(&self, text: &str, context: &ClientRequest) -> Result<Reply, ErrorObject> {
        let params: SetLevelRequestParams = decode(text).map_err(ErrorObject::malformed_params)?;
        let session = context.session();
        session.set_log_level(params.level);
        session.value(ChosenLevel::default).set(params.level);
        let mut connections = JoinSet::new();
        for proxy in self.mounts().iter().filter_map(|mount| mount.proxy()) {
            if let Some(connection) = proxy.core.connection_of(session).current() {
                connections.spawn(async move { connection.set_level(params.level).await });
            }
        }
        let limit = self.settings().list_timeout;
        Ok(Reply::Pending(Box::pin(async move {
            // A server that does not respond in time does not affect the other servers.
            let _ = timeout(limit, connections.join_all()).await;
            Ok(Payload::Empty)
        })))
    }
}

/// Returns the first server that lists a URI. If several servers list the same URI, the gateway lists and reads the resource of
/// this server.
pub(super) fn read_from<'a>(
    mounts: &'a [Arc<MountedServer>],
    uri: &str,
) -> Option<&'a Arc<MountedServer>> {
    mounts.iter().find(|mount| mount.catalog.lists_uri(uri))
}

fn has_resources(mount: &MountedServer) -> bool {
    mount.proxy().is_some_and(|proxy| {
        let known = proxy.core.shared.known();
        known.facts.capabilities.resources.is_some()
    })
}

/// Returns the item if the iterator has exactly one item.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

pub(super) fn text_member<'a>(object: &'a str, name: &str) -> Result<Cow<'a, str>, ErrorObject> {
    let value = member(object, name)
        .ok_or_else(|| ErrorObject::invalid_params(format!("{name:?} is missing")))?;
    let text: String = decode(value)
        .map_err(|_| ErrorObject::invalid_params(format!("{name:?} must be a string")))?;
    Ok(text.into())
}

pub(super) fn missing_resource(uri: &str) -> ErrorObject {
    let text = format!("no server of the gateway lists the resource {uri:?}");
    let error = ErrorObject::new(ErrorCode::RESOURCE_NOT_FOUND, text);
    error.with_data(json!({ "uri": uri }))
}

pub(super) fn unknown(kind: &str, name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("unknown {kind} {name:?}"))
}

/// Returns params with another name and, if they have arguments, with other arguments.
pub(super) fn renamed(params: &str, name: &str, arguments: Option<&str>) -> String {
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
