//! HTTP/1 by hand: a listening server, and connections that a test writes and reads as bytes.

mod conn;
mod request;

use std::net::SocketAddr;
use std::time::Duration;

use mcp_protocol::IntoService;
use mcp_transport_http::{Endpoint, Error, ServerOptions, serve_with};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub use conn::{Answer, Conn};
pub use request::{Request, initialize, tool};

/// Time limit of everything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future)
        .await
        .expect("it does not take that long")
}

/// A server that listens on a local port until it is stopped or the test ends.
#[derive(Debug)]
pub struct RunningServer {
    /// The address of the listener.
    pub address: SocketAddr,
    /// The endpoint that is served.
    pub endpoint: Endpoint,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), Error>>,
}

impl RunningServer {
    /// Listens on any port.
    pub async fn start(service: impl IntoService, options: ServerOptions) -> Self {
        let endpoint = Endpoint::with_options(service, options).expect("a server fit to be served");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let stopped = async move {
            // If the handle is dropped, the server runs until it is aborted.
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let task = tokio::spawn(serve_with(listener, endpoint.clone(), stopped));
        Self {
            address,
            endpoint,
            stop,
            task,
        }
    }

    /// Opens a connection.
    pub async fn connect(&self) -> Conn {
        Conn::new(
            TcpStream::connect(self.address)
                .await
                .expect("a connection"),
        )
    }

    /// Opens a session of 2025-11-25 on a separate connection, which stays open.
    pub async fn open(&self) -> (Conn, Session) {
        let mut conn = self.connect().await;
        let session = Session::open(&mut conn).await;
        (conn, session)
    }

    /// Waits until no request is running.
    pub async fn idle(&self) {
        soon(async {
            while self.endpoint.in_flight() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Shuts the server down and waits for its end.
    pub async fn stop(self) {
        self.stop.send(()).expect("it is still served");
        soon(self.task)
            .await
            .expect("it does not panic")
            .expect("it ends well");
    }

    /// Ends the server by dropping its future.
    pub async fn drop_it(self) {
        self.task.abort();
        assert!(soon(self.task).await.is_err());
    }
}

/// The session of a client.
#[derive(Debug, Clone)]
pub struct Session {
    id: String,
    path: String,
}

impl Session {
    /// Opens a session with a handshake on this connection.
    pub async fn open(conn: &mut Conn) -> Self {
        Self::open_at(conn, "/mcp").await
    }

    /// Opens a session of an endpoint at this path.
    pub async fn open_at(conn: &mut Conn, path: &str) -> Self {
        let answer = conn.ask(&Request::post(initialize()).at(path)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let id = answer.header("mcp-session-id").expect("a session");
        let session = Self {
            path: path.to_owned(),
            ..Self::known(id)
        };
        let opened = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let answer = conn.ask(&session.post(opened)).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        session
    }

    /// Creates a session from a known id.
    pub fn known(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            path: "/mcp".to_owned(),
        }
    }

    /// The session id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Builds a POST of one message.
    pub fn post(&self, body: impl Into<Vec<u8>>) -> Request {
        self.own(&Request::post(body))
    }

    /// Builds a call of a tool with one text as its argument.
    pub fn tool(&self, id: impl Into<Value>, name: &str, message: &str) -> Request {
        self.post(tool(id, name, message))
    }

    /// Builds the GET of the stream.
    pub fn get(&self) -> Request {
        self.own(&Request::get())
    }

    fn own(&self, request: &Request) -> Request {
        request
            .at(&self.path)
            .with("mcp-session-id", &self.id)
            .with("mcp-protocol-version", "2025-11-25")
    }
}
