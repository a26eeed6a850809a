//! The script's side of a conversation, over any transport.

use tokio::time::timeout;

use super::matching::Known;
use crate::prelude::*;

/// The deadline of every wait; the clock is paused, so waiting costs nothing.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// How a conversation differs from the transcript.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) line: usize,
    pub(super) report: String,
}

/// The transport between the script and the side under test.
pub(super) trait Carried {
    /// Sends a text and returns the HTTP status, if there is one.
    async fn send(&mut self, text: &str) -> Option<u16>;

    /// Returns the next message of the side under test.
    async fn next(&mut self) -> Option<Value>;

    /// Returns the status that this text should have if it is a message.
    fn status_of(&self, text: &str) -> u16;
}

/// A running conversation.
pub(super) struct Talk<C> {
    pub(super) carried: C,
    known: Known,
    /// The messages so far, for the report.
    said: Vec<String>,
    /// The status that no step has checked yet, and the expected one.
    status: Option<(usize, u16, u16)>,
    pings: usize,
}

impl<C: Carried> Talk<C> {
    pub(super) fn new(carried: C, revision: &str) -> Self {
        Self {
            carried,
            known: Known::new(revision),
            said: Vec::new(),
            status: None,
            pings: 0,
        }
    }

    /// Creates a report with all earlier messages.
    pub(super) fn failed(&self, line: usize, what: impl AsRef<str>) -> Failed {
        let mut report = format!("  {}\n", what.as_ref());
        for line in &self.said {
            report.push_str(&format!("    {line}\n"));
        }
        Failed { line, report }
    }

    pub(super) async fn send(&mut self, line: usize, text: &str) {
        let text = self.known.fill(text);
        self.said.push(format!("> {text}"));
        if let Some(status) = self.carried.send(&text).await {
            self.said.push(format!("= {status}"));
            self.status = Some((line, self.carried.status_of(&text), status));
        }
    }

    /// Checks the status of the last message.
    pub(super) fn status(&mut self, line: usize, want: u16) -> Result<(), Failed> {
        match self.status.take() {
            Some((_, _, got)) if got != want => {
                Err(self.failed(line, format!("expected status {want}, got {got}")))
            }
            _ => Ok(()),
        }
    }

    /// If no step mentions the status of the last message, it must be that of an accepted message.
    pub(super) fn accepted(&mut self) -> Result<(), Failed> {
        match self.status {
            Some((line, want, _)) => self.status(line, want),
            None => Ok(()),
        }
    }

    pub(super) async fn next(&mut self) -> Option<Value> {
        let message = timeout(PATIENCE, self.carried.next()).await.ok()??;
        mcp_tests::wire::check_envelope(&message);
        self.said.push(format!("< {message}"));
        Some(message)
    }

    pub(super) async fn expect(&mut self, line: usize, expected: &Value) -> Result<(), Failed> {
        let Some(got) = self.next().await else {
            return Err(self.failed(line, format!("expected {expected}, and nothing came")));
        };
        self.compare(line, expected, &got)
    }

    pub(super) fn compare(
        &mut self,
        line: usize,
        expected: &Value,
        got: &Value,
    ) -> Result<(), Failed> {
        self.known
            .compare(expected, got)
            .map_err(|differences| self.failed(line, differences.join("\n  ")))
    }

    /// Checks that nothing is sent before the response to a ping.
    pub(super) async fn silent(&mut self, line: usize) -> Result<(), Failed> {
        self.pings += 1;
        let id = format!("ping {}", self.pings);
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        self.send(line, &ping.to_string()).await;
        let got = self.next().await;
        if got != Some(json!({"jsonrpc": "2.0", "id": id, "result": {}})) {
            return Err(self.failed(line, "expected silence, and then the answer to a ping"));
        }
        self.status = None;
        Ok(())
    }
}
