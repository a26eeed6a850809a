//! From a method to what serves it.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorCode, ErrorObject, Request, decode};
use mcp_protocol::{Outcome, Payload, Reply, RequestContext, Rules, ServerFacts, lower};
use mcp_types::{
    CompleteRequestParams, CompleteResult, Completion, CompletionReference, JsonObject,
    PaginatedRequestParams, PromptsCapability, ResourcesCapability, ServerCapabilities,
    SetLevelRequestParams, SubscribeRequestParams, ToolsCapability, method,
};
use serde::de::DeserializeOwned;

use crate::call::Call;
use crate::completion::{Completing, Completions};
use crate::output::{Finish, FinishPrompt, FinishResource, FinishTool, not_found};
use crate::prompt::PromptEntry;
use crate::registry::Entry;
use crate::resource::{ResourceEntry, TemplateEntry};
use crate::server::{Core, Guarded, Settings};
use crate::tool::{ToolEntry, Visible};
use crate::{Ctx, HandlerError};

/// Longest argument value a completion request may carry, in bytes.
const MAX_COMPLETION_VALUE: usize = 4_096;
/// Longest resource URI, in bytes.
const MAX_URI: usize = 8_192;

impl Core {
    pub(crate) fn facts(&self) -> ServerFacts {
        let settings = self.settings();
        let mut capabilities = ServerCapabilities::default();
        let announce = settings.list_changed.then_some(true);
        let (prompts, templates) = (self.prompts.snapshot(), self.templates.snapshot());
        if !self.tools.snapshot().is_empty() {
            let mut tools = ToolsCapability::default();
            tools.list_changed = announce;
            capabilities.tools = Some(tools);
        }
        if !prompts.is_empty() {
            let mut capability = PromptsCapability::default();
            capability.list_changed = announce;
            capabilities.prompts = Some(capability);
        }
        if !self.resources.snapshot().is_empty() || !templates.is_empty() {
            let mut resources = ResourcesCapability::default();
            resources.list_changed = announce;
            resources.subscribe = settings.subscribe.then_some(true);
            capabilities.resources = Some(resources);
        }
        let completes = prompts.all().any(|prompt| !prompt.completers.is_empty())
            || templates
                .all()
                .any(|template| !template.completers.is_empty());
        capabilities.completions = completes.then(JsonObject::new);
        capabilities.logging = settings.logging.then(JsonObject::new);
        if !settings.experimental.is_empty() {
            capabilities.experimental = Some(settings.experimental.clone());
        }
        let mut facts = ServerFacts::new(settings.info.clone(), capabilities);
        facts.instructions.clone_from(&settings.instructions);
        facts.revisions.clone_from(&settings.revisions);
        facts
    }

    pub(crate) fn route(&self, request: &Request<'_>, context: RequestContext) -> Reply {
        let params = request.params;
        let settings = self.settings();
        let routed = match &*request.method {
            method::TOOLS_CALL => self.call_tool(request, context, &settings),
            method::PROMPTS_GET => self.get_prompt(request, context, &settings),
            method::RESOURCES_READ => self.read_resource(request, context, &settings),
            method::COMPLETION_COMPLETE => self.complete(params, context, &settings),
            other => self
                .answer(other, params, &context, &settings)
                .map(|payload| Reply::Ready(Ok(payload))),
        };
        routed.unwrap_or_else(|error| Reply::Ready(Err(error)))
    }

    /// What needs no handler.
    fn answer(
        &self,
        method: &str,
        params: Option<&str>,
        context: &RequestContext,
        settings: &Settings,
    ) -> Outcome {
        let session = context.session();
        let guard = |target: Option<&str>| {
            settings.check(&Guarded {
                method,
                target,
                context,
            })
        };
        let page = || -> Result<_, ErrorObject> {
            guard(None)?;
            Ok(typed::<PaginatedRequestParams>(params)?.cursor)
        };
        let size = settings.page_size;
        match method {
            method::TOOLS_LIST => self
                .tools
                .snapshot()
                .list(page()?.as_deref(), size, session),
            method::PROMPTS_LIST => self
                .prompts
                .snapshot()
                .list(page()?.as_deref(), size, session),
            method::RESOURCES_LIST => {
                self.resources
                    .snapshot()
                    .list(page()?.as_deref(), size, session)
            }
            method::RESOURCES_TEMPLATES_LIST => {
                self.templates
                    .snapshot()
                    .list(page()?.as_deref(), size, session)
            }
            method::RESOURCES_SUBSCRIBE => {
                let params: SubscribeRequestParams = typed(params)?;
                guard(Some(&params.uri))?;
                if !self.has_resource(&params.uri, context) {
                    return Err(not_found(&params.uri));
                }
                session.subscribe(&params.uri)?;
                Ok(Payload::Empty)
            }
            method::RESOURCES_UNSUBSCRIBE => {
                let params: SubscribeRequestParams = typed(params)?;
                session.unsubscribe(&params.uri);
                Ok(Payload::Empty)
            }
            method::LOGGING_SET_LEVEL => {
                let params: SetLevelRequestParams = typed(params)?;
                guard(None)?;
                session.set_log_level(params.level);
                Ok(Payload::Empty)
            }
            other => Err(ErrorObject::method_not_found(other)),
        }
    }

    fn call_tool(
        &self,
        request: &Request<'_>,
        mut context: RequestContext,
        settings: &Settings,
    ) -> Result<Reply, ErrorObject> {
        let target = Target::read(request, "name")?;
        if let Some(meta) = target.meta {
            context.set_meta(meta);
        }
        let tools = self.tools.snapshot();
        let tool = tools.get(&target.name, context.session()).ok_or_else(|| {
            let name: String = target.name.chars().take(128).collect();
            ErrorObject::invalid_params(format!("unknown tool {name:?}"))
        })?;
        settings.check(&Guarded {
            method: method::TOOLS_CALL,
            target: Some(&target.name),
            context: &context,
        })?;
        if let Some(scope) = tool.scope.as_deref().filter(|it| !context.permits(it)) {
            return Err(ErrorObject::invalid_request(format!(
                "tool {:?} needs the scope {scope:?}",
                tool.definition.name
            )));
        }
        let finish = FinishTool {
            output: tool.output.clone(),
            wrapped: tool.wrapped,
            rules: context.rules(),
        };
        let arguments = target.arguments()?;
        if let Err(problem) = tool.input.check(arguments) {
            return Ok(Reply::Ready(
                finish.finish(Err(HandlerError::arguments(problem))),
            ));
        }
        Ok((tool.run)(&Call::new(arguments, context), finish))
    }

    fn get_prompt(
        &self,
        request: &Request<'_>,
        mut context: RequestContext,
        settings: &Settings,
    ) -> Result<Reply, ErrorObject> {
        let target = Target::read(request, "name")?;
        if let Some(meta) = target.meta {
            context.set_meta(meta);
        }
        let prompts = self.prompts.snapshot();
        let prompt = prompts
            .get(&target.name, context.session())
            .ok_or_else(|| unknown_prompt(&target.name))?;
        settings.check(&Guarded {
            method: method::PROMPTS_GET,
            target: Some(&target.name),
            context: &context,
        })?;
        let arguments = target.arguments()?;
        prompt.check(arguments).map_err(|problem| {
            ErrorObject::invalid_params(format!("invalid arguments: {problem}"))
        })?;
        let finish = FinishPrompt {
            description: prompt.definition.description.clone(),
            rules: context.rules(),
        };
        Ok((prompt.run)(&Call::new(arguments, context), finish))
    }

    fn read_resource(
        &self,
        request: &Request<'_>,
        mut context: RequestContext,
        settings: &Settings,
    ) -> Result<Reply, ErrorObject> {
        let target = Target::read(request, "uri")?;
        if let Some(meta) = target.meta {
            context.set_meta(meta);
        }
        let uri = &*target.name;
        if uri.len() > MAX_URI {
            return Err(ErrorObject::invalid_params(format!(
                "the URI is longer than {MAX_URI} bytes"
            )));
        }
        settings.check(&Guarded {
            method: method::RESOURCES_READ,
            target: Some(uri),
            context: &context,
        })?;
        let mut finish = FinishResource {
            uri: uri.to_owned(),
            mime: None,
            rules: context.rules(),
        };
        let resources = self.resources.snapshot();
        if let Some(resource) = resources.get(uri, context.session()) {
            finish.mime.clone_from(&resource.definition.mime_type);
            return Ok((resource.run)(&Call::new("{}", context), finish));
        }
        let templates = self.templates.snapshot();
        let found = templates
            .iter(context.session())
            .find_map(|entry| Some((Arc::clone(entry), entry.template.matches(uri)?)));
        let Some((template, variables)) = found else {
            return Err(not_found(uri));
        };
        finish.mime.clone_from(&template.definition.mime_type);
        let variables = serde_json::to_string(&variables)
            .map_err(|_| ErrorObject::internal("the URI's variables cannot be passed on"))?;
        Ok((template.run)(&Call::new(&variables, context), finish))
    }

    fn has_resource(&self, uri: &str, context: &RequestContext) -> bool {
        self.resources
            .snapshot()
            .get(uri, context.session())
            .is_some()
            || self
                .templates
                .snapshot()
                .iter(context.session())
                .any(|entry| entry.template.matches(uri).is_some())
    }

    fn complete(
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
        settings.check(&Guarded {
            method: method::COMPLETION_COMPLETE,
            target: Some(target),
            context: &context,
        })?;
        let session = Arc::clone(context.session());
        let argument = params.argument.name;
        let given = params.context.and_then(|context| context.arguments);
        let completing = Completing::new(
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

    fn complete_template(
        &self,
        uri: &str,
        argument: &str,
        completing: Completing,
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

fn unknown_prompt(name: &str) -> ErrorObject {
    let name: String = name.chars().take(128).collect();
    ErrorObject::invalid_params(format!("unknown prompt {name:?}"))
}

fn unknown_reference(reference: &CompletionReference) -> ErrorObject {
    let kind = match reference {
        CompletionReference::Unknown(value) => value["type"].as_str().unwrap_or_default(),
        _ => "",
    };
    let kind: String = kind.chars().take(128).collect();
    ErrorObject::invalid_params(format!(
        "unknown type of ref {kind:?}; there are ref/prompt and ref/resource"
    ))
}

fn typed<T: DeserializeOwned>(params: Option<&str>) -> Result<T, ErrorObject> {
    decode(params.unwrap_or("{}")).map_err(|error| {
        let message = format!("invalid params: {error}");
        ErrorObject::invalid_params(message)
    })
}

/// The params of a request that names something, in one walk and without building anything.
struct Target<'a> {
    name: Cow<'a, str>,
    arguments: Option<&'a str>,
    meta: Option<&'a str>,
}

impl<'a> Target<'a> {
    fn read(request: &Request<'a>, key: &str) -> Result<Self, ErrorObject> {
        let invalid = |what: String| ErrorObject::invalid_params(format!("invalid params: {what}"));
        let (mut name, mut arguments, mut meta) = (None, None, None);
        for member in request.param_members() {
            let (member, value) = member.map_err(|error| invalid(error.to_string()))?;
            let slot = match member {
                "arguments" => &mut arguments,
                "_meta" => &mut meta,
                _ if member == key => &mut name,
                _ => continue,
            };
            if slot.replace(value).is_some() {
                return Err(invalid(format!("member {member:?} stands twice")));
            }
        }
        let Some(name) = name else {
            return Err(invalid(format!("member {key:?} is missing")));
        };
        let name = text(name).ok_or_else(|| invalid(format!("/{key}: expected a string")))?;
        Ok(Self {
            name,
            arguments,
            meta,
        })
    }

    /// The text of the arguments object; absent ones are empty.
    fn arguments(&self) -> Result<&'a str, ErrorObject> {
        match self.arguments {
            None | Some("null") => Ok("{}"),
            Some(arguments) if arguments.starts_with('{') => Ok(arguments),
            Some(_) => Err(ErrorObject::new(
                ErrorCode::INVALID_PARAMS,
                "invalid params: /arguments: expected an object",
            )),
        }
    }
}

/// The string behind JSON text, borrowed where it holds no escape.
fn text(json: &str) -> Option<Cow<'_, str>> {
    let raw = json.strip_prefix('"')?.strip_suffix('"')?;
    if raw.contains('\\') {
        serde_json::from_str(json).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(raw))
    }
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
                lower::$lower(&mut definition, rules);
                definition
            }

            fn visible(&self) -> Option<&Visible> {
                self.visible.as_ref()
            }
        }
    };
}

entry!(ToolEntry: "tool", "tools", Tool, name, tool);
entry!(PromptEntry: "prompt", "prompts", Prompt, name, prompt);
entry!(ResourceEntry: "resource", "resources", Resource, uri, resource);
entry!(TemplateEntry: "resource template", "resourceTemplates", ResourceTemplate, uri_template, resource_template);
