//! Whether a call becomes a task, and how it does.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson, decode};
use mcp_protocol::modern::{CallState, DetachOutcome, PendingInput};
use mcp_protocol::task::{Task, TaskCall};
use mcp_protocol::{BoxFuture, Exchange, Link, Outcome, Reply, RequestContext, Rules, guarded};
use mcp_types::{TaskMetadata, method};
use tokio::runtime::Handle;

use super::TaskMode;
use super::link::Line;
use super::record::{Keeper, patiently};
use super::run::Drive;
use super::run::background;
use super::table::{Live, Place, Setup, Tasks};
use super::wire::{created, declares, failed, shown, undeclared};
use crate::HandlerError;
use crate::handler::call::Call;
use crate::handler::output::{Finish, FinishTool};
use crate::registry::tool::ToolEntry;
use crate::round_trip::{Round, Rounds, Subject};
use crate::server::core::Core;
use crate::server::settings::Settings;

/// How often an answer of a client is asked for until it fits; a session answers once.
const TRIES: u32 = 8;

/// What a call becomes.
enum Way {
    Plain,
    /// A task, of this time to live if the client wants one.
    Task(Option<Duration>),
    /// A call whose handler may leave it.
    MayLeave,
}

/// A call of a tool, as far as it concerns tasks.
pub(crate) struct Called<'a> {
    pub(crate) tool: &'a Arc<ToolEntry>,
    pub(crate) arguments: &'a str,
    /// The `task` member of the params.
    pub(crate) task: Option<&'a str>,
    pub(crate) round: Round<'a>,
    pub(crate) meta: Option<&'a str>,
}

impl Core {
    /// What a call comes to that has to do with tasks; `None` if it is a call like any other.
    pub(crate) fn begin(
        self: &Arc<Self>,
        called: &Called<'_>,
        context: &RequestContext,
        settings: &Settings,
    ) -> Result<Option<Reply>, ErrorObject> {
        match self.way(called, context)? {
            Way::Plain => Ok(None),
            Way::Task(ttl) => {
                // Where a client waits for either, bad arguments are not worth a task.
                if context.rules().stateless
                    && let Err(problem) = called.tool.input.check(called.arguments)
                {
                    let problem = Err(HandlerError::arguments(problem));
                    let outcome = finish(called.tool, context.rules()).finish(problem);
                    return Ok(Some(Reply::Ready(outcome)));
                }
                let runtime = runtime()?;
                let seed = Seed::new(self, called, context, ttl)?;
                let future = seed.start(runtime, Arc::clone(called.tool));
                Ok(Some(Reply::Pending(Box::pin(future))))
            }
            Way::MayLeave => self.leaving(called, context, settings).map(Some),
        }
    }

    fn way(&self, called: &Called<'_>, context: &RequestContext) -> Result<Way, ErrorObject> {
        let rules = context.rules();
        let tool = &called.tool.definition.name;
        let refused = |what: &str| {
            let message = format!("tool {tool:?} {what}");
            Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message))
        };
        let Some(plan) = called.tool.plan else {
            // TASK-031: who declares no tasks does not look at the member.
            let is_asked = rules.tasks && called.task.is_some();
            return if is_asked && self.has_tasks() {
                refused("does not run as a task; call it without one")
            } else {
                Ok(Way::Plain)
            };
        };
        let is_required = plan.mode == TaskMode::Required;
        if rules.stateless {
            return match (declares(context), is_required) {
                (true, _) if plan.detaches => Ok(Way::MayLeave),
                (true, _) => Ok(Way::Task(None)),
                (false, true) => Err(undeclared()),
                (false, false) => Ok(Way::Plain),
            };
        }
        match called.task.filter(|_| rules.tasks) {
            Some(task) => {
                let wanted: TaskMetadata = decode(task).map_err(|error| {
                    ErrorObject::invalid_params(format!("invalid params: /task: {error}"))
                })?;
                Ok(Way::Task(wanted.ttl.map(Duration::from_millis)))
            }
            None if is_required => refused("runs as a task only; send the member \"task\""),
            None => Ok(Way::Plain),
        }
    }

    /// Whether some tool may run as a task.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tools.snapshot().all().any(|tool| tool.plan.is_some())
    }

    /// A call whose handler may leave it.
    fn leaving(
        self: &Arc<Self>,
        called: &Called<'_>,
        context: &RequestContext,
        settings: &Settings,
    ) -> Result<Reply, ErrorObject> {
        let Called {
            tool,
            arguments,
            round,
            ..
        } = *called;
        let finish = finish(tool, context.rules());
        if let Err(problem) = tool.input.check(arguments) {
            let problem = Err(HandlerError::arguments(problem));
            return Ok(Reply::Ready(finish.finish(problem)));
        }
        let runtime = runtime()?;
        let mut seed = Seed::new(self, called, context, None)?;
        let subject = Subject {
            method: method::TOOLS_CALL,
            target: &tool.definition.name,
            arguments,
        };
        let Some(rounds) = Rounds::take_up(round, &mut seed.context, &settings.keys, subject)?
        else {
            return Err(ErrorObject::internal("the call cannot be left"));
        };
        let call = Call::new(arguments, seed.context.clone());
        let handler = match (tool.run)(&call, finish) {
            Reply::Pending(handler) => handler,
            reply => return Ok(reply),
        };
        let attached = Attached {
            exchange: seed.context.exchange().clone(),
            line: Arc::clone(&seed.line),
        };
        let leave = move |handler| -> BoxFuture<'static, DetachOutcome> {
            Box::pin(seed.clone().leave(handler, runtime.clone()))
        };
        let suspending = rounds.suspending(handler, subject).detachable(leave);
        Ok(Reply::Pending(Box::pin(async move {
            let outcome = suspending.await;
            drop(attached);
            outcome
        })))
    }
}

/// The exchange of a handler whose request lives: it ends with the request, unless the handler
/// has left.
struct Attached {
    exchange: Exchange,
    line: Arc<Line>,
}

impl Drop for Attached {
    fn drop(&mut self) {
        if !self.line.has_left() {
            self.exchange.cancel();
        }
    }
}

/// Everything a task is made from.
#[derive(Clone)]
pub(super) struct Seed {
    tasks: Arc<Tasks>,
    setup: Arc<Setup>,
    call: TaskCall,
    ttl: Duration,
    line: Arc<Line>,
    /// As the handler sees it.
    pub(super) context: RequestContext,
}

impl Seed {
    fn new(
        core: &Arc<Core>,
        called: &Called<'_>,
        context: &RequestContext,
        ttl: Option<Duration>,
    ) -> Result<Self, ErrorObject> {
        core.wake_tasks();
        let setup = core.tasks.setup();
        let session = context.session();
        let link = context.exchange().link();
        let mut call = TaskCall::new(
            method::TOOLS_CALL,
            &*called.tool.definition.name,
            RawJson::copy(called.arguments),
            session.revision(),
        );
        call.token = context.progress_token();
        call.client = session.client().cloned();
        call.capabilities = session.client_capabilities().cloned().unwrap_or_default();
        call.log_level = session.log_level();
        let origin = link.origin();
        call.local = origin.is_local();
        if let Some(grant) = origin.grant {
            call.scopes = grant.scopes().map(str::to_owned).collect();
        }
        let line = Arc::new(Line::of_request(Arc::clone(link), Arc::clone(session)));
        let id = context.exchange().id().clone();
        let way: Arc<dyn Link> = Arc::<Line>::clone(&line);
        let mut own = RequestContext::new(Exchange::new(id, way), Arc::clone(session));
        if let Some(meta) = called.meta {
            own.set_meta(meta);
        }
        Ok(Self {
            ttl: setup.options.granted(ttl),
            tasks: Arc::clone(&core.tasks),
            setup,
            call,
            line,
            context: own,
        })
    }

    /// Keeps the task and then starts its handler; completes with what answers the request.
    async fn start(mut self, runtime: Handle, tool: Arc<ToolEntry>) -> Outcome {
        let tries = if self.context.rules().stateless {
            TRIES
        } else {
            1
        };
        let pending = PendingInput::detached(CallState::default(), tries);
        self.context.set_pending_input(Arc::clone(&pending));
        let drive = self.create(pending, &runtime).await?;
        let answer = created(&drive.keeper.task, self.context.rules().stateless);
        self.line.leave(drive.keeper.task.id());
        let arguments = self.call.arguments.clone();
        let handler = run(tool, arguments, self.context, runtime.clone());
        drive.spawn(Box::pin(handler), &runtime);
        Ok(answer)
    }

    /// Takes over a handler that leaves its request.
    async fn leave(self, handler: BoxFuture<'static, Outcome>, runtime: Handle) -> DetachOutcome {
        let Some(pending) = self.context.pending_input().cloned() else {
            return DetachOutcome::Refused(
                handler,
                ErrorObject::internal("the call cannot be left"),
            );
        };
        let drive = match self.create(Arc::clone(&pending), &runtime).await {
            Ok(drive) => drive,
            Err(error) => return DetachOutcome::Refused(handler, error),
        };
        let answer = created(&drive.keeper.task, true);
        self.line.leave(drive.keeper.task.id());
        pending.set_detached(TRIES);
        drive.spawn(handler, &runtime);
        DetachOutcome::Detached(Ok(answer))
    }

    /// Keeps the task. Nobody hears of it before it is kept.
    async fn create(
        &self,
        pending: Arc<PendingInput>,
        runtime: &Handle,
    ) -> Result<Drive, ErrorObject> {
        let options = &self.setup.options;
        let recorded = pending.snapshot().call_state;
        let live = Live {
            id: crate::random::task_id()?.into(),
            owner: self.context.principal().cloned(),
            pending,
            exchange: self.context.exchange().clone(),
            ended: tokio::sync::watch::Sender::new(false),
        };
        let place = self.tasks.place(live, options.running)?;
        let id = place.live.id.clone();
        let owner = place.live.owner.clone();
        let now = options.now();
        let mut task = Task::new(id, owner, self.call.clone(), now, Some(self.ttl))
            .with_poll_interval(options.poll_interval);
        // It has just begun, so it takes this.
        let _ = task.set_call_state(recorded, now);
        let mut creating = Creating {
            setup: &self.setup,
            runtime,
            task: Some(&place),
        };
        patiently(self.setup.store.create(task.clone()))
            .await
            .map_err(|error| failed(&error))?;
        creating.task = None;
        drop(creating);
        self.tasks.sweep_from_now_on(runtime);
        let (owner, tool) = (task.owner(), &*self.call.target);
        tracing::info!(task = shown(task.id()), ?owner, tool, "task created");
        Ok(Drive {
            tasks: Arc::clone(&self.tasks),
            session: Arc::clone(self.context.session()),
            keeper: Keeper {
                setup: Arc::clone(&self.setup),
                task,
            },
            place,
        })
    }
}

/// A task that is being kept; if its request goes away meanwhile, nobody knows of it.
struct Creating<'a> {
    setup: &'a Arc<Setup>,
    runtime: &'a Handle,
    task: Option<&'a Place>,
}

impl Drop for Creating<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.task {
            let (setup, id) = (Arc::clone(self.setup), place.live.id.clone());
            background(self.runtime, async move {
                if let Err(error) = patiently(setup.store.remove(&id)).await {
                    tracing::warn!(%error, "a task that nobody knows of stays until it expires");
                }
            });
        }
    }
}

/// Runs the handler of a task.
pub(super) async fn run(
    tool: Arc<ToolEntry>,
    arguments: RawJson,
    context: RequestContext,
    runtime: Handle,
) -> Outcome {
    let finish = finish(&tool, context.rules());
    if let Err(problem) = tool.input.check(&arguments) {
        return finish.finish(Err(HandlerError::arguments(problem)));
    }
    match (tool.run)(&Call::new(&arguments, context), finish) {
        Reply::Ready(outcome) => outcome,
        Reply::Pending(handler) => handler.await,
        Reply::Blocking(work) => {
            let done = runtime.spawn_blocking(|| guarded(work).and_then(|outcome| outcome));
            done.await
                .unwrap_or_else(|_| Err(ErrorObject::internal("the handler was stopped")))
        }
        _ => Err(ErrorObject::internal("the handler cannot be run here")),
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
        .map_err(|_| ErrorObject::internal("tasks run on tokio, and there is no runtime here"))
}

impl Tasks {
    /// Removes what is expired from time to time, as long as there is a server.
    fn sweep_from_now_on(self: &Arc<Self>, runtime: &Handle) {
        const EVERY: Duration = Duration::from_secs(30);
        if self.sweeping.swap(true, Ordering::AcqRel) {
            return;
        }
        let tasks = Arc::downgrade(self);
        background(runtime, async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let Some(tasks) = tasks.upgrade() else { return };
                let setup = tasks.setup();
                drop(tasks);
                if let Err(error) = patiently(setup.store.sweep(setup.options.now())).await {
                    tracing::warn!(%error, "expired tasks cannot be removed now");
                }
            }
        });
    }
}
