//! A callback receiver on the loopback interface, for programs on the user's machine.
//!
//! Specification: [RFC 8252, section 7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3).

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use mcp_protocol::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::{AuthorizationSession, Callback, UserAgent};
use crate::error::{Error, ErrorKind};

const PATH: &str = "/callback";
/// Maximum size of a request, headers included.
const MAX_REQUEST_BYTES: usize = 16 << 10;
/// Timeout for reading a request and for writing its response.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of concurrent connections. Some come from requests for icons, port scanners, and pages that guess the port.
const MAX_CONNECTIONS: usize = 64;
/// Pause after a failure to accept a connection, for example because the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

type Open = dyn Fn(&str) + Send + Sync;

/// A user agent that receives the callback on a port of the loopback interface.
///
/// The system chooses the port, which is open during one session. Later sessions use the same port
/// if it is free.
#[derive(Clone)]
pub struct Loopback {
    open: Arc<Open>,
    /// 0: any port.
    port: u16,
}

impl Loopback {
    /// Creates a user agent. `open` shows a URL to the user: it prints the URL or opens a browser.
    /// Pass the URL to the system as one argument, never to a shell.
    pub fn new(open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            open: Arc::new(open),
            port: 0,
        }
    }

    /// Sets the port of the callback, for a client that is registered with it or a port that is
    /// forwarded. By default the system chooses one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Starts a session at this port; with 0, the system chooses one.
    async fn at(&self, port: u16) -> io::Result<Box<dyn AuthorizationSession>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Box::new(LoopbackSession {
            listener,
            uri: format!("http://127.0.0.1:{port}{PATH}"),
            open: self.open.clone(),
        }))
    }
}

impl UserAgent for Loopback {
    fn start_session(&self) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>> {
        Box::pin(async move {
            self.at(self.port).await.map_err(|error| {
                let port = match self.port {
                    0 => "a port".to_owned(),
                    port => format!("port {port}"),
                };
                let message = format!("cannot open {port} on this machine for the callback");
                Error::caused(ErrorKind::Setup, message, error)
            })
        })
    }

    fn start_session_at<'a>(
        &'a self,
        redirect_uri: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn AuthorizationSession>, Error>> {
        Box::pin(async move {
            if let Some(port) = port(redirect_uri).filter(|port| [0, *port].contains(&self.port))
                && let Ok(session) = self.at(port).await
            {
                return Ok(session);
            }
            // Another program uses the port.
            self.start_session().await
        })
    }
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loopback").finish_non_exhaustive()
    }
}

struct LoopbackSession {
    listener: TcpListener,
    uri: String,
    open: Arc<Open>,
}

impl AuthorizationSession for LoopbackSession {
    fn redirect_uri(&self) -> &str {
        &self.uri
    }

    fn open<'a>(self: Box<Self>, url: &'a str) -> BoxFuture<'a, Result<Callback, Error>> {
        Box::pin(async move {
            let parameters = Callback::parse(url);
            let state: Arc<str> = parameters.parameter("state").unwrap_or_default().into();
            let (found, mut callback) = mpsc::channel(1);
            // Dropping the task ends the listener.
            let mut listening = JoinSet::new();
            listening.spawn(listen(self.listener, state, found));
            (self.open)(url);
            let (stream, callback) = callback
                .recv()
                .await
                .ok_or_else(|| Error::user_agent("the listener for the callback has stopped"))?;
            answer(stream, true).await;
            Ok(callback)
        })
    }
}

/// Returns the port of a redirect URI of this user agent.
fn port(redirect_uri: &str) -> Option<u16> {
    let rest = redirect_uri.strip_prefix("http://127.0.0.1:")?;
    rest.strip_suffix(PATH)?.parse().ok()
}

/// Accepts connections until the future is dropped, at the latest by the timeout of the sign-in. Connections are
/// served concurrently, because browsers open connections that they do not use. At the limit, a new connection
/// closes the oldest one, so that connections that send nothing do not keep the browser waiting.
async fn listen(
    listener: TcpListener,
    state: Arc<str>,
    found: mpsc::Sender<(TcpStream, Callback)>,
) {
    let mut connections = JoinSet::new();
    let mut open = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        open.retain(|connection: &AbortHandle| !connection.is_finished());
        if open.len() >= MAX_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let (state, found) = (state.clone(), found.clone());
        open.push_back(connections.spawn(async move {
            if let Some(callback) = callback(stream, &state).await {
                let _ = found.try_send(callback);
            }
        }));
    }
}

/// Reads the request of one connection and returns its callback. Answers any other request with 404.
async fn callback(mut stream: TcpStream, state: &str) -> Option<(TcpStream, Callback)> {
    let target = timeout(CONNECTION_TIMEOUT, read(&mut stream))
        .await
        .ok()?
        .ok()??;
    let callback = Callback::parse(&target);
    // A page that guessed the port does not know the state and does not end the wait.
    let is_path = target.split('?').next() == Some(PATH);
    if is_path && callback.parameter("state") == Some(state) {
        return Some((stream, callback));
    }
    answer(stream, false).await;
    None
}

/// Reads the target of a request; `None` if it is not a request of a browser.
async fn read(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let mut piece = [0_u8; 2_048];
    loop {
        let length = stream.read(&mut piece).await?;
        if length == 0 || bytes.len() + length > MAX_REQUEST_BYTES {
            return Ok(None);
        }
        bytes.extend_from_slice(piece.get(..length).unwrap_or_default());
        if bytes.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(target(&String::from_utf8_lossy(&bytes)));
        }
    }
}

fn target(request: &str) -> Option<String> {
    let mut words = request.lines().next()?.split(' ');
    let (method, target, protocol) = (words.next()?, words.next()?, words.next()?);
    let is_request = method == "GET" && protocol.starts_with("HTTP/1.") && words.next().is_none();
    is_request.then(|| target.to_owned())
}

/// Writes the response and closes the connection.
async fn answer(mut stream: TcpStream, ours: bool) {
    // The result is ignored: the request has arrived, even if the browser does not read the page.
    let _ = timeout(CONNECTION_TIMEOUT, write(&mut stream, ours)).await;
}

/// Writes the response. It quotes nothing of the request, so it cannot be used for an injection.
async fn write(stream: &mut TcpStream, ours: bool) -> io::Result<()> {
    let (status, text) = if ours {
        (
            "200 OK",
            "Done. You can close this window and go back to the program.",
        )
    } else {
        ("404 Not Found", "This page is not the expected callback.")
    };
    let page =
        format!("<!doctype html><meta charset=\"utf-8\"><title>Sign-in</title><p>{text}</p>");
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         content-security-policy: default-src 'none'\r\nreferrer-policy: no-referrer\r\n\
         cache-control: no-store\r\nconnection: close\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(uri: &str, target: &str) -> String {
        let port = uri.rsplit(':').next().unwrap().strip_suffix(PATH).unwrap();
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}"))
            .await
            .unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn foreign_connections_do_not_end_the_session() {
        let session = Loopback::new(|_| {}).start_session().await.unwrap();
        let uri = session.redirect_uri().to_owned();
        assert!(uri.starts_with("http://127.0.0.1:"));
        let visiting = tokio::spawn(async move { session.open("https://as/?state=s1").await });
        // A silent connection does not block the others.
        let port = uri.rsplit(':').next().unwrap();
        let port = port.strip_suffix(PATH).unwrap();
        let silent = TcpStream::connect(format!("127.0.0.1:{port}")).await;
        for target in [
            "/favicon.ico",
            "/callback",
            "/callback?state=s2&code=x",
            "/?state=s1",
        ] {
            let answer = ask(&uri, target).await;
            assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        }
        let answer = ask(&uri, "/callback?state=s1&code=%3Cscript%3E").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(!answer.contains("script"), "{answer}");
        let callback = visiting.await.unwrap().unwrap();
        assert_eq!(callback.parameter("code"), Some("<script>"));
        drop(silent.unwrap());
    }

    #[tokio::test]
    async fn any_number_of_foreign_connections_does_not_end_the_session() {
        let session = Loopback::new(|_| {}).start_session().await.unwrap();
        let uri = session.redirect_uri().to_owned();
        let visiting = tokio::spawn(async move { session.open("https://as/?state=s1").await });
        let mut silent = Vec::new();
        for _ in 0..2 * MAX_CONNECTIONS {
            let port = port(&uri).unwrap();
            silent.push(
                TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                    .await
                    .unwrap(),
            );
            let answer = ask(&uri, "/callback?state=guess&code=x").await;
            assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        }
        // The oldest silent connections were closed, so that no more than the limit are open.
        let closed = timeout(CONNECTION_TIMEOUT / 2, silent[0].read_u8()).await;
        assert!(closed.is_ok_and(|read| read.is_err()));
        let answer = ask(&uri, "/callback?state=s1&code=c").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let callback = visiting.await.unwrap().unwrap();
        assert_eq!(callback.parameter("code"), Some("c"));
    }

    #[tokio::test]
    async fn a_request_of_the_maximum_size_is_read_and_one_byte_more_is_not() {
        for (bytes, is_read) in [(MAX_REQUEST_BYTES, true), (MAX_REQUEST_BYTES + 1, false)] {
            let session = Loopback::new(|_| {}).start_session().await.unwrap();
            let port = port(session.redirect_uri()).unwrap();
            let visiting = tokio::spawn(async move { session.open("https://as/?state=s1").await });
            let (start, end) = ("GET /callback?state=s1 HTTP/1.1\r\nx: ", "\r\n\r\n");
            let padding = "x".repeat(bytes - start.len() - end.len());
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .await
                .unwrap();
            let request = format!("{start}{padding}{end}");
            // The connection is closed before the last byte if the request is too large.
            let _ = stream.write_all(request.as_bytes()).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            assert_eq!(answer.starts_with(b"HTTP/1.1 200"), is_read, "{bytes}");
            if is_read {
                assert!(visiting.await.unwrap().is_ok());
            } else {
                visiting.abort();
            }
        }
    }

    #[tokio::test]
    async fn a_port_is_reused_if_it_is_free() {
        let agent = Loopback::new(|_| {});
        let first = agent.start_session().await.unwrap();
        let uri = first.redirect_uri().to_owned();
        let other = agent.start_session_at(&uri).await.unwrap();
        assert_ne!(other.redirect_uri(), uri);
        drop(first);
        let again = agent.start_session_at(&uri).await.unwrap();
        assert_eq!(again.redirect_uri(), uri);
        for foreign in ["http://localhost:80/callback", "https://app.example/cb", ""] {
            let visit = agent.start_session_at(foreign).await.unwrap();
            assert!(visit.redirect_uri().starts_with("http://127.0.0.1:"));
        }
    }

    #[test]
    fn only_a_request_of_a_browser_has_a_target() {
        assert_eq!(target("GET /a?b HTTP/1.1\r\n").as_deref(), Some("/a?b"));
        for text in [
            "",
            "GET",
            "POST /a HTTP/1.1",
            "GET /a",
            "GET /a b HTTP/1.1",
            "GET /a SMTP",
        ] {
            assert_eq!(target(text), None, "{text:?}");
        }
    }
}
