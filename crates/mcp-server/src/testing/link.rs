//! The connection between a server and the client of a test.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;

use mcp_jsonrpc::{ErrorObject, RawJson};
use mcp_protocol::{Call, Caller, Closed, Delivery, Extras, Link, MethodName, RequestOrigin, lock};
use serde_json::Value;

/// A function that receives the method and params of a server request or input request, and returns the result.
pub(super) type Answers = Arc<dyn Fn(&str, &Value) -> Result<Value, ErrorObject> + Send + Sync>;

/// The notifications that a client has received, each with its method and params.
#[derive(Default)]
pub(super) struct Notifications(Mutex<Received>);

#[derive(Default)]
struct Received {
    notifications: Vec<(String, Value)>,
    waiting: Vec<Waker>,
}

impl Notifications {
    pub(super) fn all(&self) -> Vec<(String, Value)> {
        lock(&self.0).notifications.clone()
    }

    fn add(&self, method: &str, params: Value) {
        let mut received = lock(&self.0);
        received.notifications.push((method.to_owned(), params));
        let waiting = std::mem::take(&mut received.waiting);
        drop(received);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Calls `read` for each notification from index `position` on, until `read` returns a value, and returns this value.
    /// Afterwards `position` is the index after that notification. If `read` returns no value, registers the waker for the next
    /// notification.
    pub(super) fn find<T>(
        &self,
        position: &mut usize,
        waker: Option<&Waker>,
        read: impl Fn(&str, &Value) -> Option<T>,
    ) -> Option<T> {
        let mut received = lock(&self.0);
        while let Some((method, params)) = received.notifications.get(*position) {
            *position += 1;
            if let Some(found) = read(method, params) {
                return Some(found);
            }
        }
        received.waiting.extend(waker.cloned());
        None
    }
}

/// The link of one request.
pub(super) struct TestLink {
    pub(super) answers: Answers,
    pub(super) notifications: Arc<Notifications>,
    pub(super) caller: OnceLock<Arc<Caller>>,
}

impl Link for TestLink {
    fn notify(&self, method: &str, params: Option<&[u8]>, _: Delivery) -> Result<(), Closed> {
        let params = params.and_then(|text| serde_json::from_slice(text).ok());
        self.notifications.add(method, params.unwrap_or_default());
        Ok(())
    }

    fn request_with(&self, method: MethodName, params: Option<Vec<u8>>, _: Extras) -> Call {
        let params = params.and_then(|text| serde_json::from_slice(&text).ok());
        let answer = (self.answers)(&method, &params.unwrap_or_default());
        Call::new(async move { Ok(answer.map(|answer| RawJson::copy(&answer.to_string()))) })
    }

    fn origin(&self) -> RequestOrigin<'_> {
        let caller = self.caller.get();
        caller.map_or_else(RequestOrigin::local, |caller| caller.origin())
    }
}

impl fmt::Debug for TestLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestLink")
    }
}
