//! HTTP/1 by hand: a server that listens, and connections whose bytes a test writes and reads.

mod conn;
mod request;

use std::net::SocketAddr;
use std::time::Duration;

use mcp_protocol::Service;
use mcp_transport_http::{Endpoint, Error, Options, serve_with};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub use conn::{Answer, Conn};
pub use request::{Request, initialize, tool};

/// Nothing a test waits for takes this long.
const PATIENCE: Duration = Duration::from_secs(20);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future)
        .await
        .expect("it does not take that long")
}

/// A server that listens on a port of this machine, until it is told to stop or the test ends.
#[derive(Debug)]
pub struct RunningServer {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it serves.
    pub endpoint: Endpoint,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), Error>>,
}

impl RunningServer {
    /// Listens on any port.
    pub async fn start(service: impl Service, options: Options) -> Self {
        let endpoint = Endpoint::with_options(service, options).expect("a server fit to be served");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let stopped = async move {
            // Dropped without a word, it is served until it is aborted.
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

    /// A new connection.
    pub async fn connect(&self) -> Conn {
        Conn::new(
            TcpStream::connect(self.address)
                .await
                .expect("a connection"),
        )
    }

    /// A session of the newest revision, on a connection of its own that stays open.
    pub async fn open(&self) -> (Conn, Session) {
        let mut conn = self.connect().await;
        let session = Session::open(&mut conn).await;
        (conn, session)
    }

    /// Tells it to shut down, and waits until it has.
    pub async fn stop(self) {
        self.stop.send(()).expect("it is still served");
        soon(self.task)
            .await
            .expect("it does not panic")
            .expect("it ends well");
    }

    /// Ends it as a program does that drops the future.
    pub async fn drop_it(self) {
        self.task.abort();
        assert!(soon(self.task).await.is_err());
    }
}

/// What a client knows of its session.
#[derive(Debug, Clone)]
pub struct Session {
    id: String,
    path: String,
}

impl Session {
    /// Opens one by a handshake on this connection.
    pub async fn open(conn: &mut Conn) -> Self {
        Self::open_at(conn, "/mcp").await
    }

    /// The same for an endpoint at this path.
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

    /// One whose id is known.
    pub fn known(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            path: "/mcp".to_owned(),
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// One message of it.
    pub fn post(&self, body: impl Into<Vec<u8>>) -> Request {
        self.own(Request::post(body))
    }

    /// A call of a tool with one text as its argument.
    pub fn tool(&self, id: impl Into<Value>, name: &str, message: &str) -> Request {
        self.post(tool(id, name, message))
    }

    /// Its stream.
    pub fn get(&self) -> Request {
        self.own(Request::get())
    }

    fn own(&self, request: Request) -> Request {
        request
            .at(&self.path)
            .with("mcp-session-id", &self.id)
            .with("mcp-protocol-version", "2025-11-25")
    }
}
