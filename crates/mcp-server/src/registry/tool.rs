//! Tools and their registration.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use mcp_jsonrpc::quote;
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::middleware::SharedMiddleware;
use mcp_protocol::{Deviation, Session};
use mcp_schema::{Origin, Validator};
#[cfg(feature = "tasks")]
use mcp_types::ToolExecution;
use mcp_types::{JsonObject, ToolAnnotations, method};
use serde_json::{Value, json};

use crate::handler::layered::layered;
use crate::handler::output::{ForTool, OutputCheck};
use crate::handler::{Erased, Handler, erase};
use crate::registry::definition::{Visible, check_icons, shared_setters};
use crate::schema::{Output, validate, with_properties, without_nulls};
#[cfg(feature = "tasks")]
use crate::task_table::{TaskMode, TaskPolicy};
use crate::{RegistrationError, Spec};

/// A tool: its definition and its handler.
///
/// Create it with [`Tool::new`] from a function with extractors, with `#[tool]` from a plain
/// function, or with [`Tool::dynamic`] from a schema that is known only at run time.
///
/// ```
/// use mcp_server::{Args, Server, Tool};
/// use serde_json::{Value, json};
///
/// let now = Tool::new("now", || "noon").title("Time").description("Returns the time").read_only(true);
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
/// let proxy = Tool::dynamic("proxy", schema, async |Args(arguments): Args<Value>| arguments.to_string());
/// let server = Server::builder("clock", "1.0.0").tools([now, proxy]);
/// # let _ = server;
/// ```
pub struct Tool<S = ()> {
    definition: mcp_types::Tool,
    bind: Bind<S>,
    blocking: bool,
    keeps_context: bool,
    input: Input,
    takes_errors: bool,
    /// The output schema for revisions in which structured content must be an object; `None` if the output schema already
    /// describes an object.
    wrapped: Option<JsonObject>,
    scope: Option<String>,
    visible: Option<Visible>,
    layers: Vec<SharedMiddleware>,
    #[cfg(feature = "tasks")]
    task_policy: Option<TaskPolicy>,
    problem: Option<String>,
}

/// A function that binds the server's state to a handler. The second parameter says whether the handler runs on a thread for
/// blocking work.
type Bind<S> = Box<dyn FnOnce(S, bool) -> Erased<ForTool> + Send>;

/// How arguments are checked.
enum Input {
    /// The tool has no parameters.
    None,
    /// The decoder of the argument type checks the arguments.
    Decoder,
    /// The compiled schema checks the arguments, because the decoder accepts more values than the schema.
    Schema,
}

impl<S: Send + Sync + 'static> Tool<S> {
    /// Creates a tool from a function whose parameters are extractors. The argument type determines
    /// the input schema; a [`Json`](crate::Json) return type determines the output schema.
    pub fn new<M>(name: impl Into<String>, handler: impl Handler<ForTool, S, M>) -> Self {
        let mut spec = Spec::default();
        let keeps_context = describe::<S, M, _>(&handler, &mut spec);
        let bind = Box::new(move |state, blocking| erase(handler, state, blocking));
        Self::described(name.into(), spec, keeps_context, bind)
    }

    fn described(name: String, spec: Spec, keeps_context: bool, bind: Bind<S>) -> Self {
        let (input, schema) = match spec.input {
            Some(input) if input.is_empty => (Input::None, input.schema),
            Some(input) if input.is_enforced => (Input::Decoder, input.schema),
            Some(input) => (Input::Schema, input.schema),
            None => (Input::None, no_parameters()),
        };
        let mut definition = mcp_types::Tool::new(name, schema);
        let (output, wrapped) = spec.output.map(|it| (it.schema, it.wrapped)).unzip();
        definition.output_schema = output;
        Self {
            definition,
            bind,
            blocking: false,
            keeps_context,
            input,
            takes_errors: spec.takes_errors,
            wrapped: wrapped.flatten(),
            scope: None,
            visible: None,
            layers: Vec::new(),
            #[cfg(feature = "tasks")]
            task_policy: None,
            problem: spec.problem,
        }
    }

    /// Creates a tool whose schema is known only at run time, for example for a proxy. The handler
    /// takes `Args<JsonObject>`; arguments are checked against `schema`, a JSON object.
    pub fn dynamic<M>(
        name: impl Into<String>,
        schema: Value,
        handler: impl Handler<ForTool, S, M>,
    ) -> Self {
        let mut tool = Self::new(name, handler);
        tool.input = Input::Schema;
        match schema {
            Value::Object(mut schema) if schema.get("type") == Some(&json!("object")) => {
                with_properties(&mut schema);
                tool.definition.input_schema = schema;
            }
            _ => {
                tool.problem =
                    Some("the input schema must be an object with \"type\": \"object\"".into())
            }
        }
        tool
    }

    shared_setters!();

    /// Replaces the name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.definition.name = name.into();
        self
    }

    /// Binds the handler to `state`, so that the tool can be added to a server with another state type.
    #[must_use]
    pub fn with_state<T>(self, state: S) -> Tool<T> {
        let bind = self.bind;
        Tool {
            bind: Box::new(move |_, blocking| bind(state, blocking)),
            definition: self.definition,
            blocking: self.blocking,
            keeps_context: self.keeps_context,
            input: self.input,
            takes_errors: self.takes_errors,
            wrapped: self.wrapped,
            scope: self.scope,
            visible: self.visible,
            layers: self.layers,
            #[cfg(feature = "tasks")]
            task_policy: self.task_policy,
            problem: self.problem,
        }
    }

    /// Sets all behaviour hints.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition.annotations = Some(annotations);
        self
    }

    /// Hints that the tool does not change anything.
    #[must_use]
    pub fn read_only(mut self, hint: bool) -> Self {
        self.hints().read_only_hint = Some(hint);
        self
    }

    /// Hints that the tool may perform destructive changes.
    #[must_use]
    pub fn destructive(mut self, hint: bool) -> Self {
        self.hints().destructive_hint = Some(hint);
        self
    }

    /// Hints that repeated calls have no further effect.
    #[must_use]
    pub fn idempotent(mut self, hint: bool) -> Self {
        self.hints().idempotent_hint = Some(hint);
        self
    }

    /// Hints that the tool interacts with external systems.
    #[must_use]
    pub fn open_world(mut self, hint: bool) -> Self {
        self.hints().open_world_hint = Some(hint);
        self
    }

    fn hints(&mut self) -> &mut ToolAnnotations {
        self.definition.annotations.get_or_insert_default()
    }

    /// Sets the output schema of a tool that creates structured content itself. The schema may describe any JSON value.
    /// [`Json`](crate::Json) explains how older revisions receive such a value.
    #[must_use]
    pub fn output_schema(mut self, schema: JsonObject) -> Self {
        let Output { schema, wrapped } = schema.into();
        self.definition.output_schema = Some(schema);
        self.wrapped = wrapped;
        self
    }

    /// Runs the (sync) handler on a thread for blocking work.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.blocking = true;
        self
    }

    /// Serves the tool only to requests with all scopes in `scope`, which are separated by spaces. Over stdio every request has
    /// all scopes. Over HTTP the token must include all these scopes (crate `mcp-auth`). Without authentication, every call over
    /// HTTP is rejected.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Lets calls run as tasks: the client receives a task at once, polls it, and retrieves the
    /// result later. The handler is the same as without tasks.
    #[cfg(feature = "tasks")]
    #[must_use]
    pub fn task(mut self, mode: TaskMode) -> Self {
        self.task_policy.get_or_insert_default().mode = mode;
        self
    }

    /// Like [`task`](Self::task), but from 2026-07-28 on a call starts inline, and becomes a task
    /// when the handler calls [`Ctx::detach`](crate::Ctx::detach).
    #[cfg(feature = "tasks")]
    #[must_use]
    pub fn detachable(mut self) -> Self {
        self.task_policy.get_or_insert_default().is_detachable = true;
        self
    }

    /// Runs the handler of an unfinished task again after a restart of the server, if the
    /// [store](crate::ServerBuilder::task_store) is persistent. Input responses and results of [memoized
    /// steps](crate::Ctx::memoize) are available in the next run; all other work happens again.
    #[cfg(feature = "tasks")]
    #[must_use]
    pub fn resumable(mut self) -> Self {
        self.task_policy.get_or_insert_default().is_resumable = true;
        self
    }

    /// Returns the definition for the latest revision.
    pub fn definition(&self) -> &mcp_types::Tool {
        &self.definition
    }

    pub(crate) fn register(self, state: S) -> Result<ToolEntry, RegistrationError> {
        let name = &self.definition.name;
        let fail = |problem: String| RegistrationError::new(format!("tool {name:?}: {problem}"));
        check_name(name).map_err(fail)?;
        check_icons(self.definition.icons.iter().flatten()).map_err(fail)?;
        if let Some(scope) = &self.scope {
            check_scope(scope).map_err(fail)?;
        }
        if let Some(problem) = self.problem {
            return Err(fail(problem));
        }
        let compile = |schema: &JsonObject| {
            let compiled = Validator::compile(schema, Origin::Own).map(Arc::new);
            compiled.map_err(|error| fail(error.to_string()))
        };
        let schema = &self.definition.input_schema;
        let input = match self.input {
            Input::None => InputCheck::Empty,
            Input::Decoder => InputCheck::Decoder,
            Input::Schema => InputCheck::Schema(compile(schema)?, schema.clone()),
        };
        let header_params = HeaderParams::of(schema).map_err(fail)?;
        let output = self.definition.output_schema.as_ref().map(compile);
        let output = output.transpose()?.map(|validator| OutputCheck {
            validator,
            always_object: self.wrapped.is_none(),
        });
        #[cfg(feature = "tasks")]
        let definition = {
            let mut definition = self.definition;
            definition.execution = self
                .task_policy
                .map(|task_policy| ToolExecution::new().with_task_support(task_policy.support()));
            definition
        };
        #[cfg(not(feature = "tasks"))]
        let definition = self.definition;
        let name = definition.name.clone();
        Ok(ToolEntry {
            // A middleware may read `_meta`.
            keeps_context: self.keeps_context || !self.layers.is_empty(),
            // Middleware does not see arguments that were refused.
            takes_errors: self.takes_errors && self.layers.is_empty(),
            run: layered::<ForTool>(
                self.layers,
                (self.bind)(state, self.blocking),
                method::TOOLS_CALL,
                move |_| ("name", name.clone()),
            ),
            definition,
            input,
            output,
            wrapped: self.wrapped,
            scope: self.scope,
            header_params: (!header_params.is_empty()).then(|| Arc::new(header_params)),
            visible: self.visible,
            #[cfg(feature = "tasks")]
            task_policy: self.task_policy,
        })
    }
}

/// Adds to `spec` the parts of the definition that follow from the types of the handler. Returns whether the handler keeps the
/// request context. The compiler infers `H` and `M` from the first argument.
fn describe<S, M, H: Handler<ForTool, S, M>>(_: &H, spec: &mut Spec) -> bool {
    H::describe(spec);
    H::KEEPS_CONTEXT
}

fn no_parameters() -> JsonObject {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    with_properties(&mut schema);
    schema.insert("additionalProperties".into(), false.into());
    schema
}

pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    if (1..=128).contains(&name.len()) && name.bytes().all(legal) {
        return Ok(());
    }
    Err("a tool name must have 1 to 128 characters out of A-Z a-z 0-9 _ - .".to_owned())
}

/// Checks that a scope consists of tokens of RFC 6749, section 3.3.
fn check_scope(scope: &str) -> Result<(), String> {
    let legal = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    let mut words = scope.split(' ');
    if words.all(|word| !word.is_empty() && word.bytes().all(legal)) {
        return Ok(());
    }
    Err(format!(
        "the scope {scope:?} must consist of words separated by single spaces"
    ))
}

impl<S> fmt::Debug for Tool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// A registered tool.
pub(crate) struct ToolEntry {
    pub(crate) definition: mcp_types::Tool,
    pub(crate) run: Erased<ForTool>,
    /// Whether the handler may use the request context while it runs, and not only while its parameters are extracted.
    pub(crate) keeps_context: bool,
    pub(crate) input: InputCheck,
    /// Whether the handler runs even if its arguments are invalid.
    pub(crate) takes_errors: bool,
    pub(crate) output: Option<OutputCheck>,
    pub(crate) wrapped: Option<JsonObject>,
    pub(crate) scope: Option<String>,
    pub(crate) header_params: Option<Arc<HeaderParams>>,
    pub(crate) visible: Option<Visible>,
    #[cfg(feature = "tasks")]
    pub(crate) task_policy: Option<TaskPolicy>,
}

pub(crate) enum InputCheck {
    Empty,
    Decoder,
    Schema(Arc<Validator>, JsonObject),
}

impl InputCheck {
    /// Checks the arguments against the rules that their decoder does not check. Returns the arguments for the handler. An
    /// optional member with the value `null` is left out if the schema does not admit `null`.
    pub(crate) fn check<'a>(
        &self,
        arguments: &'a str,
        session: &Session,
    ) -> Result<Cow<'a, str>, String> {
        match self {
            Self::Decoder => Ok(arguments.into()),
            Self::Empty => match mcp_jsonrpc::members(arguments).next() {
                None => Ok(arguments.into()),
                Some(Ok((name, _))) => {
                    let name = quote(name, 64);
                    // Some model APIs do not support an empty schema, so their hosts invent an argument.
                    match session.tolerates(Deviation::UnexpectedArgument, name) {
                        true => Ok("{}".into()),
                        false => Err(format!("{name}: the tool takes no arguments")),
                    }
                }
                Some(Err(error)) => Err(error.to_string()),
            },
            Self::Schema(validator, schema) => {
                let mut value: Value = mcp_jsonrpc::decode(arguments).map_err(|e| e.to_string())?;
                let Err(problem) = validate(validator, &value) else {
                    return Ok(arguments.into());
                };
                // Some models send `null` instead of omitting a member.
                match without_nulls(&mut value, schema) {
                    true => validate(validator, &value).map(|()| value.to_string().into()),
                    false => Err(problem),
                }
            }
        }
    }
}
