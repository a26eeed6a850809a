//! A client that calls a server of `tests/src/reliability` without end, for `cargo xtask cluster`.
//!
//! Prints one JSON line per call: when it began and ended, its error, and the progress it has seen.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::model::{ClientConfig, ProgressNotificationParam};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::report::Fault;
use crate::{LATEST, made, shown, text};

const STEPS: usize = 20;
/// A call that takes longer never ends.
const LIMIT: Duration = Duration::from_secs(30);
/// How long progress may arrive after the response: the SDK handles each notification in a task of its own.
const LATE: Duration = Duration::from_secs(1);
/// The pause before another connection.
const PAUSE: Duration = Duration::from_millis(100);

/// A progress token, and the progress.
type Report = (Value, f64);

#[derive(Clone, Default)]
struct Steps(Arc<Mutex<Vec<Report>>>);

impl Steps {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Report>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the steps of the latest call, in order. Earlier calls may have failed before their last one.
    fn take(&self) -> Vec<f64> {
        let steps = self.change(std::mem::take);
        let latest = steps.iter().filter_map(|(token, _)| token.as_u64()).max();
        let own = steps.iter().filter(|(token, _)| token.as_u64() == latest);
        let mut own: Vec<f64> = own.map(|(_, step)| *step).collect();
        own.sort_by(f64::total_cmp);
        own
    }
}

impl ClientHandler for Steps {
    fn get_info(&self) -> ClientConfig {
        made(json!({
            "protocolVersion": LATEST,
            "clientInfo": { "name": "steady-rmcp", "version": "1.0.0" },
            "capabilities": {}
        }))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let params = shown(params);
        let step = params["progress"].as_f64().unwrap_or_default();
        self.change(|steps| steps.push((params["progressToken"].clone(), step)));
    }
}

/// Calls the server in one session after the other; the next one begins when the connection has ended.
pub(crate) async fn run(url: &str) -> Result<(), Fault> {
    loop {
        let steps = Steps::default();
        let transport = StreamableHttpClientTransport::from_uri(url);
        let lifecycle = ClientLifecycleMode::Initialize;
        let begin = now();
        match steps
            .clone()
            .serve_with_lifecycle(transport, lifecycle)
            .await
        {
            Ok(client) => calls(&client, &steps).await?,
            Err(error) => print("initialize", begin, Some(error.to_string()), &[])?,
        }
        sleep(PAUSE).await;
    }
}

async fn calls(client: &RunningService<RoleClient, Steps>, steps: &Steps) -> Result<(), Fault> {
    while !client.is_closed() {
        let arguments = json!({ "count": STEPS, "millis": 20 });
        call(client, steps, "steps", arguments, "done", STEPS).await?;
        let arguments = json!({ "message": "here" });
        call(client, steps, "echo", arguments, "here", 0).await?;
    }
    Ok(())
}

async fn call(
    client: &RunningService<RoleClient, Steps>,
    steps: &Steps,
    name: &str,
    arguments: Value,
    expected: &str,
    count: usize,
) -> Result<(), Fault> {
    steps.take();
    let begin = now();
    let params = made(json!({ "name": name, "arguments": arguments }));
    let error = match timeout(LIMIT, client.call_tool(params)).await {
        Err(_) => Some("hung".to_owned()),
        Ok(Err(error)) => Some(error.to_string()),
        Ok(Ok(result)) => {
            let said = text(&shown(result));
            (said != expected).then(|| format!("wrong: {said}"))
        }
    };
    let end = now();
    while error.is_none()
        && steps.change(|steps| steps.len()) < count
        && now() - end < LATE.as_secs_f64()
    {
        sleep(Duration::from_millis(5)).await;
    }
    print(name, begin, error, &steps.take())
}

fn print(name: &str, begin: f64, error: Option<String>, progress: &[f64]) -> Result<(), Fault> {
    let line =
        json!({ "name": name, "begin": begin, "end": now(), "error": error, "progress": progress });
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

/// Seconds since 1970.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}
