//! Running requests of the peer: their ids, their number, and their cancellation.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

use mcp_jsonrpc::{ErrorObject, Request, RequestId, quote};
use mcp_types::method;

use crate::Exchange;
use crate::sync::lock;

/// The running requests of one peer. Their number is limited, and their ids are unique.
#[derive(Debug)]
pub struct Incoming {
    limit: usize,
    running: Mutex<HashMap<RequestId, Exchange>>,
}

/// The reason why a request may not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum AdmissionError {
    /// The id belongs to a running request. The error must be sent without an id. Otherwise the peer would take it for the
    /// response to the running request.
    Duplicate(ErrorObject),
    /// The maximum number of running requests is reached.
    Full(ErrorObject),
}

impl Incoming {
    /// Creates a table for at most `limit` requests.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            running: Mutex::default(),
        }
    }

    /// Checks whether a request may start. `ping` may always start if no running request has its id.
    ///
    /// # Errors
    /// See [`AdmissionError`].
    pub fn admit(&self, request: &Request<'_>) -> Result<(), AdmissionError> {
        let id = &request.id;
        let running = lock(&self.running);
        if running.is_empty() {
            return Ok(());
        }
        if running.contains_key(id) {
            return Err(AdmissionError::Duplicate(ErrorObject::invalid_request(
                format!("request id {id} is in use by a request that is still running"),
            )));
        }
        if running.len() >= self.limit && request.method != method::PING {
            return Err(AdmissionError::Full(ErrorObject::internal(format!(
                "{} requests are in flight, which is the limit; retry after a response",
                self.limit
            ))));
        }
        Ok(())
    }

    /// Adds a request that is still running. Returns `false` without adding the request if another request with the same id was
    /// added after [`admit`](Self::admit).
    pub fn insert(&self, exchange: &Exchange) -> bool {
        use std::collections::hash_map::Entry;
        match lock(&self.running).entry(exchange.id().clone()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(exchange.clone());
                true
            }
        }
    }

    /// Removes a request; does nothing if it is not in the table.
    pub fn forget(&self, exchange: &Exchange) {
        let mut running = lock(&self.running);
        if running
            .get(exchange.id())
            .is_some_and(|running| running.is(exchange))
        {
            running.remove(exchange.id());
        }
    }

    /// Returns whether a request with this id is running.
    pub fn contains(&self, id: &RequestId) -> bool {
        lock(&self.running).contains_key(id)
    }

    /// Handles `notifications/cancelled`: cancels the exchange. Ignores malformed params and unknown
    /// ids.
    pub fn cancelled(&self, params: Option<&str>) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            request_id: RequestId,
            #[serde(default)]
            reason: Option<String>,
        }
        let Some(Ok(params)) = params.map(serde_json::from_str::<Params>) else {
            tracing::debug!("ignored a malformed notifications/cancelled");
            return;
        };
        let exchange = lock(&self.running).remove(&params.request_id);
        if let Some(exchange) = exchange {
            let reason = params.reason.unwrap_or_default();
            let reason = quote(&reason, 256);
            tracing::debug!(id = %params.request_id, %reason, "peer cancelled a request");
            exchange.cancel();
        }
    }

    /// Cancels the running requests that do not end by themselves, such as subscriptions.
    pub fn cancel_endless(&self) {
        let endless: Vec<Exchange> = lock(&self.running)
            .extract_if(|_, exchange| exchange.is_endless())
            .map(|(_, exchange)| exchange)
            .collect();
        for exchange in endless {
            exchange.cancel();
        }
    }

    /// Cancels all running requests.
    pub fn cancel_all(&self) {
        let running = std::mem::take(&mut *lock(&self.running));
        for exchange in running.into_values() {
            exchange.cancel();
        }
    }

    /// Returns the number of running requests.
    pub fn len(&self) -> usize {
        lock(&self.running).len()
    }

    /// Returns whether no request is running.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for AdmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(error) | Self::Full(error) => error.fmt(f),
        }
    }
}
