//! A minimal HTTP client: one request at a time on one connection.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::bench::Fault;
use crate::bench::requests::address_and_path;

/// Limit of a head or body.
const LONGEST: usize = 64 << 20;
/// Least number of bytes to read at once.
const PIECE: usize = 16 << 10;

/// A connection to the server.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    /// The body of a response that came in chunks.
    body: Vec<u8>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Reply<'a> {
    /// The head.
    pub(crate) head: Head,
    /// The whole body.
    pub(crate) body: &'a [u8],
}

/// The relevant parts of a head.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The status.
    pub(crate) status: u16,
    /// Whether the body is a stream of events.
    pub(crate) is_events: bool,
    /// The session that was opened.
    pub(crate) session: Option<String>,
    length: usize,
    is_chunked: bool,
    /// The length of the head.
    end: usize,
}

impl Connection {
    /// Connects to an address; a path after it is ignored.
    ///
    /// # Errors
    /// No server listens there.
    pub(crate) async fn open(host: &str) -> Result<Self, Fault> {
        let (address, _) = address_and_path(host);
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::new(stream))
    }

    /// Uses a connection.
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            input: Vec::with_capacity(PIECE),
            body: Vec::new(),
        }
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Errors
    /// The server closes the connection or violates HTTP.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<Reply<'_>, Fault> {
        let head = self.begin(request).await?;
        let (from, to) = (head.end, head.end + head.length);
        if head.is_chunked {
            self.chunks(head.end).await?;
            return Ok(Reply {
                head,
                body: &self.body,
            });
        }
        self.until(to).await?;
        Ok(Reply {
            head,
            body: &self.input[from..to],
        })
    }

    /// Sends a request and reads the head of the response.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    pub(crate) async fn begin(&mut self, request: &[u8]) -> Result<Head, Fault> {
        self.input.clear();
        self.stream.write_all(request).await?;
        loop {
            if let Some(end) = memchr::memmem::find(&self.input, b"\r\n\r\n") {
                return Head::parse(&self.input[..end]);
            }
            self.read().await?;
        }
    }

    /// Reads the body whose chunks start here.
    async fn chunks(&mut self, mut at: usize) -> Result<(), Fault> {
        self.body.clear();
        loop {
            let size = loop {
                if let Some(length) = memchr::memmem::find(&self.input[at..], b"\r\n") {
                    let digits = std::str::from_utf8(&self.input[at..at + length])?;
                    at += length + 2;
                    break usize::from_str_radix(digits, 16)?;
                }
                self.read().await?;
            };
            if size > LONGEST {
                return Err("a chunk is too long".into());
            }
            self.until(at + size + 2).await?;
            self.body.extend_from_slice(&self.input[at..at + size]);
            at += size + 2;
            if size == 0 {
                return Ok(());
            }
        }
    }

    /// Reads until this many bytes are buffered.
    async fn until(&mut self, length: usize) -> Result<(), Fault> {
        if length > LONGEST {
            return Err("a response is too long".into());
        }
        self.input.reserve(length.saturating_sub(self.input.len()));
        while self.input.len() < length {
            self.read().await?;
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), Fault> {
        self.input.reserve(PIECE);
        if self.input.len() > LONGEST {
            return Err("a response is too long".into());
        }
        if self.stream.read_buf(&mut self.input).await? == 0 {
            let said = String::from_utf8_lossy(&self.input[..self.input.len().min(400)]);
            return Err(format!("the server closed the connection after {said:?}").into());
        }
        Ok(())
    }
}

impl Head {
    /// Parses the bytes of a head, without the empty line.
    fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let text = std::str::from_utf8(bytes)?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let mut this = Self {
            status: status.ok_or("no status")?.parse()?,
            end: bytes.len() + 4,
            ..Self::default()
        };
        for line in lines {
            let (name, value) = line.split_once(':').ok_or("no header")?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                this.length = value.parse()?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                this.is_chunked = value.eq_ignore_ascii_case("chunked");
            } else if name.eq_ignore_ascii_case("content-type") {
                this.is_events = value.starts_with("text/event-stream");
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                this.session = Some(value.to_owned());
            }
        }
        Ok(this)
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn a_response_head_is_parsed() {
        let head = Head::parse(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: s\r\nTransfer-Encoding: chunked",
        )
        .expect("a head");
        assert_eq!(
            (head.status, head.is_events, head.is_chunked),
            (200, true, true)
        );
        assert_eq!(head.session.as_deref(), Some("s"));
        assert!(Head::parse(b"SMTP").is_err());
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\nnonsense").is_err());
    }

    #[tokio::test]
    async fn bodies_are_read_to_their_end_and_not_further() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let host = listener.local_addr().expect("an address").to_string();
        let server = async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            for answer in [
                "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n",
                "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
            ] {
                let mut request = [0; 4];
                stream.read_exact(&mut request).await.expect("a request");
                for byte in answer.as_bytes() {
                    stream.write_all(&[*byte]).await.expect("a reader");
                }
            }
        };
        let client = async {
            let mut connection = Connection::open(&host).await.expect("a server");
            let mut bodies = Vec::new();
            for _ in 0..3 {
                let reply = connection.exchange(b"GET\n").await.expect("a response");
                bodies.push(String::from_utf8_lossy(reply.body).into_owned());
            }
            let fault = connection.exchange(b"GET\n").await.expect_err("the end");
            assert!(fault.to_string().contains("closed"), "{fault}");
            bodies
        };
        let ((), bodies) = tokio::join!(server, client);
        assert_eq!(bodies, ["hello", "abc0123456789", ""]);
    }
}
