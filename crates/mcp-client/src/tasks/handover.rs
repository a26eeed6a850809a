//! Calls that ask for a task and are given up before there is one (2025-11-25).
//!
//! The notification that cancels requests is not for them, and what cancels a task needs its id.
//! So a call like that is read to its answer in the background, and the task is given up then.
//!
//! Specification: [cancellation][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements

use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_jsonrpc::RawJson;
use mcp_protocol::BoxFuture;
use mcp_types::method;
use tokio::time::timeout;

use super::state::Snapshot;
use super::{FAREWELL, cancel};
use crate::exchange::{Ask, run};
use crate::{Client, Error};

type Sent = (Result<RawJson, Error>, Ask);

/// Sends what is asked for, and gives it back with the result.
///
/// # Cancel safety
/// Dropping the future cancels the request on the wire, or the task that it asks for.
pub(crate) async fn send(client: &Client, mut ask: Ask) -> Sent {
    if ask.param("task").is_none() {
        let result = run(client.shared(), &mut ask).await;
        return (result, ask);
    }
    let sender = client.clone();
    let sending: BoxFuture<'static, Sent> = Box::pin(async move {
        let result = run(sender.shared(), &mut ask).await;
        (result, ask)
    });
    let client = client.clone();
    Handover {
        client,
        sending: Some(sending),
    }
    .await
}

struct Handover {
    client: Client,
    sending: Option<BoxFuture<'static, Sent>>,
}

impl Future for Handover {
    type Output = Sent;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Sent> {
        let Some(sending) = &mut self.sending else {
            return Poll::Pending;
        };
        let sent = sending.as_mut().poll(cx);
        if sent.is_ready() {
            self.sending = None;
        }
        sent
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        let (Some(sending), Ok(runtime)) =
            (self.sending.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let client = self.client.clone();
        runtime.spawn(async move {
            // It ends by the timeouts of the call.
            let (Ok(result), Ask { created: true, .. }) = sending.await else {
                return;
            };
            let Ok(task) = Snapshot::created(method::TOOLS_CALL, &result) else {
                return;
            };
            if let Ok(call) = cancel(client.shared(), &task.id) {
                let answer = timeout(FAREWELL, call).await;
                tracing::debug!(?answer, "gave up a task that nobody waits for");
            }
        });
    }
}
