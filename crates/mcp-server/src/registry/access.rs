//! Access checks of resources: which clients may read a resource and subscribe to it.

use std::sync::Arc;

use mcp_protocol::{Outcome, Payload, Reply, Rules, downgrade};

use crate::HandlerError;
use crate::handler::layered::run_blocking;
use crate::handler::output::{Finish, IntoOutput, Kind, Plain, not_found, seal};
use crate::handler::{Call, Erased};

/// The kind of handlers that decide whether a client may read a resource, see
/// [`Resource::readable_if`](crate::Resource::readable_if).
#[derive(Debug)]
#[non_exhaustive]
pub struct ForAccess;

seal!(ForAccess, FinishAccess);

impl Kind for ForAccess {
    type Output = bool;
    type Finish = FinishAccess;
}

/// The last step of an access check. `false` becomes the error for a resource that does not exist.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FinishAccess {
    pub(crate) uri: String,
    pub(crate) rules: &'static Rules,
}

impl Finish<bool> for FinishAccess {
    fn finish(self, output: Result<bool, HandlerError>) -> Outcome {
        match output {
            Ok(true) => Ok(Payload::Empty),
            Ok(false) => Err(not_found(&self.uri, self.rules)),
            Err(error) => {
                error.log(error.is_internal(false));
                Err(downgrade::handler_error(error.into_error(), self.rules))
            }
        }
    }
}

impl IntoOutput<ForAccess, Plain> for bool {
    fn into_output(self) -> Result<Self, HandlerError> {
        Ok(self)
    }
}

/// The access check of a registered resource.
pub(crate) type AccessCheck = Erased<ForAccess>;

/// Returns a handler that runs `check` first, and `run` only if the check accepts the client.
pub(crate) fn checked<K: Kind>(
    check: AccessCheck,
    run: Erased<K>,
    finish_check: impl Fn(&K::Finish) -> FinishAccess + Send + Sync + 'static,
) -> Erased<K> {
    Arc::new(move |call: &Call<'_>, finish: K::Finish| {
        let (run, arguments) = (Arc::clone(&run), call.arguments.to_owned());
        let (context, server) = (call.context.clone(), call.server.to_boxed());
        let checked = check(call, finish_check(&finish));
        and_then(checked, move || {
            run(&Call::new(&arguments, context, &*server), finish)
        })
    })
}

/// Runs `next` if `reply` is a success. If `reply` is an error, returns this error and does not run `next`.
pub(crate) fn and_then(reply: Reply, next: impl FnOnce() -> Reply + Send + 'static) -> Reply {
    match reply {
        Reply::Ready(Ok(_)) => next(),
        Reply::Ready(Err(error)) => Reply::Ready(Err(error)),
        pending => Reply::Pending(Box::pin(async move {
            outcome(pending).await?;
            outcome(next()).await
        })),
    }
}

/// Waits for the outcome of a reply.
pub(crate) async fn outcome(reply: Reply) -> Outcome {
    match reply {
        Reply::Ready(outcome) => outcome,
        Reply::Pending(future) => future.await,
        Reply::Blocking(work) => run_blocking(work).await,
        _ => Err(mcp_jsonrpc::ErrorObject::internal(
            "this kind of handler cannot follow an access check",
        )),
    }
}
