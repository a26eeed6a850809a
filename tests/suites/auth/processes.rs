//! Protected processes of one server behind a load balancer without session affinity: they forward requests to each other.

use std::task::{Context, Poll};

use ::http::{Request, Uri};
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

/// Sends each request to the other process than the one before.
#[derive(Clone)]
struct Alternating<S> {
    processes: [S; 2],
    requests: Arc<AtomicUsize>,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for Alternating<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> S::Future {
        let number = self.requests.fetch_add(1, Ordering::AcqRel);
        self.processes[number % 2].call(request)
    }
}

fn layer() -> RequireBearer {
    let alice = Identity::new("https://mcp.example.com", "alice");
    let verifier = static_tokens([(TOKEN, alice)]).unwrap();
    let layer = require_bearer("https://mcp.example.com/mcp", verifier);
    layer.build().unwrap()
}

/// Serves a process behind authentication at an address for the other one.
async fn process<S: IntoService>(
    server: impl AsyncFn(Uri) -> S,
    options: &ServerOptions,
) -> Protected<Endpoint> {
    let (listener, address) = listen().await;
    let own: Uri = format!("http://{address}/mcp").parse().unwrap();
    let options = options.clone().with_forwarding(own.clone());
    let endpoint = Endpoint::with_options(server(own).await, options).unwrap();
    let layered = |route| layer().layer(route);
    let served = serve_layered(listener, endpoint.clone(), layered, std::future::pending());
    tokio::spawn(served);
    layer().layer(endpoint)
}

/// Starts two processes and the load balancer; returns the URL for clients, and the number of requests.
async fn balanced<S: IntoService>(
    server: impl AsyncFn(Uri) -> S,
    options: ServerOptions,
) -> (String, Arc<AtomicUsize>) {
    let requests: Arc<AtomicUsize> = Arc::default();
    let balancer = Alternating {
        processes: [
            process(&server, &options).await,
            process(&server, &options).await,
        ],
        requests: Arc::clone(&requests),
    };
    let (listener, address) = listen().await;
    let unused = balancer.processes[0].get_ref().clone();
    let served = serve_layered(listener, unused, |_| balancer, std::future::pending());
    tokio::spawn(served);
    (format!("http://{address}/mcp"), requests)
}

async fn client(url: &str, builder: ClientBuilder) -> Client {
    let transport = HttpTransport::new(url).unwrap();
    let transport = transport.header("authorization", &format!("Bearer {TOKEN}"));
    builder.connect(transport.unwrap()).await.unwrap()
}

#[tokio::test]
async fn requests_of_a_session_are_forwarded_with_the_token_of_the_client() {
    let options = ServerOptions::new().with_session_store(MemorySessionStore::new());
    let server = async |_| notes(&Done::default());
    let (url, requests) = balanced(server, options).await;
    let builder = crate::peer::client().negotiation(Negotiation::Legacy);
    let client = client(&url, builder).await;
    for _ in 0..4 {
        assert_eq!(called(&client, "whoami", json!({})).await, "alice");
    }
    assert!(requests.load(Ordering::Acquire) >= 6);
}

#[tokio::test]
async fn parked_calls_are_continued_with_the_token_of_the_client() {
    #[derive(Deserialize, JsonSchema)]
    struct NameForm {
        name: String,
    }
    let gateway = async |own| {
        let server = Server::builder("asks", "1").tool(Tool::new("ask", async |cx: Ctx| match cx
            .elicit::<NameForm>("Name?")
            .await?
        {
            Elicitation::Accepted(form) => Ok(form.name),
            _ => Err(HandlerError::new("declined")),
        }));
        let cluster = Cluster::new(own, StateKeys::new([7; 32])).unwrap();
        let gateway = Gateway::builder().cluster(cluster);
        let gateway = gateway.mount("m", upstream(server, false));
        gateway.build().await.unwrap()
    };
    let (url, requests) = balanced(gateway, ServerOptions::new()).await;
    let builder = crate::peer::client()
        .negotiation(Negotiation::Modern)
        .on_elicit(async |form| form.accept(json!({ "name": "Ada" })));
    let client = client(&url, builder).await;
    for _ in 0..10 {
        let before = requests.load(Ordering::Acquire);
        assert_eq!(called(&client, "m__ask", json!({})).await, "Ada");
        // The request, and the one that continues the call.
        assert_eq!(requests.load(Ordering::Acquire), before + 2);
    }
}
