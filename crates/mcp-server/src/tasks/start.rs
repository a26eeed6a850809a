//! Decides whether a call becomes a task, and starts it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson, TreeSize, decode};
use mcp_protocol::middleware::Layers;
use mcp_protocol::modern::{CallState, DetachOutcome, PendingInput};
use mcp_protocol::task::{Task, TaskCall, short_id};
use mcp_protocol::{BoxFuture, Exchange, Link, Outcome, Reply, RequestContext, Rules, guarded};
use mcp_types::{TaskMetadata, method};
use tokio::runtime::Handle;

use super::link::TaskLink;
use super::record::{TaskRecord, with_timeout};
use super::run::TaskRunner;
use super::run::background;
use super::wire::{created_result, declares_tasks, missing_extension, store_error};
use crate::Call;
use crate::TaskMode;
use crate::handler::output::FinishTool;
use crate::registry::tool::ToolEntry;
use crate::round_trip::{CallBinding, MultiRoundTrip, RoundTrip};
use crate::server::core::Core;
use crate::task_table::{RunningGuard, RunningTask, TaskConfig, Tasks};

/// Maximum number of invalid input responses from a client of the stateless revision before the tool call fails. In session-based
/// revisions, the first response is final.
const TRIES: u32 = 8;

/// The way in which a tool call is executed.
enum Execution {
    Inline,
    /// As a task, with the requested time to live.
    Task {
        ttl: Option<Duration>,
    },
    /// Inline; the handler may detach and continue as a task.
    Detachable,
}

/// A tool call, with the data that decides whether the call becomes a task and the data that the task needs.
pub(crate) struct ToolInvocation<'a> {
    pub(crate) tool: &'a Arc<ToolEntry>,
    pub(crate) arguments: &'a str,
    /// The `task` member of the params.
    pub(crate) task: Option<&'a str>,
    pub(crate) round_trip: RoundTrip<'a>,
    pub(crate) meta: Option<&'a str>,
}

impl Core {
    /// Starts a call as a task or as a detachable call. Returns `None` for an inline call.
    pub(crate) fn start_task(
        self: &Arc<Self>,
        invocation: &ToolInvocation<'_>,
        context: &RequestContext,
    ) -> Result<Option<Reply>, ErrorObject> {
        match self.execution(invocation, context)? {
            Execution::Inline => Ok(None),
            Execution::Task { ttl } => {
                // On the stateless revision the client also accepts a result, so invalid arguments create no task.
                if context.rules().stateless
                    && let Err(problem) = invocation
                        .tool
                        .input
                        .check(invocation.arguments, context.session())
                {
                    let finish = finish(invocation.tool, context.rules());
                    let outcome = self.refuse(problem, invocation, context, finish);
                    return Ok(Some(Reply::Ready(outcome)));
                }
                let runtime = runtime()?;
                let new_task = NewTask::new(self, invocation, context, ttl)?;
                let future = new_task.start(Arc::clone(self), runtime, Arc::clone(invocation.tool));
                Ok(Some(Reply::Pending(Box::pin(future))))
            }
            Execution::Detachable => self.start_detachable(invocation, context).map(Some),
        }
    }

    fn execution(
        &self,
        invocation: &ToolInvocation<'_>,
        context: &RequestContext,
    ) -> Result<Execution, ErrorObject> {
        let rules = context.rules();
        let tool = &invocation.tool.definition.name;
        let refused = |what: &str| {
            let message = format!("tool {tool:?} {what}");
            Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message))
        };
        let Some(task_policy) = invocation.tool.task_policy else {
            // TASK-031: a server that does not declare tasks ignores the `task` member.
            let is_requested = rules.tasks && invocation.task.is_some();
            return if is_requested && self.has_tasks() {
                refused("does not run as a task; call it without the member \"task\"")
            } else {
                Ok(Execution::Inline)
            };
        };
        let is_required = task_policy.mode == TaskMode::Required;
        if rules.stateless {
            return match (declares_tasks(context), is_required) {
                (true, _) if task_policy.is_detachable => Ok(Execution::Detachable),
                (true, _) => Ok(Execution::Task { ttl: None }),
                (false, true) => Err(missing_extension()),
                (false, false) => Ok(Execution::Inline),
            };
        }
        match invocation.task.filter(|_| rules.tasks) {
            Some(task) => {
                let wanted: TaskMetadata = decode(task).map_err(|error| {
                    ErrorObject::malformed_params(format_args!("/task: {error}"))
                })?;
                Ok(Execution::Task {
                    ttl: wanted.ttl.map(Duration::from_millis),
                })
            }
            None if is_required => refused("runs as a task only; send the member \"task\""),
            None => Ok(Execution::Inline),
        }
    }

    /// Returns whether a registered tool may run as a task.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tools
            .snapshot()
            .all()
            .any(|tool| tool.task_policy.is_some())
    }

    fn refuse(
        self: &Arc<Self>,
        problem: String,
        invocation: &ToolInvocation<'_>,
        context: &RequestContext,
        finish: FinishTool,
    ) -> Outcome {
        let tool = &invocation.tool.definition.name;
        let call = Call::new(invocation.arguments, context.clone(), self);
        call.refuse(problem, method::TOOLS_CALL, tool, finish)
    }

    /// Starts a call whose handler may detach.
    fn start_detachable(
        self: &Arc<Self>,
        invocation: &ToolInvocation<'_>,
        context: &RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let ToolInvocation {
            tool,
            arguments,
            round_trip,
            ..
        } = *invocation;
        let finish = finish(tool, context.rules());
        let checked = match tool.input.check(arguments, context.session()) {
            Ok(checked) => checked,
            Err(problem) => {
                let outcome = self.refuse(problem, invocation, context, finish);
                return Ok(Reply::Ready(outcome));
            }
        };
        let runtime = runtime()?;
        let mut new_task = NewTask::new(self, invocation, context, None)?;
        let binding = CallBinding {
            method: method::TOOLS_CALL,
            target: &tool.definition.name,
            arguments,
        };
        let Some(round_trips) = MultiRoundTrip::begin(
            round_trip,
            &mut new_task.context,
            &self.settings.keys,
            binding,
        )?
        else {
            return Err(ErrorObject::internal(
                "the handler cannot detach from its request in this revision",
            ));
        };
        let call = Call::new(&checked, new_task.context.clone(), self);
        let handler = match call.run(&*tool.run, binding.method, binding.target, finish) {
            Reply::Pending(handler) => handler,
            reply => return Ok(reply),
        };
        let request_guard = RequestGuard {
            exchange: new_task.context.exchange().clone(),
            task_link: Arc::clone(&new_task.task_link),
        };
        let detach = move |handler| -> BoxFuture<'static, DetachOutcome> {
            Box::pin(new_task.clone().detach(handler, runtime.clone()))
        };
        let suspendable = round_trips.suspendable(handler, binding).detachable(detach);
        Ok(Reply::Pending(Box::pin(async move {
            let outcome = suspendable.await;
            drop(request_guard);
            outcome
        })))
    }
}

/// A guard that cancels the [`Exchange`] of the handler when the request is dropped. Does nothing after the handler has detached.
struct RequestGuard {
    exchange: Exchange,
    task_link: Arc<TaskLink>,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if !self.task_link.is_detached() {
            self.exchange.cancel();
        }
    }
}

/// Returns the handler, wrapped in the middleware of its request if the request has middleware.
fn in_background(
    layers: &Option<Layers>,
    handler: BoxFuture<'static, Outcome>,
) -> BoxFuture<'static, Outcome> {
    match layers {
        Some(layers) => layers.background(handler),
        None => handler,
    }
}

/// The data from which a task is created.
#[derive(Clone)]
pub(super) struct NewTask {
    tasks: Arc<Tasks>,
    config: Arc<TaskConfig>,
    call: TaskCall,
    ttl: Duration,
    task_link: Arc<TaskLink>,
    /// The request context for the handler.
    pub(super) context: RequestContext,
    /// The middleware of the request.
    layers: Option<Layers>,
}

impl NewTask {
    fn new(
        core: &Arc<Core>,
        invocation: &ToolInvocation<'_>,
        context: &RequestContext,
        ttl: Option<Duration>,
    ) -> Result<Self, ErrorObject> {
        core.start_recovery();
        let config = Arc::clone(&core.tasks.config);
        let session = context.session();
        let link = context.link();
        let mut call = TaskCall::new(
            method::TOOLS_CALL,
            &*invocation.tool.definition.name,
            RawJson::copy(invocation.arguments),
            session.revision(),
        );
        call.token = context.progress_token();
        call.client = session.client_identity().cloned().unwrap_or_default();
        call.log_level = session.log_level();
        let origin = link.origin();
        call.local = origin.is_local();
        let is_anonymous = !call.local && origin.principal.is_none();
        if let Some(grant) = origin.grant {
            call.scopes = grant.scopes().map(str::to_owned).collect();
        }
        let task_link = Arc::new(TaskLink::of_request(link, Arc::clone(session)));
        let id = context.exchange().id().clone();
        let link: Arc<dyn Link> = Arc::<TaskLink>::clone(&task_link);
        let mut task_context = RequestContext::new(Exchange::new(id, link), Arc::clone(session));
        // In sessions, an input request of a task is sent as a separate request.
        if session.revision().is_stateless() {
            task_context.continue_layers(context);
        }
        if let Some(meta) = invocation.meta {
            task_context.set_meta(meta);
        }
        Ok(Self {
            ttl: config.options.effective_ttl(ttl, is_anonymous),
            tasks: Arc::clone(&core.tasks),
            config,
            call,
            task_link,
            context: task_context,
            layers: context.layers().cloned(),
        })
    }

    /// Stores the task, starts its handler and returns the answer to the request.
    async fn start(mut self, core: Arc<Core>, runtime: Handle, tool: Arc<ToolEntry>) -> Outcome {
        let max_attempts = if self.context.rules().stateless {
            TRIES
        } else {
            1
        };
        let pending = PendingInput::detached(CallState::default(), max_attempts);
        self.context.set_pending_input(Arc::clone(&pending));
        let runner = self.create(pending, &runtime).await?;
        let answer = created_result(&runner.record.task, self.context.rules().stateless);
        self.task_link.detach(runner.record.task.id());
        let arguments = self.call.arguments.clone();
        let layers = self.layers.take();
        let handler = run(core, tool, arguments, self.context, runtime.clone());
        runner.spawn(in_background(&layers, Box::pin(handler)), &runtime);
        Ok(answer)
    }

    /// Creates the task for a running handler that detaches from its request. If the task cannot be created, returns the handler
    /// and the error.
    async fn detach(self, handler: BoxFuture<'static, Outcome>, runtime: Handle) -> DetachOutcome {
        let Some(pending) = self.context.pending_input().cloned() else {
            return DetachOutcome::Refused(
                handler,
                ErrorObject::internal(
                    "the handler cannot detach from its request in this revision",
                ),
            );
        };
        let runner = match self.create(Arc::clone(&pending), &runtime).await {
            Ok(runner) => runner,
            Err(error) => return DetachOutcome::Refused(handler, error),
        };
        let answer = created_result(&runner.record.task, true);
        self.task_link.detach(runner.record.task.id());
        pending.set_detached(TRIES);
        runner.spawn(in_background(&self.layers, handler), &runtime);
        DetachOutcome::Detached(Ok(answer))
    }

    /// Stores a new task and returns its runner. The client does not receive the id of the task before the task is stored.
    async fn create(
        &self,
        pending: Arc<PendingInput>,
        runtime: &Handle,
    ) -> Result<TaskRunner, ErrorObject> {
        let options = &self.config.options;
        let call_state = pending.snapshot().call_state;
        let running_task = RunningTask {
            id: crate::random::task_id()?.into(),
            owner: self.context.owner(),
            bytes: TreeSize::of(self.call.arguments.as_str()).heap_bytes(),
            pending,
            exchange: self.context.exchange().clone(),
            ended: tokio::sync::watch::Sender::new(false),
        };
        let guard = self.tasks.guard(running_task, Some(options))?;
        let id = guard.running_task.id.clone();
        let owner = &guard.running_task.owner;
        let now = options.now();
        let principal = owner.principal.clone();
        let mut task = Task::new(id, principal, self.call.clone(), now, Some(self.ttl))
            .with_poll_interval(options.poll_interval);
        self.tasks.count_stored(owner, &task, now, options)?;
        // A new task accepts any change.
        let _ = task.set_call_state(call_state, now);
        if let Some(lease) = self.tasks.lease()? {
            let _ = task.set_lease(lease);
        }
        let mut create_guard = CreateGuard {
            config: &self.config,
            runtime,
            task: Some(&guard),
        };
        with_timeout(self.config.store.create(task.clone()))
            .await
            .map_err(|error| store_error(&error))?;
        create_guard.task = None;
        drop(create_guard);
        self.tasks.start_sweeper(runtime);
        let (owner, tool) = (task.owner(), &*self.call.target);
        tracing::info!(task = short_id(task.id()), ?owner, tool, "task created");
        Ok(TaskRunner {
            tasks: Arc::clone(&self.tasks),
            session: Arc::clone(self.context.session()),
            record: TaskRecord {
                config: Arc::clone(&self.config),
                is_leased: task.lease().is_some(),
                task,
            },
            guard,
        })
    }
}

/// A guard that removes the task if the request is dropped while the store creates the task.
struct CreateGuard<'a> {
    config: &'a Arc<TaskConfig>,
    runtime: &'a Handle,
    task: Option<&'a RunningGuard>,
}

impl Drop for CreateGuard<'_> {
    fn drop(&mut self) {
        if let Some(guard) = self.task {
            guard.forget_stored();
            let (config, id) = (Arc::clone(self.config), guard.running_task.id.clone());
            background(self.runtime, async move {
                if let Err(error) = with_timeout(config.store.remove(&id)).await {
                    tracing::warn!(%error, "cannot remove a task whose request was dropped; it \
                     stays until it expires");
                }
            });
        }
    }
}

/// Runs the handler of a task.
pub(super) async fn run(
    core: Arc<Core>,
    tool: Arc<ToolEntry>,
    arguments: RawJson,
    context: RequestContext,
    runtime: Handle,
) -> Outcome {
    let finish = finish(&tool, context.rules());
    let checked = match tool.input.check(&arguments, context.session()) {
        Ok(checked) => checked,
        Err(problem) => {
            let (call, tool) = (Call::new(&arguments, context, &core), &tool.definition.name);
            return call.refuse(problem, method::TOOLS_CALL, tool, finish);
        }
    };
    match Call::new(&checked, context, &core).run(
        &*tool.run,
        method::TOOLS_CALL,
        &tool.definition.name,
        finish,
    ) {
        Reply::Ready(outcome) => outcome,
        Reply::Pending(handler) => handler.await,
        Reply::Blocking(work) => {
            let done = runtime.spawn_blocking(|| guarded(work).and_then(|outcome| outcome));
            done.await
                .unwrap_or_else(|_| Err(ErrorObject::internal("the runtime stopped the handler")))
        }
        _ => Err(ErrorObject::internal(
            "this kind of handler cannot run as a task",
        )),
    }
}

fn finish(tool: &ToolEntry, rules: &'static Rules) -> FinishTool {
    FinishTool {
        output: tool.output.clone(),
        rules,
    }
}

fn runtime() -> Result<Handle, ErrorObject> {
    Handle::try_current()
        .map_err(|_| ErrorObject::internal("tasks need a tokio runtime, and this thread has none"))
}

impl Tasks {
    /// Removes expired tasks at regular intervals, as long as the server exists.
    fn start_sweeper(self: &Arc<Self>, runtime: &Handle) {
        const EVERY: Duration = Duration::from_secs(30);
        if self.sweeper_started.swap(true, Ordering::AcqRel) {
            return;
        }
        let tasks = Arc::downgrade(self);
        background(runtime, async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let Some(tasks) = tasks.upgrade() else { return };
                let config = Arc::clone(&tasks.config);
                drop(tasks);
                if let Err(error) = with_timeout(config.store.sweep(config.options.now())).await {
                    tracing::warn!(%error, "cannot remove expired tasks; trying again later");
                }
            }
        });
    }
}
