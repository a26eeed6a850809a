// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Method names, markers that connect them to their types, and the direction of each method.

use crate::method::{Direction, Notification, Request};

/// The method names.
pub(crate) mod method {
    /// See [`CompleteRequest`](super::CompleteRequest).
    pub const COMPLETION_COMPLETE: &str = "completion/complete";
    /// See [`ElicitRequest`](super::ElicitRequest).
    pub const ELICITATION_CREATE: &str = "elicitation/create";
    /// See [`InitializeRequest`](super::InitializeRequest).
    pub const INITIALIZE: &str = "initialize";
    /// See [`SetLevelRequest`](super::SetLevelRequest).
    pub const LOGGING_SET_LEVEL: &str = "logging/setLevel";
    /// See [`CancelledNotification`](super::CancelledNotification).
    pub const NOTIFICATIONS_CANCELLED: &str = "notifications/cancelled";
    /// See [`ElicitationCompleteNotification`](super::ElicitationCompleteNotification).
    pub const NOTIFICATIONS_ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
    /// See [`InitializedNotification`](super::InitializedNotification).
    pub const NOTIFICATIONS_INITIALIZED: &str = "notifications/initialized";
    /// See [`LoggingMessageNotification`](super::LoggingMessageNotification).
    pub const NOTIFICATIONS_MESSAGE: &str = "notifications/message";
    /// See [`ProgressNotification`](super::ProgressNotification).
    pub const NOTIFICATIONS_PROGRESS: &str = "notifications/progress";
    /// See [`PromptListChangedNotification`](super::PromptListChangedNotification).
    pub const NOTIFICATIONS_PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
    /// See [`ResourceListChangedNotification`](super::ResourceListChangedNotification).
    pub const NOTIFICATIONS_RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
    /// See [`ResourceUpdatedNotification`](super::ResourceUpdatedNotification).
    pub const NOTIFICATIONS_RESOURCES_UPDATED: &str = "notifications/resources/updated";
    /// See [`RootsListChangedNotification`](super::RootsListChangedNotification).
    pub const NOTIFICATIONS_ROOTS_LIST_CHANGED: &str = "notifications/roots/list_changed";
    /// See [`SubscriptionsAcknowledgedNotification`](crate::v2026_07_28::SubscriptionsAcknowledgedNotification).
    pub const NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED: &str =
        "notifications/subscriptions/acknowledged";
    /// See [`TaskStatusNotification`](super::TaskStatusNotification).
    pub const NOTIFICATIONS_TASKS_STATUS: &str = "notifications/tasks/status";
    /// See [`ToolListChangedNotification`](super::ToolListChangedNotification).
    pub const NOTIFICATIONS_TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";
    /// See [`PingRequest`](super::PingRequest).
    pub const PING: &str = "ping";
    /// See [`GetPromptRequest`](super::GetPromptRequest).
    pub const PROMPTS_GET: &str = "prompts/get";
    /// See [`ListPromptsRequest`](super::ListPromptsRequest).
    pub const PROMPTS_LIST: &str = "prompts/list";
    /// See [`ListResourcesRequest`](super::ListResourcesRequest).
    pub const RESOURCES_LIST: &str = "resources/list";
    /// See [`ReadResourceRequest`](super::ReadResourceRequest).
    pub const RESOURCES_READ: &str = "resources/read";
    /// See [`SubscribeRequest`](super::SubscribeRequest).
    pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
    /// See [`ListResourceTemplatesRequest`](super::ListResourceTemplatesRequest).
    pub const RESOURCES_TEMPLATES_LIST: &str = "resources/templates/list";
    /// See [`UnsubscribeRequest`](super::UnsubscribeRequest).
    pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
    /// See [`ListRootsRequest`](super::ListRootsRequest).
    pub const ROOTS_LIST: &str = "roots/list";
    /// See [`CreateMessageRequest`](super::CreateMessageRequest).
    pub const SAMPLING_CREATE_MESSAGE: &str = "sampling/createMessage";
    /// See [`DiscoverRequest`](crate::v2026_07_28::DiscoverRequest).
    pub const SERVER_DISCOVER: &str = "server/discover";
    /// See [`SubscriptionsListenRequest`](crate::v2026_07_28::SubscriptionsListenRequest).
    pub const SUBSCRIPTIONS_LISTEN: &str = "subscriptions/listen";
    /// See [`CancelTaskRequest`](super::CancelTaskRequest).
    pub const TASKS_CANCEL: &str = "tasks/cancel";
    /// See [`GetTaskRequest`](super::GetTaskRequest).
    pub const TASKS_GET: &str = "tasks/get";
    /// See [`ListTasksRequest`](super::ListTasksRequest).
    pub const TASKS_LIST: &str = "tasks/list";
    /// See [`GetTaskPayloadRequest`](super::GetTaskPayloadRequest).
    pub const TASKS_RESULT: &str = "tasks/result";
    /// See [`CallToolRequest`](super::CallToolRequest).
    pub const TOOLS_CALL: &str = "tools/call";
    /// See [`ListToolsRequest`](super::ListToolsRequest).
    pub const TOOLS_LIST: &str = "tools/list";
}

/// The direction of a request, or `None` if the method is not a request of the schema.
pub fn request_direction(method: &str) -> Option<Direction> {
    match method {
        method::COMPLETION_COMPLETE
        | method::INITIALIZE
        | method::LOGGING_SET_LEVEL
        | method::PROMPTS_GET
        | method::PROMPTS_LIST
        | method::RESOURCES_LIST
        | method::RESOURCES_READ
        | method::RESOURCES_SUBSCRIBE
        | method::RESOURCES_TEMPLATES_LIST
        | method::RESOURCES_UNSUBSCRIBE
        | method::TOOLS_CALL
        | method::TOOLS_LIST => Some(Direction::ClientToServer),
        method::ELICITATION_CREATE | method::ROOTS_LIST | method::SAMPLING_CREATE_MESSAGE => {
            Some(Direction::ServerToClient)
        }
        method::PING
        | method::TASKS_CANCEL
        | method::TASKS_GET
        | method::TASKS_LIST
        | method::TASKS_RESULT => Some(Direction::Both),
        _ => None,
    }
}

/// The direction of a notification, or `None` if the method is not a notification of the schema.
pub fn notification_direction(method: &str) -> Option<Direction> {
    match method {
        method::NOTIFICATIONS_INITIALIZED | method::NOTIFICATIONS_ROOTS_LIST_CHANGED => {
            Some(Direction::ClientToServer)
        }
        method::NOTIFICATIONS_ELICITATION_COMPLETE
        | method::NOTIFICATIONS_MESSAGE
        | method::NOTIFICATIONS_PROMPTS_LIST_CHANGED
        | method::NOTIFICATIONS_RESOURCES_LIST_CHANGED
        | method::NOTIFICATIONS_RESOURCES_UPDATED
        | method::NOTIFICATIONS_TOOLS_LIST_CHANGED => Some(Direction::ServerToClient),
        method::NOTIFICATIONS_CANCELLED
        | method::NOTIFICATIONS_PROGRESS
        | method::NOTIFICATIONS_TASKS_STATUS => Some(Direction::Both),
        _ => None,
    }
}

/// `completion/complete`: suggests values for an argument.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
#[derive(Debug)]
#[non_exhaustive]
pub enum CompleteRequest {}
impl Request for CompleteRequest {
    const METHOD: &'static str = method::COMPLETION_COMPLETE;
    type Params = crate::CompleteRequestParams;
    type Result = crate::CompleteResult;
}

/// `elicitation/create`: requests input from the user.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug)]
#[non_exhaustive]
pub enum ElicitRequest {}
impl Request for ElicitRequest {
    const METHOD: &'static str = method::ELICITATION_CREATE;
    type Params = crate::ElicitRequestParams;
    type Result = crate::ElicitResult;
}

/// `initialize`: begins the handshake.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization>
#[derive(Debug)]
#[non_exhaustive]
pub enum InitializeRequest {}
impl Request for InitializeRequest {
    const METHOD: &'static str = method::INITIALIZE;
    type Params = crate::InitializeRequestParams;
    type Result = crate::InitializeResult;
}

/// `logging/setLevel`: sets the minimum severity of log messages.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#setting-log-level>
#[derive(Debug)]
#[non_exhaustive]
pub enum SetLevelRequest {}
impl Request for SetLevelRequest {
    const METHOD: &'static str = method::LOGGING_SET_LEVEL;
    type Params = crate::SetLevelRequestParams;
    type Result = crate::EmptyResult;
}

/// `notifications/cancelled`: cancels a request.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation>
#[derive(Debug)]
#[non_exhaustive]
pub enum CancelledNotification {}
impl Notification for CancelledNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_CANCELLED;
    type Params = crate::CancelledNotificationParams;
}

/// `notifications/elicitation/complete`: reports that an elicitation was completed outside the host.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug)]
#[non_exhaustive]
pub enum ElicitationCompleteNotification {}
impl Notification for ElicitationCompleteNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_ELICITATION_COMPLETE;
    type Params = crate::ElicitationCompleteNotificationParams;
}

/// `notifications/initialized`: ends the handshake.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization>
#[derive(Debug)]
#[non_exhaustive]
pub enum InitializedNotification {}
impl Notification for InitializedNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_INITIALIZED;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::NotificationParams;
}

/// `notifications/message`: a log message.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#log-message-notifications>
#[derive(Debug)]
#[non_exhaustive]
pub enum LoggingMessageNotification {}
impl Notification for LoggingMessageNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_MESSAGE;
    type Params = crate::LoggingMessageNotificationParams;
}

/// `notifications/progress`: reports the progress of a request.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress>
#[derive(Debug)]
#[non_exhaustive]
pub enum ProgressNotification {}
impl Notification for ProgressNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_PROGRESS;
    type Params = crate::ProgressNotificationParams;
}

/// `notifications/prompts/list_changed`: the list of prompts changed.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/prompts#list-changed-notification>
#[derive(Debug)]
#[non_exhaustive]
pub enum PromptListChangedNotification {}
impl Notification for PromptListChangedNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_PROMPTS_LIST_CHANGED;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::NotificationParams;
}

/// `notifications/resources/list_changed`: the list of resources changed.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#list-changed-notification>
#[derive(Debug)]
#[non_exhaustive]
pub enum ResourceListChangedNotification {}
impl Notification for ResourceListChangedNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_RESOURCES_LIST_CHANGED;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::NotificationParams;
}

/// `notifications/resources/updated`: a subscribed resource changed.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions>
#[derive(Debug)]
#[non_exhaustive]
pub enum ResourceUpdatedNotification {}
impl Notification for ResourceUpdatedNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_RESOURCES_UPDATED;
    type Params = crate::ResourceUpdatedNotificationParams;
}

/// `notifications/roots/list_changed`: the list of roots changed.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/roots#root-list-changes>
#[derive(Debug)]
#[non_exhaustive]
pub enum RootsListChangedNotification {}
impl Notification for RootsListChangedNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_ROOTS_LIST_CHANGED;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::NotificationParams;
}

/// `notifications/tasks/status`: the status of a task changed.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskStatusNotification {}
impl Notification for TaskStatusNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_TASKS_STATUS;
    type Params = crate::TaskStatusNotificationParams;
}

/// `notifications/tools/list_changed`: the list of tools changed.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#list-changed-notification>
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolListChangedNotification {}
impl Notification for ToolListChangedNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_TOOLS_LIST_CHANGED;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::NotificationParams;
}

/// `ping`: checks that the peer responds.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping>
#[derive(Debug)]
#[non_exhaustive]
pub enum PingRequest {}
impl Request for PingRequest {
    const METHOD: &'static str = method::PING;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::RequestParams;
    type Result = crate::EmptyResult;
}

/// `prompts/get`: expands a prompt.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/prompts#getting-a-prompt>
#[derive(Debug)]
#[non_exhaustive]
pub enum GetPromptRequest {}
impl Request for GetPromptRequest {
    const METHOD: &'static str = method::PROMPTS_GET;
    type Params = crate::GetPromptRequestParams;
    type Result = crate::GetPromptResult;
}

/// `prompts/list`: lists prompts.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/prompts#listing-prompts>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListPromptsRequest {}
impl Request for ListPromptsRequest {
    const METHOD: &'static str = method::PROMPTS_LIST;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::PaginatedRequestParams;
    type Result = crate::ListPromptsResult;
}

/// `resources/list`: lists resources.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#listing-resources>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListResourcesRequest {}
impl Request for ListResourcesRequest {
    const METHOD: &'static str = method::RESOURCES_LIST;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::PaginatedRequestParams;
    type Result = crate::ListResourcesResult;
}

/// `resources/read`: reads a resource.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#reading-resources>
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadResourceRequest {}
impl Request for ReadResourceRequest {
    const METHOD: &'static str = method::RESOURCES_READ;
    type Params = crate::ReadResourceRequestParams;
    type Result = crate::ReadResourceResult;
}

/// `resources/subscribe`: subscribes to a resource.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions>
#[derive(Debug)]
#[non_exhaustive]
pub enum SubscribeRequest {}
impl Request for SubscribeRequest {
    const METHOD: &'static str = method::RESOURCES_SUBSCRIBE;
    type Params = crate::SubscribeRequestParams;
    type Result = crate::EmptyResult;
}

/// `resources/templates/list`: lists resource templates.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#resource-templates>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListResourceTemplatesRequest {}
impl Request for ListResourceTemplatesRequest {
    const METHOD: &'static str = method::RESOURCES_TEMPLATES_LIST;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::PaginatedRequestParams;
    type Result = crate::ListResourceTemplatesResult;
}

/// `resources/unsubscribe`: ends the subscription to a resource.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions>
#[derive(Debug)]
#[non_exhaustive]
pub enum UnsubscribeRequest {}
impl Request for UnsubscribeRequest {
    const METHOD: &'static str = method::RESOURCES_UNSUBSCRIBE;
    type Params = crate::UnsubscribeRequestParams;
    type Result = crate::EmptyResult;
}

/// `roots/list`: lists the folders and files that a server may work in.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/roots#listing-roots>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListRootsRequest {}
impl Request for ListRootsRequest {
    const METHOD: &'static str = method::ROOTS_LIST;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::RequestParams;
    type Result = crate::ListRootsResult;
}

/// `sampling/createMessage`: requests a model call.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug)]
#[non_exhaustive]
pub enum CreateMessageRequest {}
impl Request for CreateMessageRequest {
    const METHOD: &'static str = method::SAMPLING_CREATE_MESSAGE;
    type Params = crate::CreateMessageRequestParams;
    type Result = crate::CreateMessageResult;
}

/// `tasks/cancel`: cancels a task.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug)]
#[non_exhaustive]
pub enum CancelTaskRequest {}
impl Request for CancelTaskRequest {
    const METHOD: &'static str = method::TASKS_CANCEL;
    type Params = crate::CancelTaskRequestParams;
    type Result = crate::CancelTaskResult;
}

/// `tasks/get`: polls a task.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug)]
#[non_exhaustive]
pub enum GetTaskRequest {}
impl Request for GetTaskRequest {
    const METHOD: &'static str = method::TASKS_GET;
    type Params = crate::GetTaskRequestParams;
    type Result = crate::GetTaskResult;
}

/// `tasks/list`: lists tasks.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListTasksRequest {}
impl Request for ListTasksRequest {
    const METHOD: &'static str = method::TASKS_LIST;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::PaginatedRequestParams;
    type Result = crate::ListTasksResult;
}

/// `tasks/result`: waits for a task and fetches its result.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug)]
#[non_exhaustive]
pub enum GetTaskPayloadRequest {}
impl Request for GetTaskPayloadRequest {
    const METHOD: &'static str = method::TASKS_RESULT;
    type Params = crate::GetTaskPayloadRequestParams;
    type Result = crate::GetTaskPayloadResult;
}

/// `tools/call`: calls a tool.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#calling-tools>
#[derive(Debug)]
#[non_exhaustive]
pub enum CallToolRequest {}
impl Request for CallToolRequest {
    const METHOD: &'static str = method::TOOLS_CALL;
    type Params = crate::CallToolRequestParams;
    type Result = crate::CallToolResult;
}

/// `tools/list`: lists tools.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#listing-tools>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListToolsRequest {}
impl Request for ListToolsRequest {
    const METHOD: &'static str = method::TOOLS_LIST;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::PaginatedRequestParams;
    type Result = crate::ListToolsResult;
}
