//! Protected processes of one server behind a load balancer without session affinity: they forward requests to each other.

use std::task::{Context, Poll};

use ::http::{HeaderMap, Request, Uri};
use mcp_auth::server::{Identity, Protected, RequireBearer, require_bearer, static_tokens};
use mcp_gateway::{Cluster, Gateway};
use mcp_protocol::IntoService;
use mcp_server::{Elicitation, StateKeys};
use mcp_transport_http::{MemorySessionStore, serve_layered};
use tower_service::Service;

use super::support::{Done, notes};
use crate::gateway::upstream;
use crate::prelude::*;

const TOKEN: &str = "9p4wJ0cY2mXqT7vLr3sZ";

/// The headers of the requests that a listener has received.
pub(super) type Received = Arc<Mutex<Vec<HeaderMap>>>;

/// Sends each request to the next process, and keeps its headers.
#[derive(Clone)]
struct Balancer<S> {
    processes: Vec<S>,
    received: Received,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for Balancer<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> S::Future {
        let number = {
            let mut received = self.received.lock().unwrap();
            received.push(request.headers().clone());
            received.len()
        };
        let process = number % self.processes.len();
        self.processes[process].call(request)
    }
}

/// Two processes and their load balancer.
pub(super) struct Processes {
    /// The URL for clients.
    pub(super) url: String,
    /// The addresses of the processes for each other.
    pub(super) addresses: [SocketAddr; 2],
    /// The requests of clients.
    pub(super) received: Received,
    /// The requests that the processes have forwarded.
    pub(super) forwarded: Received,
}

impl Processes {
    /// Starts the processes. `layer` creates the authentication layer of a process for the URL of clients.
    pub(super) async fn start<S: IntoService>(
        server: impl AsyncFn(Uri) -> S,
        options: ServerOptions,
        layer: impl Fn(&str) -> RequireBearer,
    ) -> Self {
        let (balancer, address) = listen().await;
        let url = format!("http://{address}/mcp");
        let (received, forwarded) = (Received::default(), Received::default());
        let mut processes = Vec::new();
        let mut addresses = [address; 2];
        for address in &mut addresses {
            let process;
            (process, *address) = start_process(&server, &options, layer(&url), &forwarded).await;
            processes.push(process);
        }
        let unused = processes[0].get_ref().clone();
        let service = Balancer {
            processes,
            received: Arc::clone(&received),
        };
        let served = serve_layered(balancer, unused, |_| service, std::future::pending());
        tokio::spawn(served);
        Self {
            url,
            addresses,
            received,
            forwarded,
        }
    }

    fn requests(&self) -> usize {
        self.received.lock().unwrap().len()
    }
}

/// Serves a process behind authentication at an address for the other one.
async fn start_process<S: IntoService>(
    server: impl AsyncFn(Uri) -> S,
    options: &ServerOptions,
    layer: RequireBearer,
    forwarded: &Received,
) -> (Protected<Endpoint>, SocketAddr) {
    let (listener, address) = listen().await;
    let own: Uri = format!("http://{address}/mcp").parse().unwrap();
    let options = options.clone().with_forwarding(own.clone());
    let endpoint = Endpoint::with_options(server(own).await, options).unwrap();
    let process = layer.layer(endpoint.clone());
    let received = Arc::clone(forwarded);
    let layered = move |route| Balancer {
        processes: vec![layer.layer(route)],
        received,
    };
    let served = serve_layered(listener, endpoint, layered, std::future::pending());
    tokio::spawn(served);
    (process, address)
}

/// Creates the options of processes that share their sessions.
pub(super) fn shared_sessions() -> ServerOptions {
    ServerOptions::new().with_session_store(MemorySessionStore::new())
}

/// Creates a process of a gateway whose calls are parked.
pub(super) async fn gateway(own: Uri) -> Gateway {
    let server = Server::builder("asks", "1").tool(Tool::new("ask", async |cx: Ctx| {
        match cx.elicit::<Name>("Name?").await? {
            Elicitation::Accepted(form) => Ok(form.name),
            _ => Err(HandlerError::new("declined")),
        }
    }));
    let cluster = Cluster::new(own, StateKeys::new([7; 32])).unwrap();
    let gateway = Gateway::builder().cluster(cluster);
    let gateway = gateway.mount("m", upstream(server, false));
    gateway.build().await.unwrap()
}

/// Creates a client that responds to the gateway.
pub(super) fn responding_client() -> ClientBuilder {
    crate::peer::client()
        .negotiation(Negotiation::Stateless)
        .on_elicit(async |form| form.accept(json!({ "name": "Ada" })))
}

fn layer(url: &str) -> RequireBearer {
    let alice = Identity::new("https://mcp.example.com", "alice");
    let verifier = static_tokens([(TOKEN, alice)]).unwrap();
    require_bearer(url, verifier).build().unwrap()
}

async fn client(url: &str, builder: ClientBuilder) -> Client {
    let transport = HttpTransport::new(url).unwrap();
    let transport = transport.header("authorization", &format!("Bearer {TOKEN}"));
    builder.connect(transport.unwrap()).await.unwrap()
}

#[tokio::test]
async fn requests_of_a_session_are_forwarded_with_the_token_of_the_client() {
    let server = async |_| notes(&Done::default()).state_keys(StateKeys::new([7; 32]));
    let processes = Processes::start(server, shared_sessions(), layer).await;
    let builder = crate::peer::client().negotiation(Negotiation::SessionBased);
    let client = client(&processes.url, builder).await;
    for _ in 0..4 {
        assert_eq!(called(&client, "whoami", json!({})).await, "alice");
    }
    assert!(processes.requests() >= 6);
}

#[tokio::test]
async fn parked_calls_are_continued_with_the_token_of_the_client() {
    let processes = Processes::start(gateway, ServerOptions::new(), layer).await;
    let client = client(&processes.url, responding_client()).await;
    for _ in 0..10 {
        let before = processes.requests();
        assert_eq!(called(&client, "m__ask", json!({})).await, "Ada");
        // The request, and the one that continues the call.
        assert_eq!(processes.requests(), before + 2);
    }
}
