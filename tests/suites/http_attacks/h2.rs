//! A client that uses HTTP/2 with prior knowledge, as proxies do.

use std::net::SocketAddr;
use std::pin::Pin;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_transport_http::RequestBody;
use tokio::net::TcpStream;

/// One connection.
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
