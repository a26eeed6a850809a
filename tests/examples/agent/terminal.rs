//! Questions and answers on the terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;

use mcp_client::Progress;
use mcp_client::types::ElicitResult;
use mcp_host::{ConsentRequest, Decision, ElicitationContent, ElicitationRequest, printable};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin, stdin};
use tokio::sync::Mutex;

/// The terminal. One request is open at a time; the others wait.
#[derive(Clone)]
pub(crate) struct Terminal(Arc<Mutex<Lines<BufReader<Stdin>>>>);

impl Terminal {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(BufReader::new(stdin()).lines())))
    }

    /// Prints a part of the answer of the model. Its text is not trusted, like that of a server.
    pub(crate) fn write(&self, text: &str) {
        let mut out = io::stdout();
        // If the terminal is closed, the text is lost.
        let _ = write!(out, "{}", printable(text)).and_then(|()| out.flush());
    }

    /// Prints a line.
    pub(crate) fn say(&self, text: &str) {
        self.write(&format!("{text}\n"));
    }

    /// Prints a line beside the conversation.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr(), "[{}]", printable(text));
    }

    /// Shows the progress of a call: a bar that is drawn again in a terminal, otherwise lines.
    pub(crate) fn progress(&self, tool: &str, progress: &Progress) {
        let message = progress.message.as_deref().unwrap_or_default();
        let shown = match progress.total.filter(|total| *total > 0.0) {
            Some(total) => {
                let percent = (progress.progress / total * 100.0).clamp(0.0, 100.0);
                // From 0 to 20, so nothing is lost.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let length = (percent / 5.0) as usize;
                format!("{:-<20} {percent:.0} %", "#".repeat(length))
            }
            None => progress.progress.to_string(),
        };
        let text = format!("{tool}: {shown} {message}");
        if !io::stderr().is_terminal() {
            return self.note(text.trim_end());
        }
        let is_complete = progress
            .total
            .is_some_and(|total| progress.progress >= total);
        let end = if is_complete { "\n" } else { "" };
        let text = printable(text.trim_end()).replace('\n', " ");
        let mut terminal = io::stderr();
        let _ = write!(terminal, "\r\x1b[K[{text}]{end}").and_then(|()| terminal.flush());
    }

    /// Reads a line; `None` at the end of stdin.
    pub(crate) async fn line(&self, prompt: &str) -> io::Result<Option<String>> {
        let mut lines = self.0.lock().await;
        let mut out = io::stdout();
        write!(out, "{prompt}").and_then(|()| out.flush())?;
        lines.next_line().await
    }

    pub(crate) async fn decide(&self, request: &ConsentRequest) -> Decision {
        let prompt = format!("{request}\nAllow it? [y]es, for this [s]ession, [a]lways, [N]o: ");
        match self
            .line(&prompt)
            .await
            .ok()
            .flatten()
            .as_deref()
            .map(str::trim)
        {
            Some("y") => Decision::AllowOnce,
            Some("s") => Decision::AllowUntilExit,
            Some("a") => Decision::AllowAlways,
            _ => Decision::Deny,
        }
    }

    /// Asks for each field of a form, or shows a URL. The text of the request names the server.
    pub(crate) async fn fill(&self, request: &ElicitationRequest) -> ElicitResult {
        let ElicitationContent::Form(form) = &request.content else {
            let prompt = format!("{request}\nOpened it? [y]es, [N]o: ");
            return match self.line(&prompt).await {
                Ok(Some(line)) if line.trim() == "y" => request.accept(Value::Null),
                Ok(Some(_)) => request.decline(),
                _ => request.cancel(),
            };
        };
        let schema = serde_json::to_value(&form.params.requested_schema).unwrap_or_default();
        let fields = schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        self.say(&request.to_string());
        let mut content = Map::new();
        for (name, field) in fields {
            let prompt = format!("{}, empty for none: ", printable(&name));
            match self.line(&prompt).await {
                Ok(Some(line)) if line.trim().is_empty() => {}
                Ok(Some(line)) => {
                    content.insert(name, value(line.trim(), &field));
                }
                _ => return request.cancel(),
            }
        }
        match self.line("send it? [Y]es, [n]o: ").await {
            Ok(Some(line)) if line.trim() == "n" => request.decline(),
            Ok(Some(_)) => request.accept(content),
            _ => request.cancel(),
        }
    }
}

/// Converts text to the type of a field. The server reports what does not fit.
fn value(text: &str, field: &Value) -> Value {
    match field["type"].as_str() {
        Some("boolean" | "integer" | "number") => {
            serde_json::from_str(text).unwrap_or_else(|_| text.into())
        }
        Some("array") => text.split(',').map(str::trim).collect(),
        _ => text.into(),
    }
}
