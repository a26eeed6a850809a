// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Method names, markers that connect them to their types, and the direction of each method.

use crate::method::{self, Direction, Notification, Request};

/// The direction of a request, or `None` if the method is not a request of the schema.
pub fn request_direction(method: &str) -> Option<Direction> {
    match method {
        method::COMPLETION_COMPLETE
        | method::PROMPTS_GET
        | method::PROMPTS_LIST
        | method::RESOURCES_LIST
        | method::RESOURCES_READ
        | method::RESOURCES_TEMPLATES_LIST
        | method::SERVER_DISCOVER
        | method::SUBSCRIPTIONS_LISTEN
        | method::TOOLS_CALL
        | method::TOOLS_LIST => Some(Direction::ClientToServer),
        _ => None,
    }
}

/// The direction of a notification, or `None` if the method is not a notification of the schema.
pub fn notification_direction(method: &str) -> Option<Direction> {
    match method {
        method::NOTIFICATIONS_MESSAGE
        | method::NOTIFICATIONS_PROGRESS
        | method::NOTIFICATIONS_PROMPTS_LIST_CHANGED
        | method::NOTIFICATIONS_RESOURCES_LIST_CHANGED
        | method::NOTIFICATIONS_RESOURCES_UPDATED
        | method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED
        | method::NOTIFICATIONS_TOOLS_LIST_CHANGED => Some(Direction::ServerToClient),
        method::NOTIFICATIONS_CANCELLED => Some(Direction::Both),
        _ => None,
    }
}

/// `completion/complete`: suggests values for an argument.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>
#[derive(Debug)]
#[non_exhaustive]
pub enum CompleteRequest {}
impl Request for CompleteRequest {
    const METHOD: &'static str = method::COMPLETION_COMPLETE;
    type Params = crate::v2026_07_28::CompleteRequestParams;
    type Result = crate::v2026_07_28::CompleteResult;
}

/// `elicitation/create`: requests input from the user.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation>
#[derive(Debug)]
#[non_exhaustive]
pub enum ElicitRequest {}
impl Request for ElicitRequest {
    const METHOD: &'static str = method::ELICITATION_CREATE;
    type Params = crate::v2026_07_28::ElicitRequestParams;
    type Result = crate::v2026_07_28::ElicitResult;
}

/// `notifications/cancelled`: cancels a request.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation>
#[derive(Debug)]
#[non_exhaustive]
pub enum CancelledNotification {}
impl Notification for CancelledNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_CANCELLED;
    type Params = crate::v2026_07_28::CancelledNotificationParams;
}

/// `notifications/subscriptions/acknowledged`: confirms the start of a subscription.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#acknowledgment>
#[derive(Debug)]
#[non_exhaustive]
pub enum SubscriptionsAcknowledgedNotification {}
impl Notification for SubscriptionsAcknowledgedNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED;
    type Params = crate::v2026_07_28::SubscriptionsAcknowledgedNotificationParams;
}

/// `prompts/get`: expands a prompt.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#getting-a-prompt>
#[derive(Debug)]
#[non_exhaustive]
pub enum GetPromptRequest {}
impl Request for GetPromptRequest {
    const METHOD: &'static str = method::PROMPTS_GET;
    type Params = crate::v2026_07_28::GetPromptRequestParams;
    type Result = crate::v2026_07_28::GetPromptOutcome;
}

/// `prompts/list`: lists prompts.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#listing-prompts>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListPromptsRequest {}
impl Request for ListPromptsRequest {
    const METHOD: &'static str = method::PROMPTS_LIST;
    type Params = crate::v2026_07_28::PaginatedRequestParams;
    type Result = crate::v2026_07_28::ListPromptsResult;
}

/// `resources/list`: lists resources.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/resources#listing-resources>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListResourcesRequest {}
impl Request for ListResourcesRequest {
    const METHOD: &'static str = method::RESOURCES_LIST;
    type Params = crate::v2026_07_28::PaginatedRequestParams;
    type Result = crate::v2026_07_28::ListResourcesResult;
}

/// `resources/read`: reads a resource.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/resources#reading-resources>
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadResourceRequest {}
impl Request for ReadResourceRequest {
    const METHOD: &'static str = method::RESOURCES_READ;
    type Params = crate::v2026_07_28::ReadResourceRequestParams;
    type Result = crate::v2026_07_28::ReadResourceOutcome;
}

/// `resources/templates/list`: lists resource templates.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-templates>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListResourceTemplatesRequest {}
impl Request for ListResourceTemplatesRequest {
    const METHOD: &'static str = method::RESOURCES_TEMPLATES_LIST;
    type Params = crate::v2026_07_28::PaginatedRequestParams;
    type Result = crate::v2026_07_28::ListResourceTemplatesResult;
}

/// `roots/list`: lists the folders and files that a server may work in.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/roots#listing-roots>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListRootsRequest {}
impl Request for ListRootsRequest {
    const METHOD: &'static str = method::ROOTS_LIST;
    const PARAMS_OPTIONAL: bool = true;
    type Params = crate::v2026_07_28::ListRootsRequestParams;
    type Result = crate::v2026_07_28::ListRootsResult;
}

/// `sampling/createMessage`: requests a model call.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/sampling>
#[derive(Debug)]
#[non_exhaustive]
pub enum CreateMessageRequest {}
impl Request for CreateMessageRequest {
    const METHOD: &'static str = method::SAMPLING_CREATE_MESSAGE;
    type Params = crate::v2026_07_28::CreateMessageRequestParams;
    type Result = crate::CreateMessageResult;
}

/// `server/discover`: requests the identity and the capabilities of a server.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/discover#request>
#[derive(Debug)]
#[non_exhaustive]
pub enum DiscoverRequest {}
impl Request for DiscoverRequest {
    const METHOD: &'static str = method::SERVER_DISCOVER;
    type Params = crate::v2026_07_28::RequestParams;
    type Result = crate::v2026_07_28::DiscoverResult;
}

/// `subscriptions/listen`: subscribes to notifications; its result ends the subscription.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#opening-a-stream>
#[derive(Debug)]
#[non_exhaustive]
pub enum SubscriptionsListenRequest {}
impl Request for SubscriptionsListenRequest {
    const METHOD: &'static str = method::SUBSCRIPTIONS_LISTEN;
    type Params = crate::v2026_07_28::SubscriptionsListenRequestParams;
    type Result = crate::v2026_07_28::SubscriptionsListenResult;
}

/// `tools/call`: calls a tool.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#calling-tools>
#[derive(Debug)]
#[non_exhaustive]
pub enum CallToolRequest {}
impl Request for CallToolRequest {
    const METHOD: &'static str = method::TOOLS_CALL;
    type Params = crate::v2026_07_28::CallToolRequestParams;
    type Result = crate::v2026_07_28::CallToolOutcome;
}

/// `tools/list`: lists tools.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#listing-tools>
#[derive(Debug)]
#[non_exhaustive]
pub enum ListToolsRequest {}
impl Request for ListToolsRequest {
    const METHOD: &'static str = method::TOOLS_LIST;
    type Params = crate::v2026_07_28::PaginatedRequestParams;
    type Result = crate::v2026_07_28::ListToolsResult;
}
