//! A client that calls without end, and what is known about the calls of such clients.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::options::Options;
use super::user::{Path, User};
use crate::bench::Fault;
use crate::bench::load::print;

/// Progress notifications of a call.
pub(super) const STEPS: u32 = 20;
/// A call that takes longer never ends.
const LIMIT: Duration = Duration::from_secs(30);

/// One call.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Call {
    /// The tool: `steps` reports progress for some time, `echo` responds at once.
    pub(super) name: String,
    /// Seconds since 1970.
    pub(super) begin: f64,
    pub(super) end: f64,
    pub(super) error: Option<String>,
    pub(super) progress: Vec<f64>,
}

/// Seconds since 1970.
pub(super) fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// The program: calls the server at the host and port in the second word, in one session, and prints a line for each call.
pub(super) async fn run(options: &Options) -> Result<(), Fault> {
    let url = options.words.get(1).ok_or(super::options::USAGE)?;
    let host = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let user = User::connect(Path::Session, host).await?;
    loop {
        let steps = json!({ "count": STEPS, "millis": 20 });
        print(&call(&user, "steps", steps, "done").await)?;
        print(&call(&user, "echo", json!({ "message": "here" }), "here").await)?;
    }
}

async fn call(user: &User, name: &str, arguments: Value, expected: &str) -> Call {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let begin = now();
    let progress = Arc::clone(&seen);
    let call = user.client.call_tool(name, arguments);
    let call = call.on_progress(move |update| {
        let mut seen = progress.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(update.progress);
    });
    let error = match timeout(LIMIT, call).await {
        Err(_) => Some("hung".to_owned()),
        Ok(Err(error)) => Some(error.to_string()),
        Ok(Ok(result)) => {
            let said = result.joined_text();
            (said != expected).then(|| format!("wrong: {said}"))
        }
    };
    let progress = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    Call {
        name: name.to_owned(),
        begin,
        end: now(),
        error,
        progress,
    }
}
