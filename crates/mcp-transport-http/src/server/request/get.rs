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
use crate::server::session::replayed::{ALL, PART_BYTES, ReplayMemory, Replayed, Resumed};
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::state::{EndpointState, SESSION_STREAM};
use crate::server::stream::SessionIdentity;
use crate::server::stream::event_id::EventId;
use crate::server::stream::frames;

/// Maximum number of attempts of this endpoint to end a call. The endpoint that ran the call may still be sending events, so an
/// attempt can fail.
const MAX_ATTEMPTS: u32 = 3;

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
        let last = SingleHeader::of(&parts.headers, &LAST_EVENT_ID);
        let last = last.text(&LAST_EVENT_ID)?.filter(|id| !id.is_empty());
        let replayed = last.map_or(0, |_| PART_BYTES);
        let mut memory = self.stream_permit(parts, SESSION_STREAM + replayed)?;
        let mut found = match (last, session.streams.identity) {
            (Some(last), Some(identity)) => match EventId::parse(last.as_bytes(), identity.tag) {
                Some(id) => self.resume(&session, id).await?,
                None => {
                    self.resume_earlier(parts, &session, &identity, last)
                        .await?
                }
            },
            _ => self.open_standalone(&session, None).await?,
        };
        if found.earlier.is_empty() && found.kept.is_none() {
            memory.shrink_to(memory.units() - replayed);
            found.body.hold((permit, memory));
        } else {
            found.body.hold(permit);
            let memory = ReplayMemory::new(memory, parts.owner(), replayed);
            let resumed = Resumed::new(found.earlier, (found.after, found.kept), memory);
            found.body.resume(resumed);
        }
        Ok(event_stream(Body::events(found.body)))
    }

    /// Opens the standalone stream on a new connection.
    async fn open_standalone(
        &self,
        session: &Arc<HttpSession>,
        after: Option<u64>,
    ) -> Result<OpenedStream, Refusal> {
        let stream = &session.standalone;
        let (reader, after, missing) = stream.attach(after);
        let body = StreamBody::new(session, Arc::clone(stream), reader);
        // Messages on this stream belong to no call, so a missing one does not fail the request.
        let kept = match missing {
            0 => None,
            _ => self.replay(session, 0, after, missing).await?,
        };
        Ok(OpenedStream::new(body, after, kept))
    }

    /// Resumes a stream after the event `id`.
    async fn resume(
        &self,
        session: &Arc<HttpSession>,
        id: EventId,
    ) -> Result<OpenedStream, Refusal> {
        if id.stream == 0 {
            return self.open_standalone(session, Some(id.sequence)).await;
        }
        let Some(stream) = session.streams.find(id.stream) else {
            // The call has ended, so the store has all its events.
            let kept = self.replay(session, id.stream, id.sequence, ALL);
            // If the store has no event after the last event that the client received, the response was not stored.
            let kept = kept.await?.filter(|kept| !kept.is_end()).ok_or_else(gone)?;
            return Ok(OpenedStream::new(StreamBody::ended(session), 0, Some(kept)));
        };
        // Checked before `attach`: if missed events were dropped, the stream stays on its current connection.
        let missing = stream.count_after(id.sequence);
        if missing > 0 {
            let kept = self.replay(session, id.stream, id.sequence, missing);
            kept.await?.ok_or_else(gone)?;
        }
        let (reader, after, missing) = stream.attach(Some(id.sequence));
        let body = StreamBody::new(session, stream, reader);
        let kept = match missing {
            0 => None,
            _ => Some(self.replay(session, id.stream, after, missing).await?),
        };
        let kept = kept.map(|kept| kept.ok_or_else(gone)).transpose()?;
        Ok(OpenedStream::new(body, after, kept))
    }

    /// Resumes a stream that was opened under an earlier lease of the session. If the stream belongs to a running call, only the
    /// endpoint that runs the call can resume it.
    async fn resume_earlier(
        &self,
        parts: &RequestHead,
        session: &Arc<HttpSession>,
        identity: &SessionIdentity,
        last: &str,
    ) -> Result<OpenedStream, Refusal> {
        for earlier in self.sessions.released(session) {
            let tag = earlier.streams.identity.map(|identity| identity.tag);
            let id = tag.and_then(|tag| EventId::parse(last.as_bytes(), tag));
            if let Some(id) = id.filter(|id| id.stream != 0) {
                return self.resume(&earlier, id).await;
            }
        }
        match identity.parse_earlier(last.as_bytes()) {
            Some((id, age)) if id.stream == 0 => {
                let mut found = self.open_standalone(session, Some(0)).await?;
                found.earlier = self.earlier_events(identity, id, age);
                Ok(found)
            }
            Some((id, age)) => {
                let searching = self.kept_calls.try_acquire_for(|| parts.owner());
                let _searching = searching.map_err(|_| {
                    Refusal::busy(
                        "too many streams of an endpoint that has ended are being resumed; resume again later",
                    )
                })?;
                let kept = self.rest_of_call(identity, id, age).await?;
                Ok(OpenedStream::new(StreamBody::ended(session), 0, Some(kept)))
            }
            None => Err(Refusal::bad_request(
                "Last-Event-ID is not the id of an event of this session; open a new stream without this header",
            )),
        }
    }

    /// Returns the stored events of the standalone stream that follow after the event `id` and were sent before this endpoint
    /// claimed the session. `age` says how many leases ago the event `id` was sent.
    fn earlier_events(&self, identity: &SessionIdentity, id: EventId, age: u64) -> Vec<Replayed> {
        let Some(store) = self.shared_events() else {
            return Vec::new();
        };
        let ages = (1..).zip(identity.recent_leases().skip(1));
        let mut leases: Vec<_> = ages.take_while(|(lease, _)| *lease <= age).collect();
        leases.reverse();
        let leases = leases.into_iter().map(|(lease, identity)| {
            let after = if lease == age { id.sequence } else { 0 };
            let key = StreamKey::new(identity.event_key, 0);
            // Messages on this stream belong to no call, so a missing one does not fail the request.
            Replayed::later(store, key, after)
        });
        leases.collect()
    }

    /// Returns the stored events of a call that follow after the event `id`. The event was sent `age` leases ago by an endpoint
    /// that cannot be reached. If that endpoint has not stored the response, appends an error response as the last event.
    async fn rest_of_call(
        &self,
        identity: &SessionIdentity,
        id: EventId,
        age: u64,
    ) -> Result<Replayed, Refusal> {
        let store = self.shared_events().ok_or_else(gone)?;
        let age = usize::try_from(age).unwrap_or(usize::MAX);
        let earlier = identity.recent_leases().nth(age).ok_or_else(gone)?;
        let key = StreamKey::new(earlier.event_key, id.stream);
        let is_response =
            |event: &Bytes| frames::is_response(event, &self.options.request_limits.message);
        let rest = KeptCall::read(store, key, id.sequence, is_response).await?;
        let mut is_answered = rest.is_some_and(|rest| rest.is_answered);
        for attempt in 1.. {
            if is_answered {
                break;
            }
            // The first event has the ids of the requests.
            let kept = KeptCall::read(store, key, 0, is_response).await?;
            let kept =
                kept.and_then(|kept| Some((kept.requests?, kept.sequence, kept.is_answered)));
            let (requests, last, has_response) = kept.ok_or_else(|| {
                Refusal::bad_request(
                    "the process that ran the call has ended, and the first event of the call is no longer stored; send the request again",
                )
            })?;
            is_answered = has_response;
            if is_answered {
                break;
            }
            let sequence = last + 1;
            let event = unanswered(EventId { sequence, ..id }, earlier.tag, &requests);
            is_answered = match store.append_last(key, sequence, event) {
                Durability::Pending(stored) => match stored.await {
                    Ok(()) => true,
                    // The endpoint of the call may have stored more in the meantime.
                    Err(_) if attempt < MAX_ATTEMPTS => false,
                    Err(error) => return Err(unreadable(&error)),
                },
                Durability::Immediate => true,
            };
        }
        // The endpoint of the call may have stored its response in the meantime, which then counts.
        let kept = Replayed::read(store, key, id.sequence, ALL).await;
        kept.map_err(|error| unreadable(&error))?.ok_or_else(gone)
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
        count: u64,
    ) -> Result<Option<Replayed>, Refusal> {
        let (Some(key), Some(store)) =
            (session.streams.store_key(stream), &self.options.event_store)
        else {
            return Ok(None);
        };
        let found = Replayed::read(store, key, after, count).await;
        found.map_err(|error| unreadable(&error))
    }
}

/// A stream that continues on a new connection, with the stored events that must be sent first.
struct OpenedStream {
    body: StreamBody,
    /// Events that were sent under earlier leases.
    earlier: Vec<Replayed>,
    /// The sequence number of the last event that the client has received. `kept` contains the stored events after this event.
    after: u64,
    kept: Option<Replayed>,
}

impl OpenedStream {
    fn new(body: StreamBody, after: u64, kept: Option<Replayed>) -> Self {
        Self {
            body,
            earlier: Vec::new(),
            after,
            kept,
        }
    }
}

/// Facts from the stored events of a call that another endpoint ran. The events themselves are not held in memory,
/// because this memory would not be counted for the client.
struct KeptCall {
    /// The ids of the requests, if the first event contains them.
    requests: Option<Vec<RequestId>>,
    /// Whether the last event is a response.
    is_answered: bool,
    /// The sequence number of the last event.
    sequence: u64,
}

impl KeptCall {
    /// Reads the events after the event `after`, in parts. Returns `None` if there are no such events or if some of them are
    /// missing.
    async fn read(
        store: &Arc<dyn EventStore>,
        key: StreamKey,
        after: u64,
        is_response: impl Fn(&Bytes) -> bool,
    ) -> Result<Option<Self>, Refusal> {
        let mut kept: Option<Self> = None;
        loop {
            let after = kept.as_ref().map_or(after, |kept| kept.sequence);
            let part = store.replay(key, after, PART_BYTES).await;
            let (part, is_ended) = match part.map_err(|error| unreadable(&error))? {
                Replay::Events(part) => (part, false),
                Replay::Ended(part) => (part, true),
                Replay::Gone => return Ok(None),
            };
            let (Some(first), Some(last)) = (part.first(), part.last()) else {
                return Ok(kept);
            };
            let requests = match kept {
                Some(kept) => kept.requests,
                None => frames::parse_requests(first).filter(|ids| {
                    let sizes = ids.iter().map(|id| id.to_string().len());
                    sizes.sum::<usize>() <= PART_BYTES
                }),
            };
            kept = Some(Self {
                requests,
                is_answered: is_response(last),
                sequence: after + part.len() as u64,
            });
            if is_ended {
                return Ok(kept);
            }
        }
    }
}

fn unreadable(error: &EventStoreError) -> Refusal {
    tracing::error!(%error, "the event store failed");
    Refusal::busy("the event store cannot be used; resume again later")
}

/// Returns the last event of a stream whose endpoint ended before it answered `requests`. The event contains error responses to
/// these requests.
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
