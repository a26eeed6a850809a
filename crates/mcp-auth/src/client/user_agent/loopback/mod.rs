//! Receives callbacks on the loopback interface, for programs on the user's machine.
//!
//! Specification: [RFC 8252, section 7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3).

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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
/// Maximum size of a request including its headers, in bytes.
const MAX_REQUEST_BYTES: usize = 16 << 10;
/// Timeout for reading a request and for writing its response.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of concurrent connections. Not every connection is a callback: browsers request icons, and port scanners and
/// web pages search for the port.
const MAX_CONNECTIONS: usize = 64;
/// Pause after an error when a connection is accepted, for example because the process has no free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of errors without the parameter `state` that one session reports.
const MAX_REPORTED: usize = 3;
/// The errors of an authorization endpoint: RFC 6749, section 4.1.2.1, OpenID Connect, and RFC 8707. Other errors are not shown,
/// because any page can send them.
const ERRORS: [&str; 15] = [
    "access_denied",
    "account_selection_required",
    "consent_required",
    "interaction_required",
    "invalid_client",
    "invalid_request",
    "invalid_request_object",
    "invalid_scope",
    "invalid_target",
    "login_required",
    "request_not_supported",
    "server_error",
    "temporarily_unavailable",
    "unauthorized_client",
    "unsupported_response_type",
];

type Open = dyn Fn(&str) + Send + Sync;

/// A user agent that receives the callback on a port of the loopback interface.
///
/// The system chooses the port. It is open only during a session. Later sessions use the same port if it is free.
#[derive(Clone)]
pub struct Loopback {
    open: Arc<Open>,
    on_unbound_error: Arc<Open>,
    /// The port of the callback; 0 means that the system chooses a port.
    port: u16,
}

impl Loopback {
    /// Creates a user agent. `open` shows a URL to the user: it prints the URL or opens a browser.
    /// Pass the URL to the system as one argument, never to a shell.
    pub fn new(open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            open: Arc::new(open),
            on_unbound_error: Arc::new(|_| {}),
            port: 0,
        }
    }

    /// Sets a function that is called with an error that arrives without the parameter `state`, such as `access_denied`. Some
    /// authorization servers omit the parameter. The session continues after such an error, because any page that guesses the
    /// port could have sent it. The function is called at most 3 times in a session, and only with known errors.
    #[must_use]
    pub fn on_unbound_error(mut self, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_unbound_error = Arc::new(report);
        self
    }

    /// Sets the port of the callback. Use it for a client that is registered with this port, or if the port is forwarded. By
    /// default, the system chooses a port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Starts a session at this port; with 0, the system chooses a port.
    async fn at(&self, port: u16) -> io::Result<Box<dyn AuthorizationSession>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Box::new(LoopbackSession {
            listener,
            uri: format!("http://127.0.0.1:{port}{PATH}"),
            open: self.open.clone(),
            on_unbound_error: self.on_unbound_error.clone(),
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
            // Another program uses the port, or the redirect URI does not belong to this user agent.
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
    on_unbound_error: Arc<Open>,
}

impl AuthorizationSession for LoopbackSession {
    fn redirect_uri(&self) -> &str {
        &self.uri
    }

    fn open<'a>(self: Box<Self>, url: &'a str) -> BoxFuture<'a, Result<Callback, Error>> {
        Box::pin(async move {
            let parameters = Callback::parse(url);
            let expected = Expected {
                state: parameters.parameter("state").unwrap_or_default().into(),
                on_unbound_error: self.on_unbound_error,
                unreported: AtomicUsize::new(MAX_REPORTED),
            };
            let (found, mut callback) = mpsc::channel(1);
            // Dropping the task ends the listener.
            let mut listening = JoinSet::new();
            listening.spawn(listen(self.listener, Arc::new(expected), found));
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

/// Accepts connections until the future is dropped, at the latest when the sign-in times out. Connections are served
/// concurrently, because browsers open connections that they do not use. At the limit, a new connection closes the oldest
/// connection, so that a browser does not wait for connections that send nothing.
async fn listen(
    listener: TcpListener,
    expected: Arc<Expected>,
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
        let (expected, found) = (expected.clone(), found.clone());
        open.push_back(connections.spawn(async move {
            if let Some(callback) = callback(stream, &expected).await {
                let _ = found.try_send(callback);
            }
        }));
    }
}

/// The callback that a session waits for, and the function that reports errors which may belong to this session.
struct Expected {
    state: String,
    on_unbound_error: Arc<Open>,
    /// Number of errors that the session may still report.
    unreported: AtomicUsize,
}

impl Expected {
    /// Reports an error without the parameter `state`.
    fn report(&self, callback: &Callback) {
        let error = callback.parameter("error");
        let known = ERRORS.iter().find(|known| Some(**known) == error);
        let Some(error) = known.filter(|_| callback.parameter("state").is_none()) else {
            return;
        };
        let count = |left: usize| left.checked_sub(1);
        if { &self.unreported }
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, count)
            .is_ok()
        {
            (self.on_unbound_error)(error);
        }
    }
}

/// Reads the request of one connection and returns its callback. Responds to all other requests with 404.
async fn callback(mut stream: TcpStream, expected: &Expected) -> Option<(TcpStream, Callback)> {
    let target = timeout(CONNECTION_TIMEOUT, read(&mut stream))
        .await
        .ok()?
        .ok()??;
    let callback = Callback::parse(&target);
    // A page that guessed the port does not know the state and does not end the wait.
    let is_path = target.split('?').next() == Some(PATH);
    if is_path && callback.parameter("state") == Some(&expected.state) {
        return Some((stream, callback));
    }
    if is_path {
        expected.report(&callback);
    }
    answer(stream, false).await;
    None
}

/// Reads the target of a request; `None` if the request is not a well-formed `GET` request.
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

/// Writes the response and closes the connection. `ours` is `true` for the callback of this session.
async fn answer(mut stream: TcpStream, ours: bool) {
    // The result is ignored: the request has arrived, even if the browser does not read the page.
    let _ = timeout(CONNECTION_TIMEOUT, write(&mut stream, ours)).await;
}

/// Writes the response. It contains no text of the request, so it cannot be used for an injection.
async fn write(stream: &mut TcpStream, ours: bool) -> io::Result<()> {
    let (status, text) = match ours {
        true => (
            "200 OK",
            "You can close this window. The program shows whether you are signed in.",
        ),
        false => ("404 Not Found", "This page is not the expected callback."),
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
mod tests;
