//! The response to a request, in whichever form it comes.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use mcp_protocol::{Answer, CallError, TransportError};

use crate::client::call::refusal::Refusal;
use crate::client::call::stateless;
use crate::client::call::stream::{self, is_passing};
use crate::client::inbox::receive::{Heard, hear};
use crate::client::session::current::Facts;
use crate::client::state::Core;
use crate::client::wire::body::ResponseBody;
use crate::client::wire::connection::Broken;
use crate::client::wire::events::Events;
use crate::client::wire::service::{chain, quoted};
use crate::headers::{EVENT_STREAM, JSON};

/// Room that is made for an answer before it is there.
const MOST_AHEAD: usize = 1 << 20;

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server does not know the session; `seen` if it had accepted the request before.
    SessionLost { seen: bool },
    /// The answer is lost; the server may have done what it was asked.
    Lost(TransportError),
    /// The server was not reached, so it has not done anything.
    Unreached(TransportError),
    /// The server cannot answer now; perhaps it says when it can.
    NotNow(Option<Duration>, TransportError),
    /// Nothing helps.
    Final(CallError),
}

impl Failure {
    pub(crate) fn failed(error: TransportError) -> Self {
        Self::Final(failed(error))
    }
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Unreached(error) => Self::Unreached(error),
            Broken::Cut(error) => Self::Lost(error),
            Broken::Refused(error) => Self::failed(error),
        }
    }
}

/// An error of one call.
pub(crate) fn failed(error: TransportError) -> CallError {
    CallError::Failed(Arc::new(error))
}

/// A request, as far as its answer needs to know it.
pub(crate) struct Asked<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) facts: &'a Arc<Facts>,
    pub(crate) method: &'static str,
    pub(crate) id: i64,
}

impl Asked<'_> {
    /// An error that begins with the address of the server.
    pub(crate) fn error(&self, problem: &str) -> TransportError {
        let endpoint = &self.core.wire.endpoint;
        TransportError::new(format!("{endpoint} {problem}"))
    }

    /// A response that is no answer. What belongs to no session may have gone to a server that
    /// knows sessions alone.
    fn odd(&self, problem: &str) -> Failure {
        let error = self.error(problem);
        Failure::failed(if self.facts.claims {
            error.as_unknown_protocol()
        } else {
            error
        })
    }

    /// Hands a message over that came in the response to this request.
    pub(crate) fn hear(&self, frame: &[u8]) -> Heard {
        hear(self.core, self.facts, frame, Some(self.id))
    }

    /// The error for a message that no call could have been asked with.
    pub(crate) fn anonymous(&self, error: &mcp_jsonrpc::ErrorObject) -> TransportError {
        let said = quoted(&error.to_string());
        self.error(&format!("could not read {}: it says {said}", self.method))
    }

    /// Waits for the answer.
    pub(crate) async fn read(&self, response: Response<ResponseBody>) -> Result<Answer, Failure> {
        let status = response.status();
        if !status.is_success() {
            return Box::pin(self.refused(response)).await;
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            let problem = format!(
                "answered {} with {status}, which is for messages that need no answer",
                self.method
            );
            return Err(self.odd(&problem));
        }
        match Form::of(response.headers()) {
            Form::Json => self.json(response.into_body()).await,
            Form::Events => {
                let events = Events::new(response.into_body(), &self.core.options);
                stream::follow(self, events).await
            }
            Form::Other(problem) => {
                let problem = format!("answered {} with {problem}", self.method);
                Err(self.odd(&problem))
            }
        }
    }

    async fn refused(&self, response: Response<ResponseBody>) -> Result<Answer, Failure> {
        let refusal = Refusal::read(self.core, response).await;
        if refusal.is_of_session(self.facts) {
            return Err(Failure::SessionLost { seen: false });
        }
        if self.facts.claims {
            return stateless::refused(self, &refusal);
        }
        if let Some(error) = refusal.error_for(self.id) {
            return Ok(Err(error));
        }
        let error = refusal.error(self.core, self.facts, self.method);
        Err(if is_passing(refusal.status) {
            Failure::NotNow(refusal.retry_after, error)
        } else {
            Failure::failed(error)
        })
    }

    async fn json(&self, body: ResponseBody) -> Result<Answer, Failure> {
        let frame = self.whole(body).await?;
        let problem = match self.hear(&frame) {
            Heard::Answer(answer) => return answer.map_err(Failure::Final),
            Heard::Unreadable(error) => return Err(Failure::Final(CallError::Malformed(error))),
            Heard::Anonymous(error) if self.facts.claims => return Ok(Err(error)),
            Heard::Anonymous(error) => return Err(Failure::failed(self.anonymous(&error))),
            Heard::OtherAnswer(id) => format!(
                "answered {}, request {}, with the answer to request {id}",
                self.method, self.id
            ),
            Heard::Batch => format!(
                "answered {} with a batch, which the negotiated revision does not know",
                self.method
            ),
            Heard::Nothing => format!("answered {} with no answer to it", self.method),
        };
        Err(self.odd(&problem))
    }

    /// A body in one piece, up to the limit.
    async fn whole(&self, mut body: ResponseBody) -> Result<Bytes, Failure> {
        let limit = self.core.options.message_bytes;
        let announced = body.announced().unwrap_or(0);
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        let mut length = 0;
        let mut too_long = announced > limit as u64;
        while !too_long {
            match body.data().await {
                Some(Ok(data)) => {
                    length += data.len();
                    too_long = length > limit;
                    if first.is_empty() {
                        first = data;
                        continue;
                    }
                    if rest.is_empty() {
                        // What is announced need not come.
                        let announced = usize::try_from(announced).unwrap_or(0);
                        rest.reserve(announced.min(MOST_AHEAD).max(length));
                        rest.extend_from_slice(&first);
                    }
                    rest.extend_from_slice(&data);
                }
                Some(Err(error)) => {
                    let problem = format!(
                        "broke off in the middle of the answer to {}: {}",
                        self.method,
                        chain(&*error)
                    );
                    return Err(Failure::Lost(self.error(&problem).with_source(error)));
                }
                None if rest.is_empty() => return Ok(first),
                None => return Ok(rest.freeze()),
            }
        }
        let problem = format!(
            "answered {} with more than {limit} bytes, the limit of \
             ClientOptions::with_message_bytes",
            self.method
        );
        Err(Failure::failed(self.error(&problem)))
    }
}

/// The form of a body.
pub(crate) enum Form {
    Json,
    Events,
    /// Something else; for people.
    Other(String),
}

impl Form {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        if let Some(encoding) = headers.get(CONTENT_ENCODING).map(text)
            && !encoding.eq_ignore_ascii_case("identity")
        {
            return Self::Other(format!(
                "a body of encoding {}, which was not asked for",
                quoted(&encoding)
            ));
        }
        let Some(media) = headers.get(CONTENT_TYPE).map(text) else {
            return Self::Other("no Content-Type".to_owned());
        };
        let essence = media.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case(JSON) {
            Self::Json
        } else if essence.eq_ignore_ascii_case(EVENT_STREAM) {
            Self::Events
        } else {
            Self::Other(format!(
                "Content-Type {}, neither {JSON} nor {EVENT_STREAM}; \
                 is the URL that of an MCP endpoint?",
                quoted(&media)
            ))
        }
    }
}
