//! Calls that take several requests, because the client cannot be asked while one runs.
//!
//! Specification: [multi round-trip requests][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr

#[cfg(feature = "seal")]
mod state_keys;
#[cfg(not(feature = "seal"))]
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

#[cfg(feature = "seal")]
pub use self::state_keys::StateKeys;
#[cfg(not(feature = "seal"))]
pub(crate) use self::state_keys::StateKeys;

/// What one round brings: the answers of the client, and the state of earlier rounds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RoundTrip<'a> {
    pub(crate) responses: Option<&'a str>,
    pub(crate) state: Option<&'a str>,
}

impl RoundTrip<'_> {
    /// Whether there were questions before.
    pub(crate) fn is_retry(&self) -> bool {
        self.responses.is_some() || self.state.is_some()
    }
}

/// A call that may ask.
pub(crate) struct MultiRoundTrip {
    pending: Arc<PendingInput>,
    keys: Arc<StateKeys>,
    principal: Option<Principal>,
}

/// Which call it is, so that the state of another one is refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallBinding<'a> {
    pub(crate) method: &'static str,
    pub(crate) target: &'a str,
    pub(crate) arguments: &'a str,
}

impl MultiRoundTrip {
    /// Takes up the call, if its revision asks this way.
    pub(crate) fn begin(
        round_trip: RoundTrip<'_>,
        context: &mut RequestContext,
        keys: &Arc<StateKeys>,
        binding: CallBinding<'_>,
    ) -> Result<Option<Self>, ErrorObject> {
        if !context.rules().stateless {
            return Ok(None);
        }
        let invalid = |what: String| ErrorObject::invalid_params(format!("invalid params: {what}"));
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
                // One error for all: what exactly failed is nobody's business.
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

    /// Lets the call stop where it asks.
    pub(crate) fn wrap(self, reply: Reply, binding: CallBinding<'_>) -> Reply {
        match reply {
            Reply::Pending(handler) => Reply::Pending(Box::pin(self.suspendable(handler, binding))),
            reply => reply,
        }
    }

    /// The handler of the call, which may stop where it asks.
    pub(crate) fn suspendable(
        self,
        handler: BoxFuture<'static, Outcome>,
        binding: CallBinding<'_>,
    ) -> SuspendableHandler {
        let Self {
            pending,
            keys,
            principal,
        } = self;
        let method = binding.method;
        let [target, arguments] = [binding.target, binding.arguments].map(str::to_owned);
        let stop = move |required: Result<InputRequired, PendingInputError>| {
            let required = required.map_err(|error| ErrorObject::internal(error.to_string()))?;
            let state = match required.call_state {
                None => None,
                Some(call_state) => {
                    let text = serde_json::to_vec(&call_state)
                        .map_err(|_| ErrorObject::internal("the state of the call is no JSON"))?;
                    let binding = CallBinding {
                        method,
                        target: &target,
                        arguments: &arguments,
                    };
                    Some(keys.encrypt(&text, &binding.to_bytes(principal.as_ref()))?)
                }
            };
            input_required(required.requests, state)
        };
        SuspendableHandler::new(handler, pending, stop)
    }
}

impl CallBinding<'_> {
    /// What the state of a call is bound to, without ambiguity.
    fn to_bytes(&self, principal: Option<&Principal>) -> Vec<u8> {
        // Written anew, because a client may order and space them otherwise when it asks again.
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

/// The result that asks.
#[expect(clippy::unnecessary_wraps, reason = "it is an outcome")]
pub(crate) fn input_required(requests: JsonObject, state: Option<String>) -> Outcome {
    let mut result = Map::new();
    result.insert("resultType".into(), "input_required".into());
    result.insert("inputRequests".into(), Value::Object(requests));
    if let Some(state) = state {
        result.insert("requestState".into(), state.into());
    }
    Ok(Payload::of(Value::Object(result)))
}
