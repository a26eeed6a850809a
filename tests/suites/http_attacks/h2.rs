//! A client that uses HTTP/2 with prior knowledge, as proxies do.

use std::net::SocketAddr;
use std::pin::Pin;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_transport_http::RequestBody;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, ToSocketAddrs};

/// One connection.
#[derive(Clone)]
pub(super) struct H2(SendRequest<RequestBody>);

/// A response in flight.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    body: Incoming,
}

impl H2 {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    /// Connects as a client that takes `window` bytes of each response and no more.
    pub(super) async fn with_window(address: impl ToSocketAddrs, window: u32) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .initial_stream_window_size(window)
            .handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Waits until the server has closed the connection, or will close it.
    pub(super) async fn closed(&mut self) {
        while self.0.ready().await.is_ok() {
            tokio::task::yield_now().await;
        }
    }

    /// Sends a POST to this URI, with these headers and the headers of every message.
    pub(super) async fn post(
        &mut self,
        uri: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let mut request = Request::post(uri)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(RequestBody::new(body)).unwrap();
        self.0.ready().await.unwrap();
        let (parts, body) = self.0.send_request(request).await.unwrap().into_parts();
        Reply {
            status: parts.status,
            body,
        }
    }
}

impl Reply {
    pub(super) async fn text(mut self) -> String {
        let mut text = Vec::new();
        while let Some(frame) =
            std::future::poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await
        {
            text.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
        }
        String::from_utf8(text).unwrap()
    }
}

/// A connection whose frames a test writes itself.
pub(super) struct Frames {
    stream: TcpStream,
    next: u32,
}

impl Frames {
    pub(super) async fn connect(address: impl ToSocketAddrs) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        stream.write_all(preface).await.unwrap();
        Self { stream, next: 1 }
    }

    /// Sends the head of a POST whose body follows later: `repeated` times a header that takes one
    /// byte each.
    pub(super) async fn head(&mut self, repeated: usize) {
        // `:method: POST`, `:scheme: http` and the name `:authority`, `:path` from the static table.
        let mut block = vec![0x83, 0x86];
        let mut literal = |prefix: &[u8], value: &str| {
            block.extend_from_slice(prefix);
            block.push(u8::try_from(value.len()).unwrap());
            block.extend_from_slice(value.as_bytes());
        };
        literal(&[0x01], "localhost");
        literal(&[0x04], "/mcp");
        // Enters the dynamic table as the entry 62.
        literal(&[0x40, 1, b'x'], "");
        literal(&[0x0f, 0x10], "application/json");
        block.extend(std::iter::repeat_n(0xbe, repeated));
        self.frame(1, 0x4, &block).await;
        self.next += 2;
    }

    async fn frame(&mut self, kind: u8, flags: u8, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend_from_slice(&[kind, flags]);
        frame.extend_from_slice(&self.next.to_be_bytes());
        frame.extend_from_slice(payload);
        self.stream.write_all(&frame).await.unwrap();
    }

    /// Reads until the server closes the connection. PINGs are acknowledged.
    pub(super) async fn closed(&mut self) -> usize {
        let mut frames = 0;
        loop {
            let mut head = [0; 9];
            if self.stream.read_exact(&mut head).await.is_err() {
                return frames;
            }
            let [a, b, c, kind, flags, ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            if self.stream.read_exact(&mut payload).await.is_err() {
                return frames;
            }
            frames += 1;
            if (kind, flags) == (6, 0) {
                let ack = [&[0, 0, 8, 6, 1, 0, 0, 0, 0], &*payload].concat();
                if self.stream.write_all(&ack).await.is_err() {
                    return frames;
                }
            }
        }
    }
}
