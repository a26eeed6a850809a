//! What the generated method markers implement.

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use crate::generated::methods::method::*;

/// See [`TaskNotification`](crate::v2026_07_28::TaskNotification), which an extension adds.
pub const NOTIFICATIONS_TASKS: &str = "notifications/tasks";
/// See [`UpdateTaskRequest`](crate::v2026_07_28::UpdateTaskRequest), which an extension adds.
pub const TASKS_UPDATE: &str = "tasks/update";

/// Who may send a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two sides")]
pub enum Direction {
    /// Only the client sends it.
    ClientToServer,
    /// Only the server sends it.
    ServerToClient,
    /// Either side sends it.
    Both,
}

/// A request: its method name and the types that travel with it.
///
/// The generated markers implement it, so `call::<CallToolRequest>(params)` needs no method name. Extensions may
/// implement it for methods of their own.
pub trait Request {
    /// The method name on the wire.
    const METHOD: &'static str;
    /// Whether the request may come without params; absent ones then read as the default.
    const PARAMS_OPTIONAL: bool = false;
    /// The params.
    type Params: Serialize + DeserializeOwned + Send + 'static;
    /// The result of success.
    type Result: Serialize + DeserializeOwned + Send + 'static;
}

/// A notification: its method name and the type of its params.
pub trait Notification {
    /// The method name on the wire.
    const METHOD: &'static str;
    /// Whether the notification may come without params; absent ones then read as the default.
    const PARAMS_OPTIONAL: bool = false;
    /// The params.
    type Params: Serialize + DeserializeOwned + Send + 'static;
}
