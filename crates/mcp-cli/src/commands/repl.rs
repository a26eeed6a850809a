//! `mcp repl`: sends requests and notifications that the user enters, on one connection.

use std::io::{IsTerminal as _, stdin};
use std::sync::{Arc, Mutex};

use mcp_client::middleware::{
    Direction, Middleware, Next, NextNotification, Notification, Request, Response,
};
use mcp_client::{Client, Error};
use mcp_protocol::lock;
use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};
use serde_json::Value;

use crate::answers;
use crate::args::{Options, Words};
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::output::{self, one_line, say};
use crate::target::Target;

const HELP: &str = "\
METHOD [PARAMS]      sends a request, such as: tools/call {\"name\":\"add\",\"arguments\":{\"a\":2,\"b\":3}}
notifications/NAME   sends a notification
{\"method\":..}        sends a JSON-RPC message: a request if it has an id, else a notification
Ctrl-D ends. Messages of the server are shown with `<`.";

pub(super) async fn run(words: Words, options: &Options) -> Result<Code, Failure> {
    let (target, rest) = Target::take(words, options)?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format!(
            "unexpected argument {word:?}; this command takes only a server"
        )));
    }
    let mut editor = DefaultEditor::new().map_err(|error| terminal(&error))?;
    let printer = Printer::new(&mut editor);
    let shown = ShowMessages(printer.clone());
    let connection =
        Connection::open_with(&target, options, |builder| builder.layer(shown)).await?;
    let client = &connection.client;
    if stdin().is_terminal() {
        greet(client);
    }
    let mut code = Code::Success;
    loop {
        let (read, back) = tokio::select! {
            biased;
            reason = client.closed() => {
                return Err(Failure::new(Code::Connection, reason.to_string()));
            }
            read = read(editor) => read?,
        };
        editor = back;
        let line = match read {
            Ok(line) => line,
            Err(ReadlineError::Eof) => break,
            Err(ReadlineError::Interrupted) => return Ok(Code::Interrupted),
            Err(error) => return Err(terminal(&error)),
        };
        let outcome = match line.trim() {
            "" => continue,
            "help" => {
                HELP.lines().for_each(|line| printer.print(line));
                continue;
            }
            line => match Message::parse(line) {
                Ok(message) => message.send(client, options).await,
                Err(problem) => Err(Failure::usage(problem)),
            },
        };
        for failure in outcome.err().into_iter().chain(answers::take_cancelled()) {
            failure.print();
            code = failure.code;
        }
    }
    connection.close().await;
    // On a terminal, the user has seen the errors.
    Ok(if stdin().is_terminal() {
        Code::Success
    } else {
        code
    })
}

fn greet(client: &Client) {
    let (info, revision) = (client.server_info(), client.revision());
    say(&format!(
        "{} {}, revision {revision}",
        info.name, info.version
    ));
    say("`help` shows what can be sent");
}

fn terminal(error: &ReadlineError) -> Failure {
    Failure::usage(format!("cannot read the terminal: {error}"))
}

/// Reads a line. Reading blocks the thread, so it runs on a separate thread.
async fn read(
    mut editor: DefaultEditor,
) -> Result<(Result<String, ReadlineError>, DefaultEditor), Failure> {
    let read = tokio::task::spawn_blocking(move || {
        let line = editor.readline("> ");
        if let Ok(line) = &line {
            // The history is only in memory, because lines can contain secrets. If the line cannot be added, reading still works.
            let _ = editor.add_history_entry(line);
        }
        (line, editor)
    });
    read.await
        .map_err(|error| Failure::usage(error.to_string()))
}

/// A message that the user has entered.
#[derive(Debug, PartialEq)]
struct Message {
    method: String,
    params: Value,
    is_request: bool,
}

impl Message {
    fn parse(line: &str) -> Result<Self, String> {
        if line.starts_with('{') {
            return Self::parse_object(line);
        }
        let (method, params) = match line.split_once(char::is_whitespace) {
            Some((method, params)) => (method, json(params)?),
            None => (line, Value::Null),
        };
        Ok(Self {
            method: method.to_owned(),
            params,
            is_request: !method.starts_with("notifications/"),
        })
    }

    fn parse_object(line: &str) -> Result<Self, String> {
        let mut message = json(line)?;
        let method = message.get("method").and_then(Value::as_str);
        let method = method.ok_or("the message has no \"method\", which is a string")?;
        Ok(Self {
            method: method.to_owned(),
            is_request: message.get("id").is_some(),
            params: message
                .get_mut("params")
                .map(Value::take)
                .unwrap_or_default(),
        })
    }

    /// Sends the message. If it is a request, prints the response.
    async fn send(self, client: &Client, options: &Options) -> Result<(), Failure> {
        if !self.is_request {
            let params = match self.params {
                Value::Null => Value::Object(serde_json::Map::new()),
                params => params,
            };
            return Ok(client.notify_raw(&self.method, params)?);
        }
        let result = match client.request_raw(self.method, self.params).await {
            Ok(result) => result,
            Err(Error::Rejected(error)) => {
                let failure = Failure::new(Code::Protocol, error.to_string());
                return Err(match &error.data {
                    Some(data) => failure.hint(format!("data: {data}")),
                    None => failure,
                });
            }
            Err(error) => return Err(error.into()),
        };
        // The output keeps the order of members. With `--json`, the output also keeps the notation of numbers.
        match options.json {
            true => output::json_text(result.to_string()),
            false => output::json(&serde_json::from_str::<Value>(&result).unwrap_or_default()),
        }
    }
}

fn json(text: &str) -> Result<Value, String> {
    mcp_jsonrpc::decode_document(text).map_err(|error| format!("{text:?} is not JSON: {error}"))
}

/// A printer of lines above the prompt.
#[derive(Clone)]
struct Printer(Arc<Mutex<Option<Box<dyn ExternalPrinter + Send>>>>);

impl Printer {
    /// Creates a printer. Without a terminal, it prints lines to stderr.
    fn new(editor: &mut DefaultEditor) -> Self {
        let printer = editor.create_external_printer().ok();
        let printer = printer.map(|printer| Box::new(printer) as Box<dyn ExternalPrinter + Send>);
        Self(Arc::new(Mutex::new(printer)))
    }

    /// Prints one line.
    fn print(&self, text: &str) {
        let mut printer = lock(&self.0);
        match printer.as_mut() {
            // If the terminal is closed, nothing can be shown.
            Some(printer) => drop(printer.print(one_line(text) + "\n")),
            None => say(text),
        }
    }
}

/// Middleware that shows the notifications and the requests of the server.
struct ShowMessages(Printer);

impl ShowMessages {
    fn show(&self, direction: Direction, method: &str, params: Option<&str>) {
        if direction == Direction::Inbound {
            self.0
                .print(format!("< {method} {}", params.unwrap_or_default()).trim_end());
        }
    }
}

impl Middleware for ShowMessages {
    fn request(&self, request: Request, next: Next) -> impl Future<Output = Response> + Send {
        self.show(request.direction(), request.method(), request.params());
        next.run(request)
    }

    fn notification(&self, notification: Notification<'_>, next: NextNotification<'_>) {
        self.show(
            notification.direction(),
            notification.method(),
            notification.params(),
        );
        next.run(notification);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_line_is_a_request_a_notification_or_a_whole_message() {
        let message = |method: &str, params, is_request| {
            Ok(Message {
                method: method.to_owned(),
                params,
                is_request,
            })
        };
        for (line, expected) in [
            ("ping", message("ping", Value::Null, true)),
            (
                r#"tools/call {"name":"add"}"#,
                message("tools/call", json!({ "name": "add" }), true),
            ),
            (
                "notifications/cancelled",
                message("notifications/cancelled", Value::Null, false),
            ),
            (
                r#"{"id":1,"method":"m","params":{"a":1}}"#,
                message("m", json!({ "a": 1 }), true),
            ),
            (r#"{"method":"m"}"#, message("m", Value::Null, false)),
        ] {
            assert_eq!(Message::parse(line), expected, "{line}");
        }
        for (line, problem) in [
            ("tools/call {", "is not JSON"),
            (r#"{"id":1}"#, "has no \"method\""),
            (r#"{"method":5}"#, "has no \"method\""),
        ] {
            assert!(
                Message::parse(line).unwrap_err().contains(problem),
                "{line}"
            );
        }
    }
}
