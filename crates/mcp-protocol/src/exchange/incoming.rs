//! Requests of the peer that run: ids, admission, cancellation.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

use mcp_jsonrpc::{ErrorObject, Request, RequestId};
use mcp_types::method;

use crate::Exchange;
use crate::sync::lock;

/// The requests of one peer that run: at most a number of them, each id once.
#[derive(Debug)]
pub struct Incoming {
    limit: usize,
    running: Mutex<HashMap<RequestId, Exchange>>,
}

/// Why a request may not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum AdmissionError {
    /// Its id belongs to a request that runs. The error must be sent without the id, or the
    /// peer would take it for the answer to that one.
    Duplicate(ErrorObject),
    /// As many run as may.
    Full(ErrorObject),
}

impl Incoming {
    /// A table for at most `limit` requests.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            running: Mutex::default(),
        }
    }

    /// Whether a request may start. Ping always may, as long as its id is free.
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
                "{} requests are in flight, the limit; send again when one is answered",
                self.limit
            ))));
        }
        Ok(())
    }

    /// Puts a request on the table that was not answered at once. `false` if another one took
    /// its id since it was admitted; that one stays.
    pub fn insert(&self, exchange: &Exchange) -> bool {
        use std::collections::hash_map::Entry;
        match lock(&self.running).entry(exchange.id().clone()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(exchange.clone());
                true
            }
        }
    }

    /// Takes a request off the table; it is a no-op for one that is not on it.
    pub fn forget(&self, exchange: &Exchange) {
        let mut running = lock(&self.running);
        if running.get(exchange.id()).is_some_and(|it| it.is(exchange)) {
            running.remove(exchange.id());
        }
    }

    /// Whether a request of this id runs.
    pub fn contains(&self, id: &RequestId) -> bool {
        lock(&self.running).contains_key(id)
    }

    /// `notifications/cancelled`: ends the exchange; anything malformed or unknown is ignored.
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
            let reason: String = reason.chars().take(256).collect();
            tracing::debug!(id = %params.request_id, ?reason, "peer cancelled a request");
            exchange.cancel();
        }
    }

    /// Cancels everything that runs.
    pub fn cancel_all(&self) {
        let running = std::mem::take(&mut *lock(&self.running));
        for exchange in running.into_values() {
            exchange.cancel();
        }
    }

    /// How many run.
    pub fn len(&self) -> usize {
        lock(&self.running).len()
    }

    /// Whether none runs.
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
