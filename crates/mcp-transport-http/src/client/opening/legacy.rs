//! The HTTP+SSE transport of 2024-11-05. It has one event stream. The first event of the stream contains the URL to which
//! messages are posted.
//!
//! The stream and that URL form one pipe, so a [`Mux`] carries the messages. The stream cannot be resumed, so the connection ends
//! with the stream.
//!
//! Specification: [backwards
//! compatibility](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ::http::StatusCode;
use bytes::Bytes;
use futures_util::future::{Either, select};
use mcp_jsonrpc::{Frame, Message, parse, quote};
use mcp_protocol::{CallError, Closed, ForwardInbound, Inbound, Link, Mux, TransportError};
use tokio::time::timeout;

use crate::client::state::ClientState;
use crate::client::wire::MAX_QUOTED;
use crate::client::wire::body::{ContentKind, EventReader};
use crate::client::wire::connection::{OutgoingRequest, RequestKind, SendError};
use crate::client::wire::url::ServerUrl;
use crate::legacy::work::spawn;
use crate::permit::Capacity;

/// Returns whether a server that responds to `initialize` with this status may support only the transport of 2024-11-05.
pub(crate) fn may_be_legacy(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    )
}

/// Opens the stream, waits for the URL, and starts to send and receive messages.
///
/// # Errors
/// Returns an error if the server has no such stream, or if the stream does not send a URL of the same origin in time.
pub(crate) async fn connect(state: &Arc<ClientState>) -> Result<Arc<Mux>, TransportError> {
    let opened = timeout(state.options.renewal_timeout, open(state)).await;
    let (events, target) = opened.map_err(|_| {
        TransportError::new(format!(
            "{} sent no endpoint event within ClientOptions::with_reinitialize_timeout",
            state.http.endpoint
        ))
    })??;
    let inbound = Arc::new(ClientSide(Arc::clone(&state.inbound)));
    let mux = Mux::new(inbound, state.options.limits.clone());
    state
        .tasks
        .spawn(carry(Arc::clone(state), Arc::clone(&mux), events, target));
    Ok(mux)
}

async fn open(state: &ClientState) -> Result<(EventReader, ServerUrl), TransportError> {
    let request = OutgoingRequest {
        kind: RequestKind::Get(None),
        ..OutgoingRequest::default()
    };
    let endpoint = &state.http.endpoint;
    let response = state
        .http
        .send(&request)
        .await
        .map_err(SendError::into_error)?;
    let status = response.status();
    if !status.is_success()
        || !matches!(
            ContentKind::of(response.headers()),
            ContentKind::EventReader
        )
    {
        let problem = format!(
            "{endpoint} answered GET with {status} instead of an event stream; check that it is the URL of an HTTP+SSE server"
        );
        return Err(TransportError::new(problem));
    }
    let mut events = EventReader::new(response.into_body(), &state.options);
    loop {
        let event = events
            .next()
            .await
            .map_err(crate::client::wire::body::ReadError::into_error)?;
        let Some(event) = event else {
            let problem = format!("{endpoint} closed its stream before the endpoint event");
            return Err(TransportError::new(problem));
        };
        if event.name != b"endpoint" {
            continue;
        }
        let said = String::from_utf8_lossy(event.data).trim().to_owned();
        let target = endpoint.join(&said).filter(|it| it.has_origin_of(endpoint));
        let target = target.ok_or_else(|| {
            // The query may contain a session id.
            let said = said.split('?').next().unwrap_or_default();
            TransportError::new(format!(
                "{endpoint} wants messages sent to {}, which is not a URL of the same origin",
                quote(said, MAX_QUOTED)
            ))
        })?;
        return Ok((events, target));
    }
}

/// Sends and receives messages until the stream ends. Then closes the connection.
async fn carry(state: Arc<ClientState>, mux: Arc<Mux>, events: EventReader, target: ServerUrl) {
    let hearing = receive(&state, &mux, events);
    let ended = match select(pin!(hearing), pin!(send(&state, &mux, &target))).await {
        Either::Left((reason, _)) => reason,
        Either::Right(((), _)) => Closed::local(),
    };
    state.close(ended);
}

/// Processes the messages from the server.
async fn receive(state: &ClientState, mux: &Arc<Mux>, mut events: EventReader) -> Closed {
    let threads = Capacity::new(state.options.blocking);
    loop {
        match events.next().await {
            Ok(Some(event)) if event.is_message() => {
                mux.receive(event.data, &mut |work| spawn(work, &threads, ()));
            }
            Ok(Some(_)) => {}
            Ok(None) => return Closed::eof().with_detail("the event stream of the session ended"),
            Err(broken) => return Closed::eof().with_detail(broken.into_error().to_string()),
        }
    }
}

/// Sends the queued messages one after the other, in order.
async fn send(state: &ClientState, mux: &Mux, target: &ServerUrl) {
    let mut lines = Vec::new();
    while poll_fn(|cx| mux.poll_output(cx, &mut lines)).await {
        let said = Bytes::from(std::mem::take(&mut lines));
        for line in said
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            if let Err(error) = deliver(state, target, said.slice_ref(line)).await {
                lost(state, mux, line, error);
            }
        }
    }
}

async fn deliver(
    state: &ClientState,
    target: &ServerUrl,
    message: Bytes,
) -> Result<(), TransportError> {
    let request = OutgoingRequest {
        kind: RequestKind::Post(message),
        ..OutgoingRequest::default()
    };
    let limit: Duration = state.options.delivery_timeout;
    let sent = timeout(limit, state.http.send_to(target, &request)).await;
    let response = sent
        .map_err(|_| {
            TransportError::new(format!(
                "{target} did not accept a message within ClientOptions::with_delivery_timeout"
            ))
        })?
        .map_err(SendError::into_error)?;
    if response.status().is_success() {
        return Ok(());
    }
    let status = response.status();
    Err(TransportError::new(format!(
        "{target} refused a message with {status}"
    )))
}

/// Fails the call whose request could not be delivered.
fn lost(state: &ClientState, mux: &Mux, line: &[u8], error: TransportError) {
    let id = match parse(line, &state.options.limits.frame) {
        Ok(Frame::Single(Message::Request(request))) => request.id,
        _ => {
            tracing::warn!(%error, "a message could not be delivered");
            return;
        }
    };
    mux.fail(&id, CallError::Failed(Arc::new(error)));
}

/// The client's [`Inbound`], with methods `opened` and `closed` that do nothing. The connection itself calls these two methods of
/// the client.
struct ClientSide(Arc<dyn Inbound>);

impl ForwardInbound for ClientSide {
    fn inner(&self) -> &dyn Inbound {
        &*self.0
    }

    fn opened(&self, _: Weak<dyn Link>) {}

    fn closed(&self, _: &Closed) {}
}
