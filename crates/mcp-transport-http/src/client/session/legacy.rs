//! Servers of revision 2024-11-05: a stream to listen to, and an address to send to, which the
//! stream tells first.
//!
//! The two together are a pipe, so a [`Mux`] does the work. It lives as long as the stream: such a
//! stream cannot be come back to, so its end is the end of the connection.
//!
//! Specification: [backwards compatibility](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility).

use futures_util::future::{Either, select};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use std::time::Duration;

use ::http::StatusCode;
use bytes::Bytes;
use mcp_jsonrpc::{Frame, Message, Notification, ParseError, Request, parse};
use mcp_protocol::{CallError, Closed, Exchange, Inbound, Mux, Reply, TransportError};
use tokio::time::timeout;

use crate::client::state::Core;
use crate::client::wire::connection::{Broken, Kind, Letter};
use crate::client::wire::content::Form;
use crate::client::wire::events::Events;
use crate::client::wire::service::quoted;
use crate::client::wire::url::Endpoint;
use crate::legacy::work::spawn;
use crate::threads::Threads;

/// Whether a server that answers `initialize` like this may be of that age.
pub(crate) fn may_be_old(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    )
}

/// Opens the stream, waits for the address, and starts to carry messages.
///
/// # Errors
/// There is no such stream, or it tells no address of the same origin in time.
pub(crate) async fn connect(core: &Arc<Core>) -> Result<Arc<Mux>, TransportError> {
    let opened = timeout(core.options.renewal_timeout, open(core)).await;
    let (events, target) = opened.map_err(|_| {
        TransportError::new(format!(
            "{} told no address within ClientOptions::with_renewal_timeout",
            core.wire.endpoint
        ))
    })??;
    let inbound = Arc::new(Forward(Arc::clone(&core.inbound)));
    let mux = Mux::new(inbound, core.options.limits.clone());
    core.tasks
        .spawn(carry(Arc::clone(core), Arc::clone(&mux), events, target));
    Ok(mux)
}

async fn open(core: &Core) -> Result<(Events, Endpoint), TransportError> {
    let letter = Letter {
        kind: Kind::Get(None),
        ..Letter::default()
    };
    let endpoint = &core.wire.endpoint;
    let response = core.wire.send(&letter).await.map_err(Broken::into_error)?;
    let status = response.status();
    if !status.is_success() || !matches!(Form::of(response.headers()), Form::Events) {
        let problem = format!("{endpoint} answered GET with {status} and no stream of events");
        return Err(TransportError::new(problem));
    }
    let mut events = Events::new(response.into_body(), &core.options);
    loop {
        let event = events
            .next()
            .await
            .map_err(crate::client::wire::events::Broken::into_error)?;
        let Some(event) = event else {
            let problem = format!("{endpoint} ended its stream before it told an address");
            return Err(TransportError::new(problem));
        };
        if event.name != b"endpoint" {
            continue;
        }
        let said = String::from_utf8_lossy(event.data).trim().to_owned();
        let target = endpoint.join(&said).filter(|it| it.has_origin_of(endpoint));
        let target = target.ok_or_else(|| {
            // What follows the question mark is as good as a session id.
            let said = said.split('?').next().unwrap_or_default();
            TransportError::new(format!(
                "{endpoint} wants messages sent to {}, which is no address of the same origin",
                quoted(said)
            ))
        })?;
        return Ok((events, target));
    }
}

/// Carries messages both ways until the stream ends; then the connection does.
async fn carry(core: Arc<Core>, mux: Arc<Mux>, events: Events, target: Endpoint) {
    let hearing = hear(&core, &mux, events);
    let ended = match select(pin!(hearing), pin!(send(&core, &mux, &target))).await {
        Either::Left((reason, _)) => reason,
        Either::Right(((), _)) => Closed::local(),
    };
    core.close(ended);
}

/// What the server says.
async fn hear(core: &Core, mux: &Arc<Mux>, mut events: Events) -> Closed {
    let threads = Threads::new(core.options.blocking);
    loop {
        match events.next().await {
            Ok(Some(event)) if event.is_message() => {
                mux.receive(event.data, &mut |work| spawn(work, &threads, ()));
            }
            Ok(Some(_)) => {}
            Ok(None) => return Closed::eof().with_detail("the stream of the session ended"),
            Err(broken) => return Closed::eof().with_detail(broken.into_error().to_string()),
        }
    }
}

/// What this side says, one message after the other, because their order matters.
async fn send(core: &Core, mux: &Mux, target: &Endpoint) {
    let mut lines = Vec::new();
    while poll_fn(|cx| mux.poll_output(cx, &mut lines)).await {
        let said = Bytes::from(std::mem::take(&mut lines));
        for line in said
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            if let Err(error) = deliver(core, target, said.slice_ref(line)).await {
                lost(core, mux, line, error);
            }
        }
    }
}

async fn deliver(core: &Core, target: &Endpoint, message: Bytes) -> Result<(), TransportError> {
    let letter = Letter {
        kind: Kind::Post(message),
        ..Letter::default()
    };
    let limit: Duration = core.options.delivery_timeout;
    let sent = timeout(limit, core.wire.send_to(target, &letter)).await;
    let response = sent
        .map_err(|_| {
            TransportError::new(format!(
                "{target} took no message within ClientOptions::with_delivery_timeout"
            ))
        })?
        .map_err(Broken::into_error)?;
    if response.status().is_success() {
        return Ok(());
    }
    let status = response.status();
    Err(TransportError::new(format!(
        "{target} refused a message with {status}"
    )))
}

/// A message that was not taken: if it is a request, its call fails.
fn lost(core: &Core, mux: &Mux, line: &[u8], error: TransportError) {
    let id = match parse(line, &core.options.limits.frame) {
        Ok(Frame::Single(Message::Request(request))) => request.id,
        _ => {
            tracing::warn!(%error, "a message was lost");
            return;
        }
    };
    mux.fail(&id, CallError::Failed(Arc::new(error)));
}

/// The inbound side, which hears of the beginning and the end from the connection itself.
struct Forward(Arc<dyn Inbound>);

impl Inbound for Forward {
    fn request(&self, request: &Request<'_>, exchange: Exchange) -> Reply {
        self.0.request(request, exchange)
    }

    fn notification(&self, notification: &Notification<'_>) {
        self.0.notification(notification);
    }

    fn answers(&self) -> bool {
        self.0.answers()
    }

    fn accepts_batches(&self) -> bool {
        self.0.accepts_batches()
    }

    fn unreadable(&self, frame: &[u8], error: &ParseError) -> bool {
        self.0.unreadable(frame, error)
    }

    fn deadline(&self) -> Option<Duration> {
        self.0.deadline()
    }
}
