//! GET: opens or resumes an event stream of a session.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};

use crate::headers::LAST_EVENT_ID;
use crate::server::request::admission::{self, EVENTS};
use crate::server::request::head::{McpHeaders, SingleHeader};
use crate::server::response::body::{Body, event_stream};
use crate::server::response::refusal::Refusal;
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::state::EndpointState;
use crate::server::stream::SessionIdentity;
use crate::server::stream::event_id::EventId;
use crate::server::stream::events::StreamBody;
use crate::server::stream::store::Replay;

impl EndpointState {
    /// Opens the standalone stream of a session, or resumes the stream that `Last-Event-ID` names.
    pub(crate) async fn listen(
        self: &Arc<Self>,
        parts: &Parts,
        mcp_headers: &McpHeaders<'_>,
        claimed: Option<&ActivityGuard>,
    ) -> Result<Response<Body>, Refusal> {
        admission::check_accept(&parts.headers, mcp_headers, EVENTS)?;
        let session = self.session(parts, mcp_headers, claimed)?;
        let limit = session.open_streams.limit();
        let permit = session.open_streams.try_acquire().ok_or_else(|| {
            Refusal::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    "the session has {limit} streams open, the limit of \
                     ServerOptions::with_max_streams_per_session; close one"
                ),
            )
        })?;
        let last = SingleHeader::of(&parts.headers, &LAST_EVENT_ID);
        let last = last.text(&LAST_EVENT_ID)?.filter(|id| !id.is_empty());
        let events = match (last, session.streams.identity) {
            (Some(last), Some(identity)) => match EventId::parse(last.as_bytes(), identity.tag) {
                Some(id) => self.resume(&session, id).await?,
                None => self.resume_earlier(&session, &identity, last).await?,
            },
            _ => self.open_standalone(&session, None).await?,
        };
        let mut events = events;
        events.hold(permit);
        Ok(event_stream(Body::events(events)))
    }

    /// Opens the standalone stream on a new connection.
    async fn open_standalone(
        &self,
        session: &Arc<HttpSession>,
        after: Option<u64>,
    ) -> Result<StreamBody, Refusal> {
        let stream = &session.standalone;
        let (reader, after, missing) = stream.attach(after);
        let mut events = StreamBody::new(session, Arc::clone(stream), reader);
        // Messages on this stream belong to no call, so a missing one does not fail the request.
        if missing > 0
            && let Replay::Events(kept) = self.replay(session, 0, after).await?
        {
            events.replay(
                after,
                kept.into_iter().take(usize::try_from(missing).unwrap_or(0)),
            );
        }
        Ok(events)
    }

    /// Resumes a stream after the event `id`.
    async fn resume(&self, session: &Arc<HttpSession>, id: EventId) -> Result<StreamBody, Refusal> {
        if id.stream == 0 {
            return self.open_standalone(session, Some(id.sequence)).await;
        }
        let Some(stream) = session.streams.find(id.stream) else {
            // The call has ended, so the store has all its events.
            let Replay::Events(kept) = self.replay(session, id.stream, id.sequence).await? else {
                return Err(gone());
            };
            return Ok(StreamBody::replay_only(session, kept));
        };
        let (reader, after, missing) = stream.attach(Some(id.sequence));
        let mut events = StreamBody::new(session, stream, reader);
        if missing > 0 {
            let Replay::Events(kept) = self.replay(session, id.stream, after).await? else {
                return Err(gone());
            };
            events.replay(
                after,
                kept.into_iter().take(usize::try_from(missing).unwrap_or(0)),
            );
        }
        Ok(events)
    }

    /// Resumes a stream of an earlier lease. A stream of a call is available only at the endpoint that
    /// runs the call.
    async fn resume_earlier(
        &self,
        session: &Arc<HttpSession>,
        identity: &SessionIdentity,
        last: &str,
    ) -> Result<StreamBody, Refusal> {
        for earlier in self.released(session) {
            let tag = earlier.streams.identity.map(|identity| identity.tag);
            let id = tag.and_then(|tag| EventId::parse(last.as_bytes(), tag));
            if let Some(id) = id.filter(|id| id.stream != 0) {
                return self.resume(&earlier, id).await;
            }
        }
        match identity.parse_earlier(last.as_bytes()) {
            Some(id) if id.stream == 0 => self.open_standalone(session, Some(0)).await,
            Some(_) => Err(gone()),
            None => Err(Refusal::bad_request(
                "Last-Event-ID is not an event of this session; open a new stream without it",
            )),
        }
    }

    async fn replay(
        &self,
        session: &HttpSession,
        stream: u32,
        after: u64,
    ) -> Result<Replay, Refusal> {
        let (Some(key), Some(store)) =
            (session.streams.store_key(stream), &self.options.event_store)
        else {
            return Ok(Replay::Gone);
        };
        store.replay(key, after).await.map_err(|error| {
            tracing::error!(%error, "failed to read the event store");
            Refusal::busy("the event store cannot be read; resume again later")
        })
    }
}

fn gone() -> Refusal {
    Refusal::bad_request(
        "the events after Last-Event-ID are no longer stored; send the request again",
    )
}
