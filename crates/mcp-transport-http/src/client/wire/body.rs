//! Response bodies: their media type, and the Server-Sent Events in them.

use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use mcp_jsonrpc::quote;
use mcp_protocol::TransportError;

use crate::client::options::ClientOptions;
use crate::client::wire::MAX_QUOTED;
use crate::headers::{EVENT_STREAM, JSON, is_media_type};
use crate::http_service::{ResponseBody, error_chain};
use crate::sse::{Decoder, Event, TooLong};

/// The kind of a response body.
pub(crate) enum ContentKind {
    Json,
    EventReader,
    /// Any other body. The text describes it for the error message.
    Other(String),
}

/// Returns whether `Content-Encoding` means that the body is not encoded. Some servers send an empty value or the name of a
/// character set.
fn is_no_encoding(encoding: &str) -> bool {
    ["", "identity", "utf-8"].contains(&&*encoding.trim().to_ascii_lowercase())
}

impl ContentKind {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        if headers.get(CONTENT_TYPE).is_some_and(|value| value == JSON)
            && !headers.contains_key(CONTENT_ENCODING)
        {
            return Self::Json;
        }
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        if let Some(encoding) = headers.get(CONTENT_ENCODING).map(text)
            && !is_no_encoding(&encoding)
        {
            return Self::Other(format!(
                "a body of encoding {}, which the client does not accept",
                quote(&encoding, MAX_QUOTED)
            ));
        }
        if is_media_type(headers, JSON) {
            return Self::Json;
        }
        if is_media_type(headers, EVENT_STREAM) {
            return Self::EventReader;
        }
        Self::Other(match headers.get(CONTENT_TYPE).map(text) {
            None => "no Content-Type".to_owned(),
            Some(media) => format!(
                "Content-Type {} instead of {JSON} or {EVENT_STREAM}; check that the URL is an \
                 MCP endpoint",
                quote(&media, MAX_QUOTED)
            ),
        })
    }
}

/// A reader of events from a response body.
pub(crate) struct EventReader {
    body: ResponseBody,
    chunk: Bytes,
    decoder: Decoder,
}

/// The reason why no more events can be read from a body.
pub(crate) enum ReadError {
    /// The connection was interrupted.
    Interrupted(TransportError),
    /// An event exceeds a limit. The rest of the body cannot be decoded.
    TooLong(TransportError),
}

impl ReadError {
    pub(crate) fn into_error(self) -> TransportError {
        match self {
            Self::Interrupted(error) | Self::TooLong(error) => error,
        }
    }
}

impl EventReader {
    pub(crate) fn new(body: ResponseBody, options: &ClientOptions) -> Self {
        Self {
            body,
            chunk: Bytes::new(),
            decoder: Decoder::new(options.message_bytes, options.event_id_bytes),
        }
    }

    /// Returns the next complete event. Returns `None` at the end of the body. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Option<Event<'_>>, ReadError> {
        loop {
            let mut rest = &*self.chunk;
            let complete = self
                .decoder
                .advance(&mut rest)
                .map_err(|error| too_long(&error))?;
            let taken = self.chunk.len() - rest.len();
            self.chunk.advance(taken);
            if complete {
                return Ok(Some(self.decoder.event()));
            }
            match self.body.data().await {
                Some(Ok(data)) => self.chunk = data,
                Some(Err(error)) => {
                    let text = format!("the stream was interrupted: {}", error_chain(&*error));
                    return Err(ReadError::Interrupted(
                        TransportError::new(text).as_temporary().with_source(error),
                    ));
                }
                None => return Ok(None),
            }
        }
    }

    /// Returns the last `retry` value that the stream has sent.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.decoder.retry()
    }
}

fn too_long(error: &TooLong) -> ReadError {
    let setting = match error {
        TooLong::Data { .. } => "ClientOptions::with_max_message_bytes",
        TooLong::Id { .. } => "ClientOptions::with_max_event_id_bytes",
    };
    ReadError::TooLong(TransportError::new(format!("{error} of {setting}")))
}
