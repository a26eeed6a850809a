//! Tool calls that go on as tasks.
//!
//! Specification: [tasks](https://modelcontextprotocol.io/seps/2663-tasks-extension), which are an
//! extension of 2026-07-28; [those of 2025-11-25][old] differ on the wire and not here.
//!
//! [old]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks

mod drive;
mod handover;
mod lost;
mod state;
mod watch;
mod wish;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_jsonrpc::RawJson;
use mcp_protocol::gate::Unsupported;
use mcp_protocol::{Call, Timeouts};
use mcp_types::v2026_07_28::TASKS_EXTENSION;
use mcp_types::{CallToolResult, method};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout, timeout_at};

use crate::call::decode;
use crate::client::Shared;
use crate::progress::Entry;
use crate::tools::check_output;
use crate::{Client, Error, Verdict, lock};
use drive::Drive;
use state::Snapshot;

pub(crate) use handover::send;
pub use state::TaskState;
pub(crate) use state::nested;
pub(crate) use watch::Watches;
pub(crate) use wish::Wish;

/// How long a server may take to hear that a call was given up.
const FAREWELL: Duration = Duration::from_secs(5);

/// Is told how a task stands.
pub(crate) type OnStatus = Arc<dyn Fn(&TaskState) + Send + Sync>;

/// How a tool call was taken up: see [`ToolCall::start`](crate::ToolCall::start).
#[derive(Debug)]
#[non_exhaustive]
pub enum Started {
    /// It is done already.
    Done(CallToolResult),
    /// It goes on as a task.
    Task(TaskHandle),
}

/// What it takes to come back to a task: with another connection, in another process.
///
/// Servers that know nobody by name serve everybody who knows the id: keep it like a password.
///
/// ```
/// # fn main() -> Result<(), serde_json::Error> {
/// use mcp_client::TaskTicket;
///
/// let stored = r#"{"id":"786512e2","tool":"report","created_at":"2026-08-01T10:30:00Z",
///     "poll_interval_ms":5000,"server":{"era":"modern","revision":"2026-07-28"}}"#;
/// let ticket: TaskTicket = serde_json::from_str(stored)?;
/// assert_eq!(ticket.tool(), "report");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTicket {
    id: String,
    tool: String,
    created_at: String,
    poll_interval_ms: Option<u64>,
    server: Verdict,
}

impl TaskTicket {
    /// The server's id of the task.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tool that was called.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// When the task was created, as an ISO 8601 timestamp of the server's clock.
    pub fn created_at(&self) -> &str {
        &self.created_at
    }

    /// What was found out about the server, for the [next connection](crate::Negotiation::Prior)
    /// to it.
    pub fn server(&self) -> Verdict {
        self.server
    }

    /// As much of the id as may stand in a log.
    fn shown(&self) -> String {
        self.id.chars().take(8).collect()
    }
}

impl fmt::Debug for TaskTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskTicket")
            .field("id", &format_args!("{}…", self.shown()))
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// A tool call that goes on as a task.
///
/// Dropping it leaves the task alone: it runs on, and can be [come back to](Client::task).
#[derive(Clone)]
pub struct TaskHandle {
    client: Client,
    ticket: TaskTicket,
    timeouts: Timeouts,
    on_status: Option<OnStatus>,
    meanwhile: Option<String>,
    /// How the task stood when it was created, until somebody waits for it.
    seed: Arc<Mutex<Option<Snapshot>>>,
    /// Progress may come as long as the task runs.
    _progress: Option<Arc<Entry>>,
}

impl TaskHandle {
    /// Reads the result that creates a task.
    pub(crate) fn created(
        client: &Client,
        tool: String,
        result: &RawJson,
        timeouts: Timeouts,
        progress: Option<Entry>,
    ) -> Result<Self, Error> {
        let seed = Snapshot::created(method::TOOLS_CALL, result)?;
        let poll = seed.state.poll_interval.map(|it| it.as_millis());
        let ticket = TaskTicket {
            id: seed.id.clone(),
            tool,
            created_at: seed.state.created_at.clone(),
            poll_interval_ms: poll.and_then(|it| u64::try_from(it).ok()),
            server: client.verdict(),
        };
        tracing::info!(task = ticket.shown(), tool = ?ticket.tool, "a call goes on as a task");
        Ok(Self {
            client: client.clone(),
            ticket,
            timeouts,
            on_status: None,
            meanwhile: meanwhile(result),
            seed: Arc::new(Mutex::new(Some(seed))),
            _progress: progress.map(Arc::new),
        })
    }

    pub(crate) fn resumed(client: &Client, ticket: TaskTicket) -> Self {
        Self {
            client: client.clone(),
            ticket,
            timeouts: client.shared().timeouts,
            on_status: None,
            meanwhile: None,
            seed: Arc::default(),
            _progress: None,
        }
    }

    /// What to store to come back to the task.
    pub fn ticket(&self) -> &TaskTicket {
        &self.ticket
    }

    /// What the server suggests to tell the model while the task runs (2025-11-25).
    pub fn meanwhile(&self) -> Option<&str> {
        self.meanwhile.as_deref()
    }

    /// Calls `callback` with each state that [`wait`](Self::wait) sees, when it differs from the
    /// one before. It must not block.
    #[must_use]
    pub fn on_status(mut self, callback: impl Fn(&TaskState) + Send + Sync + 'static) -> Self {
        self.on_status = Some(Arc::new(callback));
        self
    }

    pub(crate) fn with_on_status(mut self, callback: Option<OnStatus>) -> Self {
        self.on_status = callback;
        self
    }

    /// Waits for the end of the task, however long that takes: looks at it as often as the server
    /// likes, and answers what it asks with the handlers of the [`Builder`](crate::Builder). A
    /// server that goes away is asked again until the task may be forgotten or, if it has no
    /// limit, until nothing was heard for [`Timeouts::cap`].
    ///
    /// # Errors
    /// The failure of the call; [`Error::TaskCancelled`], [`Error::TaskLost`]; a question that has
    /// no answer. The task is left alone then.
    ///
    /// # Cancel safety
    /// Dropping the future drops the handlers that are answering, and leaves the task alone.
    pub async fn wait(&self) -> Result<CallToolResult, Error> {
        self.fits()?;
        let shared = self.client.shared();
        let seed = lock(&self.seed).take();
        let drive = Drive::new(shared, &self.ticket, self.timeouts, self.on_status.as_ref());
        let raw = drive.run(seed).await;
        let (task, tool) = (self.ticket.shown(), &self.ticket.tool);
        match &raw {
            Ok(_) => tracing::info!(task, ?tool, "a task was completed"),
            Err(error) => tracing::info!(task, ?tool, %error, "a task came to nothing"),
        }
        let result: CallToolResult = decode(method::TOOLS_CALL, &raw?)?;
        check_output(shared, &self.ticket.tool, &result)?;
        Ok(result)
    }

    /// How the task stands now; asks once.
    ///
    /// # Errors
    /// [`Error::TaskLost`] if the server does not know the task; as any call.
    pub async fn status(&self) -> Result<TaskState, Error> {
        self.fits()?;
        let drive = Drive::new(self.client.shared(), &self.ticket, self.timeouts, None);
        match drive.send(method::TASKS_GET, None).await? {
            Ok(text) => Ok(Snapshot::read(method::TASKS_GET, text)?.state),
            Err(refused) if lost::is_final(&refused) => {
                Err(drive.lost(refused.message.into_owned()))
            }
            Err(refused) => Err(Error::Rejected(refused)),
        }
    }

    /// Asks the server to give the task up. It may be too late for that, and a server of 2026-07-28
    /// only says that it has heard; [`wait`](Self::wait) tells what became of the task.
    ///
    /// # Errors
    /// The server refuses: it does not know the task, say, or the task has ended.
    pub async fn cancel(&self) -> Result<(), Error> {
        self.fits()?;
        let call = cancel(self.client.shared(), &self.ticket.id)?;
        let after = self.timeouts.idle.min(self.timeouts.total);
        let answer = timeout(after, call).await.map_err(|_| Error::Timeout {
            method: method::TASKS_CANCEL,
            setting: "idle",
            after,
        })?;
        answer?.map_err(Error::Rejected)?;
        Ok(())
    }

    /// The same for a call that is one await: up to the cap of its timeouts, and the task ends
    /// with it.
    pub(crate) async fn finish(self, began: Instant) -> Result<CallToolResult, Error> {
        let after = self.timeouts.total;
        let mut guard = CancelOnDrop(Some(&self));
        let result = timeout_at(began + after, self.wait()).await;
        let result = result.unwrap_or(Err(Error::Timeout {
            method: method::TOOLS_CALL,
            setting: "total",
            after,
        }));
        // What has ended cannot be given up, and nor can what is out of reach.
        if matches!(
            result,
            Ok(_)
                | Err(Error::Rejected(_)
                    | Error::Output { .. }
                    | Error::TaskCancelled { .. }
                    | Error::TaskLost { .. }
                    | Error::Closed(_))
        ) {
            guard.0 = None;
        }
        result
    }

    /// Fails if the client speaks to another era's server than the task's.
    fn fits(&self) -> Result<(), Error> {
        let (task, client) = (self.ticket.server, self.client.verdict());
        if task.era() == client.era() {
            if client.revision().is_stateless() && !self.client.shared().has_tasks() {
                let problem = "the client does not know tasks; connect it with Builder::task_calls";
                return Err(Error::Invalid(problem.to_owned()));
            }
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "the task was created in revision {}, and this server speaks {}",
            task.revision(),
            client.revision()
        )))
    }
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskHandle").field(&self.ticket).finish()
    }
}

/// Gives the task up when the call is dropped that waits for it.
struct CancelOnDrop<'a>(Option<&'a TaskHandle>);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let (Some(task), Ok(runtime)) = (self.0, tokio::runtime::Handle::try_current()) else {
            return;
        };
        let client = task.client.clone();
        let Ok(call) = cancel(client.shared(), &task.ticket.id) else {
            return;
        };
        runtime.spawn(async move {
            // The connection has to live as long.
            let _client = client;
            match timeout(FAREWELL, call).await {
                Ok(Ok(Ok(_))) => {}
                other => tracing::debug!(?other, "a task was not given up"),
            }
        });
    }
}

fn cancel(shared: &Shared, id: &str) -> Result<Call, Error> {
    // A server that has made a task since 2026-07-28 can be asked to give it up.
    if !shared.rules().stateless {
        shared.offers(method::TASKS_CANCEL)?;
    }
    Ok(drive::request(shared, id, method::TASKS_CANCEL, None))
}

/// Whether the extension of 2026-07-28 has the method.
pub(crate) fn is_of_extension(method: &str) -> bool {
    matches!(
        method,
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL
    )
}

/// Whether the server offers a method about tasks; `None` if it is about something else, or if
/// nothing but the general capability counts.
pub(crate) fn offered(shared: &Shared, method: &str) -> Option<Result<(), Unsupported>> {
    let capabilities = &shared.agreed.capabilities;
    let declared = |declared: bool, name| match declared {
        true => Ok(()),
        false => Err(Unsupported::Capability(name)),
    };
    if shared.rules().stateless {
        let extensions = capabilities.extensions.as_ref();
        let has = extensions.is_some_and(|all| all.contains_key(TASKS_EXTENSION));
        return is_of_extension(method).then(|| declared(has, TASKS_EXTENSION));
    }
    let tasks = capabilities.tasks.as_ref()?;
    match method {
        method::TASKS_LIST => Some(declared(tasks.list.is_some(), "tasks.list")),
        method::TASKS_CANCEL => Some(declared(tasks.cancel.is_some(), "tasks.cancel")),
        _ => None,
    }
}

fn meanwhile(result: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Words {
        #[serde(rename = "_meta")]
        meta: Option<mcp_types::Meta>,
    }
    let words: Words = result.decode().ok()?;
    words.meta?.model_immediate_response().map(str::to_owned)
}
