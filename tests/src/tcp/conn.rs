//! One connection, read and written piece by piece.

use std::io;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::{Request, soon};

/// A response, or its head.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, without the framing.
    pub body: Vec<u8>,
}

impl Answer {
    fn read(head: &[u8]) -> Self {
        let head = std::str::from_utf8(head).expect("a head in ASCII");
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next().expect("a first line");
        let status = line.split(' ').nth(1).expect("a status");
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").expect("a header");
            (name.to_ascii_lowercase(), value.to_owned())
        });
        Self {
            status: status.parse().expect("a number"),
            headers: headers.collect(),
            body: Vec::new(),
        }
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding") == Some("chunked")
    }

    /// Returns the value of a header that occurs at most once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(it, _)| it == name);
        let (_, value) = values.next()?;
        assert!(values.next().is_none(), "{name} is there once");
        Some(value)
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the text of a tool result.
    pub fn said(&self) -> String {
        let answer = self.json();
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text in {answer}"))
            .to_owned()
    }
}

/// One connection.
#[derive(Debug)]
pub struct Conn {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The number of bytes of each read.
    pub reads: Vec<usize>,
}

impl Conn {
    /// Wraps a connected stream.
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// Connects with a tiny receive buffer.
    pub async fn narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .set_recv_buffer_size(4 << 10)
            .expect("a small buffer");
        Self::new(soon(socket.connect(address)).await.expect("a connection"))
    }

    /// Returns the local address.
    pub fn address(&self) -> SocketAddr {
        self.stream.local_addr().expect("an address")
    }

    /// Sends these bytes.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).await.expect("the server reads");
    }

    /// Sends these bytes, if the server still reads.
    ///
    /// # Errors
    /// The server has closed the connection.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        soon(self.stream.write_all(bytes.as_ref())).await
    }

    /// Closes the client's half of the connection.
    pub async fn finish(&mut self) {
        soon(self.stream.shutdown())
            .await
            .expect("half a connection");
    }

    /// Sends a request and reads the whole response.
    pub async fn ask(&mut self, request: &Request) -> Answer {
        self.send(request.bytes()).await;
        self.answer().await
    }

    /// Reads the head of a response.
    pub async fn head(&mut self) -> Answer {
        let head = self.until(b"\r\n\r\n").await;
        Answer::read(&head)
    }

    /// Reads the head of a response; returns `None` if the connection ends before.
    pub async fn try_head(&mut self) -> Option<Answer> {
        while !self.buffer.windows(4).any(|it| it == b"\r\n\r\n") {
            if !matches!(self.fill().await, Ok(1..)) {
                return None;
            }
        }
        Some(self.head().await)
    }

    /// Reads a response with its whole body.
    pub async fn answer(&mut self) -> Answer {
        let mut answer = self.started().await;
        if answer.is_chunked() && !answer.body.is_empty() {
            while let Some(chunk) = self.chunk().await {
                answer.body.extend_from_slice(&chunk);
            }
        }
        answer
    }

    /// Reads a response with its whole body, or with the first chunk of a chunked body.
    pub async fn started(&mut self) -> Answer {
        let mut answer = self.head().await;
        if answer.is_chunked() {
            answer.body = self.chunk().await.unwrap_or_default();
        } else if let Some(length) = answer.header("content-length") {
            let length = length.parse().expect("a length");
            answer.body = self.exactly(length).await;
        }
        answer
    }

    /// Reads the next chunk of a response; returns `None` at its regular end.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.until(b"\r\n").await;
        let digits = std::str::from_utf8(&line).expect("text").trim_end();
        let length = usize::from_str_radix(digits, 16).expect("a length");
        let mut chunk = self.exactly(length + 2).await;
        assert!(chunk.ends_with(b"\r\n"));
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    /// Returns whether bytes of a response have arrived.
    pub fn has_answer(&mut self) -> bool {
        self.buffer.reserve(64 << 10);
        matches!(self.stream.try_read_buf(&mut self.buffer), Ok(1..)) || !self.buffer.is_empty()
    }

    /// Reads until the server has closed the connection, gracefully or not.
    pub async fn closed(&mut self) -> Vec<u8> {
        while matches!(self.fill().await, Ok(1..)) {}
        std::mem::take(&mut self.buffer)
    }

    async fn until(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            let at = self.buffer.windows(end.len()).position(|it| it == end);
            if let Some(at) = at {
                return self.buffer.drain(..at + end.len()).collect();
            }
            self.more().await;
        }
    }

    async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            self.more().await;
        }
        self.buffer.drain(..length).collect()
    }

    async fn more(&mut self) {
        let read = self.fill().await.expect("the connection is open");
        let had = self.buffer.escape_ascii();
        assert!(read > 0, "the connection ended after {had}");
    }

    async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.reserve(64 << 10);
        let read = soon(self.stream.read_buf(&mut self.buffer)).await?;
        self.reads.push(read);
        Ok(read)
    }
}
