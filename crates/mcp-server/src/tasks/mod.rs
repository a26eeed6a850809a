//! Tasks: tool calls that continue after their request was answered.
//!
//! - `start` decides whether a call becomes a task and starts it.
//! - `run` polls the handler in the background and saves changes.
//! - `endpoint` handles requests about tasks.
//! - `recover` resumes or ends the unfinished tasks of an earlier process.
//!
//! `task_table` holds the tasks that run in this process.
//!
//! Specification: [tasks][core], [the extension][extension].
//!
//! [core]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
//! [extension]: https://modelcontextprotocol.io/seps/2663-tasks-extension

mod endpoint;
mod link;
mod record;
mod recover;
mod requests;
mod run;
mod start;
mod subscribe;
mod wire;

pub(crate) use start::ToolInvocation;
