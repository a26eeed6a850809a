//! HTTP with hyper alone.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Answer, Baseline};
use crate::bench::{Fault, listen};

/// Limit of connections.
const MOST_CONNECTIONS: usize = 4_096;
/// Limit of a body.
const LONGEST: usize = 64 << 20;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Listens, prints the URL, and serves until the process is interrupted. With `nagle`, connections
/// keep the default socket options.
pub(super) fn run(address: &str, baseline: Baseline, nagle: bool) -> Result<(), Fault> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(async {
            tokio::select! {
                ended = serve_all(address, baseline, nagle) => ended,
                interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
            }
        })
}

async fn serve_all(address: &str, baseline: Baseline, nagle: bool) -> Result<(), Fault> {
    let listener = listen::listen(address).await?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        while connections.try_join_next().is_some() {}
        if connections.len() < MOST_CONNECTIONS {
            stream.set_nodelay(!nagle)?;
            connections.spawn(serve(stream, baseline.clone()));
        }
    }
}

async fn serve(stream: TcpStream, baseline: Baseline) {
    let service = service_fn(|request| respond(&baseline, request));
    // A client may close its connection at any time.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn respond(
    baseline: &Baseline,
    request: Request<Incoming>,
) -> Result<Response<Pieces>, Fault> {
    let mut response = Response::new(Pieces::default());
    if request.method() != Method::POST {
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        return Ok(response);
    }
    let message = whole(request.into_body()).await?;
    let answer = baseline.answer(&message)?;
    let kind = match &answer {
        Answer::None => {
            *response.status_mut() = StatusCode::ACCEPTED;
            return Ok(response);
        }
        Answer::Many(_) => EVENTS,
        _ => JSON,
    };
    response.headers_mut().insert(CONTENT_TYPE, kind);
    *response.body_mut() = match answer {
        Answer::None => Pieces::default(),
        Answer::Opened(bytes) => {
            let session = HeaderValue::from_static("0123456789abcdef0123456789abcdef");
            response.headers_mut().insert("mcp-session-id", session);
            Pieces::new([Bytes::from(bytes)])
        }
        Answer::One(bytes) => Pieces::new([Bytes::from(bytes)]),
        Answer::Ready(pieces) => Pieces::new(pieces),
        Answer::Many(all) => Pieces::events(&all),
    };
    Ok(response)
}

/// Reads the body of a request, which usually is one piece.
async fn whole(mut body: Incoming) -> Result<Bytes, Fault> {
    let mut more = Vec::new();
    let mut first = Bytes::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        if first.is_empty() {
            first = data;
            continue;
        }
        if more.is_empty() {
            let length = body.size_hint().lower().min(LONGEST as u64);
            more.reserve(first.len() + data.len() + length as usize);
            more.extend_from_slice(&first);
        }
        more.extend_from_slice(&data);
        if more.len() > LONGEST {
            return Err("the body is too long".into());
        }
    }
    Ok(if more.is_empty() { first } else { more.into() })
}

/// A body that is complete from the start.
#[derive(Default)]
struct Pieces {
    pieces: VecDeque<Bytes>,
    left: u64,
    stream: bool,
}

impl Pieces {
    fn new<const N: usize>(pieces: [Bytes; N]) -> Self {
        Self {
            left: pieces.iter().map(|piece| piece.len() as u64).sum(),
            pieces: pieces.into(),
            stream: false,
        }
    }

    fn events(messages: &[Vec<u8>]) -> Self {
        let event = |message: &Vec<u8>| {
            let mut event = Vec::with_capacity(message.len() + 8);
            event.extend_from_slice(b"data: ");
            event.extend_from_slice(message);
            event.extend_from_slice(b"\n\n");
            Bytes::from(event)
        };
        Self {
            pieces: messages.iter().map(event).collect(),
            left: 0,
            stream: true,
        }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        if let Some(piece) = &piece {
            self.left = self.left.saturating_sub(piece.len() as u64);
        }
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.stream {
            SizeHint::default()
        } else {
            SizeHint::with_exact(self.left)
        }
    }
}
