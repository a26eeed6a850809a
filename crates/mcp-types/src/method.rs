//! Traits that the generated types of methods implement.

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use crate::generated::methods::method::*;

/// The method of [`TaskNotification`](crate::v2026_07_28::TaskNotification), which belongs to an extension.
pub const NOTIFICATIONS_TASKS: &str = "notifications/tasks";
/// The method of [`UpdateTaskRequest`](crate::v2026_07_28::UpdateTaskRequest), which belongs to an extension.
pub const TASKS_UPDATE: &str = "tasks/update";

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a connection has exactly two peers"
)]
pub enum Direction {
    /// From the client to the server.
    ClientToServer,
    /// From the server to the client.
    ServerToClient,
    /// In both directions.
    Both,
}

/// A request: its method name, its params and its result.
///
/// The generated types of requests implement this trait, so `call::<CallToolRequest>(params)` needs no method name. Extensions
/// may implement the trait for custom methods.
pub trait Request {
    /// The method name in messages.
    const METHOD: &'static str;
    /// Whether the params may be absent. Absent params are read as the default value of `Params`.
    const PARAMS_OPTIONAL: bool = false;
    /// The params.
    type Params: Serialize + DeserializeOwned + Send + 'static;
    /// The result.
    type Result: Serialize + DeserializeOwned + Send + 'static;
}

/// A notification: its method name and the type of its params.
pub trait Notification {
    /// The method name in messages.
    const METHOD: &'static str;
    /// Whether the params may be absent. Absent params are read as the default value of `Params`.
    const PARAMS_OPTIONAL: bool = false;
    /// The params.
    type Params: Serialize + DeserializeOwned + Send + 'static;
}
