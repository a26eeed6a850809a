//! A request before it is written to the transport, and its response.

pub(crate) mod meta;
pub(crate) mod progress;
pub(crate) mod round_trips;

use std::time::Duration;

use mcp_jsonrpc::{RawJson, is_member, members};
use mcp_protocol::{MethodName, Timeouts};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;
use progress::{Callback, ProgressEntry};

/// A request: method, params and options.
pub(crate) struct Request {
    pub(crate) method: MethodName,
    pub(crate) params: Option<Value>,
    pub(crate) options: RequestOptions,
    /// HTTP headers that echo arguments of the call.
    pub(crate) headers: Vec<(String, String)>,
    /// Whether a result with input requests is returned to the caller. Otherwise, the handlers answer the input requests.
    pub(crate) is_single: bool,
}

#[derive(Default)]
pub(crate) struct RequestOptions {
    /// Timeouts of this request; default: the timeouts of the client.
    pub(crate) timeouts: Option<Timeouts>,
    pub(crate) on_progress: Option<Callback>,
    /// Whether the request is sent even if the cache has its result.
    pub(crate) is_fresh: bool,
}

/// Defines setters for a call that has its [`RequestOptions`] in the field `$options`. With `fresh`, also defines the setter
/// `fresh`, for calls whose result can be cached.
macro_rules! option_setters {
    ($($options:ident).+, fresh) => {
        crate::request::option_setters!($($options).+);

        /// Bypasses the cache.
        pub fn fresh(mut self) -> Self {
            self.$($options).+.is_fresh = true;
            self
        }
    };
    ($($options:ident).+) => {
        /// Sets the timeouts of this call.
        pub fn timeouts(mut self, timeouts: mcp_protocol::Timeouts) -> Self {
            self.$($options).+.timeouts = Some(timeouts);
            self
        }

        /// Calls `callback` with each progress notification, in order. The callback runs on the tokio task that receives
        /// messages, so the callback must not block. Progress starts again in each round trip.
        pub fn on_progress(
            mut self,
            callback: impl FnMut(crate::Progress) + Send + 'static,
        ) -> Self {
            self.$($options).+.on_progress = Some(Box::new(callback));
            self
        }
    };
}
pub(crate) use option_setters;

/// The result of a request.
pub(crate) struct Outcome {
    pub(crate) raw: RawJson,
    /// Whether the result says that a task was created.
    pub(crate) is_task: bool,
    /// The entry through which the client receives the task's progress, in session-based revisions.
    pub(crate) progress: Option<ProgressEntry>,
}

impl Request {
    pub(crate) fn new(method: impl Into<MethodName>, params: Option<Value>) -> Self {
        Self {
            method: method.into(),
            params,
            options: RequestOptions::default(),
            headers: Vec::new(),
            is_single: false,
        }
    }

    /// Returns whether this request wants the call to become a task (2025-11-25).
    pub(crate) fn has_task(&self) -> bool {
        let task = self.params.as_ref().and_then(|params| params.get("task"));
        task.is_some_and(|task| !task.is_null())
    }

    pub(crate) fn set_param(&mut self, name: &str, value: Value) {
        if let Some(Value::Object(params)) = &mut self.params {
            params.insert(name.to_owned(), value);
        }
    }
}

/// Returns the JSON text of the member `name` of an object. Returns `None` if the member is missing, or if the object is
/// malformed before the member.
pub(crate) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut members = members(object).map_while(Result::ok);
    let found = members.find(|(key, _)| is_member(key, name));
    found.map(|(_, value)| value)
}

/// Waits for a response. Fails after `limit`, which is at most the idle timeout of the client.
pub(crate) async fn within_idle<T>(
    method: &str,
    limit: Duration,
    response: impl Future<Output = T>,
) -> Result<T, Error> {
    let setting = "Timeouts::idle";
    let response = tokio::time::timeout(limit, response).await;
    response.map_err(|_| Error::Timeout {
        method: method.to_owned().into(),
        setting,
        after: limit,
        reason: None,
    })
}

/// Decodes the result of `method`.
///
/// # Errors
/// [`Error::InvalidResult`] if the text does not have the shape of `T`.
pub(crate) fn decode<T: DeserializeOwned>(method: &str, raw: &RawJson) -> Result<T, Error> {
    raw.decode().map_err(|problem| Error::InvalidResult {
        method: method.to_owned().into(),
        problem,
    })
}
