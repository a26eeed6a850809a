//! Requests that run a handler, and their params.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, Request, is_empty_array, member_name, quote, read_string};
use mcp_protocol::{Deviation, Reply, RequestContext, Session};
use mcp_types::method;

use super::unknown_prompt;
use crate::Call;
use crate::handler::output::{FinishPrompt, FinishTool};
use crate::round_trip::{CallBinding, MultiRoundTrip, RoundTrip};
use crate::server::core::Core;
use crate::server::settings::GuardedRequest;
#[cfg(feature = "tasks")]
use crate::tasks::ToolInvocation;

impl Core {
    pub(super) fn call_tool(
        self: &Arc<Self>,
        request: &Request<'_>,
        mut context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let params = CallParams::parse(request, "name")?;
        let tools = self.tools.snapshot();
        let tool = tools.get(&params.name, context.session()).ok_or_else(|| {
            ErrorObject::invalid_params(format!("unknown tool {}", quote(&params.name, 128)))
        })?;
        // Most handlers use only their arguments; `_meta` is not parsed for them.
        let is_kept = tool.keeps_context || self.settings.is_guarded();
        if let Some(meta) = params.meta.filter(|_| is_kept) {
            context.set_meta(meta);
        }
        self.settings.check(&GuardedRequest {
            method: method::TOOLS_CALL,
            target: Some(&params.name),
            context: &context,
        })?;
        if let Some(scope) = &tool.scope {
            let item = format_args!("tool {:?}", tool.definition.name);
            context.require_scope(item, scope)?;
        }
        let arguments = params.arguments(context.session())?;
        #[cfg(feature = "tasks")]
        if tool.task_policy.is_some() || params.task.is_some() {
            let invocation = ToolInvocation {
                tool,
                arguments,
                task: params.task,
                round_trip: params.round_trip,
                meta: params.meta,
            };
            if let Some(reply) = self.start_task(&invocation, &context)? {
                return Ok(reply);
            }
        }
        let finish = FinishTool {
            output: tool.output.clone(),
            rules: context.rules(),
        };
        let checked = tool.input.check(arguments, context.session());
        let (checked, problem) = match checked {
            Ok(checked) => (checked, None),
            Err(problem) if tool.takes_errors => (arguments.into(), Some(problem)),
            Err(problem) => {
                let call = Call::new(arguments, context, self);
                let outcome = call.refuse(problem, method::TOOLS_CALL, &params.name, finish);
                return Ok(Reply::Ready(outcome));
            }
        };
        let binding = CallBinding {
            method: method::TOOLS_CALL,
            target: &params.name,
            arguments,
        };
        let round_trips = if tool.keeps_context || params.round_trip.is_retry() {
            MultiRoundTrip::begin(
                params.round_trip,
                &mut context,
                &self.settings.keys,
                binding,
            )?
        } else {
            None
        };
        let mut call = Call::new(&checked, context, self);
        call.problem = problem.as_deref();
        let mut reply = call.run(&*tool.run, binding.method, binding.target, finish);
        if let Some(round_trips) = round_trips {
            reply = round_trips.wrap(reply, binding);
        }
        Ok(reply)
    }

    pub(super) fn get_prompt(
        self: &Arc<Self>,
        request: &Request<'_>,
        mut context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let params = CallParams::parse(request, "name")?;
        if let Some(meta) = params.meta {
            context.set_meta(meta);
        }
        let prompts = self.prompts.snapshot();
        let prompt = prompts
            .get(&params.name, context.session())
            .ok_or_else(|| unknown_prompt(&params.name))?;
        self.settings.check(&GuardedRequest {
            method: method::PROMPTS_GET,
            target: Some(&params.name),
            context: &context,
        })?;
        let arguments = params.arguments(context.session())?;
        let finish = FinishPrompt {
            description: prompt.definition.description.clone(),
            rules: context.rules(),
        };
        if let Err(problem) = prompt.check(arguments) {
            let call = Call::new(arguments, context, self);
            let outcome = call.refuse(problem, method::PROMPTS_GET, &params.name, finish);
            return Ok(Reply::Ready(outcome));
        }
        let binding = CallBinding {
            method: method::PROMPTS_GET,
            target: &params.name,
            arguments,
        };
        let round_trips = MultiRoundTrip::begin(
            params.round_trip,
            &mut context,
            &self.settings.keys,
            binding,
        )?;
        let mut reply = Call::new(arguments, context, self).run(
            &*prompt.run,
            binding.method,
            binding.target,
            finish,
        );
        if let Some(round_trips) = round_trips {
            reply = round_trips.wrap(reply, binding);
        }
        Ok(reply)
    }

    pub(super) fn read_resource(
        self: &Arc<Self>,
        request: &Request<'_>,
        mut context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let params = CallParams::parse(request, "uri")?;
        if let Some(meta) = params.meta {
            context.set_meta(meta);
        }
        let uri = &*params.name;
        self.check_read(uri, &context)?;
        let binding = CallBinding {
            method: method::RESOURCES_READ,
            target: uri,
            arguments: "{}",
        };
        let round_trips = MultiRoundTrip::begin(
            params.round_trip,
            &mut context,
            &self.settings.keys,
            binding,
        )?;
        let found = self.find_resource(uri, &context)?;
        let finish = found.finish(&context);
        let mut reply = Call::new(found.arguments(), context, self).run(
            found.run(),
            binding.method,
            uri,
            finish,
        );
        if let Some(round_trips) = round_trips {
            reply = round_trips.wrap(reply, binding);
        }
        Ok(reply)
    }
}

/// The params of `tools/call`, `prompts/get` or `resources/read`, read in one pass without allocation.
pub(super) struct CallParams<'a> {
    /// The name of the tool or prompt, or the URI of the resource.
    pub(super) name: Cow<'a, str>,
    arguments: Option<&'a str>,
    pub(super) meta: Option<&'a str>,
    pub(super) round_trip: RoundTrip<'a>,
    #[cfg(feature = "tasks")]
    pub(super) task: Option<&'a str>,
}

impl<'a> CallParams<'a> {
    /// Reads the params of a request. The member `key` of the params contains the name or URI.
    ///
    /// # Errors
    /// The params are not an object, have a repeated member, or have no name.
    pub(super) fn parse(request: &Request<'a>, key: &str) -> Result<Self, ErrorObject> {
        let invalid = ErrorObject::malformed_params;
        let (mut name, mut arguments, mut meta) = (None, None, None);
        #[cfg(feature = "tasks")]
        let mut task = None;
        let mut round_trip = RoundTrip::default();
        'members: for member in request.param_members() {
            let (member, value) = member.map_err(|error| invalid(error.to_string()))?;
            let mut member = Cow::Borrowed(member);
            let slot = loop {
                break match &*member {
                    "arguments" => &mut arguments,
                    "_meta" => &mut meta,
                    "inputResponses" => &mut round_trip.responses,
                    "requestState" => &mut round_trip.state,
                    #[cfg(feature = "tasks")]
                    "task" => &mut task,
                    other if other == key => &mut name,
                    // The escapes of a member name are decoded only if the raw name is unknown, because escapes are rare.
                    _ => match member {
                        Cow::Borrowed(text) if text.contains('\\') => {
                            member = member_name(text).into_owned().into();
                            continue;
                        }
                        _ => continue 'members,
                    },
                };
            };
            if slot.replace(value).is_some() {
                return Err(invalid(format!("duplicate member {member:?}")));
            }
        }
        // `null` counts as absent.
        let present = |value: &&str| *value != "null";
        round_trip.responses = round_trip.responses.filter(present);
        round_trip.state = round_trip.state.filter(present);
        let Some(name) = name else {
            return Err(invalid(format!("member {key:?} is missing")));
        };
        let name =
            read_string(name).ok_or_else(|| invalid(format!("/{key}: expected a string")))?;
        Ok(Self {
            name,
            arguments,
            meta,
            round_trip,
            #[cfg(feature = "tasks")]
            task: task.filter(present),
        })
    }

    /// Returns the text of the arguments object; `{}` if absent.
    pub(super) fn arguments(&self, session: &Session) -> Result<&'a str, ErrorObject> {
        let tolerates = || session.tolerates(Deviation::EmptyArray, "arguments");
        match self.arguments {
            None | Some("null") => Ok("{}"),
            Some(arguments) if arguments.starts_with('{') => Ok(arguments),
            Some(arguments) if is_empty_array(arguments) && tolerates() => Ok("{}"),
            Some(_) => Err(ErrorObject::malformed_params(
                "/arguments: expected an object",
            )),
        }
    }
}
