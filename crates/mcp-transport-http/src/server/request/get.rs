//! GET and DELETE: the streams of a session outside of its calls, and its end.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};

use crate::headers::LAST_EVENT_ID;
use crate::server::request::admission::{self, EVENTS};
use crate::server::request::head::{Field, Heads};
use crate::server::response::body::{Body, event_stream};
use crate::server::response::refusal::Refusal;
use crate::server::session::{HttpSession, Listener};
use crate::server::state::Shared;
use crate::server::stream::event_id::EventId;
use crate::server::stream::events::Events;
use crate::server::stream::store::Replay;

impl Shared {
    /// GET: a stream of the session, new or come back to.
    pub(crate) async fn listen(
        self: &Arc<Self>,
        parts: &Parts,
        heads: &Heads<'_>,
    ) -> Result<Response<Body>, Refusal> {
        admission::check_accept(&parts.headers, heads, EVENTS)?;
        let session = self.session(parts, heads)?;
        let limit = self.options.session_streams;
        let listener = Listener::open(&session, limit).ok_or_else(|| {
            Refusal::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    "the session has {limit} streams open, the limit of \
                     Options::with_session_streams; close one"
                ),
            )
        })?;
        let last = Field::of(&parts.headers, &LAST_EVENT_ID);
        let last = last.text(&LAST_EVENT_ID)?.filter(|id| !id.is_empty());
        let events = match (last, session.streams.identity) {
            (Some(last), Some(identity)) => {
                let id = EventId::parse(last.as_bytes(), identity.tag).ok_or_else(|| {
                    Refusal::bad_request(
                        "Last-Event-ID is no event of this session; open a new stream without it",
                    )
                })?;
                self.resume(&session, id).await?
            }
            _ => self.carry(&session, None).await?,
        };
        let mut events = events;
        events.hold(listener);
        Ok(event_stream(Body::events(events)))
    }

    /// The stream of the session, on a new connection.
    async fn carry(
        &self,
        session: &Arc<HttpSession>,
        after: Option<u64>,
    ) -> Result<Events, Refusal> {
        let stream = &session.general;
        let (reader, after, missing) = stream.attach(after);
        let mut events = Events::new(session, Arc::clone(stream), reader);
        // What the session says outside of calls is news; a gap in it is no reason to fail.
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

    /// The rest of a stream that a connection lost.
    async fn resume(&self, session: &Arc<HttpSession>, id: EventId) -> Result<Events, Refusal> {
        if id.stream == 0 {
            return self.carry(session, Some(id.sequence)).await;
        }
        let gone = || {
            Refusal::bad_request(
                "what followed this event is not kept any more; the call cannot be completed",
            )
        };
        let Some(stream) = session.streams.find(id.stream) else {
            // Nobody speaks on it any more, so all there is is kept.
            let Replay::Events(kept) = self.replay(session, id.stream, id.sequence).await? else {
                return Err(gone());
            };
            return Ok(Events::past(session, kept));
        };
        let (reader, after, missing) = stream.attach(Some(id.sequence));
        let mut events = Events::new(session, stream, reader);
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

    async fn replay(
        &self,
        session: &HttpSession,
        stream: u32,
        after: u64,
    ) -> Result<Replay, Refusal> {
        let (Some(key), Some(store)) = (session.streams.key(stream), &self.options.store) else {
            return Ok(Replay::Gone);
        };
        store.replay(key, after).await.map_err(|error| {
            tracing::error!(%error, "the event store cannot be read");
            Refusal::busy("the events cannot be read now; come back later")
        })
    }
}
