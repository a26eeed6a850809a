//! Messages that are answered with no more than a status: notifications and answers.

use std::sync::Arc;
use std::time::Duration;

use crate::client::call::refusal::Refusal;
use crate::client::outbox::queue::{Note, Outbox};
use crate::client::session::current::Facts;
use crate::client::state::Core;
use crate::client::wire::body::ResponseBody;
use crate::client::wire::connection::Broken;
use bytes::Bytes;
use mcp_protocol::{Delivery, TransportError};
use tokio::time::{sleep, timeout};

/// How much of a body that nobody wants is read for the sake of the connection, and how long.
const SPARE_BYTES: usize = 64 << 10;
const SPARE_TIME: Duration = Duration::from_secs(1);

/// Why a message was not accepted.
pub(crate) enum Undelivered {
    /// The server does not know the session.
    SessionLost,
    Failed(TransportError),
}

/// Queues a message, and starts a task to send it if none is at work.
pub(crate) fn enqueue(
    core: &Arc<Core>,
    outbox: fn(&Core) -> &Outbox,
    note: Note,
    delivery: Delivery,
) {
    if outbox(core).push(note, delivery) {
        let shared = Arc::clone(core);
        core.tasks.spawn(async move {
            while let Some(note) = outbox(&shared).next() {
                send(&shared, note).await;
                outbox(&shared).mark_sent();
            }
        });
    }
}

async fn send(core: &Arc<Core>, note: Note) {
    // At most one more session: the next message finds out about the one after that.
    for _ in 0..2 {
        let facts = match &note.session {
            Some(facts) => Arc::clone(facts),
            None => core.session.current().await,
        };
        match deliver(core, &facts, note.message.clone()).await {
            Ok(()) => {
                if note.opens {
                    lead(core).await;
                }
                return;
            }
            Err(Undelivered::Failed(error)) => {
                tracing::warn!(%error, "a notification was not delivered");
                return;
            }
            Err(Undelivered::SessionLost) => {
                core.session_lost(&facts);
                // Opening a session says `initialized` by itself, and what belonged to the lost
                // one is of no use to the next.
                if note.opens || note.session.is_some() {
                    return;
                }
            }
        }
    }
    tracing::warn!("a notification was not delivered, the server forgot the session twice");
}

/// Starts listening, and gives that a lead: a server that asks outside the call it works on loses
/// the question if nobody listens yet.
async fn lead(core: &Arc<Core>) {
    if core.options.listen {
        core.start_listening();
        let _ = timeout(core.options.listen_lead, core.listening.answered()).await;
    }
}

/// Sends a message within a session and waits until it is accepted. What breaks on the way is
/// sent once more: nothing here does harm if it arrives twice.
pub(crate) async fn deliver(core: &Core, facts: &Facts, message: Bytes) -> Result<(), Undelivered> {
    let limit = core.options.delivery_timeout;
    let attempt = async {
        match once(core, facts, message.clone()).await {
            Err(Broken::Unreached(error) | Broken::Cut(error)) => {
                tracing::debug!(%error, "sending a message once more");
                sleep(core.options.reconnect.delay(0)).await;
                once(core, facts, message).await
            }
            done => done,
        }
    };
    match timeout(limit, attempt).await {
        Ok(Ok(done)) => done,
        Ok(Err(broken)) => Err(Undelivered::Failed(broken.into_error())),
        Err(_) => Err(Undelivered::Failed(TransportError::new(format!(
            "{} did not accept a message within {} s, the limit of \
             ClientOptions::with_delivery_timeout",
            core.wire.endpoint,
            limit.as_secs_f64()
        )))),
    }
}

async fn once(
    core: &Core,
    facts: &Facts,
    message: Bytes,
) -> Result<Result<(), Undelivered>, Broken> {
    let response = core.post(facts, message).await?;
    if response.status().is_success() {
        use_up(response.into_body()).await;
        return Ok(Ok(()));
    }
    let refusal = Refusal::read(core, response).await;
    if refusal.is_of_session(facts) {
        return Ok(Err(Undelivered::SessionLost));
    }
    let error = refusal.error(core, facts, "a message");
    Ok(Err(Undelivered::Failed(error)))
}

/// Reads a body to its end, if that is near: the connection can be used again then.
async fn use_up(mut body: ResponseBody) {
    let read = async {
        let mut read = 0;
        while let Some(Ok(data)) = body.data().await {
            read += data.len();
            if read > SPARE_BYTES {
                return;
            }
        }
    };
    let _ = timeout(SPARE_TIME, read).await;
}
