//! Calls with several round trips: the client sends input responses with a new request.
//!
//! Specification: [multi round-trip requests][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr

#[cfg(feature = "state-keys")]
mod state_keys;
#[cfg(not(feature = "state-keys"))]
#[path = "state_keys_disabled.rs"]
mod state_keys;

use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, decode, text_of};
use mcp_protocol::modern::{
    CallState, InputRequired, PendingInput, PendingInputError, SuspendableHandler,
};
use mcp_protocol::{BoxFuture, Outcome, Payload, Principal, Reply, RequestContext};
use mcp_types::JsonObject;
use serde_json::{Map, Value};

#[cfg(feature = "state-keys")]
pub use self::state_keys::StateKeys;
#[cfg(not(feature = "state-keys"))]
pub(crate) use self::state_keys::StateKeys;

/// The input responses and the state of earlier round trips, as a request contains them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RoundTrip<'a> {
    pub(crate) responses: Option<&'a str>,
    pub(crate) state: Option<&'a str>,
}

impl RoundTrip<'_> {
    /// Returns whether there was an earlier round trip.
    pub(crate) fn is_retry(&self) -> bool {
        self.responses.is_some() || self.state.is_some()
    }
}

/// A call that may request input.
pub(crate) struct MultiRoundTrip {
    pending: Arc<PendingInput>,
    keys: Arc<StateKeys>,
    principal: Option<Principal>,
}

/// The data that identifies the call. The server encrypts the state together with this data, and rejects a state that belongs to
/// another call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallBinding<'a> {
    pub(crate) method: &'static str,
    pub(crate) target: &'a str,
    pub(crate) arguments: &'a str,
}

impl MultiRoundTrip {
    /// Decrypts the state and prepares the context; returns `None` in session-based revisions.
    pub(crate) fn begin(
        round_trip: RoundTrip<'_>,
        context: &mut RequestContext,
        keys: &Arc<StateKeys>,
        binding: CallBinding<'_>,
    ) -> Result<Option<Self>, ErrorObject> {
        if !context.rules().stateless {
            return Ok(None);
        }
        let invalid = ErrorObject::malformed_params;
        let responses: JsonObject = match round_trip.responses {
            None => Map::new(),
            Some(text) => {
                decode(text).map_err(|error| invalid(format!("/inputResponses: {error}")))?
            }
        };
        let principal = context.principal();
        let call_state = match round_trip.state {
            None => CallState::default(),
            Some(text) => {
                let state: Option<String> = decode(text).ok();
                let bound = binding.to_bytes(principal);
                let state = state.and_then(|state| keys.decrypt(&state, &bound));
                // The error is the same for all causes, to reveal nothing about the state.
                state
                    .and_then(|state| String::from_utf8(state).ok())
                    .and_then(|state| decode(&state).ok())
                    .ok_or_else(|| invalid("requestState is not valid for this request".into()))?
            }
        };
        let this = Self {
            pending: PendingInput::new(call_state, responses),
            keys: Arc::clone(keys),
            principal: principal.cloned(),
        };
        context.set_pending_input(Arc::clone(&this.pending));
        Ok(Some(this))
    }

    /// Wraps a pending or blocking handler so that the call ends with `input_required` when the handler waits for input.
    pub(crate) fn wrap(self, reply: Reply, binding: CallBinding<'_>) -> Reply {
        match reply {
            Reply::Pending(handler) => Reply::Pending(Box::pin(self.suspendable(handler, binding))),
            Reply::Blocking(work) => {
                let pending = Arc::clone(&self.pending);
                let stop = self.stop(binding);
                Reply::Blocking(Box::new(move || {
                    let outcome = work();
                    pending.required_by_blocking().map_or(outcome, stop)
                }))
            }
            reply => reply,
        }
    }

    /// Returns a future that polls the handler, and ends with `input_required` when the handler waits for input.
    pub(crate) fn suspendable(
        self,
        handler: BoxFuture<'static, Outcome>,
        binding: CallBinding<'_>,
    ) -> SuspendableHandler {
        let pending = Arc::clone(&self.pending);
        SuspendableHandler::new(handler, pending, self.stop(binding))
    }

    /// Returns the function that creates the response of a handler that has stopped for input.
    fn stop(
        self,
        binding: CallBinding<'_>,
    ) -> impl FnOnce(Result<InputRequired, PendingInputError>) -> Outcome + Send + 'static {
        let Self {
            keys, principal, ..
        } = self;
        let method = binding.method;
        let [target, arguments] = [binding.target, binding.arguments].map(str::to_owned);
        move |required: Result<InputRequired, PendingInputError>| {
            let required = required.map_err(|error| ErrorObject::internal(error.to_string()))?;
            let state = match required.call_state {
                None => None,
                Some(call_state) => {
                    let text = serde_json::to_vec(&call_state).map_err(|_| {
                        ErrorObject::internal(
                            "the state of the call cannot be \
                         written as JSON",
                        )
                    })?;
                    let binding = CallBinding {
                        method,
                        target: &target,
                        arguments: &arguments,
                    };
                    Some(keys.encrypt(&text, &binding.to_bytes(principal.as_ref()))?)
                }
            };
            input_required(required.requests, state)
        }
    }
}

impl CallBinding<'_> {
    /// Returns the call and the principal as bytes. Different calls or principals never give the same bytes.
    fn to_bytes(self, principal: Option<&Principal>) -> Vec<u8> {
        // Normalized, because a client may order and space the members differently in the next
        // round trip.
        let arguments = serde_json::from_str::<Value>(self.arguments)
            .map_or_else(|_| self.arguments.to_owned(), |value| text_of(&value));
        let principal = principal.map(Principal::as_str);
        let mut bound = vec![u8::from(principal.is_some())];
        for part in [
            principal.unwrap_or_default(),
            self.method,
            self.target,
            &arguments,
        ] {
            bound.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bound.extend_from_slice(part.as_bytes());
        }
        bound
    }
}

/// Returns the `input_required` result.
#[expect(clippy::unnecessary_wraps, reason = "the return type of handlers")]
pub(crate) fn input_required(requests: JsonObject, state: Option<String>) -> Outcome {
    let mut result = Map::new();
    result.insert("resultType".into(), "input_required".into());
    result.insert("inputRequests".into(), Value::Object(requests));
    if let Some(state) = state {
        result.insert("requestState".into(), state.into());
    }
    Ok(Payload::of(Value::Object(result)))
}
