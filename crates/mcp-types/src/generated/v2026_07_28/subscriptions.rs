// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Subscriptions of a client to notifications.

use crate::v2026_07_28::RequestMeta;
use crate::{Implementation, JsonObject, Meta, RequestId};
use serde::{Deserialize, Serialize};

/// The notifications to send; absent and false both mean no.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#notification-filter>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// Whether to notify when the list of prompts changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts_list_changed: Option<bool>,
    /// The URIs of the resources to watch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_subscriptions: Option<Vec<String>>,
    /// Whether to notify when the list of resources changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_list_changed: Option<bool>,
    /// Whether to notify when the list of tools changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_list_changed: Option<bool>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl SubscriptionFilter {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`prompts_list_changed`](Self::prompts_list_changed).
    #[must_use]
    pub fn with_prompts_list_changed(mut self, prompts_list_changed: bool) -> Self {
        self.prompts_list_changed = Some(prompts_list_changed);
        self
    }

    /// Sets [`resource_subscriptions`](Self::resource_subscriptions).
    #[must_use]
    pub fn with_resource_subscriptions(mut self, resource_subscriptions: Vec<String>) -> Self {
        self.resource_subscriptions = Some(resource_subscriptions);
        self
    }

    /// Sets [`resources_list_changed`](Self::resources_list_changed).
    #[must_use]
    pub fn with_resources_list_changed(mut self, resources_list_changed: bool) -> Self {
        self.resources_list_changed = Some(resources_list_changed);
        self
    }

    /// Sets [`tools_list_changed`](Self::tools_list_changed).
    #[must_use]
    pub fn with_tools_list_changed(mut self, tools_list_changed: bool) -> Self {
        self.tools_list_changed = Some(tools_list_changed);
        self
    }
}

/// The notifications that a server will send on a subscription.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#acknowledgment>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscriptionsAcknowledgedNotificationParams {
    /// The supported part of the requested filter.
    pub notifications: SubscriptionFilter,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscriptionsAcknowledgedNotificationParams {
    /// Creates a value from its required members.
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self {
            notifications,
            meta: None,
        }
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The notifications that a client subscribes to.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#opening-a-stream>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscriptionsListenRequestParams {
    /// The notifications to send.
    pub notifications: SubscriptionFilter,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl SubscriptionsListenRequestParams {
    /// Creates a value from its required members.
    pub fn new(notifications: SubscriptionFilter, meta: RequestMeta) -> Self {
        Self {
            notifications,
            meta,
        }
    }
}

/// The result that ends a subscription from the server's side.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscriptionsListenResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta")]
    pub meta: SubscriptionsListenResultMeta,
}

impl SubscriptionsListenResult {
    /// Creates a value from its required members.
    pub fn new(meta: SubscriptionsListenResultMeta) -> Self {
        Self {
            result_type: crate::constant::Complete,
            meta,
        }
    }
}

/// The metadata of the result that ends a subscription.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscriptionsListenResultMeta {
    /// The subscription: the id of its `subscriptions/listen` request.
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    pub subscription_id: RequestId,
    /// The server software, as the server states it; not verified.
    #[serde(
        rename = "io.modelcontextprotocol/serverInfo",
        skip_serializing_if = "Option::is_none"
    )]
    pub server_info: Option<Implementation>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl SubscriptionsListenResultMeta {
    /// Creates a value from its required members.
    pub fn new(subscription_id: impl Into<RequestId>) -> Self {
        Self {
            subscription_id: subscription_id.into(),
            server_info: None,
            extra: JsonObject::new(),
        }
    }

    /// Sets [`server_info`](Self::server_info).
    #[must_use]
    pub fn with_server_info(mut self, server_info: Implementation) -> Self {
        self.server_info = Some(server_info);
        self
    }
}
