//! A server that keeps its state in a file, for tests that kill it: `task-server --http ADDRESS --store FILE --marks FILE`.
//!
//! Each side effect of a tool is a line in the file of marks: the name of the call, the step, and the process id. The
//! program prints its URL.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mcp_server::{Args, Ctx, HandlerError, Resource, Server, State, TaskMode, TaskOptions, Tool};
use mcp_store_redb::{Persist as _, RedbStore};
use mcp_transport_http::{Endpoint, ServerOptions, serve_with};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

const STEPS: u32 = 5;
/// Duration of one step.
const STEP: Duration = Duration::from_millis(12);
/// The step before which a tool may request input.
const QUESTION: u32 = 3;
const LOOK: Duration = Duration::from_millis(50);
/// The steps of a change, and the duration of each.
const CHANGE_STEPS: u32 = 5;
const CHANGE_STEP: Duration = Duration::from_millis(20);

/// The effects of the tools.
#[derive(Clone)]
struct Marks(Arc<File>);

impl Marks {
    /// Writes one effect atomically; returns the process id.
    fn mark(&self, name: &str, step: u32) -> std::io::Result<u32> {
        let process = std::process::id();
        (&*self.0).write_all(format!("{name} {step} {process}\n").as_bytes())?;
        Ok(process)
    }
}

#[derive(Deserialize, JsonSchema)]
struct Call {
    /// The name of the call.
    name: String,
    /// Whether to request input between the steps.
    ask: bool,
}

/// Proceed?
#[derive(Deserialize, JsonSchema)]
struct Go {
    /// Whether to proceed.
    yes: bool,
}

/// Runs its steps in order, each once.
async fn steps(
    Args(call): Args<Call>,
    State(marks): State<Marks>,
    cx: Ctx,
) -> Result<String, HandlerError> {
    let mut processes = Vec::new();
    for step in 1..=STEPS {
        if call.ask && step == QUESTION {
            let answer = cx.named("go").elicit::<Go>("Proceed?").await?;
            if !answer.accepted().is_some_and(|go| go.yes) {
                return Err(HandlerError::new("it was not to be"));
            }
        }
        cx.status(&format!("step {step}"));
        sleep(STEP).await;
        let done = async { marks.mark(&call.name, step).map_err(|it| it.to_string()) };
        let process = cx.memoize(&format!("step {step}"), done).await?;
        processes.push(process.map_err(HandlerError::new)?.to_string());
    }
    Ok(processes.join(" "))
}

/// Has one effect, and cannot run again.
async fn plain(Args(call): Args<Call>, State(marks): State<Marks>) -> Result<String, HandlerError> {
    let process = marks.mark(&call.name, 0)?;
    sleep(STEP * STEPS).await;
    Ok(process.to_string())
}

#[derive(Deserialize, JsonSchema)]
struct Change {
    /// The number of the resource.
    number: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    /// The number of the resource.
    number: String,
}

/// Reports that a resource has changed, then progress. Events are stored in their order, so a client that receives progress knows
/// that the change is stored.
async fn change(Args(change): Args<Change>, server: Server<Marks>, cx: Ctx) -> String {
    let uri = format!("count:///{}", change.number);
    server.resources().updated(&uri);
    for step in 1..=CHANGE_STEPS {
        cx.progress(step.into(), None);
        sleep(CHANGE_STEP).await;
    }
    uri
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ["--http", address, "--store", store, "--marks", marks] = args[..] else {
        return Err("usage: task-server --http ADDRESS --store FILE --marks FILE".into());
    };
    let marks = OpenOptions::new().create(true).append(true).open(marks)?;
    let store = RedbStore::open(store)?;
    let server = Server::builder("tasks", "1.0.0")
        .state(Marks(Arc::new(marks)))
        .tool(
            Tool::new("steps", steps)
                .task(TaskMode::Required)
                .resumable(),
        )
        .tool(Tool::new("plain", plain).task(TaskMode::Required))
        .tool(Tool::new("change", change))
        .resource(Resource::new(
            "count:///{number}",
            "count",
            async |Args(count): Args<Count>| count.number,
        ))
        .task_options(TaskOptions::new().with_poll_interval(LOOK))
        .persist(&store);
    let options = ServerOptions::new()
        .with_streams(|streams| streams.reconnect_delay = LOOK)
        .persist(&store);
    let listener = listen(address.parse()?).await?;
    let url = format!("http://{}/mcp\n", listener.local_addr()?);
    let endpoint = Endpoint::with_options(server, options)?;
    std::io::stdout().write_all(url.as_bytes())?;
    Ok(serve_with(listener, endpoint, std::future::pending()).await?)
}

/// Listens on the address of the previous process. A connection of its clients may occupy the port for
/// a moment.
async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let start = Instant::now();
    loop {
        match TcpListener::bind(address).await {
            Err(_) if start.elapsed() < Duration::from_secs(10) => {
                sleep(Duration::from_millis(10)).await;
            }
            bound => return bound,
        }
    }
}
