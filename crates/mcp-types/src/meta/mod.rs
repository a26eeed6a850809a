//! The `_meta` member, its keys and their grammar.

mod grammar;
mod keys;

use std::ops::{Deref, DerefMut};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use grammar::{MetaKey, MetaKeyError, MetaKeyKind};
pub use keys::*;

use crate::{Implementation, JsonObject, ProgressToken, RelatedTaskMetadata, RequestId};

/// Free-form metadata of a message or an object. Unknown keys are kept.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/index#meta>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
// The box keeps values without metadata small. They are moved often, and most of them have none.
pub struct Meta(Box<JsonObject>);

impl Meta {
    /// Creates metadata without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry. If the key exists, replaces its value.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// Returns the progress token, if it is present and well-formed.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.entry(PROGRESS_TOKEN_KEY)
    }

    /// Sets the progress token, which requests progress notifications.
    pub fn set_progress_token(&mut self, token: impl Into<ProgressToken>) {
        self.set(PROGRESS_TOKEN_KEY, &token.into());
    }

    /// Returns the task that this message belongs to. Returns `None` if the message does not belong to a task.
    pub fn related_task(&self) -> Option<RelatedTaskMetadata> {
        self.entry(RELATED_TASK_KEY)
    }

    /// Sets the task to which this message belongs.
    pub fn set_related_task(&mut self, task_id: impl Into<String>) {
        self.set(RELATED_TASK_KEY, &RelatedTaskMetadata::new(task_id));
    }

    /// Returns the text that the model receives while the created task runs, if the server provides this text.
    pub fn model_immediate_response(&self) -> Option<&str> {
        self.0.get(MODEL_IMMEDIATE_RESPONSE_KEY)?.as_str()
    }

    /// Returns the subscription of a notification: the id of its `subscriptions/listen` request.
    pub fn subscription_id(&self) -> Option<RequestId> {
        self.entry(SUBSCRIPTION_ID_KEY)
    }

    /// Sets the subscription to which a notification belongs.
    pub fn set_subscription_id(&mut self, id: impl Into<RequestId>) {
        self.set(SUBSCRIPTION_ID_KEY, &id.into());
    }

    /// Returns the name and version of the server that created a result. They are not verified: use them for display and logs,
    /// not for decisions.
    pub fn server_info(&self) -> Option<Implementation> {
        self.entry(SERVER_INFO_KEY)
    }

    /// Sets the name and version of the server that created a result.
    pub fn set_server_info(&mut self, server: &Implementation) {
        self.set(SERVER_INFO_KEY, server);
    }

    fn entry<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        T::deserialize(self.0.get(key)?).ok()
    }

    fn set<T: Serialize>(&mut self, key: &str, value: &T) {
        // Serialization of the types above cannot fail.
        if let Ok(value) = serde_json::to_value(value) {
            self.0.insert(key.to_owned(), value);
        }
    }

    /// Returns the entries as a map.
    pub fn into_inner(self) -> JsonObject {
        *self.0
    }
}

impl Deref for Meta {
    type Target = JsonObject;

    fn deref(&self) -> &JsonObject {
        &self.0
    }
}

impl DerefMut for Meta {
    fn deref_mut(&mut self) -> &mut JsonObject {
        &mut self.0
    }
}

impl From<JsonObject> for Meta {
    fn from(entries: JsonObject) -> Self {
        Self(Box::new(entries))
    }
}

impl From<Meta> for JsonObject {
    fn from(meta: Meta) -> Self {
        *meta.0
    }
}

impl FromIterator<(String, Value)> for Meta {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        Self(Box::new(entries.into_iter().collect()))
    }
}
