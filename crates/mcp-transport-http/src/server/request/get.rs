//! GET: opens or resumes an event stream of a session.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use mcp_jsonrpc::RequestId;

use crate::headers::LAST_EVENT_ID;
use crate::server::event_store::{Durability, EventStore, EventStoreError, Replay, StreamKey};
use crate::server::head::{McpHeaders, RequestHead, SingleHeader};
use crate::server::request::admission::{self, EVENTS};
use crate::server::response::body::{Body, event_stream};
use crate::server::response::refusal::{Refusal, interrupted_error};
use crate::server::session::events::StreamBody;
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::state::{EndpointState, SESSION_STREAM};
use crate::server::stream::SessionIdentity;
use crate::server::stream::event_id::EventId;
use crate::server::stream::frames;

impl EndpointState {
    /// Opens the standalone stream of a session, or resumes the stream that `Last-Event-ID` names.
    pub(crate) async fn listen(
        &self,
        parts: &RequestHead,
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
                     SessionLimits::max_streams_per_session; close one"
                ),
            )
        })?;
        let memory = self.stream_permit(parts, SESSION_STREAM)?;
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
        events.hold((permit, memory));
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
        for earlier in self.sessions.released(session) {
            let tag = earlier.streams.identity.map(|identity| identity.tag);
            let id = tag.and_then(|tag| EventId::parse(last.as_bytes(), tag));
            if let Some(id) = id.filter(|id| id.stream != 0) {
                return self.resume(&earlier, id).await;
            }
        }
        match identity.parse_earlier(last.as_bytes()) {
            Some((id, age)) if id.stream == 0 => {
                let mut events = self.open_standalone(session, Some(0)).await?;
                events.prepend(self.earlier_events(identity, id, age).await?);
                Ok(events)
            }
            Some((id, age)) => {
                let kept = self.rest_of_call(identity, id, age).await?;
                Ok(StreamBody::replay_only(session, kept))
            }
            None => Err(Refusal::bad_request(
                "Last-Event-ID is not an event of this session; open a new stream without it",
            )),
        }
    }

    /// Returns the events on the standalone stream after the event `id`, which was sent `age` leases ago, until this endpoint
    /// claimed the session.
    async fn earlier_events(
        &self,
        identity: &SessionIdentity,
        id: EventId,
        age: u64,
    ) -> Result<Vec<Bytes>, Refusal> {
        let Some(store) = self.shared_events() else {
            return Ok(Vec::new());
        };
        let ages = (1..).zip(identity.recent_leases().skip(1));
        let mut leases: Vec<_> = ages.take_while(|(lease, _)| *lease <= age).collect();
        leases.reverse();
        let mut events = Vec::new();
        for (lease, identity) in leases {
            let after = if lease == age { id.sequence } else { 0 };
            let key = StreamKey::new(identity.event_key, 0);
            // Messages on this stream belong to no call, so a missing one does not fail the request.
            if let Replay::Events(kept) = read(store, key, after).await? {
                events.extend(kept);
            }
        }
        Ok(events)
    }

    /// Returns the events of a call after the event `id`, which was sent `age` leases ago by an endpoint that cannot be
    /// reached. If that endpoint has not stored the response, an error is the response.
    async fn rest_of_call(
        &self,
        identity: &SessionIdentity,
        id: EventId,
        age: u64,
    ) -> Result<Vec<Bytes>, Refusal> {
        let store = self.shared_events().ok_or_else(gone)?;
        let age = usize::try_from(age).unwrap_or(usize::MAX);
        let earlier = identity.recent_leases().nth(age).ok_or_else(gone)?;
        let key = StreamKey::new(earlier.event_key, id.stream);
        let Replay::Events(mut events) = read(store, key, 0).await? else {
            return Err(gone());
        };
        let requests = events
            .first()
            .and_then(|event| frames::parse_requests(event));
        let requests = requests.ok_or_else(gone)?;
        let is_answered =
            |event: &Bytes| frames::is_response(event, &self.options.request_limits.message);
        if !events.last().is_some_and(is_answered) {
            let sequence = events.len() as u64 + 1;
            let event = unanswered(EventId { sequence, ..id }, earlier.tag, &requests);
            if let Durability::Pending(stored) = store.append(key, sequence, event.clone()) {
                stored.await.map_err(|error| unreadable(&error))?;
            }
            // The endpoint of the call may have stored its response in the meantime, which then counts.
            match read(store, key, 0).await? {
                Replay::Events(stored) if stored.len() >= events.len() => events = stored,
                _ => return Err(gone()),
            }
        }
        let seen = usize::try_from(id.sequence).unwrap_or(usize::MAX);
        Ok(events.into_iter().skip(seen).collect())
    }

    /// Returns the event store, if all endpoints share it.
    fn shared_events(&self) -> Option<&Arc<dyn EventStore>> {
        self.options
            .event_store
            .as_ref()
            .filter(|store| store.is_shared())
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
        read(store, key, after).await
    }
}

async fn read(store: &Arc<dyn EventStore>, key: StreamKey, after: u64) -> Result<Replay, Refusal> {
    let found = store.replay(key, after).await;
    found.map_err(|error| unreadable(&error))
}

fn unreadable(error: &EventStoreError) -> Refusal {
    tracing::error!(%error, "the event store failed");
    Refusal::busy("the event store cannot be used; resume again later")
}

/// Returns the last event of a stream whose endpoint has ended before it answered these requests.
fn unanswered(id: EventId, tag: u64, requests: &[RequestId]) -> Bytes {
    let mut out = b"id: ".to_vec();
    id.write(tag, &mut out);
    out.push(b'\n');
    let errors: Vec<Vec<u8>> = requests.iter().map(interrupted_error).collect();
    frames::message(&mut out, |out| match &*errors {
        [error] => out.extend_from_slice(error),
        errors => out.extend([b"[", &*errors.join(&b','), b"]"].concat()),
    });
    out.into()
}

fn gone() -> Refusal {
    Refusal::bad_request(
        "the events after Last-Event-ID are no longer stored; send the request again",
    )
}
