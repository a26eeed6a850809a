//! Calls that are parked in one process of a gateway, and continued by requests to another one.

use std::task::{Context, Poll};
use std::time::SystemTime;

use ::http::{Request, Uri};
use mcp_gateway::{Cluster, Gateway, GatewayBuilder, ParkingLimits, Upstream};
use mcp_server::{Elicitation, ServerBuilder, StateKeys};
use mcp_tests::http::Reply;
use mcp_transport_http::serve_layered;
use mcp_types::PROGRESS_TOKEN_KEY;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;
use tower_service::Service;

use super::upstream;
use crate::gate::{Gate, pass};
use crate::peer::Peer;
use crate::prelude::*;

const KEY: [u8; 32] = [7; 32];

#[derive(Serialize, Deserialize, JsonSchema)]
struct NameForm {
    name: String,
}

async fn name(cx: &Ctx, message: &str) -> Result<String, HandlerError> {
    match cx.elicit::<NameForm>(message).await? {
        Elicitation::Accepted(form) => Ok(form.name),
        _ => Err(HandlerError::new("declined")),
    }
}

/// A session-based server that asks for two names, and counts the calls that have completed. Between its progress
/// notifications it waits for the gate.
fn asking(gate: &Gate, completed: &Arc<AtomicUsize>) -> ServerBuilder {
    let (gate, completed) = (gate.clone(), Arc::clone(completed));
    Server::builder("asks", "1")
        .tool(Tool::new("ask", move |cx: Ctx| {
            let completed = Arc::clone(&completed);
            async move {
                let names = [name(&cx, "First?").await?, name(&cx, "Second?").await?];
                completed.fetch_add(1, Ordering::AcqRel);
                Ok::<_, HandlerError>(names.join(" "))
            }
        }))
        .tool(Tool::new("steps", move |cx: Ctx| {
            let gate = gate.clone();
            async move {
                let name = name(&cx, "Name?").await?;
                for step in 1..=2 {
                    cx.progress(f64::from(step), 2.0);
                    pass(&gate.go).await;
                }
                Ok::<_, HandlerError>(name)
            }
        }))
}

/// Takes the principal from the `Authorization` header.
#[derive(Clone)]
struct Authenticated<S>(S);

impl<S: Service<Request<B>>, B> Service<Request<B>> for Authenticated<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        if let Some(user) = request.headers().get("authorization") {
            let user = Principal::new(user.to_str().unwrap());
            request.extensions_mut().insert(user);
        }
        self.0.call(request)
    }
}

/// A client of a process, as this user.
fn user(process: &Endpoint, name: &str) -> StatelessPeer {
    let mut client = StatelessPeer::new(process).with_meta(PROGRESS_TOKEN_KEY, "mine");
    client.peer = client.peer.with("authorization", Some(name));
    client.peer.principal = Some(Principal::new(name));
    client
}

fn ada(process: &Endpoint) -> StatelessPeer {
    user(process, "ada")
}

/// Calls a tool, or continues its call with the name for its open server request.
async fn send(client: &StatelessPeer, tool: &str, parked: Option<(&Value, &str)>) -> Reply {
    let mut params = json!({ "name": format!("m__{tool}"), "arguments": {} });
    if let Some((result, name)) = parked {
        let requests = result["inputRequests"].as_object().unwrap();
        let accepted = json!({ "action": "accept", "content": { "name": name } });
        let responses = requests.keys().map(|key| (key.clone(), accepted.clone()));
        params["inputResponses"] = Value::Object(responses.collect());
        params["requestState"] = result["requestState"].clone();
    }
    client.call(1, "tools/call", params).await
}

/// Calls a tool that asks first; returns the `input_required` result.
async fn park(client: &StatelessPeer, tool: &str) -> Value {
    required(send(client, tool, None).await).await
}

async fn required(reply: Reply) -> Value {
    let mut answer = reply.answer().await;
    let result = answer["result"].take();
    assert_eq!(result["resultType"], "input_required", "{answer} {result}");
    result
}

/// Continues a call; returns its error.
async fn rejected(client: &StatelessPeer, tool: &str, result: &Value) -> String {
    let answer = send(client, tool, Some((result, "Eve"))).await.json().await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("send the original request again"),
        "{message}"
    );
    message.to_owned()
}

/// The processes of a gateway, and the server behind them.
struct Processes {
    gate: Gate,
    completed: Arc<AtomicUsize>,
}

impl Processes {
    fn new() -> Self {
        Self {
            gate: Gate::new(),
            completed: Arc::default(),
        }
    }

    fn upstream(&self) -> Upstream {
        upstream(asking(&self.gate, &self.completed), false)
    }

    /// Creates a process that the others reach at `address`.
    async fn process(&self, address: SocketAddr, upstream: Upstream) -> Endpoint {
        let own = own_address(address);
        let cluster = Cluster::new(own.clone(), StateKeys::new(KEY)).unwrap();
        let gateway = build(Gateway::builder().cluster(cluster), upstream).await;
        Endpoint::with_options(gateway, ServerOptions::new().with_forwarding(own)).unwrap()
    }

    /// Creates a process, and serves it.
    async fn served(&self) -> Endpoint {
        let (listener, address) = listen().await;
        let process = self.process(address, self.upstream()).await;
        serve(listener, &process);
        process
    }

    async fn two(&self) -> [Endpoint; 2] {
        [self.served().await, self.served().await]
    }
}

fn own_address(address: SocketAddr) -> Uri {
    format!("http://{address}/mcp").parse().unwrap()
}

async fn build(builder: GatewayBuilder, upstream: Upstream) -> Gateway {
    builder.mount("m", upstream).build().await.unwrap()
}

fn serve(listener: TcpListener, process: &Endpoint) {
    let served = serve_layered(
        listener,
        process.clone(),
        Authenticated,
        std::future::pending(),
    );
    tokio::spawn(served);
}

#[tokio::test]
async fn a_call_continues_whichever_process_receives_the_request() {
    let processes = Processes::new();
    let [one, two] = &processes.two().await;
    for call in 0..50 {
        // Each request of a call reaches the other process than the one before.
        let (first, other) = match call % 2 {
            0 => (ada(one), ada(two)),
            _ => (ada(two), ada(one)),
        };
        let result = park(&first, "ask").await;
        let result = required(send(&other, "ask", Some((&result, "Ada"))).await).await;
        let second = call.to_string();
        let reply = send(&first, "ask", Some((&result, &second))).await;
        assert_eq!(reply.said().await, format!("Ada {call}"));
        let again = rejected(&other, "ask", &result).await;
        assert!(again.contains("was answered already"), "{again}");
    }
    assert_eq!(processes.completed.load(Ordering::Acquire), 50);
    assert_eq!((one.in_flight(), two.in_flight()), (0, 0));
}

#[tokio::test]
async fn events_of_a_continued_call_arrive_through_the_other_process() {
    let processes = Processes::new();
    let [one, two] = &processes.two().await;
    let result = park(&ada(one), "steps").await;
    let mut call = send(&ada(two), "steps", Some((&result, "Ada"))).await;
    for step in 1..=2 {
        // The handler waits until the step before has arrived.
        let progress = call.message().await.unwrap();
        assert_eq!(
            progress["params"],
            json!({ "progressToken": "mine", "progress": step, "total": 2 })
        );
        processes.gate.go.add_permits(1);
    }
    assert_eq!(call.said().await, "Ada");
}

#[tokio::test]
async fn another_principal_cannot_continue_a_call_through_another_process() {
    let processes = Processes::new();
    let [one, two] = &processes.two().await;
    let result = park(&ada(one), "steps").await;
    rejected(&user(two, "eve"), "steps", &result).await;
    rejected(&StatelessPeer::new(two), "steps", &result).await;
    rejected(&ada(two), "ask", &result).await;
    // A client that claims to be another process gets no further.
    let mut eve = user(two, "eve");
    eve.peer = eve.peer.with("mcp-forwarded", Some("1"));
    rejected(&eve, "steps", &result).await;
    // The call lives on.
    processes.gate.go.add_permits(2);
    let reply = send(&ada(two), "steps", Some((&result, "Ada"))).await;
    assert_eq!(reply.said().await, "Ada");
}

/// Waits until the clock shows another second.
async fn next_second() {
    let seconds = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap().as_secs()
    };
    let start = seconds();
    while seconds() == start {
        // sleep: a state expires by the clock of the machine, which cannot be paused.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_forged_or_expired_state_leads_to_no_connection() {
    let processes = Processes::new();
    let (listener, address) = listen().await;
    let one = processes.process(address, processes.upstream()).await;
    let limits = ParkingLimits::default().with_lifetime(Duration::ZERO);
    let short = processes.upstream().parking(limits);
    let short = processes.process(address, short).await;
    let two = ada(&processes.served().await);
    let foreign = Cluster::new(own_address(address), StateKeys::new([8; 32])).unwrap();
    let foreign = build(Gateway::builder().cluster(foreign), processes.upstream()).await;
    let foreign = Endpoint::new(foreign).unwrap();

    let expired = park(&ada(&short), "steps").await;
    next_second().await;
    let result = park(&ada(&one), "steps").await;
    let with_state = |state: String| {
        let mut forged = result.clone();
        forged["requestState"] = state.into();
        forged
    };
    let state = result["requestState"].as_str().unwrap();
    assert!(!state.contains(&address.to_string()), "{state}");
    let mut forged: Vec<Value> = (0..state.len())
        .step_by(7)
        .map(|at| {
            let other = if &state[at..=at] == "A" { "B" } else { "A" };
            with_state([&state[..at], other, &state[at + 1..]].concat())
        })
        .collect();
    forged.push(expired);
    forged.push(park(&ada(&foreign), "steps").await);
    forged.extend(["", "id http://127.0.0.1:1/mcp"].map(|state| with_state(state.to_owned())));
    for forged in &forged {
        rejected(&two, "steps", forged).await;
    }

    // The first connection is that of the true state.
    let true_state = result.clone();
    let forwarded = tokio::spawn(async move {
        send(&two, "steps", Some((&true_state, "Ada"))).await;
    });
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut request = String::new();
    while !request.contains("requestState\":\"") {
        let mut bytes = [0; 4_096];
        let count = connection.read(&mut bytes).await.unwrap();
        request += &String::from_utf8_lossy(&bytes[..count]);
    }
    assert!(request.contains(state), "{request}");
    forwarded.abort();
}

#[tokio::test]
async fn a_call_whose_process_is_gone_fails_with_an_error() {
    let processes = Processes::new();
    let two = ada(&processes.served().await);
    let (listener, address) = listen().await;
    let gone = processes.process(address, processes.upstream()).await;
    let result = park(&ada(&gone), "ask").await;
    // Another process at the same address does not have the call.
    let restarted = processes.process(address, processes.upstream()).await;
    serve(listener, &restarted);
    let error = rejected(&two, "ask", &result).await;
    assert!(error.contains("requestState is unknown"), "{error}");

    let (listener, address) = listen().await;
    let gone = processes.process(address, processes.upstream()).await;
    let result = park(&ada(&gone), "ask").await;
    drop((gone, listener));
    let error = rejected(&two, "ask", &result);
    let error = timeout(Duration::from_secs(30), error).await.unwrap();
    assert!(error.contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_process_without_forwarding_continues_calls_that_it_has_parked() {
    let processes = Processes::new();
    let [one, _] = &processes.two().await;
    let (_listener, address) = listen().await;
    let cluster = Cluster::new(own_address(address), StateKeys::new(KEY)).unwrap();
    let gateway = Gateway::builder().cluster(cluster);
    let gateway = build(gateway, processes.upstream()).await;
    let own = Endpoint::new(gateway.clone()).unwrap();
    let elsewhere = park(&ada(one), "ask").await;
    let error = rejected(&ada(&own), "ask", &elsewhere).await;
    assert!(error.contains("another process of the gateway"), "{error}");

    // Over stdio as well.
    let mut peer = Peer::with(gateway, json!({ "elicitation": {} }));
    let call = json!({ "name": "m__ask", "arguments": {} });
    let first = peer.call("tools/call", call.clone()).await;
    let mut params = call;
    params["inputResponses"] = json!({ "q1": { "action": "decline" } });
    params["requestState"] = elsewhere["requestState"].clone();
    let error = peer.expect_error("tools/call", params.clone(), -32602);
    says(&error.await, "requestState is unknown");
    params["requestState"] = first["requestState"].clone();
    let declined = peer.call("tools/call", params).await;
    assert_eq!(crate::peer::text(&declined), "declined");
}

#[tokio::test]
async fn two_requests_with_the_same_state_get_one_result() {
    let processes = Processes::new();
    let [one, two] = &processes.two().await;
    processes.gate.go.add_permits(40);
    for _ in 0..20 {
        let result = park(&ada(one), "steps").await;
        let answers = tokio::join!(
            async {
                send(&ada(one), "steps", Some((&result, "a")))
                    .await
                    .answer()
                    .await
            },
            async {
                send(&ada(two), "steps", Some((&result, "b")))
                    .await
                    .answer()
                    .await
            },
        );
        let errors = [answers.0, answers.1].map(|answer| answer["error"]["code"].clone());
        assert!(
            errors == [Value::Null, json!(-32602)] || errors == [json!(-32602), Value::Null],
            "{errors:?}"
        );
    }
}

/// Without a key, a call continues only at its process, as before.
#[tokio::test]
async fn processes_without_a_common_key_continue_only_calls_that_they_parked() {
    let processes = Processes::new();
    let [one, two] = [
        build(Gateway::builder(), processes.upstream()).await,
        build(Gateway::builder(), processes.upstream()).await,
    ]
    .map(|gateway| Endpoint::new(gateway).unwrap());
    let result = park(&ada(&one), "steps").await;
    rejected(&ada(&two), "steps", &result).await;
    processes.gate.go.add_permits(2);
    let reply = send(&ada(&one), "steps", Some((&result, "Ada"))).await;
    assert_eq!(reply.said().await, "Ada");
}

#[test]
fn the_address_of_a_process_is_checked() {
    for address in ["https://10.0.0.7/mcp", "/mcp", "10.0.0.7"] {
        let cluster = Cluster::new(address.parse().unwrap(), StateKeys::new(KEY));
        fails_with(cluster, "is not an http URL with a host");
    }
}
