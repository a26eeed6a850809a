//! Parks calls and continues them.

use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use mcp_jsonrpc::{ErrorObject, decode};
use mcp_protocol::{MethodName, Outcome, Payload, RequestContext};
use tokio::time::sleep;

use super::Core;
use crate::connection::within;
use crate::parked::{ParkableCall, ParkedAt, ParkedBinding, ParkedCall, fingerprint, forward};
use crate::text::{RawResult, member};

impl Core {
    /// Runs a call until it has a response, or until its client must answer a server request.
    pub(crate) async fn run_parkable(
        self: &Arc<Self>,
        mut call: ParkableCall,
        context: &RequestContext,
    ) -> Outcome {
        let upstream = &self.upstream;
        let waited = within(&upstream.name, upstream.max_call_time(), async {
            Ok(call.wait().await)
        });
        if let Some(outcome) = waited.await? {
            return outcome;
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| {
            tracing::error!(%error, "the operating system has no random bytes");
            ErrorObject::internal("the gateway cannot create a requestState")
        })?;
        let id = BASE64URL_NOPAD.encode(&random);
        let required = match &upstream.cluster {
            None => call.required(&id),
            Some(cluster) => {
                let binding = self.binding(&call.method, call.params.as_deref(), context);
                call.required(&cluster.state(&id, upstream.parking.lifetime, &binding)?)
            }
        };
        call.caller.disconnect();
        let (core, key) = (Arc::downgrade(self), id.clone());
        let lifetime = upstream.parking.lifetime;
        let expiry = tokio::spawn(async move {
            sleep(lifetime).await;
            if let Some(core) = core.upgrade() {
                tracing::debug!("a call was cancelled: its client did not answer in time");
                core.parked.remove(&key);
            }
        });
        let parked = ParkedCall {
            bytes: call.bytes(),
            call,
            owner: context.principal().cloned(),
            client: context.owner(),
            expiry: expiry.abort_handle(),
        };
        self.parked.add(id, parked, &upstream.parking)?;
        Ok(Payload::Boxed(Box::new(RawResult(required))))
    }

    /// Returns the values to which the `requestState` of a call is bound if several processes share parked calls.
    fn binding<'a>(
        &'a self,
        method: &str,
        params: Option<&str>,
        context: &'a RequestContext,
    ) -> ParkedBinding<'a> {
        ParkedBinding {
            upstream: &self.upstream.name,
            principal: context.principal(),
            fingerprint: fingerprint(method, params),
        }
    }

    /// Continues a call with the answers of its client.
    pub(crate) async fn continue_call(
        self: &Arc<Self>,
        state: &str,
        method: &MethodName,
        params: Option<&str>,
        context: &RequestContext,
    ) -> Outcome {
        let state: String = decode(state)
            .map_err(|_| ErrorObject::invalid_params("requestState must be a string"))?;
        let id = match &self.upstream.cluster {
            None => state,
            Some(cluster) => match cluster.find(&state, &self.binding(method, params, context))? {
                ParkedAt::Here(id) => id,
                ParkedAt::Elsewhere(address) => return Err(forward(context, &address)),
            },
        };
        let mut call = self.parked.take(&id, context.principal(), method, params)?;
        call.caller.reconnect(context, params);
        if let Some(responses) = params.and_then(|params| member(params, "inputResponses")) {
            call.answer(responses);
        }
        self.run_parkable(call, context).await
    }
}
