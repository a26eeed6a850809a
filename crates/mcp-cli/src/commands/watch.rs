//! `mcp watch`.

use std::pin::pin;
use std::time::Duration;

use mcp_client::{ChangedList, Client, LoggingLevel};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::args::{Options, Words};
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::output;
use crate::target::Target;

/// Maximum number of events that wait for stdout. Further events are dropped, and a line on stderr reports this.
const MAX_WAITING_EVENTS: usize = 1_024;

/// Interval between checks while the server responds.
const PROBE: Duration = Duration::from_secs(5);
/// Interval between checks while the server does not respond.
const RETRY: Duration = Duration::from_secs(1);
/// Maximum time that a check waits for the response.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Reports when the server stops responding, and when it responds again. Never completes.
async fn report_outages(client: &Client) {
    let mut was_up = true;
    loop {
        sleep(if was_up { PROBE } else { RETRY }).await;
        let problem = match timeout(PROBE_TIMEOUT, client.ping()).await {
            Ok(Ok(_)) => None,
            // An error response also shows that the server responds.
            Ok(Err(error)) if error.rejection().is_some() => None,
            Ok(Err(error)) => Some(Failure::from(error).to_string()),
            Err(_) => Some(format!("no response within {PROBE_TIMEOUT:?}")),
        };
        match &problem {
            Some(problem) if was_up => output::say(&format!(
                "warning: the server does not respond, so changes may be missed: {problem}"
            )),
            None if !was_up => output::say("note: the server responds again"),
            _ => {}
        }
        was_up = problem.is_none();
    }
}

pub(super) async fn run(words: Words, options: &Options) -> Result<Code, Failure> {
    let (target, uris) = Target::take(words, options)?;
    let (events, mut waiting) = mpsc::channel::<Value>(MAX_WAITING_EVENTS);
    let (changes, logs) = (events.clone(), events.clone());
    let send = |events: &mpsc::Sender<Value>, event: Value| {
        if events.try_send(event).is_err() {
            output::say("note: events were left out, because stdout is slow");
        }
    };
    let connection = Connection::open_with(&target, options, |builder| {
        builder
            .on_change(move |changed| {
                let list = match changed {
                    ChangedList::Tools => "tools",
                    ChangedList::Prompts => "prompts",
                    _ => "resources",
                };
                send(&changes, json!({ "event": "list", "list": list }));
            })
            .on_changes_ended(|reason| {
                output::say(&format!(
                    "warning: changes of lists and resources are no longer received: {reason}"
                ));
            })
            .on_log(move |message| {
                let event = json!({ "event": "log", "level": message.level, "logger": message.logger, "data": message.data });
                send(&logs, event);
            })
    })
    .await?;
    let client = &connection.client;
    if client.capabilities().logging.is_some() && !client.revision().is_stateless() {
        client.set_log_level(LoggingLevel::Debug).await?;
    }
    for uri in uris {
        let mut subscription = client.subscribe(uri).await?;
        let events = events.clone();
        tokio::spawn(async move {
            while let Some(uri) = subscription.next().await {
                if events
                    .send(json!({ "event": "resource", "uri": uri }))
                    .await
                    .is_err()
                {
                    break;
                }
            }
        });
    }
    drop(events);
    output::say("watching; Ctrl-C ends");
    let mut watched = pin!(report_outages(client));
    loop {
        tokio::select! {
            () = &mut watched => {}
            Some(event) = waiting.recv() => output::json_line(&event)?,
            reason = client.closed() => return Err(Failure::new(Code::Connection, reason.to_string())),
        }
    }
}
