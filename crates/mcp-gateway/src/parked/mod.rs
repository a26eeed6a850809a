//! Parked calls of stateless clients on a session-based server. A server request parks the call, until the client repeats the
//! request with the answer.

mod cluster;

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson, decode, members};
use mcp_protocol::{BoxFuture, MethodName, Outcome, Owner, Principal, lock};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::sleep;

pub use self::cluster::Cluster;
pub(crate) use self::cluster::{ParkedAt, ParkedBinding, forward, is_forwarded};
use crate::caller::{Caller, MAX_SERVER_REQUESTS, ServerRequest};
use crate::text::{ObjectText, string, without};
use crate::upstream::ParkingLimits;

/// Time to wait for further server requests after the first server request of a call, before the call is parked.
const GATHER: Duration = Duration::from_millis(5);

/// Divisor of the memory for parked calls: one client can use at most 1/`CLIENTS` of this memory.
const CLIENTS: usize = 8;

/// The params that a client adds to the request only to continue a call.
pub(crate) const CONTINUATION: [&str; 2] = ["inputResponses", "requestState"];

/// The calls that wait for their clients, by their ids.
#[derive(Default)]
pub(crate) struct ParkedCalls(Mutex<HashMap<String, ParkedCall>>);

pub(crate) struct ParkedCall {
    pub(crate) call: ParkableCall,
    pub(crate) owner: Option<Principal>,
    /// The client that the call is counted for.
    pub(crate) client: Owner,
    /// Size of the params of the call and of its server requests, in bytes.
    pub(crate) bytes: usize,
    /// Ends the call when it has waited too long.
    pub(crate) expiry: AbortHandle,
}

impl Drop for ParkedCall {
    fn drop(&mut self) {
        self.expiry.abort();
    }
}

/// A running call of a stateless client.
pub(crate) struct ParkableCall {
    pub(crate) method: MethodName,
    /// The params of the request that started the call.
    pub(crate) params: Option<RawJson>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) server_requests: mpsc::Receiver<ServerRequest>,
    /// The server requests that the client has not answered yet, by key.
    pub(crate) open: BTreeMap<String, ServerRequest>,
    /// Number of server requests so far.
    pub(crate) asked: u32,
    pub(crate) response: BoxFuture<'static, Outcome>,
}

impl ParkableCall {
    pub(crate) fn channel() -> (mpsc::Sender<ServerRequest>, mpsc::Receiver<ServerRequest>) {
        mpsc::channel(MAX_SERVER_REQUESTS)
    }

    fn add(&mut self, server_request: ServerRequest) {
        self.asked += 1;
        self.open.insert(format!("q{}", self.asked), server_request);
    }

    /// Waits for the response of the server; `None` if the client must answer server requests first.
    pub(crate) async fn wait(&mut self) -> Option<Outcome> {
        if self.open.is_empty() {
            tokio::select! {
                biased;
                outcome = &mut self.response => return Some(outcome),
                Some(server_request) = self.server_requests.recv() => self.add(server_request),
            }
        }
        let mut gathered = pin!(sleep(GATHER));
        loop {
            tokio::select! {
                biased;
                outcome = &mut self.response => return Some(outcome),
                Some(server_request) = self.server_requests.recv() => self.add(server_request),
                () = &mut gathered => break,
            }
        }
        // The server may have withdrawn its request.
        self.open
            .retain(|_, server_request| !server_request.answer.is_closed());
        None
    }

    /// Returns the size of the params of the call and of its server requests, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let size = |params: &Option<RawJson>| params.as_ref().map_or(0, |params| params.len());
        let open = self.open.values().map(|request| size(&request.params));
        size(&self.params) + open.sum::<usize>()
    }

    /// Passes the answers of the client to the server.
    pub(crate) fn answer(&mut self, responses: &str) {
        for (key, response) in members(responses).map_while(Result::ok) {
            if let Some(server_request) = self.open.remove(key) {
                // The server may have withdrawn its request.
                let _ = server_request.answer.send(Ok(RawJson::copy(response)));
            }
        }
    }

    /// Returns the `input_required` result with the open server requests.
    pub(crate) fn required(&self, state: &str) -> RawJson {
        let mut requests = ObjectText::new();
        for (key, server_request) in &self.open {
            let mut request = ObjectText::new();
            request.add("method", &string(server_request.method));
            if let Some(params) = &server_request.params {
                // The stateless revision has no id of elicitations by URL.
                request.add("params", &without(params, &["elicitationId"]));
            }
            requests.add(key, &request.finish());
        }
        let mut result = ObjectText::new();
        result.add("resultType", "\"input_required\"");
        result.add("inputRequests", &requests.finish());
        result.add("requestState", &string(state));
        RawJson::copy(&result.finish())
    }
}

/// A hash of the method and the params that must be equal in all requests of one call.
pub(crate) type Fingerprint = [u8; 32];

/// Returns the hash of a request. The order of members, and the members that only continue the call, do not change the hash.
pub(crate) fn fingerprint(method: &str, params: Option<&str>) -> Fingerprint {
    let mut params: serde_json::Value = params
        .and_then(|params| decode(params).ok())
        .unwrap_or_default();
    if let Some(params) = params.as_object_mut() {
        for name in CONTINUATION.into_iter().chain(["_meta"]) {
            params.shift_remove(name);
        }
    }
    params.sort_all_objects();
    let mut hash = Sha256::new();
    hash.update(method);
    hash.update([0]);
    hash.update(params.to_string());
    hash.finalize().into()
}

fn unknown_state() -> ErrorObject {
    ErrorObject::invalid_params(
        "requestState is unknown: the input request has expired, was answered already or belongs to another request, or its call is parked at another process of the gateway; send the original request again without requestState",
    )
}

impl ParkedCalls {
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// Ends all parked calls.
    pub(crate) fn clear(&self) {
        let calls = std::mem::take(&mut *lock(&self.0));
        // The calls are dropped after the lock is released, because their connections may close.
        drop(calls);
    }

    /// Removes the parked call that a request continues, and returns it.
    ///
    /// # Errors
    /// No call has this id, or the call belongs to another principal, or has another method or other params. Such a call stays
    /// parked.
    pub(crate) fn take(
        &self,
        id: &str,
        owner: Option<&Principal>,
        method: &str,
        params: Option<&str>,
    ) -> Result<ParkableCall, ErrorObject> {
        let mut parked = lock(&self.0);
        let known = parked.get(id).filter(|parked| {
            let call = &parked.call;
            parked.owner.as_ref() == owner
                && call.method == method
                && fingerprint(method, call.params.as_deref()) == fingerprint(method, params)
        });
        if known.is_none() {
            return Err(unknown_state());
        }
        let mut found = parked.remove(id).ok_or_else(unknown_state)?;
        let empty = ParkableCall {
            method: found.call.method.clone(),
            params: None,
            caller: Arc::clone(&found.call.caller),
            server_requests: ParkableCall::channel().1,
            open: BTreeMap::new(),
            asked: 0,
            response: Box::pin(std::future::pending()),
        };
        Ok(std::mem::replace(&mut found.call, empty))
    }

    /// Removes a call. This cancels the call at the server.
    pub(crate) fn remove(&self, id: &str) {
        // The call is dropped after the lock is released.
        let removed = lock(&self.0).remove(id);
        drop(removed);
    }

    /// Adds a call.
    ///
    /// # Errors
    /// The calls have reached a limit. The call is then dropped, which cancels it at the server.
    pub(crate) fn add(
        &self,
        id: String,
        call: ParkedCall,
        limits: &ParkingLimits,
    ) -> Result<(), ErrorObject> {
        let mut parked = lock(&self.0);
        let bytes: usize = parked.values().map(|call| call.bytes).sum();
        let of_client = parked.values().filter(|other| other.client == call.client);
        let own = of_client.fold((0, 0), |(calls, bytes), call| {
            (calls + 1, bytes + call.bytes)
        });
        let is_full = parked.len() >= limits.max_calls
            || bytes + call.bytes > limits.max_bytes
            || call.client.is_known()
                && (own.0 >= limits.max_calls_per_client
                    || own.1 + call.bytes > limits.max_bytes / CLIENTS);
        if is_full {
            return Err(ErrorObject::internal(format!(
                "too many parked calls: the limit is {} calls ({} for one client) and {} bytes ({} for one client) (ParkingLimits); continue \
                 or cancel another call first",
                limits.max_calls,
                limits.max_calls_per_client,
                limits.max_bytes,
                limits.max_bytes / CLIENTS
            )));
        }
        parked.insert(id, call);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_ignores_the_order_of_members_and_the_params_that_continue_the_call() {
        let first = fingerprint(
            "tools/call",
            Some(r#"{"name":"a","arguments":{"x":1,"y":2},"_meta":{}}"#),
        );
        let again =
            r#"{"arguments":{"y":2,"x":1},"requestState":"s","inputResponses":{},"name":"a"}"#;
        assert_eq!(first, fingerprint("tools/call", Some(again)));
        assert_ne!(first, fingerprint("prompts/get", Some(again)));
        let other = r#"{"name":"a","arguments":{"x":1,"y":3}}"#;
        assert_ne!(first, fingerprint("tools/call", Some(other)));
    }
}
