//! `mcp watch`.

use mcp_client::{ChangedList, LoggingLevel};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::args::{Options, Words};
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::output;
use crate::target::Target;

/// Maximum number of events that wait for stdout. Further ones are dropped, with a note on stderr.
const WAITING: usize = 1_024;

pub(super) async fn run(words: Words, options: &Options) -> Result<Code, Failure> {
    let (target, uris) = Target::take(words, options)?;
    let (events, mut waiting) = mpsc::channel::<Value>(WAITING);
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
    loop {
        tokio::select! {
            Some(event) = waiting.recv() => output::json_line(&event)?,
            reason = client.closed() => return Err(Failure::new(Code::Connection, reason.to_string())),
        }
    }
}
