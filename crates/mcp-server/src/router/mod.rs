//! Dispatches requests by method.

mod calls;
mod complete;
mod listen;
mod resources;
mod subscribe;

use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, Notification, Request, RequestId, decode_params, is_member, quote};
use mcp_protocol::CacheScope;
use mcp_protocol::{
    Exchange, Outcome, Payload, Reply, RequestContext, Rules, ServerFacts, Session, downgrade,
};
use mcp_types::{
    JsonObject, PaginatedRequestParams, PromptsCapability, ResourcesCapability, ServerCapabilities,
    SetLevelRequestParams, SubscribeRequestParams, ToolsCapability, method,
};
#[cfg(feature = "tasks")]
use mcp_types::{ServerTaskRequests, ServerTasksCapability, ToolsTaskRequests};

use crate::Call;
use crate::registry::Entry;
use crate::registry::access::outcome;
use crate::registry::definition::Visible;
use crate::registry::lister::{self, FinishResourceList};
use crate::registry::method::{FinishMethod, FinishNotification, ForMethod, MethodEntry};
use crate::registry::prompt::PromptEntry;
use crate::registry::resource::{ResourceEntry, TemplateEntry};
use crate::registry::tool::ToolEntry;
use crate::server::core::Core;
use crate::server::settings::GuardedRequest;

impl Core {
    pub(crate) fn facts(&self) -> ServerFacts {
        let settings = &self.settings;
        let mut capabilities = ServerCapabilities::default();
        let announce = settings.list_changed.then_some(true);
        let (tools, prompts) = (self.tools.snapshot(), self.prompts.snapshot());
        let (resources, templates) = (self.resources.snapshot(), self.templates.snapshot());
        let read_by_all = resources.is_for_all() && templates.is_for_all();
        let listed_for_all = read_by_all && tools.is_for_all() && prompts.is_for_all();
        if !tools.is_empty() {
            let mut tools = ToolsCapability::default();
            tools.list_changed = announce;
            capabilities.tools = Some(tools);
        }
        if !prompts.is_empty() {
            let mut capability = PromptsCapability::default();
            capability.list_changed = announce;
            capabilities.prompts = Some(capability);
        }
        let has_lister = self.lister.is_some();
        if !resources.is_empty() || !templates.is_empty() || has_lister {
            let mut resources = ResourcesCapability::default();
            resources.list_changed = announce;
            resources.subscribe = settings.subscribe.then_some(true);
            capabilities.resources = Some(resources);
        }
        let completes = prompts.all().any(|it| !it.completers.is_empty())
            || templates.all().any(|it| !it.completers.is_empty());
        capabilities.completions = completes.then(JsonObject::new);
        #[cfg(feature = "tasks")]
        if self.has_tasks() {
            capabilities.tasks = Some(tasks_capability());
        }
        capabilities.logging = settings.logging.then(JsonObject::new);
        if !settings.experimental.is_empty() {
            capabilities.experimental = Some(settings.experimental.clone());
        }
        if !settings.extensions.is_empty() {
            capabilities.extensions = Some(settings.extensions.clone());
        }
        let mut facts = ServerFacts::new(settings.info.clone(), capabilities);
        facts.instructions.clone_from(&settings.instructions);
        facts.revisions.clone_from(&settings.revisions);
        facts.lists.clone_from(&settings.lists);
        facts.reads.clone_from(&settings.reads);
        facts.tolerance = Arc::clone(&settings.tolerance);
        // A shared cache may hold only lists that are the same for all clients. Cursors are bound to
        // the principal, so a list with several pages differs between clients.
        let size = settings.page_size;
        let is_paged = tools.is_paged(size)
            || prompts.is_paged(size)
            || resources.is_paged(size)
            || templates.is_paged(size);
        if !listed_for_all || is_paged || has_lister {
            facts.lists.scope = CacheScope::Private;
        }
        if !read_by_all {
            facts.reads.scope = CacheScope::Private;
        }
        facts
    }

    pub(crate) fn route(self: &Arc<Self>, request: &Request<'_>, context: RequestContext) -> Reply {
        let params = request.params;
        let rules = context.rules();
        let routed = match &*request.method {
            method::TOOLS_CALL => self.call_tool(request, context),
            method::PROMPTS_GET => self.get_prompt(request, context),
            method::RESOURCES_READ => self.read_resource(request, context),
            method::COMPLETION_COMPLETE => self.complete(params, context),
            method::RESOURCES_SUBSCRIBE => self.subscribe(params, &context),
            method::SUBSCRIPTIONS_LISTEN => self.listen(params, &context),
            #[cfg(feature = "tasks")]
            method::TASKS_GET
            | method::TASKS_UPDATE
            | method::TASKS_CANCEL
            | method::TASKS_RESULT
            | method::TASKS_LIST => self.serve_task(request, context),
            method::RESOURCES_LIST if self.lister.is_some() => self.list_resources(params, context),
            other => match self.methods.get(other) {
                Some(entry) => self.call_method(entry, request, context),
                None => self
                    .answer(other, params, &context)
                    .map(|payload| Reply::Ready(Ok(payload))),
            },
        };
        routed.unwrap_or_else(|error| Reply::Ready(Err(downgrade::handler_error(error, rules))))
    }

    fn call_method(
        self: &Arc<Self>,
        entry: &MethodEntry<ForMethod>,
        request: &Request<'_>,
        mut context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let mut members = request.param_members().filter_map(Result::ok);
        if let Some((_, meta)) = members.find(|(name, _)| is_member(name, "_meta")) {
            context.set_meta(meta);
        }
        self.settings.check(&GuardedRequest {
            method: &entry.name,
            target: None,
            context: &context,
        })?;
        entry.admit(&context)?;
        let call = Call::new(request.params.unwrap_or("{}"), context, self);
        Ok(call.run(&*entry.run, &entry.name, "", FinishMethod))
    }

    /// Handles a notification that is not part of the protocol.
    pub(crate) fn notify(
        self: &Arc<Self>,
        notification: &Notification<'_>,
        session: &Arc<Session>,
    ) {
        let method = &*notification.method;
        let (Some(entry), Some(link)) = (self.notifications.get(method), session.link()) else {
            tracing::trace!(method, "notification");
            return;
        };
        let exchange = Exchange::new(RequestId::Number(0), link);
        let cancel_guard = CancelOnDrop(exchange.clone());
        let context = RequestContext::new(exchange, Arc::clone(session));
        if let Err(error) = entry.admit(&context) {
            tracing::debug!(method, %error, "dropped a notification");
            return;
        }
        let call = Call::new(notification.params.unwrap_or("{}"), context, self);
        let finish = FinishNotification {
            method: entry.name.clone(),
        };
        match cancel_guard.attach_to(call.run(&*entry.run, &entry.name, "", finish)) {
            #[cfg(feature = "tasks")]
            Reply::Pending(work) => match tokio::runtime::Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn(work)),
                Err(_) => {
                    tracing::error!(
                        method,
                        "an async notification handler needs a tokio runtime"
                    );
                }
            },
            Reply::Ready(_) => {}
            _ => tracing::error!(method, "this kind of handler cannot handle a notification"),
        }
    }

    /// Handles requests for which the server calls no registered handler, for example list requests.
    fn answer(&self, method: &str, params: Option<&str>, context: &RequestContext) -> Outcome {
        let session = context.session();
        let guard = || {
            self.settings.check(&GuardedRequest {
                method,
                target: None,
                context,
            })
        };
        let page = || -> Result<_, ErrorObject> {
            guard()?;
            Ok(decode_params::<PaginatedRequestParams>(params)?.cursor)
        };
        let size = self.settings.page_size;
        match method {
            method::TOOLS_LIST => {
                self.tools
                    .snapshot()
                    .list(page()?.as_deref(), size, context, &self.settings.keys)
            }
            method::PROMPTS_LIST => {
                self.prompts
                    .snapshot()
                    .list(page()?.as_deref(), size, context, &self.settings.keys)
            }
            method::RESOURCES_LIST => self.resources.snapshot().list(
                page()?.as_deref(),
                size,
                context,
                &self.settings.keys,
            ),
            method::RESOURCES_TEMPLATES_LIST => self.templates.snapshot().list(
                page()?.as_deref(),
                size,
                context,
                &self.settings.keys,
            ),
            method::RESOURCES_UNSUBSCRIBE => {
                let params: SubscribeRequestParams = decode_params(params)?;
                session.unsubscribe(&params.uri);
                Ok(Payload::Empty)
            }
            method::LOGGING_SET_LEVEL => {
                let params: SetLevelRequestParams = decode_params(params)?;
                guard()?;
                session.set_log_level(params.level);
                Ok(Payload::Empty)
            }
            other => Err(ErrorObject::method_not_found(other)),
        }
    }

    /// Lists the registered resources and the resources of a data source.
    fn list_resources(
        self: &Arc<Self>,
        params: Option<&str>,
        context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let method = method::RESOURCES_LIST;
        self.settings.check(&GuardedRequest {
            method,
            target: None,
            context: &context,
        })?;
        let cursor = decode_params::<PaginatedRequestParams>(params)?.cursor;
        let keys = &self.settings.keys;
        let position = lister::position(cursor.as_deref(), context.principal(), keys)?;
        let snapshot = self.resources.snapshot();
        let registered = match position {
            None => snapshot
                .iter(context.session())
                .map(|entry| entry.definition.clone())
                .collect(),
            Some(_) => Vec::new(),
        };
        let finish = FinishResourceList::new(registered, &context, keys);
        let arguments = serde_json::json!(position).to_string();
        let Some(lister) = &self.lister else {
            return Err(ErrorObject::method_not_found(method));
        };
        Ok(Call::new(&arguments, context, self).run(&**lister, method, "", finish))
    }
}

/// Returns the tasks capability: calls of tools, `tasks/list` and `tasks/cancel`. [`Session`] removes `tasks/list` for clients
/// that may not list tasks.
#[cfg(feature = "tasks")]
fn tasks_capability() -> ServerTasksCapability {
    let calls = ToolsTaskRequests::new().with_call(JsonObject::new());
    ServerTasksCapability::new()
        .with_list(JsonObject::new())
        .with_cancel(JsonObject::new())
        .with_requests(ServerTaskRequests::new().with_tools(calls))
}

fn unknown_prompt(name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("unknown prompt {}", quote(name, 128)))
}

macro_rules! entry {
    ($entry:ident: $what:literal, $member:literal, $definition:ident, $key:ident, $lower:ident) => {
        impl Entry for $entry {
            const WHAT: &'static str = $what;
            const MEMBER: &'static str = $member;
            type Definition = mcp_types::$definition;

            fn key(&self) -> &str {
                &self.definition.$key
            }

            fn definition(&self, rules: &Rules) -> Self::Definition {
                let mut definition = self.definition.clone();
                downgrade::$lower(&mut definition, rules);
                definition
            }

            fn visible(&self) -> Option<&Visible> {
                self.visible.as_ref()
            }
        }
    };
}

impl Entry for ToolEntry {
    const WHAT: &'static str = "tool";
    const MEMBER: &'static str = "tools";
    type Definition = mcp_types::Tool;

    fn key(&self) -> &str {
        &self.definition.name
    }

    fn definition(&self, rules: &Rules) -> mcp_types::Tool {
        let mut definition = self.definition.clone();
        if let (Some(wrapped), false) = (&self.wrapped, rules.any_structured) {
            definition.output_schema = Some(wrapped.clone());
        }
        downgrade::tool(&mut definition, rules);
        definition
    }

    fn visible(&self) -> Option<&Visible> {
        self.visible.as_ref()
    }

    fn has_header_params(&self) -> bool {
        self.header_params.is_some()
    }
}

entry!(PromptEntry: "prompt", "prompts", Prompt, name, prompt);
entry!(ResourceEntry: "resource", "resources", Resource, uri, resource);
entry!(TemplateEntry: "resource template", "resourceTemplates", ResourceTemplate, uri_template, resource_template);

/// A guard for an exchange that gets no response. Dropping the guard cancels the exchange, so that futures that wait for the end
/// of the exchange complete.
struct CancelOnDrop(Exchange);

impl CancelOnDrop {
    /// Returns `reply` with this guard: the exchange is cancelled when the handler has ended or is dropped.
    fn attach_to(self, reply: Reply) -> Reply {
        match reply {
            Reply::Ready(_) => reply,
            reply => Reply::Pending(Box::pin(async move {
                let _cancel_guard = self;
                outcome(reply).await
            })),
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
